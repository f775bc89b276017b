"""Base class of the estimators of clusters in the space of a kernel."""

import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils._param_validation import Interval, StrOptions

from hardbayes.estimators.base import AT_LEAST_ONE, SHARED_CONSTRAINTS
from hardbayes.estimators.cluster_estimator import ClusterEstimator
from hardbayes.estimators.fitted_state import check_kernel_clusters
from hardbayes.matrices import Floats, Matrix
from hardbayes.models.gram import FittedGram
from hardbayes.models.landmarks import FittedKernelFeatures, KernelFeatureMap, landmark_map
from hardbayes.pool import Pool
from hardbayes.problems.gram import GramProblem, KernelOptions, pose_gram

MOST_CLUSTERS = 1 << 12  # without a cap: sums between all pairs of clusters are held
#: Of one kernel each, in scikit-learn's names.
PARAMETERS = ("gamma", "degree", "coef0")
LANDMARKS = " Kernel values are those of Nystroem features of {} landmarks."
INDEFINITE = (
    "The kernel has negative eigenvalues, such as {:.3g}: it is no inner product. The objective is "
    "lowered all the same, but squared distances may be negative and are then taken for zero, so "
    "that predict may differ from labels_. Add a multiple of the identity to a kernel matrix to "
    "avoid it."
)


class GramEstimator(ClusterEstimator):
    """Base of the estimators with a kernel, whose clusters have no centres among the rows."""

    cluster_penalty: float | str
    kernel: Any
    gamma: float | None
    degree: float
    coef0: float
    kernel_params: dict[str, Any] | None
    balance: bool | str
    n_landmarks: int | None
    max_clusters: int | None
    n_features_in_: int
    #: Whether a fit has `eigenvalues_`, and a bound by them.
    _has_spectrum: ClassVar[bool] = False

    _kernel_constraints: ClassVar[dict[str, list[Any]]] = {
        "cluster_penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "kernel": [StrOptions({*PAIRWISE_KERNEL_FUNCTIONS, "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "balance": [StrOptions({"auto"}), "boolean"],
        "n_landmarks": [AT_LEAST_ONE, None],
        "max_clusters": [AT_LEAST_ONE, None],
        **{name: SHARED_CONSTRAINTS[name] for name in ("random_state", "n_jobs", "verbose")},
    }

    def _kernel_options(self, n_columns: int) -> KernelOptions:
        """Return the parameters of the kernel; "rbf" without gamma gets bandwidths of its own."""
        adapts = self.kernel == "rbf" and self.gamma is None and self.n_landmarks is None
        balance = adapts if isinstance(self.balance, str) else bool(self.balance)
        if balance and self.n_landmarks is not None:
            raise ValueError(
                "Features of landmarks cannot be balanced. Pass balance=False, or n_landmarks=None."
            )
        if not isinstance(self.kernel, str):
            return KernelOptions(self.kernel, dict(self.kernel_params or {}), balance)
        given = {name: getattr(self, name) for name in PARAMETERS}
        parameters = {name: value for name, value in given.items() if value is not None}
        if self.kernel == "rbf" and self.gamma is None and not adapts:
            parameters["gamma"] = 1.0 / n_columns
        return KernelOptions(self.kernel, parameters, balance)

    @property
    def _most_clusters(self) -> int:
        return self.max_clusters or MOST_CLUSTERS

    def _posed(
        self, matrix: Matrix, weights: Floats | None, rng: np.random.RandomState, pool: Pool
    ) -> GramProblem:
        """Return the problem; warn where the kernel is not positive semidefinite."""
        how = (rng, pool) if self.n_landmarks is None else (rng, pool, self.n_landmarks)
        options = self._kernel_options(matrix.shape[1])
        problem = pose_gram(matrix, weights, options, *how)
        negative = problem.negative_eigenvalue(rng)
        if negative is not None:
            # The stack level skips fit and scikit-learn's wrapper of it.
            warnings.warn(INDEFINITE.format(negative), UserWarning, stacklevel=6)
        return problem

    def _landmark_map(self, problem: GramProblem) -> KernelFeatureMap:
        """Return features of the rows from which the kernel is adapted."""
        if problem.mercer is None or problem.seen is None:
            raise ValueError(
                "The 'n_landmarks' parameter needs rows and a kernel function, not "
                'kernel="precomputed". Set it to None.'
            )
        return landmark_map(problem.mercer, problem.seen.take(problem.anchors))

    def _model_from(
        self, arrays: dict[str, Any], fitted: dict[str, Any]
    ) -> tuple[FittedGram | FittedKernelFeatures, int]:
        penalty = fitted.get("cluster_penalty_", np.nan)  # checked below
        model: FittedGram | FittedKernelFeatures
        if "working_centres" in arrays:
            model = FittedKernelFeatures.from_arrays(penalty, arrays)
            k = len(model.centres)
        else:
            model = FittedGram.from_arrays(penalty, arrays)
            k = len(model.volumes)
        check_kernel_clusters(fitted, k, self._has_spectrum)
        return model, fitted["n_features_in_"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
