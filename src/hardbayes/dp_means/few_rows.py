"""Exactly so many clusters of few rows: where they are, and what other numbers would cost.

The best of several starts goes on by swaps of clusters until many in a row fail. All this is
compiled, because so few rows take less time than the interpreter (`compiled.swapping`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.core.arrays import Floats

if TYPE_CHECKING:
    from hardbayes.dp_means.compiled.swapping import FewClusters
    from hardbayes.dp_means.problem import Problem

# Rows, their entries and clusters up to which this is done: with more, a path takes less time than
# swaps that end as low (benchmarks.exact_k).
MAX_ROWS = 1 << 13
MAX_ENTRIES = 1 << 20
MAX_CLUSTERS = 64
# Starts, of which the best goes on; and how many swaps must fail in a row before it ends: more of
# fewer rows, where they take less time, but not more than so many for each cluster, for there are
# fewer different ones. More miss the best optimum less often, and take longer (benchmarks.exact_k).
STARTS = 3
PATIENCE = 16
PATIENCE_TIMES_ROWS = 1 << 12
PATIENCE_A_CLUSTER = 5
# Rows around which a cluster may open: the best of so many drawn.
TRIES = 3
# Up to so many clusters more than wished tell where the number is best; swaps that must fail with
# one more or one fewer, which need not be as good.
BEYOND = 4
PATIENCE_BESIDE = 1
ROUNDING = 16 * np.finfo(np.float64).eps  # of a mean of equal rows, as a part of them
MAX_SWAPS = 1 << 9  # that are tried at most: Ctrl-C waits for the compiled call to end


class FewSolution(NamedTuple):
    """Centres (k, d) in working coordinates, and fit terms from one cluster to some more than k."""

    centres: Floats
    points: list[tuple[int, float]]


def solve_few(
    problem: Problem, k: int, n_starts: int, rng: np.random.RandomState
) -> FewSolution | None:
    """Return the best solution with k clusters; None if rows are many, or fewer than k differ.

    For squared distances without a prior.
    """
    rows = problem.rows
    entries = rows.n_rows * rows.n_columns
    if rows.n_rows > MAX_ROWS or entries > MAX_ENTRIES or k > MAX_CLUSTERS:
        return None
    local = rows.take()
    weights = local.weights_at()
    kept = np.flatnonzero(weights > 0)
    few = _Few(local.dense(kept), np.ascontiguousarray(weights[kept]), k + BEYOND, rng)
    fits = {1: few.swap(0)}
    best, least = few.copy(), np.inf
    for _ in range(STARTS * n_starts if k > 1 else 1):
        few.begin()
        if not few.add(k - 1):
            return None
        fit = few.swap(0, least)
        if fit < least:
            best, least = few.copy(), fit
    few.restore(best)
    patience = min(PATIENCE + PATIENCE_TIMES_ROWS // len(kept), PATIENCE_A_CLUSTER * k)
    fits[k] = few.swap(patience)
    best = few.copy()
    for more in range(k + 1, k + BEYOND + 1):
        if more > len(kept) or not few.add():
            break
        fits[more] = few.swap(PATIENCE_BESIDE if more == k + 1 else 0)
    few.restore(best)
    for fewer in range(k - 1, 1, -1):
        few.drop()
        fits[fewer] = few.swap(PATIENCE_BESIDE if fewer == k - 1 else 0)
    return FewSolution(best.centres[:k], sorted(fits.items()))


class _Few:
    """The rows, their clusters and scratch memory, as kernels take them."""

    def __init__(
        self, points: Floats, weights: Floats, slots: int, rng: np.random.RandomState
    ) -> None:
        from hardbayes.dp_means.compiled.swapping import FewClusters, FewRows

        n, d = points.shape
        same = d * (ROUNDING * np.abs(points).max()) ** 2
        self._rows = FewRows(
            points, weights, np.zeros(d), float(same), np.zeros(n), np.zeros(n),
            np.zeros(slots, np.int64), np.zeros(slots),
        )  # fmt: skip
        self._rng = rng
        self.clusters, self._saved = (
            FewClusters(
                np.zeros(n, np.int64), np.zeros(slots), np.zeros((slots, d)),
                np.zeros(slots, np.int64), np.zeros(n, np.int64), np.zeros(n),
                np.zeros(2, np.int64),
            )
            for _ in range(2)
        )  # fmt: skip
        self.begin()

    def begin(self) -> None:
        """Put all rows in one cluster."""
        rows, clusters = self._rows, self.clusters
        for array in clusters:
            array[:] = 0
        clusters.bound[:] = np.inf
        clusters.sizes[0] = rows.weights.sum()
        clusters.centres[0] = rows.weights @ rows.points / clusters.sizes[0]
        clusters.counts[0] = 1

    def copy(self) -> FewClusters:
        """Return a copy of the clusters."""
        return type(self.clusters)(*(array.copy() for array in self.clusters))

    def restore(self, kept: FewClusters) -> None:
        """Go back to a copy."""
        for array, values in zip(self.clusters, kept, strict=True):
            array[:] = values

    def add(self, count: int = 1) -> bool:
        """Open so many clusters more; return whether there are rows that differ."""
        from hardbayes.dp_means.compiled.swapping import add_clusters

        draws = self._rng.random_sample((count, TRIES))
        return bool(add_clusters(self._rows, self.clusters, draws))

    def drop(self) -> None:
        """Unite the two clusters that lose least by it."""
        from hardbayes.dp_means.compiled.swapping import drop_cluster

        drop_cluster(self._rows, self.clusters)

    def swap(self, patience: int, goal: float = np.inf) -> float:
        """Let rows settle, then swap clusters until so many swaps in a row fail; return the fit."""
        from hardbayes.dp_means.compiled.swapping import swap_clusters

        draws = self._rng.random_sample((MAX_SWAPS if patience else 0, TRIES))
        return float(swap_clusters(self._rows, self.clusters, self._saved, draws, patience, goal))
