"""A cluster in the space of a kernel in two: cuts along leading eigenvectors, then moves.

With M the weighted kernel ``w_i^1/2 K_ij w_j^1/2`` of the cluster, two halves save what ``z'Kz /
z'w`` summed over both exceeds that of the whole. The relaxation is the leading eigenvector of M
without the direction ``w^1/2``, which the whole cluster uses up (Kulis & Jordan 2012, Theorem 5.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids
from hardbayes.core.pool import one_blas_thread

if TYPE_CHECKING:
    from hardbayes.kernel.clusters import KernelMatrix

N_AXES = 3  # eigenvectors along which a cluster is cut
MAX_DENSE = 200  # rows up to which LAPACK is quicker than Lanczos iterations
MAX_PASSES = 8  # of single-row moves between the halves
# Of the largest kernel value, what is left without the mean of equal rows: more would leave rows
# together that differ little, less would divide what rounding made.
EQUAL = 1e-13
TOLERANCE = 0.01  # of eigenvalues: an order of the rows needs no more


def split_in_two(part: KernelMatrix, rng: np.random.RandomState) -> tuple[float, NDArray[np.bool_]]:
    """Return how much the best halves found save, and which rows are in the second.

    Zero where there are none. All rows have weight, and the penalty is zero.
    """
    whole = np.arange(part.n)
    nothing = np.zeros(part.n, np.bool_)
    if part.n < 2:
        return 0.0, nothing
    weights = part.weights
    linked = part.values(whole, whole) * weights * weights[:, np.newaxis]
    together = float(linked.sum() / weights.sum())
    best, saved = nothing, 0.0
    for order in _orders(linked, weights, rng):
        ratios = _cuts(linked[np.ix_(order, order)], weights[order])
        sides = np.zeros(part.n, np.int64)
        sides[order[: int(np.argmax(ratios)) + 1]] = 1
        sides, _ = part.move_rows(sides, part.statistics(sides, 2), MAX_PASSES)
        if not 0 < sides.sum() < part.n:
            continue
        clusters = part.statistics(sides, 2)
        gain = float((clusters.inside / clusters.volumes).sum()) - together
        if gain > saved:
            best, saved = sides == 1, gain
    return saved, best


def _orders(linked: Floats, weights: Floats, rng: np.random.RandomState) -> list[Ids]:
    """Return orders of the rows: along leading eigenvectors, and by distance from the mean.

    None where only rounding tells the rows apart.
    """
    root = np.sqrt(weights)
    whole = linked / root / root[:, np.newaxis]
    matrix = centre(whole, weights)
    if not np.abs(matrix).max() > EQUAL * np.abs(whole).max():
        return []
    distances = np.diag(linked) / weights**2 - 2 * linked.sum(axis=1) / weights / weights.sum()
    vectors = _leading(matrix, rng) / root[:, np.newaxis]
    return [*np.argsort(vectors, axis=0, kind="stable").T, np.argsort(-distances, kind="stable")]


def centre(matrix: Floats, weights: Floats) -> Floats:
    """Return a weighted kernel matrix (m, m) without the direction of the roots of the weights."""
    used = np.sqrt(weights / weights.sum())
    along = matrix @ used
    return matrix - np.outer(used, along) - np.outer(along - (used @ along) * used, used)


def _leading(matrix: Floats, rng: np.random.RandomState) -> Floats:
    """Return a few eigenvectors (m, axes) of the largest eigenvalues."""
    m = len(matrix)
    n_axes = min(N_AXES, m)
    with one_blas_thread():
        if m > MAX_DENSE:
            start = rng.standard_normal(m)
            try:
                vectors = eigsh(matrix, n_axes, which="LA", v0=start, tol=TOLERANCE, maxiter=20)[1]
            except ArpackNoConvergence as error:
                vectors = error.eigenvectors
            if vectors.shape[1]:
                return vectors
        return eigh(matrix, subset_by_index=[m - n_axes, m - 1])[1]


def _cuts(linked: Floats, weights: Floats) -> Floats:
    """Return what the rows up to each but the last, and those after it, have inside by weight."""
    earlier = np.tril(linked, -1).sum(axis=1)
    inside = np.cumsum(2.0 * earlier + np.diag(linked))
    reach = np.cumsum(linked.sum(axis=1))
    outside = inside[-1] - 2.0 * reach + inside
    volumes = np.cumsum(weights)
    return (inside / volumes)[:-1] + outside[:-1] / (volumes[-1] - volumes[:-1])
