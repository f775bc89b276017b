"""Rows of a mixture of Gaussians, in memory: what finding a number of clusters needs of them.

Columns have mean zero and variance one. Clusters are weights (k,), means (k, d) and scatters
(k, h, d). The number of threads does not matter for any result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids
from hardbayes.core.dip import dip_p_value
from hardbayes.core.pool import Pool
from hardbayes.gaussian.clusters import GaussianRows
from hardbayes.gaussian.compiled import moves
from hardbayes.gaussian.compiled import statistics as kernels

MAX_ROWS = 1 << 10  # of a cluster, from which its splits are found
ROUNDS = np.array([4, 8])  # of a split: with one covariance for both halves, then with two


class Halves(NamedTuple):
    """Splits of each cluster in two, t of them."""

    weights: Floats  # (k, t, 2)
    means: Floats  # (k, t, 2, d)
    scatters: Floats  # (k, t, 2, h, d), lower triangles
    found: NDArray[np.bool_]  # (k, t): whether there is such a split
    # Every second split, from the first on, has one covariance for both halves.


class MixtureRows(GaussianRows):
    """Rows (n, d) with weights (n,) > 0, which are numbers of repetitions.

    Parameters
    ----------
    rows, jittered : array (n, d)
        Rows, and the same with noise as wide as the gaps between their values, so that rounded
        numbers have no modes of their own.
    weights : array (n,)
    floor : array (d,)
        A variance that every row has besides: that of rounding.
    diagonal : bool
    pool : Pool
    """

    def __init__(
        self,
        rows: Floats,
        jittered: Floats,
        weights: Floats,
        floor: Floats,
        diagonal: bool,
        pool: Pool,
    ) -> None:
        super().__init__(rows, weights, diagonal, pool)
        self.jittered = jittered
        self.floor = floor
        self.total = float(weights.sum())
        self.middle = weights @ rows / self.total
        self.least_rows = 2.0 if diagonal else self.d + 1.0  # that it takes for a covariance
        self._scratch = np.zeros((pool.n_threads, 5, self._h, self.d))

    def part(self, ids: NDArray[np.integer]) -> MixtureRows:
        """Return some of the rows."""
        taken = self.rows[ids], self.jittered[ids], self.weights[ids]
        return MixtureRows(*taken, self.floor, self.diagonal, self.pool)

    def by_cluster(self, labels: Ids, k: int) -> tuple[Ids, Ids]:
        """Return rows by cluster (n,), ascending within each, and where each begins (k + 1,)."""
        order, places = np.empty(self.n, np.int64), np.zeros(k + 1, np.int64)
        kernels.group_rows(labels, places, order)
        return order, places

    # -- covariances -------------------------------------------------------------------------------

    def add_floor(self, matrices: Floats, weights: Floats | float = 1.0) -> Floats:
        """Return matrices (k, h, d) with ``weights`` (k,) times the floor on their diagonals."""
        out = matrices.copy()
        added = np.multiply.outer(np.broadcast_to(weights, len(matrices)), self.floor)
        if self.diagonal:
            out[:, 0] += added
        else:
            at = np.arange(self.d)
            out[:, at, at] += added
        return out

    def factorise(self, matrices: Floats) -> tuple[Floats, Floats]:
        """Return roots (k, h, d) with ``W'W = M^-1``, and ``log|M|`` (k,)."""
        return self._invert(matrices, 0.0, kernels.PRECISION)

    # -- rows and clusters -------------------------------------------------------------------------

    def choose_near(
        self, means: Floats, roots: Floats, offsets: Floats, near: Ids, labels: Ids
    ) -> Ids:
        """Return the cluster (n,) of least offset + distance among a row's own and those near it.

        ``near`` (k, m): candidates of the rows of each cluster.
        """
        labels, work = labels.copy(), (1 + near.shape[1]) * self._h * self.d
        given = (self.rows, means, roots, offsets, near)
        self._run(kernels.choose, self.n, work, *given, labels)
        return labels

    def two_nearest(
        self, means: Floats, roots: Floats, offsets: Floats, near: Ids, guess: Ids
    ) -> tuple[Ids, Ids]:
        """Return the two clusters (n,), (n,) of least offset + distance of jittered rows.

        Among the cluster of a guess (n,) and those near it.
        """
        first, second = guess.copy(), np.empty(self.n, np.int64)
        work = (1 + near.shape[1]) * self._h * self.d
        given = (self.jittered, means, roots, offsets, near)
        self._run(kernels.two_nearest, self.n, work, *given, first, second)
        return first, second

    def distance_differences(self, ids: Ids, means: Floats, roots: Floats) -> Floats:
        """Return how much farther jittered rows ``ids`` are from the first of two clusters (m,)."""
        out, given = np.empty(len(ids)), (self.jittered, ids, means, roots)
        self._run(kernels.distance_differences, len(ids), 2 * roots[0].size, *given, out)
        return out

    def dip_p_value(self, ids: Ids, values: Floats) -> float:
        """Return the p-value of the dip test for numbers (m,) of rows ``ids``."""
        return dip_p_value(values, self.weights[ids])

    # -- likelihoods -------------------------------------------------------------------------------

    def evidence(
        self,
        clusters: Sequence[Floats],
        lefts: Ids,
        rights: Ids,
        prior_rows: Sequence[float],
        prior: Floats | None = None,
    ) -> Floats:
        """Return log marginal likelihoods (m,) of clusters, or pairs, as if there were no others.

        Of clusters ``lefts``, and ``rights`` where these are not -1. The prior's covariance is the
        pooled one of the clusters and counts as so many rows, the likeliest of ``prior_rows``. If
        a ``prior`` (1, h, d) is given, shares are not normalised.
        """
        out, is_given = np.empty(len(lefts)), prior is not None
        covariance = np.empty((1, self._h, self.d)) if prior is None else prior
        # Copies, because kernels would be compiled once more for views of strided memory.
        pairs = np.ascontiguousarray(lefts), np.ascontiguousarray(rights)
        given = (*clusters, *pairs, self.middle, self.floor, covariance, is_given)
        work = (1 + 2 * len(prior_rows)) * self._h * self.d**2
        numbers = np.array(prior_rows)
        scratch = self._scratch
        self._run(kernels.evidence, len(out), work, *given, numbers, out, scratch=scratch)
        return out

    # -- splits ------------------------------------------------------------------------------------

    def fourth_moments(self, labels: Ids, means: Floats, roots: Floats) -> Floats:
        """Return ``sum w |z|^2 z z'`` with ``z = W (x - mu)`` of each cluster (k, d, d)."""
        order, places = self.by_cluster(labels, len(means))
        out = np.empty((len(means), self.d, self.d))
        for c, root in enumerate(roots):
            ids = order[places[c] : places[c + 1]]
            gaps = self.rows[ids] - means[c]
            seen = gaps * root[0] if self.diagonal else gaps @ root.T
            factors = self.weights[ids] * np.einsum("ij,ij->i", seen, seen)
            out[c] = (factors[:, np.newaxis] * seen).T @ seen
        return out

    def cuts(
        self, labels: Ids, means: Floats, directions: Floats, least: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return rows along directions (m, n), two cuts of each cluster there, and their gains.

        ``directions`` (m, k, d); ``least`` (k,): weight on either side. Cuts and gains are
        (m, 2, k): the likeliest cut, and that of two means.
        """
        m, k, _ = directions.shape
        values = np.empty((m, self.n))
        cuts, gains = np.empty((2, m, 2, k))
        places = self.by_cluster(labels, k)[1]
        gaps = self.rows - means[labels]
        for at, direction in enumerate(directions):
            np.einsum("ij,ij->i", gaps, direction[labels], out=values[at])
            order = np.lexsort((values[at], labels))
            floor = direction**2 @ self.floor + kernels.PRECISION
            found = (cuts[at], gains[at])
            moves.best_cuts(values[at], self.weights, order, places, least, floor, *found)
        return values, cuts, gains

    def halves(
        self, labels: Ids, weights: Floats, values: Floats, cuts: Floats, tries: Ids, n_tries: Ids
    ) -> Halves:
        """Return splits of each cluster by classification EM, from several cuts of each.

        ``weights`` (k,) of the clusters; values and cuts as `cuts` returns them; ``tries`` (k, t):
        direction * 2 + cut, of which the first ``n_tries`` (k,) count.
        """
        k, t = tries.shape
        shape = (k, 2 * t, 2)
        found = Halves(
            np.ones(shape),
            np.zeros((*shape, self.d)),
            np.zeros((*shape, self._h, self.d)),
            np.zeros((k, 2 * t), np.bool_),
        )
        rows = (self.rows, self.weights, *self.by_cluster(labels, k))
        how = (values, cuts, tries, n_tries, MAX_ROWS, self.least_rows, self.floor, ROUNDS)
        given = (*rows, *how, weights, np.zeros(self.n, np.uint8))
        work = t * int(ROUNDS.sum()) * min(self.n // k, MAX_ROWS) * self._h * self.d
        self._run(moves.divide, k, work, *given, *found, scratch=self._scratch)
        return found
