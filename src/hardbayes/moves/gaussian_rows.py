"""Single rows between clusters with covariances, each judged by the exact change of the objective.

With ``m = (x - mu)' (I + S)^-1 (x - mu)`` a row of weight w pays ``rate log(1 + w n / (n + w) m)``
to join a cluster of weight n, and frees ``-rate log(1 - w n / (n - w) m)`` where it leaves one: the
matrix determinant lemma. Who cannot be moved so cannot be moved by a sweep either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.matrices import chunks
from hardbayes.structure.gaussians import distances, inverse_roots

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.geometry.base import Floats
    from hardbayes.structure.gaussians import GaussianPartition, Gaussians

NOISE = 1e-10  # of what is compared: no move gains less
MOST_UPDATES = 64  # of an inverse, before it is computed anew


def relocate_rows(
    rows: Floats,
    weights: Floats,
    labels: NDArray[np.intp],
    clusters: Gaussians,
    partition: GaussianPartition,
    max_passes: int = 8,
) -> int:
    """Let rows move one by one while that lowers the objective; return the number of moves.

    IN/OUT labels (n,). Only rows that would move as things stood at the beginning of a pass are
    visited in it. Nobody leaves a cluster that holds one row of weight, nor opens one: sweeps and
    merges do.
    """
    walk = _Walk(weights, labels, clusters, partition.rate)
    n_moves = 0
    for _ in range(max_passes):
        before = n_moves
        for row in restless(rows, weights, labels, walk, partition.rate):
            n_moves += walk.move(int(row), rows[row], labels)
        if n_moves == before:
            break
    return n_moves


def restless(
    rows: Floats, weights: Floats, labels: NDArray[np.intp], walk: _Walk, rate: float
) -> NDArray[np.intp]:
    """Return the rows that would gain by moving, all others staying where they are."""
    found = []
    roots = inverse_roots(walk.scatters)
    for part in chunks(len(rows), max(rows.shape[1], len(roots))):
        w = weights[part, np.newaxis]
        prices, freed = _prices(
            distances(rows[part], walk.means, roots), w, labels[part], walk.weights
        )
        gains = freed - prices.min(axis=1)
        movable = (weights[part] > 0) & (walk.members[labels[part]] > 1)
        found.append(part.start + np.flatnonzero(movable & (gains > NOISE * freed)))
    return np.concatenate(found)


def freed_by_leaving(
    rows: Floats, weights: Floats, labels: NDArray[np.intp], clusters: Gaussians
) -> Floats:
    """Return by how much clusters' log-determinants fall when a row (n,) leaves; 0 for the last."""
    freed = np.zeros(len(rows))
    roots = inverse_roots(clusters.scatters)
    members = np.bincount(labels[weights > 0], minlength=clusters.k)
    for part in chunks(len(rows), max(rows.shape[1], len(roots))):
        w = weights[part, np.newaxis]
        apart = distances(rows[part], clusters.means, roots)
        free = (weights[part] > 0) & (members[labels[part]] > 1)
        freed[part] = np.where(free, _prices(apart, w, labels[part], clusters.weights)[1], 0.0)
    return freed


def _prices(
    apart: Floats, w: Floats, own: NDArray[np.intp], sizes: Floats
) -> tuple[Floats, Floats]:
    """Return what rows pay to join (m, k), infinity at home, and free where they leave (m,)."""
    prices = np.log1p(w * sizes / (sizes + w) * apart)
    at = np.arange(len(own)), own
    home, weight = sizes[own], w[:, 0]
    left = np.maximum(home - weight, 1e-300)
    freed = -np.log1p(-np.minimum(weight * home / left * apart[at], 1 - 1e-15))
    prices[at] = np.inf
    return prices, freed


class _Walk:
    """Clusters that follow every row that moves."""

    def __init__(
        self, weights: Floats, labels: NDArray[np.intp], clusters: Gaussians, rate: float
    ) -> None:
        self.row_weights = weights
        self.weights, self.means, self.scatters = (part.copy() for part in clusters)
        self.members = np.bincount(labels[weights > 0], minlength=clusters.k)
        self.diagonal = clusters.diagonal
        self.inverses = np.array([self._inverse(c) for c in range(clusters.k)])
        self.updates = np.zeros(clusters.k, int)

    def move(self, row: int, x: Floats, labels: NDArray[np.intp]) -> bool:
        """Move one row to where the objective is lowest; return whether that is elsewhere."""
        own, w = int(labels[row]), float(self.row_weights[row])
        if self.members[own] == 1:
            return False
        gaps = x - self.means
        if self.diagonal:
            apart = np.einsum("kd,kd,kd->k", gaps, self.inverses, gaps)
        else:
            apart = np.einsum("kd,kd->k", np.einsum("kd,kde->ke", gaps, self.inverses), gaps)
        prices, freed = _prices(
            apart[np.newaxis], np.array([[w]]), labels[row : row + 1], self.weights
        )
        best = int(prices[0].argmin())
        if not prices[0, best] < freed[0] * (1 - NOISE):
            return False
        self._change(own, -w, gaps[own])
        self._change(best, w, gaps[best])
        labels[row] = best
        return True

    def _change(self, c: int, w: float, gap: Floats) -> None:
        """Add weight w at ``mean + gap`` to cluster c, or take it away where w < 0."""
        size = self.weights[c]
        factor = w * size / (size + w)
        self.members[c] += 1 if w > 0 else -1
        self.weights[c] = size + w
        self.means[c] += w / (size + w) * gap
        self.scatters[c] += factor * (gap * gap if self.diagonal else np.outer(gap, gap))
        self.updates[c] += 1
        if self.diagonal or w < 0 or self.updates[c] % MOST_UPDATES == 0:
            # A row taken away may leave less of the inverse than rounding: not by an update.
            self.inverses[c] = self._inverse(c)
        else:
            seen = self.inverses[c] @ gap
            self.inverses[c] -= factor / (1.0 + factor * (gap @ seen)) * np.outer(seen, seen)

    def _inverse(self, c: int) -> Floats:
        if self.diagonal:
            return 1.0 / (1.0 + np.maximum(self.scatters[c], 0.0))
        inverse: Floats = np.linalg.inv(self.scatters[c] + np.eye(len(self.scatters[c])))
        return inverse
