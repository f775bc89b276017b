"""BP-means: overlapping features, as many as pay for themselves."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from hardbayes.engine.allocation import AllocationSolution
from hardbayes.engine.feature_problem import MOST_COMPONENTS, FeatureProblem
from hardbayes.engine.feature_restarts import marked_if_capped, minimise_features
from hardbayes.engine.feature_search import FeatureSearch
from hardbayes.engine.stepwise import k_features_path, stepwise
from hardbayes.estimators.feature_estimator import FeatureEstimator
from hardbayes.selection.feature_path import feature_path
from hardbayes.structure.feature_allocation import FeatureAllocation


class BPMeans(FeatureEstimator):
    """Explain rows by overlapping features, and find their number from what a feature costs.

    Minimises ``sum_i w_i |x_i - z_i A|^2 + component_penalty * K`` over the number K of features,
    binary memberships z and components A (Broderick, Kulis & Jordan 2013, eq. 6; with a cap, eq.
    15). Each row has any set of features, none included, and is explained by the sum of their
    components.

    Parameters
    ----------
    component_penalty : float or "auto", default="auto"
        What each feature costs, in units of squared distance. "auto" finds the best fit for 0, 1,
        2, ... features and takes the middle of the widest range of penalties, on a logarithmic
        scale, at which one number of features is optimal.
    max_components : int or None, default=None
        Cap on the number of features. None stops at 64, with a warning.
    method : {"joint", "collapsed", "stepwise"}, default="joint"
        "joint" decides on rows with components frozen (section 3 of the paper), "collapsed" with
        components integrated out (section 4.1): slower, with fewer local optima. "stepwise" runs
        K-features for K = 1, 2, ... as long as the objective falls (section 5).
    search : {"split-merge", "paper"}, default="split-merge"
        How to minimise. "paper" is the published algorithm: one pass of single flips over each row,
        features opened at the residuals of single rows, then least squares. "split-merge" takes the
        best of all subsets of up to a dozen features for each row, or flips one and two at a time;
        combines, drops and adds whole features where that lowers the objective; and shakes the best
        start, dealing one feature anew at random, until ``n_init - 1`` shakes in a row have not
        helped.
    n_init : int, default=10
        Number of starts, of which the best is kept; for "stepwise" and "auto", at every K; on a
        sample where X is large.
    max_iter : int, default=300
        Largest number of sweeps of a start.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts. The same seed gives the same bits, whatever ``n_jobs``.
    n_jobs : int or None, default=None
        Number of threads. None uses every core this process may use, within OMP_NUM_THREADS; -1 all
        cores.
    verbose : int, default=0
        1 reports on standard error what the starts found.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        What each feature adds to a row, in the dtype of the data. Features come in the order of
        their weight, so a base that all rows share is the first.
    n_components_ : int
        K; zero where the penalty is dearer than any feature is worth.
    membership_ : ndarray of shape (n_samples, n_components_), bool
        Which features each row has.
    component_penalty_ : float
        The penalty used.
    inertia_ : float
        Fit term: weighted sum of squared residuals.
    objective_ : float
        What was minimised: fit term and penalties.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective after each sweep that led to the result, for "stepwise" after each K; it never
        rises.
    n_iter_ : int
        Length of that history.
    converged_ : bool
        Whether rows came to rest before ``max_iter``.
    status_ : str
        How the fit ended, and what to do about it.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are all strings.

    See Also
    --------
    KFeatures : The same for a number of features that you give.
    DPMeans : Clusters: exactly one for each row.

    Notes
    -----
    Where all rows share a base, a feature that adds something and one that takes it away again are
    the same model: base, sign and membership of a feature can be exchanged without a change of the
    objective. Compare memberships up to that.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "component_penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "max_components": [Interval(Integral, 1, None, closed="left"), None],
        "method": [StrOptions({"joint", "collapsed", "stepwise"})],
        "search": [StrOptions({"split-merge", "paper"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        component_penalty: float | str = "auto",
        *,
        max_components: int | None = None,
        method: str = "joint",
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
        self.search = search
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BPMeans":
        """Find the features of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : ignored
            For scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : BPMeans
            The fitted estimator. If anything is raised, the estimator is as it was before.
        """
        self._fit(X, sample_weight)
        return self

    def _cap(self, problem: FeatureProblem) -> int:
        return min(self.max_components or MOST_COMPONENTS, problem.tiles.n_rows)

    def _path_search(self, problem: FeatureProblem) -> FeatureSearch:
        """Return how the path of penalties is traced: by the default search, whatever this one."""
        return FeatureSearch(
            FeatureAllocation(0.0, self._cap(problem)), False, False, self.max_iter
        )

    def _solve(
        self, problem: FeatureProblem, rng: np.random.RandomState
    ) -> tuple[AllocationSolution, float]:
        cap = self._cap(problem)
        search = FeatureSearch(
            FeatureAllocation(0.0, cap),
            self.search == "paper",
            self.method == "collapsed",
            self.max_iter,
        )
        if self.component_penalty == "auto":
            path = feature_path(problem, self._path_search(problem), self.n_init, rng)
            penalty = path.suggest().middle / problem.unit
            self._report(f"penalty {penalty:.6g} from {len(path.solutions) - 1} features")
            given = [path.at(penalty * problem.unit).allocation]
        else:
            penalty, path, given = float(self.component_penalty), None, []
            problem.check_penalty(penalty)
        structure = FeatureAllocation(penalty * problem.unit, cap)
        search = replace(search, structure=structure)
        if self.method != "stepwise":
            solution = minimise_features(
                problem, search, self.n_init, rng, given, report=self._report
            )
        elif path is not None and not search.literal:
            solution = stepwise(path.solutions, structure)
        else:
            solution = stepwise(k_features_path(problem, search, self.n_init, rng), structure)
        return marked_if_capped(problem, search, solution, rng), penalty
