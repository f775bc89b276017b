"""K-features: a given number of overlapping features."""

import warnings
from typing import Any, ClassVar

import numpy as np

from hardbayes.engine.features.descent import FeatureSolution
from hardbayes.engine.features.restarts import minimise_features
from hardbayes.engine.features.search import FeatureSearch
from hardbayes.engine.status import counted
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
                f"{counted(n_rows, 'feature')} explain each of {counted(n_rows, 'row')} exactly, "
                f"so there will be no more. Lower n_components, {self.n_components}.",
                UserWarning,
                stacklevel=6,
            )
        report = self._reporter(problem)
        return minimise_features(problem.rows, search, self.n_init, rng, report=report), 0.0
