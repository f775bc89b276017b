"""Rows with covariances as a model without centres: passes over tiles of rows, on threads.

Rows are in coordinates in which the prior matrix is the identity. Clusters are weights (k,), means
(k, d) and scatters (k, h, d), where h is d, or 1 where covariances are diagonal. Roots (k, h, d)
are lower triangular matrices W; the distance of a row from a cluster is ``|W (x - mu)|^2``.

Everything is exact up to the rounding of float64. Every result is a sum in the order of the rows or
a decision for one row, so that the number of threads cannot matter.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, inverse_permutation
from hardbayes.core.centre_free import CentreFreeModel, Ids, Merges, Split
from hardbayes.core.pool import Pool
from hardbayes.gaussian.compiled import moves
from hardbayes.gaussian.compiled import statistics as kernels
from hardbayes.gaussian.problem import GaussianPartition, Gaussians, neighbouring_merges

TILE = 1 << 20  # multiply-adds: about a millisecond
MAX_ROUNDS = 12  # of assignment and refit within a split
TRIAL_ROWS = 1 << 10  # of a cluster on which its split is tried
N_AXES = 3  # widest directions along which a cluster is cut
N_PAIRS = 2  # random pairs of rows between which it is cut
BALLS = (0.1, 0.25) * 3  # shares of the rows, those nearest to a random row
# What clusters cost where only their statistics are asked for: nothing.
UNPENALISED = GaussianPartition(penalty=0.0, rate=1.0, max_clusters=sys.maxsize)


class Trial(NamedTuple):
    """Some rows of a cluster, and sides from which to look for its two halves."""

    rows: Floats  # (m, d)
    weights: Floats  # (m,), with the sum that all rows of the cluster have
    sides: NDArray[np.uint8]  # (starts, m), 0 or 1
    whole: float  # log|I + S| of the cluster


@dataclass(eq=False)
class GaussianRows(CentreFreeModel[Gaussians]):
    """Rows, and what a partition of them costs.

    Attributes
    ----------
    rows : array (n, d)
        float64 and C-contiguous, as are the weights.
    weights : array (n,)
    diagonal : bool
        Whether covariances are diagonal.
    pool : Pool
    partition : GaussianPartition
        What is minimised.
    order : array (n,) or None
        In which a sweep visits the rows; None: as they are numbered.
    """

    rows: Floats
    weights: Floats
    diagonal: bool
    pool: Pool
    partition: GaussianPartition = UNPENALISED
    order: Ids | None = None

    def __post_init__(self) -> None:
        self.n, self.d = self.rows.shape
        self.penalty = self.partition.penalty
        self.max_clusters = self.partition.max_clusters
        self.unit = self.partition.rate
        self._h = 1 if self.diagonal else self.d
        self._gaps = np.empty((self.pool.n_threads, self.d))

    def sample(self, ids: NDArray[np.integer], weights: Floats) -> GaussianRows:
        """Return some of the rows, with these weights (m,)."""
        return GaussianRows(self.rows[ids], weights, self.diagonal, self.pool)

    # -- what the descent of models without centres calls ------------------------------------------

    def statistics(self, labels: Ids, k: int) -> Gaussians:
        """Return weights, means and scatters of clusters 0 to k-1; zeros where one is empty."""
        order, places = np.empty(self.n, np.int64), np.zeros(k + 1, np.int64)
        kernels.group_rows(labels, places, order)
        found = np.empty(k), np.empty((k, self.d)), np.empty((k, self._h, self.d))
        work = self.n * self._h * self.d // k
        self._run(kernels.add_up, k, work, self.rows, self.weights, order, places, *found)
        return Gaussians(*found)

    def costs(self, statistics: Gaussians) -> Floats:
        """Return ``rate log|I + S|`` of each cluster."""
        return self.partition.costs(statistics)

    def merges(self, statistics: Gaussians) -> Merges:
        """Return the merges of neighbouring clusters."""
        roots = self.roots(statistics.scatters)[0]
        return neighbouring_merges(statistics, self.partition, roots)

    def split(
        self,
        members: list[Ids],
        statistics: Gaussians,
        which: Sequence[int],
        rng: np.random.RandomState,
    ) -> list[Split]:
        """Return splits; what they save is estimated on at most `TRIAL_ROWS` rows of each."""
        sizes, means, scatters = statistics
        whole = self.costs(statistics) / self.unit
        trials = []
        for c in which:
            ids = members[c]
            if len(ids) > TRIAL_ROWS:
                ids = np.sort(rng.permutation(ids)[:TRIAL_ROWS])
            rows, weights = self.rows[ids], self.weights[ids]
            sides = starting_sides(rows, weights, means[c], scatters[c], rng)
            if len(sides):
                weights = sizes[c] / weights.sum() * weights
            trials.append(Trial(rows, weights, sides, float(whole[c])))
        found = self.split_trials(trials)
        return [Split(self.unit * saved, halves) for saved, *halves in found]

    def second_half(self, ids: Ids, split: Split) -> NDArray[np.bool_]:
        """Return which rows are nearer to the second half."""
        return self.sample(ids, self.weights[ids]).nearest(*split.halves)[0] == 1

    def work(self, k: int) -> int:
        """Return the number of multiply-adds of all distances."""
        return self.n * k * self.d * self._h

    def choose(self, statistics: Gaussians) -> Ids:
        """Return the nearest cluster of each row."""
        return self.assign(statistics)[0]

    def move_rows(self, labels: Ids, statistics: Gaussians, max_passes: int) -> tuple[Ids, int]:
        """Move single rows; no cluster is left empty.

        A pass visits only the rows that would move as things were when it began: these are found
        on all threads.
        """
        labels = labels.copy()
        sizes, means, scatters = (array.copy() for array in statistics)
        roots = self.roots(scatters)[0]
        members = np.bincount(labels[self.weights > 0], minlength=len(sizes))
        marks, n_moves = np.empty(self.n, np.bool_), 0
        rows = (self.rows, self.weights)
        for _ in range(max_passes):
            before, state = n_moves, (labels, sizes, members, means)
            self._run(moves.mark_candidates, self.n, roots.size, *rows, *state, roots, marks)
            ids = np.flatnonzero(marks)
            for a, b in _cut(len(ids), roots.size + self._h * self.d**2):
                n_moves += moves.move_rows(*rows, ids, *state, scatters, roots, self._gaps[0], a, b)
            if n_moves == before:
                break
        return labels, n_moves

    def sweep(self, statistics: Gaussians) -> tuple[Ids, bool]:
        """Assign rows to clusters, old or opened on the way.

        A cluster of one row has the prior's covariance: it costs a row ``rate |x - mu|^2``. Births
        are found serially, among the few rows above the opening cost; then all rows choose among
        those that were opened before their own visit.
        """
        max_births = max(0, self.max_clusters - statistics.k)
        opening_cost = self.penalty / self.unit
        order = np.arange(self.n) if self.order is None else self.order
        labels, distances = self.assign(statistics)
        above = order[self.weights[order] * distances[order] > opening_cost]
        births = np.empty(min(max_births, len(above)), np.int64)
        n_births, own = 0, distances.copy()
        for a, b in _cut(len(above), max(1, len(births) // 2) * self.d):
            n_births = moves.open_clusters(
                self.rows, self.weights, above, own, opening_cost, births, n_births, a, b
            )
        if n_births:
            work, rank = n_births * self.d, inverse_permutation(order)
            births = births[:n_births].copy()
            found = (labels, distances, statistics.k)
            self._run(moves.choose_births, self.n, work, self.rows, births, rank, *found)
        return labels, bool((self.weights * distances > opening_cost).any())

    def fixed_costs(self, clusters: Gaussians) -> float:
        """Return what clusters cost besides their rows while means and covariances are fixed."""
        roots, logarithms = self.roots(clusters.scatters)
        traces = np.square(roots).reshape(clusters.k, -1).sum(axis=1)
        costs = self.unit * (traces - self.d + logarithms)
        return float(costs.sum()) + self.penalty * clusters.k

    # -- passes ------------------------------------------------------------------------------------

    def roots(self, scatters: Floats) -> tuple[Floats, Floats]:
        """Return roots (k, h, d) with ``W'W = (I + S)^-1``, and ``log|I + S|`` (k,)."""
        return self._invert(scatters, 1.0, 0.0)

    def assign(self, clusters: Gaussians) -> tuple[Ids, Floats]:
        """Return each row's nearest cluster (n,), the first of equals, and its distance (n,)."""
        return self.nearest(clusters.means, self.roots(clusters.scatters)[0])

    def nearest(
        self, means: Floats, roots: Floats, offsets: Floats | None = None
    ) -> tuple[Ids, Floats]:
        """Return the same for means and roots; offsets (k,), if any, are added to the distances."""
        found = np.empty(self.n, np.int64), np.empty(self.n)
        added = np.zeros(len(means)) if offsets is None else offsets
        self._run(kernels.nearest, self.n, roots.size, self.rows, means, roots, added, *found)
        return found

    def distances(self, means: Floats, roots: Floats) -> Floats:
        """Return the distance (n, k) of each row from every cluster."""
        out = np.empty((self.n, len(means)))
        self._run(kernels.all_distances, self.n, roots.size, self.rows, means, roots, out)
        return out

    def split_trials(self, trials: Sequence[Trial]) -> list[tuple[float, Floats, Floats]]:
        """Return the best split of each trial that alternation from its sides leads to.

        By how much ``log|I + S|`` falls on its rows, and means (2, d) and roots (2, h, d) of the
        halves: a row is in the nearer one. Zero and empty arrays where there is no split.
        """
        shape = (self._h, self.d)
        found: list[tuple[float, Floats, Floats]]
        found = [(0.0, np.empty((0, self.d)), np.empty((0, *shape)))] * len(trials)

        def task(at: int, _: int) -> None:
            rows, weights, starts, whole = trials[at]
            sizes, scatters, gap = np.empty(2), np.empty((2, *shape)), np.empty(self.d)
            for sides in starts.copy():
                means, roots = np.empty((2, self.d)), np.zeros((2, *shape))
                total = moves.bisect(
                    rows, weights, sides, sizes, means, scatters, roots, gap, MAX_ROUNDS
                )
                if whole - total > found[at][0]:
                    found[at] = float(whole - total), means, roots

        self.pool.run(task, len(trials))
        return found

    def _invert(self, matrices: Floats, ridge: float, precision: float) -> tuple[Floats, Floats]:
        """Return roots of ``(ridge I + M)^-1``, and ``log|ridge I + M|``."""
        roots, logarithms = np.zeros_like(matrices), np.empty(len(matrices))
        given = (matrices, ridge, precision)
        work = self._h * self.d**2
        self._run(kernels.invert_roots, len(matrices), work, *given, roots, logarithms)
        return roots, logarithms

    def _run(
        self,
        kernel: Callable[..., Any],
        n: int,
        work: int,
        *arguments: Any,
        scratch: Floats | None = None,
    ) -> None:
        """Call a kernel for tiles of n items, with ``work`` multiply-adds for each.

        ``scratch[w]`` is the memory of thread w; (d,) unless given.
        """
        tiles = _cut(n, work)
        own = self._gaps if scratch is None else scratch
        self.pool.run(lambda t, w: kernel(*arguments, own[w], *tiles[t]), len(tiles))


