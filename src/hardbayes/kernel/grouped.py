"""The hard HDP in the space of a kernel: clusters of any shape that groups of rows share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from hardbayes.core.alone import ONE_CLUSTER, alone_sentences
from hardbayes.core.arrays import Floats, Matrix, is_sparse
from hardbayes.core.estimator import SHARED_CONSTRAINTS
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.loop import Status, add_warning
from hardbayes.core.pool import Pool
from hardbayes.core.schema import Schema
from hardbayes.groups.estimator import HDPMeans
from hardbayes.groups.fitted import FittedGroups, GroupedAssignment
from hardbayes.kernel.choice import choose_clusters
from hardbayes.kernel.estimator import LANDMARKS, WHOLE, KernelEstimator
from hardbayes.kernel.landmarks import MAP, KernelFeatureMap, cluster_means, inverse_root
from hardbayes.kernel.problem import KernelProblem

# Parameters of `HDPMeans` that hold for the coordinates.
OF_GROUPS = (
    "local_penalty", "global_penalty", "search", "init", "order", "n_clusters", "max_clusters",
    "n_init", "max_iter", "verbose",
)  # fmt: skip
ANY_NUMBER = "KernelHDPMeans(n_clusters=k)"


@dataclass(frozen=True)
class FittedKernelGroups:
    """Clusters of coordinates, and the map of rows to these."""

    features: KernelFeatureMap
    groups: FittedGroups

    @property
    def geometry(self) -> Geometry:
        """The divergence, in the space of the kernel."""
        return self.groups.geometry

    def assign(
        self, matrix: Matrix, pool: Pool, groups: NDArray[np.intp] | None = None
    ) -> GroupedAssignment:
        """Give each row to the cluster where it pays least; ``groups`` as of `FittedGroups`."""
        return self.groups.assign(self.features(matrix), pool, groups)

    def reordered(self, order: NDArray[np.intp]) -> FittedKernelGroups:
        """Return the model with its clusters in another order (k,)."""
        return replace(self, groups=self.groups.reordered(order))

    def to_arrays(self) -> dict[str, Any]:
        """Return everything as arrays and numbers; raise ValueError where a kernel is code."""
        return self.groups.to_arrays() | self.features.to_arrays()


class KernelHDPMeans(HDPMeans, KernelEstimator):
    """Hard HDP in the space of a kernel: groups of rows share clusters of any shape.

    Minimises ``sum_ij w_ij |psi(x_ij) - mu_z(ij)|^2 + local_penalty * L + global_penalty * K``
    where psi is the feature map of a kernel, K the number of clusters, and L counts for every group
    the clusters that it uses (Kulis & Jordan 2012, eq. 2 and section 5.2). Rows get coordinates
    whose inner products are their kernel values; on these it is `HDPMeans`.

    Parameters
    ----------
    local_penalty, global_penalty : float or "auto", default="auto"
        As for `HDPMeans`, in units of squared distances between feature vectors. Where both are
        "auto" the global one is what `KernelDPMeans` chooses for the rows of all groups with this
        kernel, and the local one is zero.
    kernel, gamma, degree, coef0, kernel_params
        As for `KernelDPMeans`. With "precomputed" X is the kernel matrix of the rows of all groups.
    balance : bool or "auto", default="auto"
        As for `KernelDPMeans`; False for a precomputed matrix.
    n_landmarks : int or None, default=None
        Take coordinates from the kernel values with so many random rows (Nystroem features). None
        takes all rows, but 2048 of more, unless the kernel matrix is given.
    search, n_clusters, max_clusters, n_init, max_iter, random_state, n_jobs, verbose
        As for `HDPMeans`.
    init : {"mean", "farthest-first", "k-means++"}, default="mean"
        As for `HDPMeans`.
    order : {"random", "given"}, default="random"
        As for `HDPMeans`.

    Attributes
    ----------
    labels_, local_labels_, groups_, n_clusters_, n_local_clusters_, group_cluster_weights_, \
