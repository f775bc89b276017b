"""Rows in memory, and the passes over them that a search for features needs.

Most passes share tiles among threads. A collapsed sweep visits rows one after another, and opens
and closes features between them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats
from hardbayes.core.pool import Pool
from hardbayes.features.compiled.allocating import (
    EXACT,
    FLIP,
    FLIP_PAIRS,
    KEEP,
    allocate,
    grow,
    join,
)
from hardbayes.features.compiled.collapsing import (
    COMBINATIONS,
    DONE,
    OPENS,
    RELATIVE_TOLERANCE,
    STANDS_ALONE,
    best_combination,
    collapse,
    new_collapsed,
    pair_totals,
)
from hardbayes.features.compiled.layout import (
    MAX_EXACT,
    Features,
    Workspace,
    draw_seeds,
    new_features,
    new_workspace,
    refit,
)
from hardbayes.features.rows import (
    Allocation,
    Combination,
    Description,
    FeatureRows,
    LocalSearch,
    NewFeature,
    Sums,
)
from hardbayes.features.tiles import Tile, Tiles

DRAWS = 2  # seeds of a new feature, besides the worst row: more starts against their time
PAIR_NUMBERS = 1 << 23  # that totals of pairs may take: 64 megabytes
FLIPS = 8  # rounds of pair flips that one row usually needs at most: estimates how long a call is
MAX_CALL_WORK = 1 << 28  # multiply-adds in one call of a kernel: some tenths of a second
WINDOW = 1 << 12  # rows in one call, so that an interrupt need not wait for a whole tile


class CollapsedSweep:
    """One sweep over all rows, in order, from a copy of an allocation at least squares.

    ``gram`` (k, k) = Z'WZ of full rank.
    """

    def __init__(
        self,
        tiles: Tiles,
        allocation: Allocation,
        gram: Floats,
        penalty: float,
        max_components: int,
        n_fixed: int = 0,
    ) -> None:
        self._tiles = tiles
        self._n_fixed = n_fixed
        self._penalty = penalty
        self._max_components = max_components
        components, self._membership = allocation.copy()
        self._state = new_collapsed(components, np.linalg.inv(gram), tiles.origin, n_fixed)
        self._changed = 0

    def run(self) -> tuple[Allocation, int]:
        """Visit every row; return the allocation, and how many changes were made."""
        for number in range(len(self._tiles.slices)):
            tile = self._tiles.read(number)
            at, stop = 0, len(tile.rows)
            while at < stop:
                end = min(stop, at + WINDOW)
                why, row, _, changed = self._collapse(tile, self._opening_cost(), at, end)
                self._changed += changed
                if why == OPENS:
                    self._open(tile, row)
                elif why == STANDS_ALONE:
                    self._try_to_close(tile, row)
                at = end if why == DONE else row + 1
        return Allocation(self._state.components, self._membership), self._changed

    def _opening_cost(self) -> float:
        is_full = len(self._state.components) >= self._max_components
        return np.inf if is_full else self._penalty

    def _collapse(
        self, tile: Tile, opening_cost: float, start: int, stop: int
    ) -> tuple[int, int, float, int]:
        return collapse(
            tile.rows, tile.weights, self._state, opening_cost, self._tiles.negligible, start, stop,
            self._membership[tile.part],
        )  # fmt: skip

    def _open(self, tile: Tile, row: int) -> None:
        """Give a row that was taken away a feature of its own, and put it back."""
        state, weight = self._state, float(tile.weights[row if len(tile.weights) > 1 else 0])
        own = self._membership[tile.part.start + row].astype(np.float64)
        overlap = state.inverse @ own
        corner = 1.0 / weight + own @ overlap
        inverse = np.block([[state.inverse, -overlap[:, np.newaxis]], [-overlap, corner]])
        residual = tile.rows[row] - (own @ state.components - self._tiles.origin)
        column = np.zeros((len(self._membership), 1), np.uint8)
        column[tile.part.start + row] = 1
        self._membership = np.hstack([self._membership, column])
        self._lay_out(np.vstack([state.components, residual]), inverse)
        self._changed += 1

    def _try_to_close(self, tile: Tile, row: int) -> None:
        """Close the feature that only one row keeps independent, if that row is cheaper without."""
        before, membership = self._state, self._membership
        own = membership[tile.part.start + row].astype(np.float64)
        closed = self._n_fixed + int(np.argmax(np.abs(before.inverse @ own)[self._n_fixed :]))
        kept = np.arange(len(own)) != closed
        # Least squares without one column: of the other rows, none is explained less well.
        share = before.inverse[kept, closed] / before.inverse[closed, closed]
        inverse = before.inverse[np.ix_(kept, kept)] - np.outer(share, before.inverse[closed, kept])
        components = before.components[kept] - np.outer(share, before.components[closed])
        self._membership = np.ascontiguousarray(membership[:, kept])
        self._lay_out(components, inverse)
        why, _, cost, _ = self._collapse(tile, np.inf, row, row + 1)
        if why == DONE and cost < self._penalty * (1.0 - RELATIVE_TOLERANCE):
            self._changed += 1
        else:
            self._state, self._membership = before, membership

    def _lay_out(self, components: Floats, inverse: Floats) -> None:
        self._state = new_collapsed(components, inverse, self._tiles.origin, self._n_fixed)


class MemoryFeatureRows:
    """The rows of data in memory; what the methods return is said in `FeatureRows`.

    Parameters
    ----------
    tiles : Tiles
    pool : Pool
        Its threads share the starts where there is one tile, otherwise the tiles of each pass.
    n_fixed : int, default=0
        One where the first feature is a base that all rows have and keep.
    """

    def __init__(self, tiles: Tiles, pool: Pool, n_fixed: int = 0) -> None:
        self._tiles = tiles
        self._pool = pool
        self._n_fixed = n_fixed
        self._origin = tiles.origin[np.newaxis]
        self._description = Description(
            tiles.n_rows, tiles.n_columns, tiles.weights, tiles.negligible, n_fixed
        )
        self._workspaces: dict[tuple[int, int], Workspace] = {}
        self._scratches: dict[tuple[int, int], tuple[NDArray[np.int64], Floats]] = {}

    def describe(self) -> Description:
        """Return shape, weights and precision."""
        return self._description

    def sample(self, rng: RandomState) -> MemoryFeatureRows | None:
        """Return one tile of rows drawn at random; None where all rows are one tile."""
        if self._tiles.is_single:
            return None
        return MemoryFeatureRows(self._tiles.sampled(rng), self._pool, self._n_fixed)

    def run_starts(self, task: Callable[[int, FeatureRows], None], n_starts: int) -> None:
        """Run starts on one thread each where all rows are one tile, else one after another."""
        if self._tiles.is_single:
            self._pool.run(
                lambda start, _: task(
                    start, MemoryFeatureRows(self._tiles, self._pool, self._n_fixed)
                ),
                n_starts,
            )
        else:
            for start in range(n_starts):
                task(start, self)

    def seed(self, with_base: bool, penalty: float, most: int, rng: RandomState) -> Allocation:
        """Draw features from the rows, or from a sample of one tile."""
        tiles = self._tiles
        rows, weights, _ = tiles.sample(rng)
        components = np.empty((most + 1, tiles.n_columns))
        membership = np.zeros((len(rows), most), np.uint8)
        n_given = int(with_base)
        if with_base:
            components[0], membership[:, 0] = tiles.mean(self._pool), 1
        share = len(rows) / tiles.n_rows
        k = draw_seeds(
            rows, weights, self._origin, n_given, penalty * share, tiles.negligible,
            rng.random_sample(most), components, membership, np.empty(len(rows)),
            np.empty(most + 1, np.int64),
        )  # fmt: skip
        if tiles.is_single:
            return Allocation(components[:k], np.ascontiguousarray(membership[:, :k]))
        membership = np.zeros((tiles.n_rows, k), np.uint8)
        membership[:, :n_given] = 1
        return Allocation(components[:k], membership)

    # -- sweeps and refits ------------------------------------------------------------------------

    def sweep(self, allocation: Allocation, *, literal: bool = False) -> Sums:
        """Decide the features of every row."""
        return self._allocate(allocation, FLIP if literal else self._best_rule(allocation))

    def collect(self, allocation: Allocation) -> Sums:
        """Return the sums of the present memberships."""
        return self._allocate(allocation, KEEP)

    def refit(self, components: Floats, sums: Sums) -> bool:
        """Move components to least squares, by Cholesky's factorisation."""
        return refit(components, sums.gram, sums.correction, np.empty(sums.gram.shape))

    def local_search(
        self, allocation: Allocation, *, is_refitted: bool, max_sweeps: int
    ) -> LocalSearch:
        """Alternate sweeps and refits: several in one call where all rows are one tile."""
        self._pool.stop_if_given_up()  # a start is one task, however long
        rule, n_rows = self._best_rule(allocation), self._tiles.n_rows
        max_sweeps = min(max_sweeps, self._rows_a_call(allocation) // n_rows)
        if self._tiles.is_single and max_sweeps:
            return self._search_one_tile(allocation, rule, is_refitted, max_sweeps)
        sums = self._allocate(allocation, rule)
        converged = sums.changed == 0 and is_refitted
        is_independent = converged or self.refit(allocation.components, sums)
        return LocalSearch(sums, [sums.fit], converged, is_independent)

    def _search_one_tile(
        self, allocation: Allocation, rule: int, is_refitted: bool, max_sweeps: int
    ) -> LocalSearch:
        (k, d), n = allocation.components.shape, self._tiles.n_rows
        features = self._new_features(allocation)
        fits, costs = np.empty(max_sweeps), np.empty(n)
        gram, correction = np.empty((k, k)), np.empty((k, d))
        n_sweeps, changed, is_independent = allocate(
            *self._tiles.raw(slice(None)), self._tiles.weights, features, rule, True, is_refitted,
            allocation.membership, costs, gram, correction, fits, self._workspace(0, features),
        )  # fmt: skip
        converged = changed == 0 and (n_sweeps > 1 or is_refitted)
        sums = Sums(float(fits[n_sweeps - 1]), int(changed), gram, correction, costs)
        return LocalSearch(sums, fits[:n_sweeps].tolist(), converged, is_independent)

    def _allocate(self, allocation: Allocation, rule: int) -> Sums:
        (components, membership), tiles = allocation, self._tiles
        (k, d), n_groups = components.shape, len(tiles.groups)
        features = self._new_features(allocation)
        gram = np.zeros((n_groups, k, k))
        correction = np.zeros((n_groups, k, d))
        costs = np.empty(tiles.n_rows)
        fits, changes = np.zeros(n_groups), np.zeros(n_groups, np.int64)
        size = self._rows_a_call(allocation)

        def decide(part: slice, group: int, worker: int, is_search: bool = False) -> None:
            fit = np.empty(1)
            _, changed, _ = allocate(
                *tiles.raw(part), tiles.weights_of(part), features, rule, is_search, True,
                membership[part], costs[part], gram[group], correction[group], fit,
                self._workspace(worker, features),
            )  # fmt: skip
            fits[group] += fit[0]
            changes[group] += changed

        def visit(run: slice, group: int, worker: int) -> None:
            for start in range(run.start, run.stop, size):
                decide(slice(start, min(start + size, run.stop)), group, worker)

        decide(slice(0, 0), 0, 0, is_search=True)  # without rows: it only lays out the features
        tiles.visit_raw(visit, self._pool)
        return Sums(
            float(fits.sum()), int(changes.sum()), gram.sum(axis=0), correction.sum(axis=0), costs
        )

    def collapsed_sweep(
        self, allocation: Allocation, gram: Floats, penalty: float, max_components: int
    ) -> tuple[Allocation, int]:
        """Sweep with components integrated out."""
        return CollapsedSweep(
            self._tiles, allocation, gram, penalty, max_components, self._n_fixed
        ).run()

    # -- new columns ------------------------------------------------------------------------------

    def feature_at_row(self, allocation: Allocation, row: int) -> NewFeature:
        """Return the feature whose component is the residual of one row."""
        components, membership = allocation
        explained = components[membership[row].view(bool)].sum(axis=0) - self._tiles.origin
        return self._join(allocation, self._tiles.row(row) - explained)

    def grow_feature(self, allocation: Allocation, costs: Floats, rng: RandomState) -> NewFeature:
        """Return the best of some features grown from residuals of the rows, or of a sample."""
        components, membership = allocation
        rows, weights, part = self._tiles.sample(rng)
        n, d = rows.shape
        costs = weights * costs[part]
        cumulative = np.cumsum(costs)
        drawn = np.searchsorted(cumulative, cumulative[-1] * rng.random_sample(DRAWS), side="right")
        seeds = np.unique(np.minimum([int(np.argmax(costs)), *drawn], n - 1))
        candidates, gains = np.empty((len(seeds), d)), np.empty(len(seeds))
        grow(
            rows, weights, components, self._origin, membership[part], seeds, candidates, gains,
            np.empty((n, d)), np.empty(n, np.uint8), np.empty((1, d)),
            np.empty(len(components) + 1, np.int64),
        )  # fmt: skip
        return self._join(allocation, candidates[np.argmax(gains)])

    def _join(self, allocation: Allocation, component: Floats) -> NewFeature:
        (components, membership), tiles = allocation, self._tiles
        n_groups = len(tiles.groups)
        gains, joined = np.empty(tiles.n_rows), np.empty(tiles.n_rows, np.uint8)
        totals, weight = np.zeros((n_groups, tiles.n_columns)), np.zeros(n_groups)
        size = float(component @ component)

        def visit(tile: Tile, group: int, worker: int) -> None:
            weight[group] += join(
                tile.rows, tile.weights, components, self._origin, membership[tile.part],
                component[np.newaxis], size, gains[tile.part], joined[tile.part], totals[group],
                *self._scratch(worker, len(components)),
            )  # fmt: skip

        tiles.visit(visit, self._pool)
        return NewFeature(component, joined, gains, float(weight.sum()), totals.sum(axis=0))

    def best_combination(
        self, allocation: Allocation, gram: Floats, inverse: Floats, penalty: float
    ) -> Combination:
        """Return the combination of two columns that lowers the objective most."""
        (components, membership), tiles = allocation, self._tiles
        (k, d), n_groups = components.shape, len(tiles.groups)
        # Totals over rows with two features at once: for as many features as fit into memory.
        size = max(1, PAIR_NUMBERS // (n_groups * max(1, k) * (k + d)))
        best = (np.inf, 0, 0, 0, True, True)
        for first in range(self._n_fixed, k - 1, size):
            m = min(size, k - 1 - first)
            totals, counts = np.zeros((n_groups, m, k, d)), np.zeros((n_groups, m, k, k))

            def visit(
                tile: Tile, group: int, worker: int, first: int = first, totals: Floats = totals,
                counts: Floats = counts
            ) -> None:  # fmt: skip
                pair_totals(
                    tile.rows, tile.weights, components, self._origin, membership[tile.part],
                    first, totals[group], counts[group], *self._scratch(worker, k),
                )  # fmt: skip

            tiles.visit(visit, self._pool)
            found = best_combination(
                first, totals.sum(axis=0), counts.sum(axis=0), gram, inverse, components, penalty,
                np.empty(k), np.empty(k),
            )  # fmt: skip
            best = min(best, found)
        change, a, b, kind, *is_removed = best
        removed = [at for at, gone in zip((a, b), is_removed, strict=True) if gone]
        alpha, beta, delta = COMBINATIONS[kind].astype(int).tolist()
        return Combination(change, removed, (a, b), (alpha, beta, delta))

    # -- rules and memory of kernels --------------------------------------------------------------

    def _rows_a_call(self, allocation: Allocation) -> int:
        """Return how many rows a kernel decides in one call, so that it can be interrupted soon."""
        k, d = allocation.components.shape
        decision = 1 << k if k <= MAX_EXACT else FLIPS * k * k
        return max(64, MAX_CALL_WORK // (k * d + decision + 1))

    def _best_rule(self, allocation: Allocation) -> int:
        return EXACT if len(allocation.components) <= MAX_EXACT else FLIP_PAIRS

    def _new_features(self, allocation: Allocation) -> Features:
        # Those of a model may be read-only; the kernel also refits, so it is given a copy of these.
        components = np.require(allocation.components, requirements="W")
        return new_features(components, self._tiles.origin, self._tiles.run, bool(self._n_fixed))

    def _workspace(self, worker: int, features: Features) -> Workspace:
        key = (worker, len(features.components))
        if key not in self._workspaces:
            self._workspaces[key] = new_workspace(features)
        return self._workspaces[key]

    def _scratch(self, worker: int, k: int) -> tuple[NDArray[np.int64], Floats]:
        """Return memory for the features of one row, and for its residual."""
        if (worker, k) not in self._scratches:
            residual = np.empty((1, self._tiles.n_columns))
            self._scratches[worker, k] = np.empty(k + 1, np.int64), residual
        return self._scratches[worker, k]
