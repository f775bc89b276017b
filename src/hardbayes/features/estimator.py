"""BP-means and K-features: features that overlap, found or given in number."""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from hardbayes.core.arrays import Floats, Matrix, kept_in
from hardbayes.core.estimator import AT_LEAST_ONE, SHARED_CONSTRAINTS, Absent, RowEstimator
from hardbayes.core.loop import Status, counted
from hardbayes.core.pool import Pool, resolve_threads
from hardbayes.core.schema import Schema
from hardbayes.core.validation import check_membership
from hardbayes.features.choice import COLUMNS, FeatureChoice, choose_features
from hardbayes.features.descent import FeatureSearch, FeatureSolution
from hardbayes.features.fitted import (
    ATTRIBUTES,
    MODEL,
    SENTENCES,
    FittedFeatures,
    fitted_attributes,
)
from hardbayes.features.given import check_number, given_features
from hardbayes.features.problem import FeatureAllocation, FeatureProblem, pose_features
from hardbayes.features.rows import Allocation
from hardbayes.features.starts import k_features_path, marked_if_capped, minimise_features, stepwise

FEATURE_CONSTRAINTS: dict[str, list[Any]] = {
    "base": ["boolean", StrOptions({"auto"})],
    "init": ["array-like", None],
    **SHARED_CONSTRAINTS,
}


# The cap of "stepwise" where none is given. Where noise is worth a feature it goes on to its cap,
# and each number beyond takes seconds: features that may exist, against a fit of minutes.
STEPWISE_COMPONENTS = 12


class FeatureEstimator(RowEstimator):
    """Base of the estimators that explain each row as a sum of components."""

    base: bool | str
    init: Any
    components_: NDArray[np.floating]
    n_components_: int
    component_penalty_: float
    membership_: NDArray[np.bool_]

    partial_fit = Absent("features are found from all rows at once. Use fit with all of them.")
    predict = Absent("a row may have several features. Use transform, which tells which it has.")

    @abstractmethod
    def _solve(
        self,
        problem: FeatureProblem,
        choice: FeatureChoice | None,
        given: Allocation | None,
        rng: np.random.RandomState,
    ) -> tuple[FeatureSolution, float]:
        """Return the best solution found and the penalty used, in the user's units.

        ``given``: features to start from.
        """

    @property
    def _with_base(self) -> bool | None:
        """Whether there is a base; None where that is found."""
        return None if self.base == "auto" else bool(self.base)

    @property
    def _n_fixed(self) -> int:
        return int(self._with_base is True)

    def _given(self, problem: FeatureProblem) -> Allocation | None:
        """Return the features that ``init`` gives; None where starts are drawn."""
        if self.init is None:
            return None
        return given_features(self.init, problem, type(self).__name__)

    def _choice(
        self,
        problem: FeatureProblem,
        matrix: Matrix,
        weights: Floats | None,
        rng: np.random.RandomState,
        pool: Pool,
    ) -> FeatureChoice | None:
        """Return the number of features, chosen from the rows; None where it or a cost is given."""
        return None

    def _fitted(
        self, matrix: Matrix, weights: Floats | None, rng: np.random.RandomState, pool: Pool
    ) -> tuple[dict[str, Any], Status]:
        problem = pose_features(matrix, weights, pool, self._n_fixed)
        given = self._given(problem)
        choice = self._choice(problem, matrix, weights, rng, pool)
        solution, penalty = self._solve(problem, choice, given, rng)
        status = solution.status
        if choice is not None and not choice.is_confirmed and status is Status.CONVERGED:
            status = Status.REMARKED
        fitted = fitted_attributes(replace(solution, status=status), problem, penalty, matrix.dtype)
        if choice is not None:
            fitted["penalty_choice_"] = choice.table(problem.unit)
            if not choice.is_confirmed:
                fitted["status_"] += f" {choice.sentence()}"
            elif not fitted["n_components_"]:
                head = SENTENCES[Status.REMARKED].format(sweeps=counted(fitted["n_iter_"], "sweep"))
                fitted["status_"] = f"{head} {choice.sentence()}"
        return fitted, status

    def _reporter(self, problem: FeatureProblem) -> Callable[[str, int, float], None]:
        """Return a function that reports a number of features and an objective in working units."""
        return lambda what, k, objective: self._say(
            f"{what}: {k} features, objective {objective / problem.unit:.6g}"
        )

    def _stream(self) -> np.random.RandomState:
        """Return the stream of ``random_state``, by a generator that is seeded fast.

        Seeding NumPy's Mersenne twister takes longer than a start on a hundred rows.
        """
        seed = self.random_state
        if seed is None or isinstance(seed, Integral):
            return np.random.RandomState(np.random.PCG64(None if seed is None else int(seed)))
        return super()._stream()

    def transform(self, X: Any) -> NDArray[np.bool_]:
        """Return which features each row has, the components left as they are.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        membership : ndarray of shape (n_samples, n_components_), bool
            The features that explain each row best. Of more than a dozen, those from which neither
            one change nor two at once lead to better ones.
        """
        matrix = self._checked(X)
        with Pool(resolve_threads(self.n_jobs)) as pool:
            return self._model.allocate(matrix, pool)[0]

    def inverse_transform(self, X: Any) -> Floats:
        """Rebuild rows from their features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Memberships: zeros and ones, as `transform` returns them.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features_in_)
            Sums of components, in the dtype of `components_`.
        """
        check_is_fitted(self)
        membership = check_membership(X, self.n_components_)
        return kept_in(self._model.rebuild(membership), self.components_.dtype)

    def _costs(self, matrix: Matrix, pool: Pool) -> Floats:
        return self._model.allocate(matrix, pool)[1]

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []  # memberships are booleans
        return tags

    def _schema(self, state: dict[str, Any]) -> Schema:
        return ATTRIBUTES | MODEL | self._choice_schema

    def _model_from(self, state: dict[str, Any]) -> FittedFeatures:
        return FittedFeatures.from_arrays(state)