cluster_weights_, local_penalty_, global_penalty_, inertia_, objective_, objective_history_, \
n_iter_, n_splits_, n_merges_, converged_, status_, n_features_in_, feature_names_in_
        As for `HDPMeans`. There are no centres: means in the space of a kernel are no rows.

    See Also
    --------
    HDPMeans : Round clusters that groups share.
    KernelDPMeans : Clusters by a kernel, without groups.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from hardbayes import KernelHDPMeans
    >>> X, moon = make_moons(200, noise=0.05, random_state=0)
    >>> plants = np.arange(200) % 3
    >>> model = KernelHDPMeans(random_state=0).fit(X, groups=plants)
    >>> model.n_clusters_, model.n_local_clusters_
    (2, array([2, 2, 2]))
    """

    divergence = "squared_euclidean"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{k: v for k, v in KernelEstimator._kernel_constraints.items() if k != "cluster_penalty"},
        "local_penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "global_penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"mean", "farthest-first", "k-means++"})],
        "order": [StrOptions({"random", "given"})],
        **SHARED_CONSTRAINTS,
    }
    _model: FittedKernelGroups  # type: ignore[assignment]

    def __init__(
        self,
        local_penalty: float | str = "auto",
        global_penalty: float | str = "auto",
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        balance: bool | str = "auto",
        n_landmarks: int | None = None,
        search: str = "split-merge",
        init: str = "mean",
        order: str = "random",
        n_clusters: int | None = None,
        max_clusters: int | None = None,
        n_init: int = 1,
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.local_penalty = local_penalty
        self.global_penalty = global_penalty
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.balance = balance
        self.n_landmarks = n_landmarks
        self.search = search
        self.init = init
        self.order = order
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def cluster_centers_(self) -> Floats:
        """There are none: means in the space of a kernel are no rows."""
        raise AttributeError("KernelHDPMeans has no 'cluster_centers_': its means are no rows.")

    def _fitted(  # type: ignore[override]
        self,
        matrix: Matrix,
        weights: Floats | None,
        rng: np.random.RandomState,
        pool: Pool,
        groups: Any,
    ) -> tuple[dict[str, Any], Status]:
        problem = self._posed(matrix, weights, rng, pool)
        features = self._coordinate_map(problem)
        rows = features(matrix)
        given = {name: getattr(self, name) for name in OF_GROUPS}
        choice = None
        if self.local_penalty == self.global_penalty == "auto" and self.n_clusters is None:
            choice = choose_clusters(problem, self._most_clusters, rng)
            labels, penalty = choice.stable(rng)
            given |= {"local_penalty": 0.0, "global_penalty": penalty}
            if self.search != "paper" and self.init == "mean":
                given["init"] = cluster_means(rows[choice.ids], labels, choice.weights)
        inner = HDPMeans(**given, prior_weight=0)
        fitted, status = inner._fitted(rows, weights, rng, pool, groups)
        fitted["_model"] = FittedKernelGroups(features, fitted["_model"])
        if choice is not None and choice.k == 1:
            known = alone_sentences(WHOLE, ONE_CLUSTER, None, ANY_NUMBER)
            status = add_warning(fitted, status, known)
        if 0 < features.n_landmarks < problem.n:
            fitted["status_"] += LANDMARKS.format(features.n_landmarks)
        return fitted, status

    def _coordinate_map(self, problem: KernelProblem) -> KernelFeatureMap:
        """Return the map of rows to coordinates with their kernel values as inner products."""
        if self.kernel == "linear" and not problem.options.balance and self.n_landmarks is None:
            return KernelFeatureMap(None, None, None)
        if problem.matrix is None or self.n_landmarks is not None:
            return self._landmark_map(problem)
        if problem.options.balance:
            raise ValueError(
                "The 'balance' parameter of KernelHDPMeans must be False for a precomputed kernel "
                f"matrix. Got {self.balance!r} instead. Balance the matrix before."
            )
        values = problem.matrix.toarray() if is_sparse(problem.matrix) else problem.matrix
        return KernelFeatureMap(None, None, inverse_root(values))

    def _schema(self, state: dict[str, Any]) -> Schema:
        return super()._schema(state) | MAP

    def _model_from(self, state: dict[str, Any]) -> FittedKernelGroups:  # type: ignore[override]
        features = KernelFeatureMap.from_arrays(state)
        n_columns = state["n_features_in_"]
        if features.normalisation is not None:
            n_columns = features.normalisation.shape[1]
        inner = FittedGroups.from_arrays(self._geometry, self.max_clusters, n_columns, state)
        return FittedKernelGroups(features, inner)
