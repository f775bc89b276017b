"""Spectral DP-means: as many clusters as eigenvalues exceed the penalty, found in one step.

It is the spectral relaxation of kernel DP-means. Eigenvectors whose eigenvalues exceed the penalty
are computed, of a sample where rows are many, and each row is given to a cluster by its entries in
them.
"""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.exact_number import ToldPenalty, add_told, told_number
from hardbayes.core.fitted import AtOnce, measure_cost_quantiles, trace_attributes
from hardbayes.core.loop import Status
from hardbayes.core.plateaus import Plateau
from hardbayes.core.pool import Pool
from hardbayes.kernel.choice import choose_clusters
from hardbayes.kernel.estimator import LANDMARKS, OF_DP_MEANS, KernelEstimator
from hardbayes.kernel.fitted import SpectralLabels, fitted_attributes
from hardbayes.kernel.landmarks import FittedKernelFeatures, KernelFeatureMap, squared_distances
from hardbayes.kernel.problem import KernelOptions, KernelProblem, make_problem
from hardbayes.kernel.search import one_partition
from hardbayes.kernel.spectrum import (
    MAX_DENSE,
    Spectrum,
    cluster_qr,
    feature_spectrum,
    lower_bound,
    spectrum_above,
    summed_spectrum,
)

SLAB_ROWS = 1 << 10  # whose values with a sample are held at a time
SAMPLED = (
    " Eigenvectors are those of a sample of {} rows, extended to all; lower_bound_ is from blocks "
    "of all rows. Pass a kernel matrix to have the eigenvectors of all rows."
)
NO_BOUND = (
    " Eigenvectors are those of a sample of {} rows, extended to all, and there is no lower_bound_ "
    "for a kernel that may have negative eigenvalues. Pass a kernel matrix to have both."
)
# Where so many eigenvalues are wanted, the penalty falls by this factor until they are found, down
# to this part of their sum: more steps take longer, larger ones find more than are needed.
FALL = 4.0
SMALLEST_PART = 1e-9
NO_MORE = "the eigenvectors give no row to more of them"
OF_SPECTRUM = ("n_eigenvectors_", "eigenvalues_", "lower_bound_")
DONE = "Solved the relaxation: {} exceed the penalty."


