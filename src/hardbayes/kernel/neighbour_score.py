"""How clearly clusters are apart: what their borders cut, by what halves of them would cut.

Rows have weighted links to their nearest neighbours. For a cluster c, ``out(c)`` is the share of
its links that leave it, and ``in(c)`` the least share of its inner links that dividing it in halves
would cut. Clusters are apart where borders are cheap to cut and halves are not:

    border = max_c out(c) / in(c),    ratio = sum_c n_c out(c) / sum_c n_c in(c).

Both are about one where a border is a place like any other, whatever the number of clusters, the
kernel and its bandwidth. So partitions from different kernels, and of different numbers, compare on
one graph, and no draws without structure are needed.

The least cut of a cluster is looked for among sweeps along its principal axes, and along the
eigenvector of its links that belongs to the second largest eigenvalue; each side has a fifth of the
links.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from hardbayes.core.arrays import Floats
from hardbayes.core.borders import TINY, borders_of
from hardbayes.core.centre_free import Ids
from hardbayes.core.frame import power_of_two_scale
from hardbayes.core.pool import one_blas_thread

NEIGHBOURS = 30  # to which a row has links
NEAR = 10  # the neighbour whose distance is the scale of a row's links
COORDINATES = 16  # principal axes of all rows, from which those of clusters come
ROUNDS = 6  # of the iteration that finds them
ON_A_LINE = 1e-10  # of the variance, beside the first axis


class Apart(NamedTuple):
    """How clearly clusters are apart: the lower, the clearer."""

    ratio: float
    border: float


class NeighbourScore:
    """The links of some rows, by which partitions of them are compared."""

    def __init__(self, squares: Floats, weights: Floats) -> None:
        """Take squared distances (n, n) and weights (n,)."""
        n = len(squares)
        squares = squares * power_of_two_scale(float(squares.max(initial=0.0)))
        self.weights = weights / weights.mean()
        self.links, self.reaches = _neighbour_links(squares, self.weights)
        self.coordinates, spreads = _principal(squares, min(COORDINATES, n))
        self.on_a_line = n < 3 or not spreads[1:].max() > ON_A_LINE * spreads[0]

    def of(self, labels: Ids) -> Apart:
        """Return how clearly clusters of labels (n,), from 0 on, are apart."""
        return self._apart(labels, self.links, self.coordinates, self.weights)

    def within(self, ids: Ids, labels: Ids) -> Apart:
        """Return the same of some rows (m,) alone: links to others do not count."""
        links = self.links[ids][:, ids]
        return self._apart(labels, links, self.coordinates[ids], self.weights[ids])

    @staticmethod
    def _apart(labels: Ids, links: csr_array, coordinates: Floats, weights: Floats) -> Apart:
        out, halves = borders_of(links, labels, coordinates)
        sizes = np.bincount(labels, weights)
        known = np.isfinite(halves)
        outside, inside = float(sizes @ out), float(sizes[known] @ halves[known])
        cut = known & (out > ON_A_LINE)
        border = out[cut] / np.maximum(halves[cut], ON_A_LINE * out[cut])
        ratio = outside / max(inside, ON_A_LINE * outside, TINY)
        return Apart(ratio, float(border.max(initial=0.0)))


def _neighbour_links(squares: Floats, weights: Floats) -> tuple[csr_array, Floats]:
    """Return links (n, n), and the distance (n,) of each row to its tenth neighbour."""
    n = len(squares)
    count = min(NEIGHBOURS, n - 1)
    if count < 1:
        return csr_array((n, n)), np.zeros(n)
    others = squares.copy()
    np.fill_diagonal(others, np.inf)
    near = np.argpartition(others, count - 1, axis=1)[:, :count]
    apart = np.take_along_axis(others, near, axis=1)
    reaches = np.sqrt(np.partition(apart, min(NEAR, count) - 1, axis=1)[:, min(NEAR, count) - 1])
    scales = np.maximum(max(float(reaches.mean()), TINY**0.5) ** 2, reaches**2 / 2.0)
    values = np.exp(-2.0 * apart / (scales[:, np.newaxis] + scales[near]))
    values *= weights[:, np.newaxis] * weights[near]
    starts = np.arange(0, n * count + 1, count)
    links = csr_array((values.ravel(), near.ravel(), starts), shape=(n, n))
    return csr_array(links.maximum(links.T)), reaches


def _principal(squares: Floats, count: int) -> tuple[Floats, Floats]:
    """Return principal coordinates (n, count) of rows, and their squared lengths (count,)."""
    n = len(squares)
    means = squares.mean(axis=1)
    with one_blas_thread():
        found = np.random.RandomState(0).standard_normal((n, count))
        for _ in range(ROUNDS):
            found = np.linalg.qr(found)[0]
            # The centred inner products, times what was found.
            sums = found.sum(axis=0)
            found = -0.5 * (squares @ found - np.outer(means, sums))
            found -= found.mean(axis=0)
        left, spreads, _ = np.linalg.svd(found, full_matrices=False)
    return left * np.sqrt(spreads), spreads
