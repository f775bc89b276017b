"""Spectral DP-means: as many clusters as eigenvalues exceed the penalty."""

from typing import Any, ClassVar

import numpy as np

from hardbayes.engine.status import Status
from hardbayes.estimators.gram_estimator import LANDMARKS, GramEstimator
from hardbayes.matrices import Floats, Matrix
from hardbayes.models.landmarks import KernelFeatureMap
from hardbayes.models.spectral import relax_features, relax_kernel
from hardbayes.pool import Pool
from hardbayes.selection.gram import choose_clusters


class SpectralDPMeans(GramEstimator):
    """Clusters by the spectral relaxation of kernel DP-means, which finds their number.

    The objective of `KernelDPMeans` is ``tr K - tr Y'(K - cluster_penalty I)Y`` with Y the
    normalised indicators of clusters (Kulis & Jordan 2012, Lemma 5.1). Over all orthonormal Y it is
    least for **all eigenvectors of K with eigenvalues above the penalty** (Theorem 5.2), which are
    found here. Each row is then given to one of as many clusters, by the entries of the
    eigenvectors rotated towards rows that point in different directions, as in scikit-learn's
    "cluster_qr".

    Parameters
    ----------
    cluster_penalty : float or "auto", default="auto"
        Eigenvalues above it count. "auto" takes a gap of the spectrum; see
        docs/kernels.md.
    kernel : str or callable, default="rbf"
        As for `KernelDPMeans`. "linear" is centred, and its constant eigenvector counts besides: at
        most one cluster more than columns.
    gamma, degree, coef0, kernel_params
        As for `KernelDPMeans`.
    balance : bool or "auto", default="auto"
        As for `KernelDPMeans`; eigenvalues of a balanced kernel are at most 1.
    n_landmarks : int or None, default=None
        Use Nystroem features of so many random rows in place of the kernel: for many rows. None
        computes kernel values exactly, and the eigenvectors of all rows; those of a sample of 2048
        where there are more than 4096 rows, or than 2048 of a balanced kernel, and no precomputed
        matrix.
    max_clusters : int or None, default=None
        Cap on the number of clusters: the leading eigenvectors are taken.
    random_state : int, RandomState instance or None, default=None
        Seed of samples, of landmarks and of the vector that Lanczos iterations start with.
    n_jobs : int or None, default=None
        As for `KernelDPMeans`.
    verbose : int, default=0
        1 reports the penalty on standard error.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each row, 0 to K-1.
    n_clusters_ : int
        K: `n_eigenvectors_`, one more for "linear", at least one; fewer where no row is given to a
        cluster, or a cap prevents it.
    n_eigenvectors_ : int
        Number of eigenvalues above the penalty.
    eigenvalues_ : ndarray of shape (n_eigenvectors_,)
        These, falling: of ``W^1/2 K W^1/2`` with the weights of the rows.
    lower_bound_ : float
        The relaxed optimum: no partition of the rows has an objective below it, at this penalty.
        Rounding errors are subtracted. Of features where `n_landmarks` is set. Where the rows were
        sampled, it is from blocks of all rows; minus infinity if the kernel may have negative
        eigenvalues.
    cluster_weights_, cluster_penalty_, inertia_, objective_, n_features_in_, feature_names_in_
        As for `KernelDPMeans`.
    objective_history_ : ndarray of shape (1,)
        The objective.
    n_iter_, n_splits_, n_merges_, converged_
        1, 0, 0 and True: there is one step.
    status_ : str
        How many eigenvalues exceed the penalty, and whether rows were sampled.

    See Also
    --------
    KernelDPMeans : Minimises the same objective over partitions.
    objective_lower_bound : The bound for squared distances.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from hardbayes import SpectralDPMeans
    >>> X, ring = make_circles(300, noise=0.05, factor=0.4, random_state=0)
    >>> model = SpectralDPMeans(random_state=0).fit(X)
    >>> model.n_clusters_, model.n_eigenvectors_
    (2, 2)
    >>> bool(model.lower_bound_ <= model.objective_)
    True
    """

    _has_spectrum = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = GramEstimator._kernel_constraints
    _given_number = "Pass {name}(0, max_clusters={k}) for the leading eigenvectors."

    def __init__(
        self,
        cluster_penalty: float | str = "auto",
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        balance: bool | str = "auto",
        n_landmarks: int | None = None,
        max_clusters: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.cluster_penalty = cluster_penalty
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.balance = balance
        self.n_landmarks = n_landmarks
        self.max_clusters = max_clusters
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fitted(
        self, matrix: Matrix, weights: Floats | None, rng: np.random.RandomState, pool: Pool
    ) -> tuple[dict[str, Any], Status]:
        problem = self._posed(matrix, weights, rng, pool)
        if self.cluster_penalty == "auto":
            choice = choose_clusters(problem, self._most_clusters, rng)
            penalty = choice.spectral_penalty
            self._say(f"penalty {penalty:.4g}: {choice.k} eigenvalues before the gap")
        else:
            penalty = float(self.cluster_penalty)
        if self.n_landmarks is not None:
            features = self._landmark_map(problem)
            fitted = relax_features(problem, penalty, self._most_clusters, features, rng)
            fitted["status_"] += LANDMARKS.format(features.n_landmarks)
        elif self.kernel == "linear" and not problem.options.balance:
            rows = KernelFeatureMap(None, None, None)
            fitted = relax_features(problem, penalty, self._most_clusters, rows, rng)
        else:
            fitted = relax_kernel(problem, penalty, self._most_clusters, rng)
        return fitted, Status.CONVERGED
