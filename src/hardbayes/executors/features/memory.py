"""Rows and their features in memory: the passes of one start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.executors.features.collapsed_sweep import CollapsedSweep
from hardbayes.executors.features.results import Combination, Joined, Settled, Sums
from hardbayes.kernels.features.allocating import allocate
from hardbayes.kernels.features.candidates import grow
from hardbayes.kernels.features.choosing import EXACT, FLIP, FLIP_PAIRS, KEEP
from hardbayes.kernels.features.combining import best_combination
from hardbayes.kernels.features.joins import join
from hardbayes.kernels.features.layout import (
    MOST_EXACT,
    Features,
    Room,
    lay_out,
    new_features,
    new_room,
)
from hardbayes.kernels.features.least_squares import refit
from hardbayes.kernels.features.local_search import settle
from hardbayes.kernels.features.pairing import pair_totals
from hardbayes.kernels.features.seeding import draw_seeds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.features.tiles import Tile, Tiles
    from hardbayes.matrices import Floats
    from hardbayes.pool import Pool


DRAWS = 2  # seeds of a new feature, besides the worst row
PAIR_NUMBERS = 1 << 23  # that totals of pairs may take: 64 megabytes
FLIPS = 8  # rounds of flips of two features, where they are too many to compare all subsets
LONGEST_CALL = 1 << 28  # multiply-adds in one call of a kernel: some tenths of a second


class Allocator:
    """Passes over the rows of one start; they share the rows and nothing else.

    Parameters
    ----------
    tiles : Tiles
    pool : Pool
        Used only where there is more than one tile.
    """

    def __init__(self, tiles: Tiles, pool: Pool) -> None:
        self.tiles = tiles
        self.pool = pool
        self.n_rows, self.n_columns = tiles.n_rows, tiles.n_columns
        self.weights = tiles.weights
        self.nothing = tiles.nothing
        self._rooms: dict[tuple[int, int], Room] = {}
        self._scratches: dict[tuple[int, int], tuple[NDArray[np.int64], Floats]] = {}

    def seed(
        self, base: Floats | None, penalty: float, most: int, rng: np.random.RandomState
    ) -> tuple[Floats, NDArray[np.uint8]]:
        """Return components (k, d), k at most ``most``, and membership (n, k) to start from.

        A base (d,) that all rows share comes first, unless it is None; then residuals of rows drawn
        by squared length, as long as each lowers the objective. Data of many tiles is represented
        by a sample, and its rows are left for the first sweep to decide.
        """
        rows, weights, _ = self.tiles.sample(rng)
        components = np.empty((most + 1, self.n_columns))
        membership = np.zeros((len(rows), most), np.uint8)
        n_given = 0 if base is None else 1
        if base is not None:
            components[0], membership[:, 0] = base, 1
        share = len(rows) / self.n_rows
        k = draw_seeds(
            rows, weights, self.tiles.origin[np.newaxis], n_given, penalty * share,
            self.tiles.nothing, rng.random_sample(most), components, membership,
            np.empty(len(rows)), np.empty(most + 1, np.int64),
        )  # fmt: skip
        if self.tiles.is_single:
            return components[:k], np.ascontiguousarray(membership[:, :k])
        everyone = np.zeros((self.n_rows, k), np.uint8)
        everyone[:, :n_given] = 1
        return components[:k], everyone

    def settle(
        self,
        components: Floats,
        membership: NDArray[np.uint8],
        *,
        is_refitted: bool,
        max_sweeps: int,
    ) -> Settled:
        """Alternate between the features of every row and least squares, both in place.

        Stops when no row changes any more, where columns are dependent, and after ``max_sweeps`` or
        earlier, so that nobody waits long for an interrupt.
        """
        self.pool.stop_if_given_up()  # a start is one task, however long
        rule = self._rule(components, literal=False)
        if self.tiles.is_single and self.n_rows <= self._rows_a_call(components):
            return self._settle_one_tile(components, membership, rule, is_refitted, max_sweeps)
        sums = self._allocate(components, membership, rule)
        at_rest = sums.changed == 0 and is_refitted
        is_sound = at_rest or self.refit(components, sums)
        return Settled(sums, [sums.fit], at_rest, is_sound)

    def _settle_one_tile(
        self,
        components: Floats,
        membership: NDArray[np.uint8],
        rule: int,
        is_refitted: bool,
        max_sweeps: int,
    ) -> Settled:
        k, d = components.shape
        features = new_features(components, self.tiles.origin, self.n_rows)
        fits = np.empty(min(max_sweeps, self._rows_a_call(components) // self.n_rows))
        gram, correction, costs = np.empty((k, k)), np.empty((k, d)), np.empty(self.n_rows)
        n_sweeps, changed, is_sound = settle(
            *self.tiles.raw(slice(None)), self.weights, features, rule, is_refitted, membership,
            costs, gram, correction, fits, self._room(0, features),
        )  # fmt: skip
        fits = fits[:n_sweeps]
        at_rest = changed == 0 and (n_sweeps > 1 or is_refitted)
        sums = Sums(float(fits[-1]), int(changed), gram, correction, costs)
        return Settled(sums, fits.tolist(), at_rest, is_sound)

    def refit(self, components: Floats, sums: Sums) -> bool:
        """Move components to least squares, in place; False where columns of Z are dependent."""
        return refit(components, sums.gram, sums.correction, np.empty(sums.gram.shape))

    def sweep(
        self, components: Floats, membership: NDArray[np.uint8], *, literal: bool = False
    ) -> Sums:
        """Decide the features of every row, in place, components left as they are.

        All subsets of a dozen features are compared; of more, single and pair flips are made until
        none helps. ``literal``: one pass of single flips, as published.
        """
        return self._allocate(components, membership, self._rule(components, literal))

    def collect(self, components: Floats, membership: NDArray[np.uint8]) -> Sums:
        """Sum up for a refit, all rows left as they are."""
        return self._allocate(components, membership, KEEP)

    def _allocate(self, components: Floats, membership: NDArray[np.uint8], rule: int) -> Sums:
        (k, d), n_groups = components.shape, len(self.tiles.groups)
        features = self._features(components)
        gram = np.zeros((n_groups, k, k))
        correction = np.zeros((n_groups, k, d))
        costs = np.empty(self.n_rows)
        fits, changes = np.zeros(n_groups), np.zeros(n_groups, np.int64)

        size = self._rows_a_call(components)

        def visit(run: slice, group: int, worker: int) -> None:
            for start in range(run.start, run.stop, size):
                part = slice(start, min(start + size, run.stop))
                fit, changed = allocate(
                    *self.tiles.raw(part), self.tiles.weights_of(part), features, rule,
                    membership[part], costs[part], gram[group], correction[group],
                    self._room(worker, features),
                )  # fmt: skip
                fits[group] += fit
                changes[group] += changed

        self.tiles.visit_raw(visit, self.pool)
        return Sums(
            float(fits.sum()), int(changes.sum()), gram.sum(axis=0), correction.sum(axis=0), costs
        )

    def collapsed_sweep(
        self,
        components: Floats,
        membership: NDArray[np.uint8],
        gram: Floats,
        penalty: float,
        max_components: int,
    ) -> tuple[Floats, NDArray[np.uint8], int]:
        """Decide for every row with the components integrated out, opening and freeing features.

        At least-squares components, with ``gram`` = Z'WZ of full rank. Returns components,
        membership and the number of changes.
        """
        sweep = CollapsedSweep(self.tiles, components, gram, membership, penalty, max_components)
        sweep.run()
        return sweep.components, sweep.membership, sweep.changed

    # -- candidates for new columns ----------------------------------------------------------------

    def grow(
        self,
        components: Floats,
        membership: NDArray[np.uint8],
        costs: Floats,
        rng: np.random.RandomState,
    ) -> Floats:
        """Return the best candidate (d,) grown from residuals.

        Seeds are the residuals of the worst row and of some drawn by their weighted ``costs`` (n,).
        Data of many tiles is represented by a sample.
        """
        rows, weights, part = self.tiles.sample(rng)
        n, d = rows.shape
        chances = np.cumsum(weights * costs[part])
        drawn = np.searchsorted(chances, chances[-1] * rng.random_sample(DRAWS), side="right")
        worst = int(np.argmax(weights * costs[part]))
        seeds = np.unique(np.minimum([worst, *drawn], n - 1))
        candidates, gains = np.empty((len(seeds), d)), np.empty(len(seeds))
        grow(
            rows, weights, components, self.tiles.origin[np.newaxis], membership[part], seeds,
            candidates, gains, np.empty((n, d)), np.empty(n, np.uint8), np.empty((1, d)),
            np.empty(len(components) + 1, np.int64),
        )  # fmt: skip
        return candidates[np.argmax(gains)]

    def join(self, components: Floats, membership: NDArray[np.uint8], candidate: Floats) -> Joined:
        """Let rows join a candidate feature (d,), all else as it is.

        Columns of ``membership`` beyond the components are not looked at.
        """
        n_groups = len(self.tiles.groups)
        gains, joined = np.empty(self.n_rows), np.empty(self.n_rows, np.uint8)
        totals = np.zeros((n_groups, self.n_columns))
        weight, gain = np.zeros(n_groups), np.zeros(n_groups)
        size = float(candidate @ candidate)

        def visit(tile: Tile, group: int, worker: int) -> None:
            own_weight, own_gain = join(
                tile.rows, tile.weights, components, self.tiles.origin[np.newaxis],
                membership[tile.part], candidate[np.newaxis], size, gains[tile.part],
                joined[tile.part], totals[group], *self._scratch(worker, len(components)),
            )  # fmt: skip
            weight[group] += own_weight
            gain[group] += own_gain

        self.tiles.visit(visit, self.pool)
        return Joined(joined, gains, float(gain.sum()), float(weight.sum()), totals.sum(axis=0))

    def best_combination(
        self,
        components: Floats,
        membership: NDArray[np.uint8],
        gram: Floats,
        inverse: Floats,
        penalty: float,
    ) -> Combination:
        """Return the best exchange of one column of Z, or two, for a combination of two.

        At least-squares components. Totals over rows with two features at once are made for as many
        features at a time as fit into memory.
        """
        (k, d), n_groups = components.shape, len(self.tiles.groups)
        size = max(1, PAIR_NUMBERS // (n_groups * max(1, k) * (k + d)))
        best = Combination(np.inf, 0, 0, 0, True, True)
        for first in range(0, k - 1, size):
            m = min(size, k - 1 - first)
            totals, counts = np.zeros((n_groups, m, k, d)), np.zeros((n_groups, m, k, k))

            def visit(
                tile: Tile, group: int, worker: int, first: int = first, totals: Floats = totals,
                counts: Floats = counts,
            ) -> None:  # fmt: skip
                pair_totals(
                    tile.rows, tile.weights, components, self.tiles.origin[np.newaxis],
                    membership[tile.part], first, totals[group], counts[group],
                    *self._scratch(worker, k),
                )  # fmt: skip

            self.tiles.visit(visit, self.pool)
            found = best_combination(
                first, totals.sum(axis=0), counts.sum(axis=0), gram, inverse, components, penalty,
                np.empty(k), np.empty(k),
            )  # fmt: skip
            best = min(best, Combination(*found))
        return best

    # -- single rows and small things --------------------------------------------------------------

    def residual(self, components: Floats, membership: NDArray[np.uint8], i: int) -> Floats:
        """Return what is left of row i (d,) less its features."""
        own = components[membership[i].view(bool)].sum(axis=0)
        return self.tiles.row(i) - (own - self.tiles.origin)

    def mean(self) -> Floats:
        """Return the weighted mean (d,) of the rows."""
        n_groups = len(self.tiles.groups)
        totals, weight = np.zeros((n_groups, self.n_columns)), np.zeros(n_groups)

        def visit(tile: Tile, group: int, worker: int) -> None:
            weights = np.broadcast_to(tile.weights, len(tile.rows))
            totals[group] += weights @ tile.rows
            weight[group] += weights.sum()

        self.tiles.visit(visit, self.pool)
        return self.tiles.origin + totals.sum(axis=0) / weight.sum()

    def _rows_a_call(self, components: Floats) -> int:
        """Rows that a kernel decides in one call, so that nobody waits long for an interrupt."""
        k, d = components.shape
        decision = 1 << k if k <= MOST_EXACT else FLIPS * k * k
        return max(64, LONGEST_CALL // (k * d + decision + 1))

    def _rule(self, components: Floats, literal: bool) -> int:
        if literal:
            return FLIP
        return EXACT if len(components) <= MOST_EXACT else FLIP_PAIRS

    def _features(self, components: Floats) -> Features:
        features = new_features(components, self.tiles.origin, self.tiles.run)
        lay_out(features, self._room(0, features))
        return features

    def _room(self, worker: int, features: Features) -> Room:
        key = (worker, len(features.components))
        if key not in self._rooms:
            self._rooms[key] = new_room(features)
        return self._rooms[key]

    def _scratch(self, worker: int, k: int) -> tuple[NDArray[np.int64], Floats]:
        """Return room for the features of one row, and for its residual."""
        if (worker, k) not in self._scratches:
            self._scratches[worker, k] = np.empty(k + 1, np.int64), np.empty((1, self.n_columns))
        return self._scratches[worker, k]
