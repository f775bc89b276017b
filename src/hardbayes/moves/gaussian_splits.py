"""Splits, merges and exchanges of clusters with covariances, judged from their statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.matrices import chunks
from hardbayes.structure.gaussians import Gaussians, distances, inverse_roots, statistics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.geometry.base import Floats
    from hardbayes.structure.gaussians import GaussianPartition

AXES = 3  # widest directions along which a cluster is cut
PAIRS = 3  # rows drawn in twos, around which it is cut
ROUNDS = 12  # of choosing and refitting within a cut
NEAREST = 4  # neighbours with which a union is priced exactly


class Division(NamedTuple):
    """The best way found to make two of a cluster."""

    saved: float  # how much lower the objective would be, the penalty aside
    ids: NDArray[np.intp]  # (m,): the rows of the cluster
    right: NDArray[np.bool_]  # (m,): which of them would leave it


def divide(
    rows: Floats,
    weights: Floats,
    ids: NDArray[np.intp],
    clusters: Gaussians,
    partition: GaussianPartition,
    rng: np.random.RandomState,
) -> Division:
    """Return the best of several divisions of one cluster, whose rows ``ids`` names."""
    best = Division(0.0, ids, np.zeros(len(ids), bool))
    heavy = np.flatnonzero(weights[ids] > 0)
    if len(heavy) < 2:
        return best
    own, w = rows[ids], weights[ids]
    whole = float(partition.costs(clusters)[0])
    for start in _starts(own, heavy, clusters, rng):
        right = _refine(own, w, start, partition)
        parts = statistics(own, w, right.astype(np.intp), 2, partition.diagonal)
        if (parts.weights > 0).all():
            saved = whole - float(partition.costs(parts).sum())
            if saved > best.saved:
                best = Division(saved, ids, right)
    return best


def _starts(
    rows: Floats, heavy: NDArray[np.intp], cluster: Gaussians, rng: np.random.RandomState
) -> list[NDArray[np.bool_]]:
    """Return on which side rows begin: cut at the mean along wide axes, or around two rows."""
    gaps = rows - cluster.means[0]
    if cluster.diagonal:
        directions = np.eye(rows.shape[1])[np.argsort(-cluster.scatters[0])[:AXES]]
    else:
        directions = np.linalg.eigh(cluster.scatters[0])[1].T[::-1][:AXES]
    starts = [gaps @ direction > 0 for direction in directions]
    for _ in range(PAIRS):
        a, b = rows[heavy[rng.randint(len(heavy), size=2)]]
        starts.append(((rows - a) ** 2).sum(axis=1) > ((rows - b) ** 2).sum(axis=1))
    return starts


def _refine(
    rows: Floats, weights: Floats, right: NDArray[np.bool_], partition: GaussianPartition
) -> NDArray[np.bool_]:
    """Let rows choose between two clusters that follow them, until none moves."""
    for _ in range(ROUNDS):
        parts = statistics(rows, weights, right.astype(np.intp), 2, partition.diagonal)
        if not (parts.weights > 0).all():
            break
        apart = distances(rows, parts.means, inverse_roots(parts.scatters))
        moved = apart[:, 1] < apart[:, 0]
        if np.array_equal(moved, right):
            break
        right = moved
    return right


def union_costs(
    clusters: Gaussians, partition: GaussianPartition
) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """Return pairs of neighbouring clusters and what their unions cost, cheapest first."""
    k = clusters.k
    if k < 2:
        nobody = np.zeros(0, np.intp)
        return nobody, nobody, np.zeros(0)
    apart = distances(clusters.means, clusters.means, inverse_roots(clusters.scatters))
    apart = np.minimum(apart, apart.T)
    np.fill_diagonal(apart, np.inf)
    near = min(NEAREST, k - 1)
    left = np.repeat(np.arange(k), near)
    right = np.argpartition(apart, near - 1, axis=1)[:, :near].ravel()
    pairs = np.unique(np.sort(np.stack([left, right], axis=1), axis=1), axis=0)
    costs = np.concatenate(
        [
            partition.union_costs(clusters.pick(pairs[part, 0]), clusters.pick(pairs[part, 1]))
            for part in chunks(len(pairs), clusters.scatters[0].size)
        ]
    )
    order = np.argsort(costs, kind="stable")
    return pairs[order, 0], pairs[order, 1], costs[order]
