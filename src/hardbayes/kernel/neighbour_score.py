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
from scipy.linalg import LinAlgError, eigh
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackError, eigsh

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids
from hardbayes.core.frame import power_of_two_scale
from hardbayes.core.pool import one_blas_thread

NEIGHBOURS = 30  # to which a row has links
NEAR = 10  # the neighbour whose distance is the scale of a row's links
AXES = 3  # principal axes of a cluster along which it is divided
COORDINATES = 16  # principal axes of all rows, from which those of clusters come
ROUNDS = 6  # of the iteration that finds them
LEAST_SIDE = 0.2  # of the links, on each side of a half
FEWEST = 8  # rows of a cluster that is divided into halves
MOST_DENSE = 150  # rows of a cluster up to which all its links are held
ON_A_LINE = 1e-10  # of the variance, beside the first axis
TINY = 1e-300  # instead of zero, against overflow of a ratio


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
        degrees = np.asarray(links.sum(axis=1)).ravel()
        outside = inside = border = 0.0
        for c in range(int(labels.max()) + 1):
            ids = np.flatnonzero(labels == c)
            own, volume = links[ids][:, ids], max(float(degrees[ids].sum()), TINY)
            out = max(volume - float(own.sum()), 0.0) / volume
            halves = _least_half(own, coordinates[ids])
            size = float(weights[ids].sum())
            outside += size * out
            if np.isfinite(halves):
                inside += size * halves
                if out > ON_A_LINE:
                    border = max(border, out / max(halves, ON_A_LINE * out))
        return Apart(outside / max(inside, ON_A_LINE * outside, TINY), border)


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


def _least_half(links: csr_array, coordinates: Floats) -> float:
    """Return the least share of links that halves cut; infinite for a few rows."""
    n = links.shape[0]
    if n < FEWEST:
        return np.inf
    pairs = links.tocoo()
    upper = pairs.row < pairs.col
    ends = (pairs.row[upper], pairs.col[upper], pairs.data[upper])
    degrees = np.maximum(np.asarray(links.sum(axis=1)).ravel(), 1e-12)
    centred = coordinates - coordinates.mean(axis=0)
    with one_blas_thread():
        along = centred @ eigh(centred.T @ centred)[1][:, : -AXES - 1 : -1]
        slow = _slowest(links, degrees)
    sweeps = [*along.T, *([] if slow is None else [slow])]
    return min(_least_cut(sweep, *ends, degrees) for sweep in sweeps)


def _slowest(links: csr_array, degrees: Floats) -> Floats | None:
    """Return the positions (n,) of rows along the slowest walk on the links; None if not found."""
    n, roots = len(degrees), np.sqrt(degrees)
    scaled = links.multiply(1.0 / roots[:, np.newaxis]).multiply(1.0 / roots).tocsr()
    try:
        if n <= MOST_DENSE:
            vectors = eigh(scaled.toarray(), subset_by_index=[n - 2, n - 1])[1]
        else:
            values, vectors = eigsh(scaled, 2, which="LA", tol=1e-2, v0=np.ones(n))
            vectors = vectors[:, np.argsort(values)]
    except (ArpackError, LinAlgError):
        return None
    # Lanczos iterations may find fewer, in links that fall apart.
    return np.asarray(vectors[:, 0] / roots) if vectors.shape[1] == 2 else None


def _least_cut(
    positions: Floats, lefts: Ids, rights: Ids, values: Floats, degrees: Floats
) -> float:
    """Return the least share cut by ``positions <= t``, for any t with enough on both sides."""
    n = len(positions)
    order = np.argsort(positions, kind="stable")
    ranks = np.empty(n, np.int64)
    ranks[order] = np.arange(n)
    left, right = ranks[lefts], ranks[rights]
    begins = np.bincount(np.minimum(left, right), values, n)
    ends = np.bincount(np.maximum(left, right), values, n)
    cuts = np.cumsum(begins - ends)[:-1]
    below = np.cumsum(degrees[order])[:-1]
    sides = np.minimum(below, degrees.sum() - below)
    counts = sides >= LEAST_SIDE * degrees.sum()
    return float((cuts[counts] / sides[counts]).min()) if counts.any() else np.inf
