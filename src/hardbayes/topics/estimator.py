"""Topics of documents, their number found from what a topic costs: the hard HDP on words."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.estimator import AT_LEAST_ONE, SHARED_CONSTRAINTS, Absent, RowEstimator
from hardbayes.core.frame import cluster_bound
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.loop import Status, counted
from hardbayes.core.pool import Pool, resolve_threads
from hardbayes.core.schema import Schema, contradiction
from hardbayes.topics.choice import (
    COLUMNS,
    GROUPS,
    TopicChoice,
    global_penalty,
    group_documents,
    local_rate,
)
from hardbayes.topics.descent import (
    STEEPNESS,
    Limits,
    LiteralDescent,
    TopicSolution,
    as_one_topic,
    best_of_starts,
    with_about_n_topics,
)
from hardbayes.topics.fitted import (
    ATTRIBUTES,
    MODEL,
    SENTENCES,
    FittedTopics,
    fitted_attributes,
)
from hardbayes.topics.null import topics_z
from hardbayes.topics.problem import (
    LocalPenalty,
    SharedTopics,
    WordCounts,
    documents_with_words,
    make_documents,
    no_topics,
    pseudo_counts,
    refuse_documents,
    word_weights,
)
from hardbayes.topics.state import sweep_documents

if TYPE_CHECKING:
    from hardbayes.topics.memory import Documents

RANKINGS = ("relevance", "share")

_NUMBER_OR_AUTO = [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")]
# What the background costs each document, as a share of its local penalty, under "auto".
BACKGROUND_SHARE = 0.5


def top_word_ids(model: Any, n: int, by: str = "relevance") -> NDArray[np.intp]:
    """Return the columns (k, n) of the words of a fitted `HDPTopics`, the best of each topic first.

    Words that are no more frequent in a topic than elsewhere follow the others, by their share.
    """
    if by not in RANKINGS:
        raise ValueError(f"The 'by' parameter must be one of {RANKINGS}. Got {by!r} instead.")
    scores = model.relevance_ if by == "relevance" else model.components_
    order = np.lexsort((-model.components_, -np.maximum(scores, 0.0)), axis=1)
    return order[:, :n]


class HDPTopics(RowEstimator):
    """Find topics in documents, and how many there are.

    Minimises ``sum_dw n_dw (-log mu_z(d,w)[w]) + sum_d lambda_d |topics of d| + lambda_g K`` over
    the number K of topics, their word shares mu, and the topic z of each word of each document
    (Jiang, Kulis & Jordan 2012, eq. 4): every document pays its local penalty for each topic it
    uses, and every topic costs the global penalty. By default words have weights, topics a prior
    and documents a common background; each of these can be switched off, and all of them are with
    ``search="paper"``.

    Parameters
    ----------
    local_penalty : float or "auto", default="auto"
        What a document pays for each topic it uses, in nats. A number is the same for all documents
        (the paper). "auto" grows with the document: a share of its weight that follows from how
        much of the cost of all words groups of similar documents save beyond random groups. With a
        small constant, topics of single words would lower the objective.
    global_penalty : float or "auto", default="auto"
        What each topic costs, in nats. "auto" is .4 times what a random group of documents, one of
        twenty, saves as a topic of its own, plus five times the mean local penalty. Where both
        penalties are "auto" and documents drawn from one distribution of words explain the corpus,
        there is one topic, with a warning. See `penalty_choice_`.
    n_topics : int or None, default=None
        About how many topics you wish for. The global penalty is then searched until there are as
        many, within a tenth; a warning says so if that fails. None: as many as the penalties give.
    max_topics : int or None, default=None
        Cap on the number of topics. None stops where topics x words reaches 2^25, or at 64 topics,
        if that is more, with a warning.
    weighting : {"auto", "sublinear", "counts"}, default="auto"
        What a count weighs. "counts": itself (the paper). "sublinear":
        ``log2(1 + log2(1 + n)) log((D + 1) / (df + 1/2))``, with documents and corpus rescaled so
        that the corpus weighs as much as it has words: common words do not make topics. "auto" is
        "counts" with ``search="paper"``, else "sublinear".
    prior_weight : float or "auto", default="auto"
        Pseudo-words at the word shares of the corpus that each topic carries. "auto" is half of the
        number of words in the vocabulary, and 0 with ``search="paper"``. Without a prior a word
        that a topic does not have costs infinity.
    background : bool or "auto", default="auto"
        Whether there is one more topic that every document may use for its common words. True adds
        it, free of charge, where it lowers the objective; "auto" where it does so though each
        document pays half of its local penalty for it, as is the case on most text; not with
        ``search="paper"``.
    search : {"split-merge", "paper"}, default="split-merge"
        How to minimise. "paper" is the published algorithm, documents and words visited in their
        order; it needs numbers for both penalties. "split-merge" chooses the topics of whole
        documents; splits, merges and deletes topics where the exact change of the objective is
        negative; and keeps the best of three starts: one topic, and 10 and 20 groups of similar
        documents.
    max_iter : int, default=300
        Largest number of steps of a start: sweeps over all documents, or rounds of moves.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts and of the splits that are tried. The same seed gives the same bits,
        whatever ``n_jobs``.
    n_jobs : int or None, default=None
        Number of threads. None uses every core this process may use, within OMP_NUM_THREADS; -1 all
        cores.
    verbose : int, default=0
        1 reports on standard error the penalties and each step.

    Attributes
    ----------
    components_ : ndarray of shape (n_topics_, n_features)
        The word shares of each topic: rows sum to one. Topics come in the order of their weight.
    relevance_ : ndarray of shape (n_topics_, n_features)
        How much each word tells about each topic: a word that ``a`` documents of the topic have,
        where ``e`` are expected from its frequency in all documents, has ``a log(a / e)``. A
        document counts in each topic by its share.
    n_topics_ : int
        K; the background is not counted.
    background_ : ndarray of shape (n_features,) or None
        The word shares of the background, where there is one.
    topic_weights_ : ndarray of shape (n_topics_,)
        The weight of the words of each topic; that of all words is the number of words in X.
    topic_documents_ : ndarray of shape (n_topics_,)
        The number of documents that use each topic.
    labels_ : ndarray of shape (n_samples,)
        The topic with the largest share in each document, as `transform` has it; -1 for a document
        without words.
    local_penalty_ : float
        The local penalty used; if it grows with the document, that of a document of mean weight.
    global_penalty_ : float
        The global penalty used.
    penalty_choice_ : dict of ndarrays of shape (n_candidates,)
        Why there are topics at all, if both penalties are "auto", for ``pandas.DataFrame``:
        "n_topics" that the penalties give, the global "penalty", the "deviations" by which
        documents are alike in different parts of the vocabulary, beyond documents drawn from one
        distribution of words, their "p_value", the "strength", of which 1 is needed, and whether
        the number was "chosen". Empty where the penalties give one topic.
    inertia_ : float
        Fit term: cost of all words, and of the priors of topics.
    objective_ : float
        The minimised sum of fit term and penalties.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective after each step of the best start, with ``n_topics`` at the last penalty; it
        never rises.
    n_iter_ : int
        Length of that history.
    n_splits_, n_merges_ : int
        Number of topics split, and merged or deleted, on that way.
    converged_ : bool
        Whether the fit converged within ``max_iter``.
    status_ : str
        How the fit ended, and what to do about it.
    n_features_in_ : int
        Number of words of the vocabulary.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The words, where X was a data frame.

    See Also
    --------
    DPMeans : With ``divergence="kl"``, one cluster for each whole document.

    Notes
    -----
    Negative counts are an error that names the first one. Fractional counts are weights. A document
    without words has no topic: its row of `transform` is zero and its label -1. X without any words
    is an error. Words that no document of the fit has are ignored in new documents.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from hardbayes import HDPTopics
    >>> texts = ["cat dog cat pet", "dog pet dog", "cat pet", "star moon", "moon sky", "star sky"]
    >>> words = CountVectorizer()
    >>> X = words.fit_transform(5 * texts)
    >>> model = HDPTopics(random_state=0).fit(X)
    >>> model.n_topics_
    2
    >>> [sorted(top) for top in model.top_words(3, words.get_feature_names_out())]
    [['cat', 'dog', 'pet'], ['moon', 'sky', 'star']]
    """

    components_: Floats
    relevance_: Floats
    n_topics_: int
    background_: Floats | None
    topic_weights_: Floats
    topic_documents_: NDArray[np.integer]
    labels_: NDArray[np.integer]
    local_penalty_: float
    global_penalty_: float

    _choice_columns = COLUMNS
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "local_penalty": _NUMBER_OR_AUTO,
        "global_penalty": _NUMBER_OR_AUTO,
        "n_topics": [AT_LEAST_ONE, None],
        "max_topics": [AT_LEAST_ONE, None],
        "weighting": [StrOptions({"auto", "sublinear", "counts"})],
        "prior_weight": _NUMBER_OR_AUTO,
        "background": [StrOptions({"auto"}), "boolean"],
        **{name: rule for name, rule in SHARED_CONSTRAINTS.items() if name != "n_init"},
    }

    def __init__(
        self,
        local_penalty: float | str = "auto",
        global_penalty: float | str = "auto",
        *,
        n_topics: int | None = None,
        max_topics: int | None = None,
        weighting: str = "auto",
        prior_weight: float | str = "auto",
        background: bool | str = "auto",
        search: str = "split-merge",
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.local_penalty = local_penalty
        self.global_penalty = global_penalty
        self.n_topics = n_topics
        self.max_topics = max_topics
        self.weighting = weighting
        self.prior_weight = prior_weight
        self.background = background
        self.search = search
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _geometry(self) -> Geometry:
        return WordCounts()

    def _fitted(
        self, matrix: Matrix, weights: Floats | None, rng: np.random.RandomState, pool: Pool
    ) -> tuple[dict[str, Any], Status]:
        self._check_together()
        weigh = word_weights(matrix, self._weighting, weights)
        weighted = weigh.weigh(matrix, weights)
        solve = self._solve_literally if self.search == "paper" else self._solve
        solution, penalty = solve(weighted, weights, rng, pool)
        choice = self._choice(matrix, weights, solution, pool) if self._is_automatic else None
        if choice is not None and not choice.is_structured:
            limits = Limits(1, self.max_iter, self.background is True)
            solution = as_one_topic(solution, rng, limits, self._report)
        mean_length = float(weighted.data.sum()) / documents_with_words(weighted, weights)
        fitted = fitted_attributes(solution, weigh, penalty, mean_length, self.n_topics)
        described = fitted["_model"].describe(matrix, weights, pool)
        fitted["labels_"], fitted["relevance_"] = described
        if choice is not None:
            fitted["penalty_choice_"] = choice.table()
            if choice.n_topics == 1 and solution.status is Status.CONVERGED:
                steps = counted(fitted["n_iter_"], "step")
                head = SENTENCES[Status.REMARKED].format(steps=steps)
                fitted["status_"] = f"{head} {choice.sentence('')}"
            elif not choice.is_structured:
                fitted["status_"] += f" {choice.sentence(self._call(choice.penalty))}"
        return fitted, solution.status

    partial_fit = Absent("topics are found from all documents at once. Use fit with all of them.")
    predict = Absent(
        "documents have shares of several topics. Use transform, whose largest share in each row "
        "is the main topic; labels_ has those of the fit."
    )
    predict_proba = Absent("use transform, which returns the share of each topic in each document.")

    def _fit_rows(self, X: Any, sample_weight: Any, **params: Any) -> tuple[dict[str, Any], Status]:
        refuse_documents(X)
        return super()._fit_rows(X, sample_weight, **params)

    def _checked(self, X: Any) -> Matrix:
        refuse_documents(X)
        return super()._checked(X)

    @property
    def _is_automatic(self) -> bool:
        """Whether nothing was said about how many topics there are."""
        penalties = self.local_penalty, self.global_penalty
        return penalties == ("auto", "auto") and self.n_topics is None and self.search != "paper"

    def _choice(
        self, matrix: Matrix, weights: Floats | None, solution: TopicSolution, pool: Pool
    ) -> TopicChoice:
        """Return the number of topics of a solution, and the evidence that there are any."""
        state = solution.state
        penalty = state.structure.global_penalty
        if state.n_topics == 1:
            return TopicChoice(1, penalty, float("inf"))
        self._say("comparing with documents of one distribution of words")
        return TopicChoice(state.n_topics, penalty, topics_z(matrix, weights, pool))

    def _call(self, penalty: float) -> str:
        """Return the call of this estimator with a given global penalty."""
        other = clone(self).set_params(global_penalty=float(f"{penalty:.6g}"))
        return " ".join(repr(other).split())

    def _check_together(self) -> None:
        """Raise where parameters exclude each other."""
        if self.n_topics is not None and self.global_penalty != "auto":
            raise ValueError(
                "The 'n_topics' and 'global_penalty' parameters of HDPTopics exclude each other: "
                "the first searches for the second. Set one of them."
            )
        if self.n_topics is not None and self.n_topics > (self.max_topics or self.n_topics):
            raise ValueError(
                f"The 'max_topics' parameter of HDPTopics must be at least n_topics="
                f"{self.n_topics}. Got {self.max_topics} instead."
            )
        if self.search != "paper":
            return
        needed = {
            "local_penalty": "a number" if self.local_penalty == "auto" else None,
            "global_penalty": "a number" if self.global_penalty == "auto" else None,
            "prior_weight": "0" if self.prior_weight not in ("auto", 0) else None,
            "background": "False" if self.background not in ("auto", False) else None,
            "n_topics": "None" if self.n_topics is not None else None,
            "max_topics": "None" if self.max_topics is not None else None,
        }
        for name, value in needed.items():
            if value is not None:
                raise ValueError(
                    f"The {name!r} parameter of HDPTopics must be {value} with search='paper', the "
                    f"published algorithm. Got {getattr(self, name)!r} instead."
                )

    @property
    def _weighting(self) -> str:
        if self.weighting != "auto":
            return self.weighting
        return "counts" if self.search == "paper" else "sublinear"

    def _solve_literally(
        self,
        weighted: sparse.csr_array,
        weights: Floats | None,
        rng: np.random.RandomState,
        pool: Pool,
    ) -> tuple[TopicSolution, LocalPenalty]:
        penalty = LocalPenalty(float(self.local_penalty), per_word=False)
        documents = make_documents(weighted, penalty, pool, weights)
        structure = SharedTopics(np.zeros(weighted.shape[1]), float(self.global_penalty), False)
        return LiteralDescent(documents, structure, self._report).run(self.max_iter), penalty

    def _solve(
        self,
        weighted: sparse.csr_array,
        weights: Floats | None,
        rng: np.random.RandomState,
        pool: Pool,
    ) -> tuple[TopicSolution, LocalPenalty]:
        share = BACKGROUND_SHARE if self.background == "auto" else 0.0
        structure = SharedTopics(pseudo_counts(weighted, self.prior_weight), 0.0, False, share)
        groups = group_documents(weighted, max(GROUPS, self.n_topics or 0), rng)
        similar = groups.totals(GROUPS, rng, pool)
        if self.local_penalty == "auto":
            penalty = LocalPenalty(local_rate(groups, similar, structure, rng), per_word=True)
        else:
            penalty = LocalPenalty(float(self.local_penalty), per_word=False)
        documents = make_documents(weighted, penalty, pool, weights)
        cost = self.global_penalty
        if cost == "auto":
            mean = float(documents.penalties.sum()) / documents_with_words(weighted, weights)
            cost = global_penalty(groups, structure, mean, rng)
            cost *= (GROUPS / (self.n_topics or GROUPS)) ** STEEPNESS  # where a search begins
        structure = replace(structure, global_penalty=float(cost))
        self._say(f"global penalty {cost:.6g}")
        if self.n_topics is not None:
            starts = [groups.totals(self.n_topics, rng, pool)]
        else:
            starts = [*groups.starts(rng, pool), similar]
        return self._search(documents, structure, starts, rng), penalty

    def _search(
        self,
        documents: Documents,
        structure: SharedTopics,
        totals: list[Floats],
        rng: np.random.RandomState,
    ) -> TopicSolution:
        """Return the best solution from topics with these totals (v, k)."""
        most = self.max_topics or max(cluster_bound(documents.n_words), 2 * (self.n_topics or 0))
        limits = Limits(most, self.max_iter, self.background is not False)
        sets = no_topics(documents.n_documents)
        starts = [
            sweep_documents(documents, structure, sets, each)
            for each in totals
            if each.shape[1] <= most
        ]
        if self.n_topics is None:
            return best_of_starts(starts, rng, limits, self._report)
        return with_about_n_topics(self.n_topics, starts[0], rng, limits, self._report)

    def transform(self, X: Any) -> Floats:
        """Return the share of each topic in each document.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Counts of words, as in `fit`.

        Returns
        -------
        shares : ndarray of shape (n_samples, n_topics_)
            Rows sum to one, the background left out. A document whose words are all in the
            background has the share one in the topic that describes it best; a document without
            words that the fit has seen has no shares: a row of zeros.
        """
        matrix = self._checked(X)
        with Pool(resolve_threads(self.n_jobs)) as pool:
            return self._model.shares(matrix, pool)[0]

    def top_words(
        self, n: int = 10, feature_names: Any = None, *, by: str = "relevance"
    ) -> list[list[str]]:
        """Return the words that describe each topic.

        Parameters
        ----------
        n : int, default=10
            How many words of each topic.
        feature_names : array-like of shape (n_features_in_,) or None, default=None
            The words of the vocabulary, as a vectorizer's ``get_feature_names_out`` returns them.
            None: `feature_names_in_`, or "x0", "x1", ... where X had no names.
        by : {"relevance", "share"}, default="relevance"
            "relevance" takes the words that tell most about the topic (`relevance_`), and leaves
            those for last that are common in all topics. "share" takes the heaviest
            (`components_`).

        Returns
        -------
        words : list of lists of str
            For each topic, the best first.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, feature_names)
        return [[str(names[word]) for word in row] for row in top_word_ids(self, n, by)]

    def _costs(self, matrix: Matrix, pool: Pool) -> Floats:
        return self._model.shares(matrix, pool)[1]

    def _report(self, step: int, n_topics: int, objective: float) -> None:
        self._say(f"step {step}: {n_topics} topics, objective {objective:.6g}")

    @property
    def _n_features_out(self) -> int:
        return self.n_topics_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = []  # shares are float64
        return tags

    def _schema(self, state: dict[str, Any]) -> Schema:
        return ATTRIBUTES | MODEL | self._choice_schema

    def _model_from(self, state: dict[str, Any]) -> FittedTopics:
        model = FittedTopics.from_arrays(state, state["global_penalty_"])
        if model.totals.shape[1] != state["n_topics_"] + model.topics.n_free:
            raise contradiction("its topics are not as many")
        return model