def relax_kernel(
    problem: KernelProblem, penalty: float, most_clusters: int, rng: np.random.RandomState
) -> dict[str, Any]:
    """Return the attributes of a fit to kernel values."""
    n = problem.n
    part, ids, weights = problem.rows, np.arange(n), problem.weights
    # Only anchors are balanced exactly, and the automatic penalty is for their spectrum.
    most = len(problem.anchors) if problem.options.balance else MAX_DENSE
    is_sampled = problem.matrix is None and np.count_nonzero(weights) > most
    if is_sampled:
        ids, weights = problem.anchors, problem.anchor_weights
        part = part.part(ids, weights)
    spectrum = spectrum_above(part, penalty, rng)
    # Values of rows with those of the sample, times these, are the entries of eigenvectors.
    factors = np.sqrt(weights)[:, np.newaxis] * spectrum.vectors / spectrum.values
    found, spectral = _labelled(factors, np.zeros((1, 0)), spectrum, most_clusters, weights)
    labels = np.zeros(n, np.int64)
    labels[ids] = found
    if spectral is not None:
        rest = np.ones(n, np.bool_)
        rest[ids[weights > 0]] = False
        for some in np.array_split(np.flatnonzero(rest), 1 + n // SLAB_ROWS):
            labels[some] = spectral.labels(problem.rows.values(some, ids))
        every = np.zeros((n, spectral.factors.shape[1]))
        every[ids] = spectral.factors
        spectral = SpectralLabels(every, spectral.constants)
    model = replace(problem.rows, penalty=penalty, max_clusters=most_clusters)
    labels, spectral = _without_empty(labels, problem.weights, spectral)
    fitted = fitted_attributes(one_partition(model, labels), problem, model, spectral)
    if not is_sampled:
        bound = lower_bound(spectrum, penalty, n)
        return fitted | _spectral_attributes(spectrum, bound)
    bound = -np.inf
    if problem.options.is_semidefinite:
        bound = lower_bound(summed_spectrum(problem.rows, penalty, rng), penalty, n)
    fitted |= _spectral_attributes(spectrum, bound)
    fitted["status_"] += (SAMPLED if np.isfinite(bound) else NO_BOUND).format(len(ids))
    return fitted


def relax_features(
    problem: KernelProblem,
    penalty: float,
    most_clusters: int,
    map_: KernelFeatureMap,
    rng: np.random.RandomState,
) -> dict[str, Any]:
    """Return the attributes of a fit to features, centred where they are the rows."""
    assert problem.seen is not None
    weights, features = problem.weights, map_.of_seen(problem.seen.rows)
    centred = map_.landmarks is None
    spectrum, factors, mean = feature_spectrum(features, weights, penalty, centred, rng)
    bound = lower_bound(spectrum, penalty, problem.n)
    constant = np.zeros((1, 0))
    if centred:  # one cluster more: that of the constant eigenvector, whose eigenvalue is zero
        none = not len(spectrum.values)
        bound += spectrum.largest - penalty if none else 0.0
        bound += penalty
        constant = np.full((1, 1), 1.0 / np.sqrt(weights.sum()))
        factors = np.concatenate([np.zeros((len(factors), 1)), factors], axis=1)
    labels, spectral = _labelled(factors, constant, spectrum, most_clusters, weights, mean)
    if spectral is not None:
        labels = spectral.labels(features)
    labels, spectral = _without_empty(labels, weights, spectral)
    k = int(labels.max()) + 1
    volumes = np.bincount(labels, weights, k)
    member = np.zeros((problem.n, k))
    member[np.arange(problem.n), labels] = weights / volumes[labels]
    centres = np.ascontiguousarray(np.asarray(features.T @ member).T)
    costs = squared_distances(features, centres, labels)
    quantiles = measure_cost_quantiles(costs, labels.astype(np.int32), k, weights)
    model = FittedKernelFeatures(map_, centres, penalty, quantiles, spectral).shifted(problem.shift)
    inertia = float(weights @ costs)
    return {
        "_model": model,
        "labels_": labels.astype(np.int32),
        "n_clusters_": k,
        "cluster_weights_": volumes,
        "cluster_penalty_": penalty,
        "inertia_": inertia,
        **trace_attributes(AtOnce(), np.array([inertia + penalty * k]), k),
        **_spectral_attributes(spectrum, bound),
    }


def _labelled(
    factors: Floats,
    constant: Floats,
    spectrum: Spectrum,
    most_clusters: int,
    weights: Floats,
    mean: Floats | None = None,
) -> tuple[Any, SpectralLabels | None]:
    """Return labels (n,) by the eigenvectors, and how any row is labelled.

    ``constant``: (1, 1), the entry of the constant eigenvector before all others, or (1, 0).
    """
    n = len(weights)
    k = min(constant.shape[1] + len(spectrum.values), most_clusters)
    labels = np.zeros(n, np.int64)
    if k < 2:
        return labels, None
    heavy = weights > 0
    # Without the weights: entries of equal rows are equal then.
    rows = spectrum.vectors[heavy] / np.sqrt(weights[heavy])[:, np.newaxis]
    rows = np.concatenate([np.repeat(constant, len(rows), axis=0), rows], axis=1)
    labels[heavy], rotation = cluster_qr(rows[:, :k])
    entries = np.zeros(k)
    entries[: constant.shape[1]] = constant
    if mean is not None:
        entries = entries - mean @ factors[:, :k]
    return labels, SpectralLabels(
        np.ascontiguousarray(factors[:, :k] @ rotation), entries @ rotation
    )


def _spectral_attributes(spectrum: Spectrum, bound: float) -> dict[str, Any]:
    n_above = len(spectrum.values)
    return {
        "n_eigenvectors_": n_above,
        "eigenvalues_": spectrum.values,
        "lower_bound_": bound,
        "status_": DONE.format(f"{n_above} eigenvalue{'s' * (n_above != 1)}"),
    }


def _without_empty(
    labels: Any, weights: Floats, spectral: SpectralLabels | None
) -> tuple[Any, SpectralLabels | None]:
    """Return labels 0 to k-1 of clusters with weight; rows of no weight may lose theirs."""
    if spectral is None:
        return labels, None
    k = spectral.factors.shape[1]
    used = np.bincount(labels, weights, k) > 0
    if used.all():
        return labels, spectral
    labels = np.where(used[labels], (np.cumsum(used) - 1)[labels], 0)
    factors = np.ascontiguousarray(spectral.factors[:, used])
    return labels, SpectralLabels(factors, spectral.constants[used])


class SpectralDPMeans(KernelEstimator):
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
        Eigenvalues above it count. "auto" chooses as for `KernelDPMeans`, and takes a penalty
        between the eigenvalues on both sides; see docs/kernels.md.
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
    n_clusters : int or None, default=None
        The number of clusters, where it is known: as many leading eigenvectors, one less for
        "linear"; fewer clusters where no row is given to one. `cluster_penalty_` is then between
        the eigenvalues on both sides, and the kernel as given.
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
    kernel_, penalty_choice_
        As for `KernelDPMeans`. Where the linear kernel is chosen, its eigenvectors are fewer than
        round clusters may be: clusters are those of `DPMeans`, and the bound is that of the
        eigenvectors.
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

    n_eigenvectors_: int
    eigenvalues_: Floats
    lower_bound_: float

    _has_spectrum = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = KernelEstimator._kernel_constraints

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
        n_clusters: int | None = None,
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
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fitted(
        self, matrix: Matrix, weights: Floats | None, rng: np.random.RandomState, pool: Pool
    ) -> tuple[dict[str, Any], Status]:
        told = told_number(self, matrix.shape[0])
        problem = self._posed(matrix, weights, rng, pool)
        if told is not None:
            return self._relaxed_exactly(problem, told, rng)
        if self.cluster_penalty != "auto":
            penalty = float(self.cluster_penalty)
            return self._relaxed(problem, penalty, rng), Status.CONVERGED
        if self._chooses_kernel:
            linear, status = self._linear()._fit_rows(matrix, problem.weights)
            choice = self._choice(problem, matrix, linear, rng)
            if choice.is_linear or choice.k == 1:
                fitted = self._fitted_to_rows(matrix, weights, linear, rng, pool)
                return self._told(fitted, status, choice)
            if choice.chosen is not None and choice.chosen.dense is not None:
                how = (problem.options, rng, pool)
                problem = make_problem(matrix, weights, *how, given=choice.chosen.dense)
        else:
            choice = choose_clusters(problem, self._most_clusters, rng)
        penalty = choice.spectral_penalty
        self._say(f"penalty {penalty:.4g}: {choice.k} clusters")
        return self._told(self._relaxed(problem, penalty, rng), Status.CONVERGED, choice)

    def _relaxed_exactly(
        self, problem: KernelProblem, told: int, rng: np.random.RandomState
    ) -> tuple[dict[str, Any], Status]:
        """Return the attributes of a fit with as many leading eigenvectors.

        The penalty falls until one eigenvalue more exceeds it, if there is one.
        """
        rows = problem.rows
        total = float(np.sum(rows.weights * rows.diagonal))
        penalty, smallest = total / (told + 1), SMALLEST_PART * total
        fitted = self._relaxed(problem, penalty, rng)
        wanted = told - self._has_constant(problem)
        while len(fitted["eigenvalues_"]) <= wanted and penalty > smallest:
            penalty /= FALL
            fitted = self._relaxed(problem, penalty, rng)
        # Smaller eigenvalues are those of rounding, and their eigenvectors divide equal rows.
        values = np.append(fitted["eigenvalues_"], np.zeros(told + 1)).clip(smallest)
        low, high = float(values[wanted]), float(values[wanted - 1]) if wanted else np.inf
        known = ToldPenalty(Plateau(told, low, high).middle if wanted else 2.0 * low, low, high)
        fitted = self._relaxed(problem, known.penalty, rng)
        sentence = fitted["status_"]
        status = add_told(fitted, Status.CONVERGED, told, known, NO_MORE)
        fitted["status_"] = f"{sentence} {fitted['status_']}"
        return fitted, status

    def _fitted_to_rows(
        self,
        matrix: Matrix,
        weights: Floats | None,
        linear: dict[str, Any],
        rng: np.random.RandomState,
        pool: Pool,
    ) -> dict[str, Any]:
        """Return the attributes of `DPMeans`, with the spectrum of the linear kernel."""
        problem = make_problem(matrix, weights, KernelOptions("linear", {}, False), rng, pool)
        rows = KernelFeatureMap(None, None, None)
        penalty = linear["cluster_penalty_"]
        relaxed = relax_features(problem, penalty, self._most_clusters, rows, rng)
        spectrum = {name: relaxed[name] for name in OF_SPECTRUM}
        trace = trace_attributes(AtOnce(), np.array([linear["objective_"]]), linear["n_clusters_"])
        kept = {name: linear[name] for name in OF_DP_MEANS}
        return kept | trace | spectrum | {"status_": relaxed["status_"]}

    def _has_constant(self, problem: KernelProblem) -> bool:
        """Whether a constant eigenvector counts beside the others."""
        is_linear = isinstance(self.kernel, str) and self.kernel == "linear"
        return is_linear and self.n_landmarks is None and not problem.options.balance

    def _relaxed(
        self, problem: KernelProblem, penalty: float, rng: np.random.RandomState
    ) -> dict[str, Any]:
        """Return the attributes of a fit at a penalty."""
        if self.n_landmarks is not None:
            features = self._landmark_map(problem)
            fitted = relax_features(problem, penalty, self._most_clusters, features, rng)
            fitted["status_"] += LANDMARKS.format(features.n_landmarks)
        elif self._has_constant(problem):
            rows = KernelFeatureMap(None, None, None)
            fitted = relax_features(problem, penalty, self._most_clusters, rows, rng)
        else:
            fitted = relax_kernel(problem, penalty, self._most_clusters, rng)
        return fitted
