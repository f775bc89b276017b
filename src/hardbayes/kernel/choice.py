"""The automatic penalty of kernels: a gap of the spectrum.

The eigenvalues of a balanced kernel are at most one, and as many are near one as there are parts
with few links between them: ``1 - e_k`` is about the share of links that k clusters cut. Where it
rises by a large factor ``(1 - e_(k+1)) / (1 - e_k)``, more than k clusters cut through what is
linked. Along a line it rises by four from two pieces to three, and by less from then on; so rises
by five or more tell clusters. The last of them is taken, since clusters may be near each other in
groups; if there is none, the largest rise.

There is one cluster where cutting the rows in two takes nearly as much as cutting uniform rows with
the same principal axes, or as much if three pieces take six times more. A small part has to be cut
off more easily than that: outliers are.

The constants were chosen on the shapes of FCPS and of the Warsaw University of Technology, on
generated moons, rings, spirals, blobs and pairs of Gaussians, and on samples of one distribution.

Other kernels have no such scale. There clusters of a sample are split one by one, rows moving
after each split, and k is the number that is best over the widest range of penalties, in their
logarithm: two clusters or more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh

from hardbayes.core.arrays import Floats, is_sparse
from hardbayes.core.centre_free import Ids, labelled
from hardbayes.core.centre_free_descent import Splits
from hardbayes.core.plateaus import plateaus, widest
from hardbayes.core.pool import one_blas_thread
from hardbayes.kernel.mercer import MAX_ANCHORS
from hardbayes.kernel.problem import KernelProblem, make_problem
from hardbayes.kernel.spectrum import cluster_qr, weighted_matrix
from hardbayes.kernel.splitting import centre

if TYPE_CHECKING:
    from hardbayes.kernel.clusters import KernelMatrix

MAX_CLUSTERS = 25
MAX_CUT = 0.45  # of rows with clusters, by what cutting uniform rows takes
SMALL_PART = 0.07  # of the rows: for a smaller part, the cut is that much smaller
MIN_CUT = 0.01  # below which differences are no further evidence, in the same unit
CLEAR_RISE = 5.0  # of a cut, by a factor
STEEP_RISE = 6.0  # from two pieces to three, with which the first need not be that easy to cut
USUAL_CUT = 0.01  # of uniform rows, where there are no rows to compare with
MAX_AXES = 64  # principal axes of uniform rows
MAX_PASSES = 20  # of single-row moves
BELOW = 1.0 - 1e-6  # of a penalty at which two clusters had better be one


@dataclass(frozen=True, eq=False)
class KernelChoice:
    """A number of clusters, with clusters of a sample of the rows."""

    k: int
    ids: Ids  # (m,): the sample
    weights: Floats  # (m,): with the sum that all rows have
    labels: Ids  # (m,)
    spectral_penalty: float  # between the eigenvalues on both sides of the gap
    penalty: float  # at which no two of the clusters had better be one


def choose_clusters(
    problem: KernelProblem, max_clusters: int, rng: np.random.RandomState
) -> KernelChoice:
    """Return the number of clusters, and penalties for it."""
    ids, weights = problem.anchors, problem.anchor_weights
    part = problem.rows.part(ids, weights)
    most = min(MAX_CLUSTERS, max_clusters, part.n - 1)
    values, vectors = _leading(weighted_matrix(part))
    if most < 1:
        labels = np.zeros(part.n, np.int64)
        return KernelChoice(1, ids, weights, labels, *(float(values[0]) / 2.0,) * 2)
    if not problem.options.balance:
        return _widest_plateau(problem, part, values, most, rng)
    entries = vectors / np.sqrt(weights)[:, np.newaxis]
    smaller = np.bincount(cluster_qr(entries[:, :2])[0], weights, 2).min() / weights.sum()
    k, between = _gap_below_one(values[: most + 1], _uniform_cut(problem, ids, rng), smaller)
    labels = cluster_qr(entries[:, :k])[0] if k > 1 else np.zeros(part.n, np.int64)
    labels, penalty = _stable_penalty(part, labels, between, rng)
    return KernelChoice(k, ids, weights, labels, between, penalty)


def _widest_plateau(
    problem: KernelProblem,
    part: KernelMatrix,
    values: Floats,
    most: int,
    rng: np.random.RandomState,
) -> KernelChoice:
    """Return the number of clusters that is best over the widest range of penalties."""
    part = replace(part, max_clusters=most + 1)
    splits = Splits(rng)
    current = labelled(part, np.zeros(part.n, np.int64))
    found = {1: current}
    while current.k <= most:
        tried = splits.of(current)
        best = max(range(current.k), key=lambda c: tried[c].saved)
        if not tried[best].saved > 0:
            break
        labels = current.labels.copy()
        members = current.members[best]
        labels[members[part.second_half(members, tried[best])]] = current.k
        current = labelled(part, _move_rows(part, labels, current.k + 1))
        if current.k in found:
            break
        found[current.k] = current
    fits = [(k, float(each.costs.sum())) for k, each in found.items()]
    # Clusters of one row each fit perfectly and say nothing; those of equal rows do.
    wide = [p for p in plateaus(fits) if p.k <= most and (p.low > 0 or part.n >= 4 * p.k)]
    chosen = widest(wide) if wide else None
    k = chosen.k if chosen else 1
    penalty = chosen.middle if chosen else max(float(values[0]), 1e-300)
    n_above = k
    if problem.options.kernel == "linear":  # centred: one eigenvector less than clusters
        values, n_above = _leading(centre(weighted_matrix(part), part.weights))[0], k - 1
    high = float(values[n_above - 1]) if n_above else 2.0 * float(values[0])
    low = float(values[n_above]) if n_above < len(values) else 0.0
    between = float(np.sqrt(high * low)) if low > 0 else high / 2.0
    ids, weights = problem.anchors, problem.anchor_weights
    return KernelChoice(k, ids, weights, found[k].labels, between, penalty)


def _gap_below_one(values: Floats, uniform_cut: float, smaller: float) -> tuple[int, float]:
    """Return the number of leading eigenvalues before the gap, and a penalty within it.

    ``smaller`` is the share of the rows in the smaller of two parts.
    """
    cuts = np.maximum(1.0 - values, MIN_CUT * uniform_cut)
    rises = cuts[2:] / cuts[1:-1]
    clear = np.flatnonzero(rises >= CLEAR_RISE)
    largest = MAX_CUT * min(1.0, smaller / SMALL_PART)
    if smaller >= SMALL_PART and len(rises) and rises[0] >= STEEP_RISE:
        largest = 1.0
    if 1.0 - values[1] > largest * uniform_cut:
        k = 1
    elif len(rises) == 0:
        k = 2
    else:
        k = 2 + int(clear[-1] if len(clear) else np.argmax(rises))
    beyond = cuts[k] if k < len(cuts) else 2.0 * cuts[k - 1]
    return k, 1.0 - float(np.sqrt(cuts[k - 1] * beyond))


def _uniform_cut(problem: KernelProblem, ids: Ids, rng: np.random.RandomState) -> float:
    """Return what cutting uniform rows with the same principal axes in two takes."""
    if problem.seen is None:
        return USUAL_CUT
    rows, weights = problem.seen.rows[ids], problem.anchor_weights
    dense = rows.toarray() if is_sparse(rows) else rows
    with one_blas_thread():
        spread = np.linalg.svd(
            (dense - np.average(dense, axis=0, weights=weights)) * np.sqrt(weights)[:, np.newaxis],
            compute_uv=False,
        )[:MAX_AXES]
    n = min(problem.n_counted, MAX_ANCHORS)
    uniform = rng.uniform(-1.0, 1.0, (n, len(spread))) * spread
    null = make_problem(uniform, None, problem.options, rng, problem.pool)
    cut = 1.0 - float(_leading(weighted_matrix(null.rows), 2)[0][1])
    # Where the kernel is narrow, uniform rows fall apart too, and only rounding is left.
    return max(cut, float(np.finfo(float).eps))


def _leading(matrix: Floats, count: int = MAX_CLUSTERS + 1) -> tuple[Floats, Floats]:
    n = len(matrix)
    with one_blas_thread():
        values, vectors = eigh(matrix, subset_by_index=[max(0, n - count), n - 1])
    return values[::-1], vectors[:, ::-1]


def _move_rows(part: KernelMatrix, labels: Ids, k: int) -> Ids:
    """Return labels after moves of rows among k clusters, at no penalty."""
    return part.move_rows(labels, part.statistics(labels, k), MAX_PASSES)[0]


def _stable_penalty(
    part: KernelMatrix, labels: Ids, between: float, rng: np.random.RandomState
) -> tuple[Ids, float]:
    """Return clusters after moves of rows, and a penalty at which they stay.

    Below what the cheapest merge would cost and, if possible, above what a split would save;
    within the gap of the spectrum where that is between both.
    """
    labels = np.unique(labels, return_inverse=True)[1]
    current = labelled(part, _move_rows(part, labels, int(labels.max()) + 1))
    labels, k, clusters = current.labels, current.k, current.statistics
    low = max(each.saved for each in Splits(rng).of(current))
    if k == 1:
        return labels, max(between, low / BELOW)
    high = BELOW * float(part.merges(clusters).costs[0])
    if low < high:
        return labels, between if low < between < high else (low + high) / 2.0
    return labels, high
