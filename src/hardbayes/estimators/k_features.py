"""K-features: a given number of overlapping features."""

import warnings
from typing import Any, ClassVar

import numpy as np

from hardbayes.engine.features.descent import FeatureSolution
from hardbayes.engine.features.restarts import minimise_features
from hardbayes.engine.features.search import FeatureSearch
from hardbayes.estimators.base import AT_LEAST_ONE, SHARED_CONSTRAINTS
from hardbayes.estimators.feature_estimator import FeatureEstimator
from hardbayes.problems.features import FeatureProblem
from hardbayes.structure.feature_allocation import FeatureAllocation


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
    search : {"split-merge", "paper"}, default="split-merge"
        How to minimise. "paper" is the published algorithm: one pass of single flips over each row,
        then least squares. "split-merge" takes the best of all subsets of up to a dozen features
        for each row, or flips one and two at a time; combines, drops and adds whole features where
        that lowers the objective; and perturbs the best start, by drawing one column of memberships
        anew, until ``n_init - 1`` perturbations in a row have not helped, or all of them have taken
        ``64 * max_iter`` sweeps.
    n_init : int, default=10
        Number of starts, of which the best is kept; on a sample where X is large.
    max_iter : int, default=300
        Largest number of sweeps of a start, or of a perturbation.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts. The same seed gives the same bits, whatever ``n_jobs``.
    n_jobs : int or None, default=None
        Number of threads. None uses every core this process may use, within OMP_NUM_THREADS; -1 all
        cores.
    verbose : int, default=0
        1 reports on standard error the objectives of the starts.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        What each feature adds to a row, in the dtype of the data. Features come in the order of
        their weight, so a base that all rows share is the first.
    n_components_ : int
        K.
    membership_ : ndarray of shape (n_samples, n_components_), bool
        Which features each row has.
    component_penalty_ : float
        Zero.
    inertia_ : float
        Fit term: weighted sum of squared residuals.
    objective_ : float
        The same as `inertia_`.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective after each sweep that led to the result; it never rises.
    n_iter_ : int
        Number of those sweeps.
    converged_ : bool
        Whether the fit converged within ``max_iter``.
    status_ : str
        How the fit ended, and what to do about it.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are all strings.

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
        **SHARED_CONSTRAINTS,
    }

    def __init__(
        self,
        n_components: int = 5,
        *,
        search: str = "split-merge",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.search = search
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _solve(
        self, problem: FeatureProblem, rng: np.random.RandomState
    ) -> tuple[FeatureSolution, float]:
        search = FeatureSearch(
            FeatureAllocation(0.0, self.n_components), self.search == "paper", False, self.max_iter
        )
        n_rows = problem.rows.describe().n_rows
        if self.n_components > n_rows:
            warnings.warn(
                f"{n_rows} features explain each of {n_rows} rows exactly, so there will be no "
                f"more. Lower n_components, {self.n_components}.",
                UserWarning,
                stacklevel=6,
            )
        report = self._reporter(problem)
        return minimise_features(problem.rows, search, self.n_init, rng, report=report), 0.0