def _cut(n: int, work: int) -> list[tuple[int, int]]:
    size = max(1, TILE // max(1, work))
    return [(a, min(a + size, n)) for a in range(0, n, size)]


def transform_rows(rows: Floats, middle: Floats, matrix: Floats, pool: Pool) -> Floats:
    """Return ``(x - middle) M`` with an upper triangular M (d, d), or a diagonal (d,)."""
    out = np.empty_like(rows)
    tiles = _cut(len(rows), matrix.size)
    full = matrix.reshape(-1, rows.shape[1])
    pool.run(lambda t, _: kernels.transform(rows, middle, full, out, *tiles[t]), len(tiles))
    return out


def starting_sides(
    rows: Floats, weights: Floats, mean: Floats, scatter: Floats, rng: np.random.RandomState
) -> NDArray[np.uint8]:
    """Return sides (starts, m) of the rows (m, d) of a cluster; none where it has one row only.

    Cut at the mean along wide axes; between two rows; a ball around a row, because a small cluster
    has to start as one (the larger half draws rows away from the smaller); the farthest row alone.
    """
    heavy = np.flatnonzero(weights > 0)
    if len(heavy) < 2:
        return np.empty((0, len(rows)), np.uint8)
    gaps = rows - mean
    if len(scatter) == 1:
        directions = np.eye(rows.shape[1])[np.argsort(-scatter[0], kind="stable")[:N_AXES]]
    else:
        directions = np.linalg.eigh(scatter)[1].T[::-1][:N_AXES]
        # The sign of an eigenvector depends on rounding: make its largest entry positive.
        largest = np.abs(directions).argmax(axis=1)
        directions = directions * np.sign(directions[np.arange(len(directions)), largest, None])
    starts = [gaps @ direction > 0 for direction in directions]
    for a, b in rows[heavy[rng.randint(len(heavy), size=(N_PAIRS, 2))]]:
        starts.append((rows - (a + b) / 2) @ (b - a) > 0)
    for row, share in zip(heavy[rng.randint(len(heavy), size=len(BALLS))], BALLS, strict=True):
        between, last = rows - rows[row], int(share * len(rows))
        apart = np.einsum("ij,ij->i", between, between)
        starts.append(apart <= np.partition(apart, last)[last])
    farthest = heavy[np.argmax(np.einsum("ij,ij->i", gaps[heavy], gaps[heavy]))]
    starts.append(np.arange(len(rows)) == farthest)
    return np.array(starts, np.uint8)
