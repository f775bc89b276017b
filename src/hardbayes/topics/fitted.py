"""Fitted topics: everything needed to find those of new documents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hardbayes.core import schema
from hardbayes.core.arrays import Floats, Matrix, Topics
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.loop import Status, counted, level_rounding
from hardbayes.core.pool import Pool
from hardbayes.topics.descent import TopicSolution
from hardbayes.topics.problem import (
    LocalPenalty,
    SharedTopics,
    WordCounts,
    WordWeights,
    make_documents,
    no_topics,
)

SENTENCES = {
    Status.CONVERGED: (
        "Converged after {steps}: no document changes its topics and no move of whole topics "
        "lowers the objective. Nothing needs doing."
    ),
    Status.CAPPED: (
        "Converged at the cap of {topics}, where more would still lower the objective. "
        "Raise max_topics or global_penalty if that was not intended."
    ),
    Status.REMARKED: "Converged after {steps}.",  # a sentence on what was found follows
    Status.OUT_OF_STEPS: (
        "Stopped after {steps} before it converged. "
        "Raise max_iter, or accept that the objective could still fall a little."
    ),
}
MISSED = (
    "Ended with {topics} where n_topics={wished} was wished: no global penalty that was tried gave "
    "a number within a tenth of it. Wish for another number, or set global_penalty."
)
CHUNK = 1 << 14  # documents whose shares are held at once

#: The attributes of a fitted estimator in a file.
ATTRIBUTES = {
    "n_topics_": schema.length("k", low=1),
    "n_features_in_": schema.length("columns"),
    "labels_": schema.array("n", dtype=np.int32, low=-1, below="k"),
    "components_": schema.array("k", "columns"),
    "relevance_": schema.array("k", "columns"),
    "topic_weights_": schema.array("k"),
    "topic_documents_": schema.array("k", dtype=np.integer),
    "background_": schema.array("columns", or_none=True),
    "inertia_": schema.number(),
    "local_penalty_": schema.number(low=0),
    "global_penalty_": schema.number(low=0),
    **schema.TRACE,
    **schema.MOVES,
}
#: What a file holds of a fitted model.
MODEL = {
    "working_totals": schema.array("columns", "k and background", low=0),
    "working_prior": schema.array("columns", low=0, source="structure.prior"),
    "working_factors": schema.array("columns", low=0, source="weights.factors"),
    "working_mean_sum": schema.number(low=0, source="weights.mean_sum"),
    "working_scale": schema.number(low=0, source="weights.scale"),
    "working_quantum": schema.number(low=schema.POSITIVE, source="weights.quantum"),
    "working_local_amount": schema.number(low=0, source="penalty.amount"),
    "working_per_word": schema.Entry(bool, source="penalty.per_word"),
    "working_has_background": schema.Entry(bool, source="structure.has_background"),
    "working_background_share": schema.number(low=0, source="structure.background_share"),
}


@dataclass(frozen=True)
class FittedTopics:
    """Totals (v, k) of the topics, a background first if there is one, and weights of words."""

    geometry: ClassVar[Geometry] = WordCounts()
    structure: SharedTopics
    totals: Floats
    weights: WordWeights
    penalty: LocalPenalty

    @cached_property
    def topics(self) -> Topics:
        """The topics as documents see them."""
        return Topics(self.structure.costs(self.totals), int(self.structure.has_background))

    @property
    def shares_of_words(self) -> Floats:
        """Each topic's word shares (k, v), the background included."""
        amounts = self.totals.T + self.structure.prior
        return np.ascontiguousarray(amounts / amounts.sum(axis=1, keepdims=True))

    def shares(self, matrix: Matrix, pool: Pool) -> tuple[Floats, Floats]:
        """Return the shares (n, k) of topics in documents, and what the words of each cost (n,).

        A document all of whose words are in the background is given to the topic that would
        describe it best; one without words that the fit has seen has no shares.
        """
        documents = make_documents(self.weights.weigh(matrix), self.penalty, pool)
        sets = documents.choose(self.topics, no_topics(documents.n_documents))
        found, fits = documents.shares(self.topics, sets)
        n_free = self.topics.n_free
        shares = found[:, n_free:]
        alone = np.flatnonzero((shares.sum(axis=1) == 0) & (found.sum(axis=1) > 0))
        if len(alone):
            shares[alone, documents.cheapest_topics(self.topics)[alone] - n_free] = 1.0
        sums = shares.sum(axis=1, keepdims=True)
        return shares / np.where(sums > 0, sums, 1.0), fits

    def describe(
        self, matrix: Matrix, sample_weight: Floats | None, pool: Pool
    ) -> tuple[NDArray[np.int32], Floats]:
        """Return the strongest topic (n,) of each document, -1 without words; and `relevance`."""
        n, n_topics = matrix.shape[0], self.topics.costs.shape[1] - self.topics.n_free
        labels = np.empty(n, np.int32)
        having, sizes = np.zeros((n_topics, matrix.shape[1])), np.zeros(n_topics)
        for start in range(0, n, CHUNK):
            chunk = slice(start, start + CHUNK)
            part = sparse.csr_array(matrix[chunk])
            shares, _ = self.shares(part, pool)
            labels[chunk] = np.where(shares.any(axis=1), shares.argmax(axis=1), -1)
            if sample_weight is not None:
                shares *= sample_weight[chunk, np.newaxis]
            having += (sparse.csr_array(shares).T @ (part > 0).astype(float)).toarray()
            sizes += shares.sum(axis=0)
        return labels, relevance(having, sizes)

    def to_arrays(self) -> dict[str, Any]:
        """Return everything as arrays and numbers."""
        return schema.arrays_of(self, MODEL)

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], global_penalty: float) -> FittedTopics:
        """Return the model that `to_arrays` was called on."""
        values = schema.values_of(arrays, MODEL)
        totals, prior, factors, *weights, local, per_word, background, share = values
        structure = SharedTopics(prior, global_penalty, background, share)
        penalty = LocalPenalty(local, per_word)
        words = WordWeights(factors, *weights)
        return cls(structure, np.ascontiguousarray(totals), words, penalty)


