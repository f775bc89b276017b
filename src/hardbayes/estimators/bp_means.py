"""BP-means: overlapping features, each of which lowers the objective."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from hardbayes.engine.features.descent import FeatureSolution
from hardbayes.engine.features.restarts import marked_if_capped, minimise_features
from hardbayes.engine.features.search import FeatureSearch
from hardbayes.engine.features.stepwise import k_features_path, stepwise
from hardbayes.estimators.base import AT_LEAST_ONE, SHARED_CONSTRAINTS
from hardbayes.estimators.feature_estimator import FeatureEstimator
from hardbayes.problems.features import FeatureProblem
from hardbayes.selection.features import feature_path
from hardbayes.structure.feature_allocation import FeatureAllocation


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
        scale, at which one number of features is optimal. With a penalty so small that features of
        noise lower the objective there are many of them, and a fit takes long: set a cap.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "component_penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "max_components": [AT_LEAST_ONE, None],
        "method": [StrOptions({"joint", "collapsed", "stepwise"})],
        **SHARED_CONSTRAINTS,
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

    def _solve(
        self, problem: FeatureProblem, rng: np.random.RandomState
    ) -> tuple[FeatureSolution, float]:
        if self.component_penalty == "auto":
            self._say("choosing the penalty")
            path = feature_path(
                problem, self.max_components, self.max_iter, self.n_init, rng,
                report=self._progress(),
            )  # fmt: skip
            penalty = path.suggest().middle / problem.unit
            self._say(f"penalty {penalty:.6g} from {len(path.solutions) - 1} features")
            given = [path.at(penalty * problem.unit).allocation]
        else:
            penalty, path, given = float(self.component_penalty), None, []
            problem.check_penalty(penalty)
        structure = FeatureAllocation(penalty * problem.unit, problem.cap(self.max_components))
        literal, collapsed = self.search == "paper", self.method == "collapsed"
        search = FeatureSearch(structure, literal, collapsed, self.max_iter)
        rows = problem.rows
        if self.method != "stepwise":
            report = self._reporter(problem)
            solution = minimise_features(rows, search, self.n_init, rng, given, report)
        elif path is not None and not literal:
            solution = stepwise(path.solutions, structure)
        else:
            solution = stepwise(k_features_path(rows, search, self.n_init, rng), structure)
        return marked_if_capped(rows, search, solution, rng), penalty