class BPMeans(FeatureEstimator):
    """Explain rows by overlapping features, and find their number from the cost of a feature.

    Minimises ``sum_i w_i |x_i - z_i A|^2 + component_penalty * K`` over the number K of features,
    binary memberships z and components A (Broderick, Kulis & Jordan 2013, eq. 6; with a cap, eq.
    15). Each row has any set of features, none included, and is explained by the sum of their
    components.

    Parameters
    ----------
    component_penalty : float or "auto", default="auto"
        Cost of each feature, in units of squared distance. "auto" finds the best fit for 0, 1,
        2, ... features and takes the middle of the widest range of penalties, on a logarithmic
        scale, at which one number of features is optimal, if rows that a fit has not seen confirm
        them: they have a feature or do not have it, with few in between. Else another number that
        they confirm; else there is nothing but the mean, or none, with a warning. See
        `penalty_choice_`. With a penalty so small that features of
        noise lower the objective there are many of them, and a fit takes long: set a cap.
    max_components : int or None, default=None
        Cap on the number of features. None stops at 64, with a warning; "stepwise" at 12, unless
        the penalty is "auto" or the search "paper".
    method : {"joint", "collapsed", "stepwise"}, default="joint"
        "joint" decides on rows with components frozen (section 3 of the paper), "collapsed" with
        components integrated out (section 4.1): slower, with fewer local optima. "stepwise" runs
        K-features for K = 1, 2, ... as long as the objective falls (section 5).
    base : bool or "auto", default="auto"
        Whether one of the features is a base that all rows have, such as the mean of pictures.
        True: it is one of the K, and rows cannot do without it, new ones either. "auto": some
        starts have one, and rows may leave it; where the features found are as good with a base as
        without, one is made. False: no start has one, and none is made, but one may be found.
    init : array-like of shape (k, n_features) or (n_samples, k), or None, default=None
        Features to start from, instead of drawn ones: components or, if boolean, or of zeros and
        ones with a row for each sample, memberships. With ``base=True`` the first is the base.
    search : {"split-merge", "paper"}, default="split-merge"
        How to minimise. "paper" is the published algorithm: one pass of single flips over each row,
        features opened at the residuals of single rows, then least squares. "split-merge" takes the
        best of all subsets of up to a dozen features for each row, or flips one and two at a time;
        combines, drops and adds whole features where that lowers the objective; and perturbs the
        best start, by drawing one column of memberships anew, until ``n_init - 1`` perturbations in
        a row have not helped, or all of them have taken ``64 * max_iter`` sweeps.
    n_init : int, default=10
        Number of starts, of which the best is kept; for "stepwise" and "auto", at every K; on a
        sample where X is large.
    max_iter : int, default=300
        Largest number of sweeps of a start, or of a perturbation.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts. The same seed gives the same bits, whatever ``n_jobs``.
    n_jobs : int or None, default=None
        As for `DPMeans`.
    verbose : int, default=0
        1 reports on standard error the objectives of the starts.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        What each feature adds to a row, in the dtype of the data. Features come in the order of
        their weight, so a base that all rows share is the first.
    n_components_ : int
        K; zero where the penalty is above the gain of any feature.
    membership_ : ndarray of shape (n_samples, n_components_), bool
        Which features each row has.
    component_penalty_ : float
        The penalty used.
    penalty_choice_ : dict of ndarrays of shape (n_candidates,)
        Why there are so many features, if the penalty is "auto", for ``pandas.DataFrame``:
        "n_components", the "penalty" that suits them and the "width" of its range in logarithms
        (zeros where no penalty does); the "deviations" by which rows of one half have or lack the
        features found in the other, beyond rows of continuous factors, the "p_value" of that, and
        that of the "weakest" feature; the "strength", of which 1 is needed; which is "chosen".
    inertia_ : float
        Fit term: weighted sum of squared residuals.
    objective_ : float
        The minimised sum of fit term and penalties.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective after each sweep that led to the result, for "stepwise" after each K; it never
        rises.
    n_iter_ : int
        Length of that history.
    converged_, status_, n_features_in_, feature_names_in_
        As for `DPMeans`.

    See Also
    --------
    KFeatures : The same for a number of features that you give.
    DPMeans : Clusters: exactly one for each row.

    Notes
    -----
    Where all rows have a base, a feature can be exchanged for its complement: the base takes it in
    and its sign changes, while the objective stays the same. Compare memberships up to that.

    Examples
    --------
    >>> import numpy as np
    >>> from hardbayes import BPMeans
    >>> Z = np.array([[1, 0], [0, 1], [1, 1], [1, 1], [0, 0]])
    >>> X = Z @ np.array([[4.0, 4.0, 0.0], [0.0, 1.0, 3.0]])
    >>> model = BPMeans(component_penalty=2.0, random_state=0).fit(X)
    >>> model.n_components_
    2
    >>> model.inverse_transform([[True, True]])
    array([[4., 5., 3.]])
    """

    _choice_columns = COLUMNS
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "component_penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "max_components": [AT_LEAST_ONE, None],
        "method": [StrOptions({"joint", "collapsed", "stepwise"})],
        **FEATURE_CONSTRAINTS,
    }

    def __init__(
        self,
        component_penalty: float | str = "auto",
        *,
        max_components: int | None = None,
        method: str = "joint",
        base: bool | str = "auto",
        init: Any = None,
        search: str = "split-merge",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.component_penalty = component_penalty
        self.max_components = max_components
        self.method = method
        self.base = base
        self.init = init
        self.search = search
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _choice(
        self,
        problem: FeatureProblem,
        matrix: Matrix,
        weights: Floats | None,
        rng: np.random.RandomState,
        pool: Pool,
    ) -> FeatureChoice | None:
        if self.component_penalty != "auto":
            return None
        self._say("choosing the penalty")
        return choose_features(
            problem, matrix, weights, self.max_components, self.max_iter, self.n_init, rng, pool,
            self._with_base,
        )  # fmt: skip

    def _solve(
        self,
        problem: FeatureProblem,
        choice: FeatureChoice | None,
        given: Allocation | None,
        rng: np.random.RandomState,
    ) -> tuple[FeatureSolution, float]:
        path = choice.path if choice is not None else None
        if choice is not None:
            penalty = choice.penalty / problem.unit
            most = choice.path.solutions[-1].n_components
            self._say(f"penalty {penalty:.6g} from {most} features")
            if not choice.is_confirmed:
                return choice.path.of(choice.n_components), penalty
            starts = [choice.path.at(penalty * problem.unit).allocation]
        else:
            penalty, starts = float(self.component_penalty), []
            problem.check_penalty(penalty)
        cap = self.max_components
        if self.method == "stepwise" and path is None and self.search != "paper":
            cap = cap or STEPWISE_COMPONENTS
        structure = FeatureAllocation(penalty * problem.unit, problem.cap(cap))
        literal, collapsed = self.search == "paper", self.method == "collapsed"
        search = FeatureSearch(structure, literal, collapsed, self.max_iter, self._with_base)
        rows = problem.rows
        if given is not None:
            if self.method == "stepwise":
                raise ValueError(
                    "method='stepwise' starts from no features and takes no 'init'. Use 'joint' or "
                    "'collapsed', or leave init out."
                )
            check_number(given, structure.max_components, "at most max_components")
            starts.append(given)
        if self.method != "stepwise":
            report, seeded = self._reporter(problem), given is None
            solution = minimise_features(rows, search, self.n_init, rng, starts, report, seeded)
        elif path is not None and not literal:
            solution = stepwise(path.solutions, structure)
        else:
            solution = stepwise(k_features_path(rows, search, self.n_init, rng), structure)
        return marked_if_capped(rows, search, solution, rng), penalty


class KFeatures(FeatureEstimator):
    """Explain rows by a given number of overlapping features.

    Minimises ``sum_i w_i |x_i - z_i A|^2`` over binary memberships z and K components A
    (Broderick, Kulis & Jordan 2013, eq. 14). It is to `BPMeans` what k-means is to DP-means: each
    row has any set of the K features, none included, and is explained by the sum of their
    components.

    Parameters
    ----------
    n_components : int, default=5
        Number of features. Where fewer explain every row exactly, there may be fewer.
    base, init
        As for `BPMeans`.
    search : {"split-merge", "paper"}, default="split-merge"
        How to minimise, as for `BPMeans`; with "paper", no feature is opened.
    n_init : int, default=10
        Number of starts, of which the best is kept; on a sample where X is large.
    max_iter, random_state, n_jobs, verbose
        As for `BPMeans`.

    Attributes
    ----------
    n_components_ : int
        K.
    component_penalty_ : float
        Zero.
    objective_ : float
        The same as `inertia_`.
    components_, membership_, inertia_, objective_history_, n_iter_, converged_, status_, \
n_features_in_, feature_names_in_
        As for `BPMeans`.

    See Also
    --------
    BPMeans : Finds the number of features from the cost of a feature.

    Examples
    --------
    >>> import numpy as np
    >>> from hardbayes import KFeatures
    >>> Z = np.array([[1, 0], [1, 0], [1, 1], [0, 1], [0, 0]])
    >>> X = Z @ np.array([[4.0, 4.0, 0.0], [0.0, 1.0, 3.0]])
    >>> model = KFeatures(2, random_state=0).fit(X)
    >>> model.membership_.astype(int)
    array([[1, 0],
           [1, 0],
           [1, 1],
           [0, 1],
           [0, 0]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [AT_LEAST_ONE],
        **FEATURE_CONSTRAINTS,
    }

    def __init__(
        self,
        n_components: int = 5,
        *,
        base: bool | str = "auto",
        init: Any = None,
        search: str = "split-merge",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.base = base
        self.init = init
        self.search = search
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _solve(
        self,
        problem: FeatureProblem,
        choice: FeatureChoice | None,
        given: Allocation | None,
        rng: np.random.RandomState,
    ) -> tuple[FeatureSolution, float]:
        structure = FeatureAllocation(0.0, self.n_components)
        literal = self.search == "paper"
        search = FeatureSearch(structure, literal, False, self.max_iter, self._with_base)
        if given is not None:
            check_number(given, self.n_components, "n_components", least=self.n_components)
        n_rows = problem.rows.describe().n_rows
        if self.n_components > n_rows:
            warnings.warn(
                f"{counted(n_rows, 'feature')} explain each of {counted(n_rows, 'row')} exactly, "
                f"so there will be no more. Lower n_components, {self.n_components}.",
                UserWarning,
                stacklevel=6,
            )
        report = self._reporter(problem)
        starts, seeded = ([], True) if given is None else ([given], False)
        best = minimise_features(problem.rows, search, self.n_init, rng, starts, report, seeded)
        return best, 0.0