def relevance(having: Floats, sizes: Floats) -> Floats:
    """Return how much each word tells about each topic (k, v).

    Of ``sizes`` (k,) documents of a topic, ``having`` (k, v) have the word; a document counts in a
    topic by its share. Where a topic has a documents with the word and e are expected, were words
    independent of topics, the word has ``a log(a / e)`` of their mutual information.
    """
    expected = sizes[:, np.newaxis] * having.sum(axis=0)
    ratios = np.ones_like(having)
    np.divide(having * sizes.sum(), expected, out=ratios, where=having > 0)
    return having * np.log(ratios)


def fitted_attributes(
    solution: TopicSolution,
    weights: WordWeights,
    penalty: LocalPenalty,
    mean_length: float,
    wished: int | None,
) -> dict[str, Any]:
    """Return the attributes of a fitted model but those of `describe`; topics in order of weight.

    ``mean_length``: of a document.
    """
    state = solution.state
    structure, n_free = state.structure, state.n_free
    sizes = state.totals.sum(axis=0)
    order = np.argsort(-sizes[n_free:], kind="stable") + n_free
    model = FittedTopics(
        structure,
        np.ascontiguousarray(state.totals[:, [*range(n_free), *order]]),
        weights,
        penalty,
    )
    components = model.shares_of_words
    documents = np.bincount(state.sets.topics[state.sets.is_own], minlength=len(sizes))
    local = structure.local_cost(state.documents.penalties, state.sets.sizes)
    history = np.array(solution.history)
    n_topics = state.n_topics
    sentence = SENTENCES[solution.status]
    if wished is not None and solution.status is Status.CAPPED:
        sentence = MISSED
    return {
        "_model": model,
        "components_": components[n_free:],
        "background_": components[0] if n_free else None,
        "n_topics_": n_topics,
        "topic_weights_": sizes[order],
        "topic_documents_": documents[order],
        "local_penalty_": penalty.amount * mean_length if penalty.per_word else penalty.amount,
        "global_penalty_": structure.global_penalty,
        "inertia_": float(history[-1] - local - structure.global_cost(len(sizes))),
        "objective_": float(history[-1]),
        "objective_history_": level_rounding(history),
        "n_iter_": len(history),
        "n_splits_": solution.n_splits,
        "n_merges_": solution.n_merges,
        "converged_": solution.status is not Status.OUT_OF_STEPS,
        "status_": sentence.format(
            steps=counted(len(history), "step"), topics=counted(n_topics, "topic"), wished=wished
        ),
    }
