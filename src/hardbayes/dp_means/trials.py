"""Rows in groups, each with a few slots of its own: where divisions and exchanges are tried.

All clusters are divided at once, each a group with two slots; several divisions of a cluster are
copies of its group. An exchange is one group: a neighbourhood of clusters with one slot more.
Nothing of the fit changes.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.core.arrays import Centres, Formula, no_totals
from hardbayes.dp_means.compiled.cluster_totals import TOGETHER, ClusterTotals, recount, union_costs
from hardbayes.dp_means.compiled.halving import Halves, halve, refine, survey
from hardbayes.dp_means.compiled.sweeping import HOPE, add_up, choose, move_rows, project

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.core.arrays import DirectForm, Floats, Totals, TotalsForm
    from hardbayes.core.pool import Pool
    from hardbayes.dp_means.local_rows import LocalRows


def totals_of(form: TotalsForm, sizes: Floats) -> ClusterTotals:
    """Return clusters (slots,) of these sizes, with the prior's, at the centres of a form."""
    slots, d = form.centres.shape
    totals = np.empty((d, slots))
    np.multiply(sizes, form.centres.T, out=totals)
    clusters = ClusterTotals(
        formula=int(form.formula),
        totals=totals,
        terms=np.empty((d, slots)),
        sums=np.empty(slots),
        term_sums=np.empty(slots),
        potentials=np.empty(slots),
        prior_weight=form.prior_weight,
        prior=form.prior_weight * form.prior_mean,
        prior_terms=np.empty(d),
        alone=np.empty(3),
        joined=np.zeros(slots),
        together=np.zeros((slots, TOGETHER)),
        turnover=np.zeros(slots),
        absences=np.zeros((2, slots)),
        absent_weights=np.zeros((2, slots)),
        fresh=np.ones(slots, bool),
    )
    recount(clusters, sizes)
    return clusters


def with_own_scratch(clusters: ClusterTotals) -> ClusterTotals:
    """Return the same clusters for one more thread."""
    return clusters._replace(
        joined=np.zeros_like(clusters.joined),
        together=np.zeros_like(clusters.together),
        absences=np.zeros_like(clusters.absences),
        absent_weights=np.full_like(clusters.absent_weights, np.nan),
    )


def halves_for(form: TotalsForm, n_rows: int) -> Halves:
    """Return scratch memory to halve clusters of at most so many rows."""
    alone = form._replace(centres=np.tile(form.prior_mean, (2, 1)))
    sizes = np.full(2, form.prior_weight)
    return Halves(
        groups=np.zeros(n_rows, np.intp),
        places=np.zeros(n_rows, np.int64),
        near=np.zeros(n_rows, bool),
        distances=np.zeros(n_rows),
        parts=totals_of(alone, sizes),
        sizes=sizes,
        members=np.zeros(2, np.int64),
        first=np.array([0, 2]),
        tally=np.zeros(2, np.int64),
        gain=np.zeros(1),
        no_goal=np.full(1, np.nan),
    )


def centres_of(clusters: ClusterTotals, sizes: Floats) -> Floats:
    """Return the centres (slots, d) of clusters of these sizes; at zero where they are empty."""
    return np.ascontiguousarray((clusters.totals / np.where(sizes > 0, sizes, 1.0)).T)


def all_union_costs(form: TotalsForm, weights: Floats, pool: Pool) -> Floats:
    """Return how much the objective rises, penalties aside, when two clusters unite (k, k).

    Infinite for a cluster with itself. Not less than what rounding may hide.
    """
    sizes = weights + form.prior_weight
    clusters = totals_of(form, sizes)
    costs = np.full((len(sizes), len(sizes)), np.inf)
    pool.run(lambda a, _: union_costs(clusters, sizes, a, a + 1, costs[a, a + 1 :]), len(sizes) - 1)
    return np.minimum(costs, costs.T)


# Entries of rows compared with centres in one call: enough to be worth it, and at most so many
# before Ctrl-C is noticed.
ENTRIES_A_CALL = 1 << 20
MAX_ENTRIES_A_CALL = 1 << 22
OUT_OF_REACH = 1e300
MAX_HALVED_ROWS = 1 << 10  # rows of a cluster on which halves are tried
# Ways to halve a cluster that are refined, those that save most: all, or so many of many rows.
REFINED = 2
SMALL_ROWS = 1 << 12

Tiles = list[tuple[int, int]]


class MovingClusters(NamedTuple):
    """Clusters that follow every row that moves; a slot without members is not open."""

    sizes: Floats  # (slots,): weights with the prior's
    members: NDArray[np.int64]  # (slots,): rows of positive weight
    prior_weight: float
    table: Centres | ClusterTotals

    @property
    def centres(self) -> Floats:
        """Where they are now (slots, d)."""
        if isinstance(self.table, Centres):
            return self.table.exact
        return centres_of(self.table, self.sizes)

    def set_fresh(self, fresh: NDArray[np.bool_] | bool) -> None:
        """Say which clusters (slots,) have changed; of no account for squared distances."""
        if not isinstance(self.table, Centres):
            self.table.fresh[:] = fresh

    def worth(self, penalty: float) -> Floats | None:
        """Return the potential of each cluster (slots,), less its penalty.

        None for squared distances, of which it is not kept.
        """
        if isinstance(self.table, Centres):
            return None
        potentials = self.table.potentials - self.table.alone[2]
        return np.where(self.members > 0, potentials - penalty, 0.0)


class MoveTotals(NamedTuple):
    """What single-row moves did."""

    n_moves: int
    gain: float  # by how much the objective fell


class GroupedRows:
    """Rows ``ids`` (m,) in groups (m,); group g has slots ``first[g]`` to ``first[g + 1]``.

    A row may occur several times, in different groups. Where rows are sorted by group (`choose` and
    `along` do not need it), groups run in parallel.

    Sums are plain float64 in the order of the rows, and a group is the unit of parallel work: so
    their rounding does not depend on the number of threads.
    """

    def __init__(
        self,
        local: LocalRows,
        ids: NDArray[np.intp],
        groups: NDArray[np.intp],
        first: NDArray[np.intp],
    ) -> None:
        self._local = local
        self._rows, self._weights, self._constants = local.rows, local.weights, local.constants
        self._ids = ids
        self.groups = groups
        self.first = first
        mean_width = int(first[-1]) // (len(first) - 1)
        self._entries = max(1, mean_width) * local.entries_per_row  # compared with for each row
        self.n_slots = int(first[-1])
        self.places = np.zeros(len(ids), np.int64)  # the slot of each row
        zeros = np.zeros(local.n_columns)
        self._no_rounding = (zeros, zeros)

    def choose(self, form: DirectForm, closed: NDArray[np.bool_] | None = None) -> Floats:
        """Move every row to the cheapest centre (slots, d) of its group; return its cost (m,).

        No row goes to slots that are ``closed`` (slots,).
        """
        centres = self._local.centres(form)
        if closed is not None:
            centres.exact_offset[closed] = OUT_OF_REACH
        out = np.empty(len(self._ids))
        self._run(
            lambda _, start, stop: choose(
                self._rows, self._constants, centres, self._ids, self.groups, self.first,
                self.places, out, start, stop,
            ),
            self._tiles,
        )  # fmt: skip
        return out

    def totals(self) -> tuple[Floats, Floats]:
        """Return weights (slots,) and totals (slots, d) of the rows in their slots."""
        totals = no_totals(self.n_slots, self._local.n_columns)
        self._run(
            lambda _, start, stop: add_up(
                self._rows, self._weights, self._ids, self.places, totals, self._no_rounding,
                self._no_rounding, start, stop,
            ),
            self._units,
        )  # fmt: skip
        return totals.weight_coarse, totals.coarse

    def stretch(self, directions: Floats, centres: Floats) -> Floats:
        """Return the directions (g, d) after one step of power iteration on each group."""
        totals = no_totals(len(directions), self._local.n_columns)
        middles = np.einsum("ij,ij->i", directions, centres)
        self._project(directions, middles, totals, self._units)
        stretched = totals.coarse - totals.weight_coarse[:, np.newaxis] * centres
        length = np.sqrt(np.einsum("ij,ij->i", stretched, stretched))
        return stretched / np.where(length > 0, length, 1.0)[:, np.newaxis]

    def along(self, directions: Floats, centres: Floats) -> Floats:
        """Return each row's coordinate (m,) along its group's direction, from the centre."""
        middles = np.einsum("ij,ij->i", directions, centres)
        return self._project(directions, middles, no_totals(0, self._local.n_columns), self._tiles)

    def _project(
        self, directions: Floats, middles: Floats, totals: Totals, units: list[Tiles]
    ) -> Floats:
        """Return coordinates (m,) along directions; OUT totals: rows times these, if it has any."""
        out = np.empty(len(self._ids))
        self._run(
            lambda _, start, stop: project(
                self._rows, self._weights, self._ids, self.groups, directions, middles, out, totals,
                self._no_rounding, start, stop,
            ),
            units,
        )  # fmt: skip
        return out

    def move_rows(
        self,
        clusters: MovingClusters,
        penalty: float,
        room: int,
        max_passes: int = 1,
        goals: Floats | None = None,
        fresh: NDArray[np.bool_] | None = None,
    ) -> MoveTotals:
        """Move rows one by one while the objective falls.

        ``room``: how many clusters may be opened, in slots without members. ``goals`` (g,): what
        each group should gain. One that has reached it, or is far from it, ends sooner. ``fresh``
        (slots,): where clusters are given by totals, those that are not as they were when no row
        could gain; at first the rows of the others are compared with these only.
        """
        if fresh is not None:
            clusters.set_fresh(fresh)
        if goals is None:
            goals = np.full(len(self.first) - 1, np.nan)
        near = np.empty(len(self._ids), bool)
        units = self._units
        tally = np.array([[room, 0]] * len(units))
        gains = np.zeros((len(units), 1))
        some = np.zeros(len(units), bool)  # whether a pass is for rows near to moving only

        def task(unit: int, start: int, stop: int) -> None:
            # Several passes within one call, as long as that is short.
            at_once = max_passes if len(units[unit]) == 1 else 1
            move_rows(
                self._rows, self._weights, self._constants, clusters.table, clusters.sizes,
                clusters.members, self._ids, self.groups, self.first, self.places, penalty,
                clusters.prior_weight, near, some[unit], tally[unit], gains[unit], goals, at_once,
                start, stop,
            )  # fmt: skip

        for _ in range(max_passes if any(len(unit) > 1 for unit in units) else 1):
            before = tally[:, 1].copy()
            self._run(task, units)
            clusters.set_fresh(True)
            unmoved = before == tally[:, 1]
            # Where a unit has several tiles it is one group.
            goal = goals[self.groups[[unit[0][0] for unit in units]]]
            ended = (gains[:, 0] >= goal) | (gains[:, 0] <= HOPE * goal)
            if (unmoved & (~some | ended)).all():
                break
            some = ~unmoved
        return MoveTotals(int(tally[:, 1].sum()), float(gains.sum()))

    def moving(
        self, form: DirectForm | TotalsForm, weights: Floats, prior_weight: float
    ) -> MovingClusters:
        """Return the clusters of these rows, with weights (slots,), at these centres (slots, d)."""
        weighted = slice(None) if len(self._weights) == 1 else self._weights[self._ids] > 0
        members = np.bincount(self.places[weighted], minlength=self.n_slots)
        return self._local.moving(form, weights, members, prior_weight)

    def halve(
        self, form: TotalsForm, n_ways: int, rng: np.random.RandomState
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Halve every group in so many ways; return what the best saves (g,), and the halves (m,).

        Rows are sorted by group. The first row of a group is in its first half, so that rounding
        does not decide which half keeps the number of a cluster.
        """
        n_groups, m = len(self.first) - 1, len(self._ids)
        ends = np.searchsorted(self.groups, np.arange(n_groups + 1))
        used = np.flatnonzero(ends[:-1] < ends[1:])
        # Rows that follow each other in the data are often alike, and would be placed together.
        order = np.lexsort((rng.random_sample(m), self.groups))
        draws = rng.random_sample((n_groups, n_ways, 2))
        data = self._rows, self._weights, self._constants, self._ids[order]
        costs, wholes, saved = np.empty(m), np.zeros(n_groups), np.zeros((n_ways, n_groups))
        second = np.zeros((n_ways, m), bool)
        spaces: dict[int, Halves] = {}

        def run(task: Callable[[int, int, Halves, int, int], None], number: int) -> None:
            """Run ``task(way, group, space, start, stop)``."""

            def one(number: int, worker: int) -> None:
                if worker not in spaces:
                    spaces[worker] = halves_for(form, m)
                way, group = number // len(used), used[number % len(used)]
                task(way, group, spaces[worker], ends[group], ends[group + 1])

            self._local.pool.run(one, number * len(used))

        def look(way: int, group: int, space: Halves, start: int, stop: int) -> None:
            wholes[group] = survey(*data, space, costs, start, stop)

        def begin(way: int, group: int, space: Halves, start: int, stop: int) -> None:
            saved[way, group] = halve(
                *data, costs, draws[group, way], wholes[group], space, second[way], start, stop
            )

        def finish(place: int, group: int, space: Halves, start: int, stop: int) -> None:
            way = ranked[place, group]
            if saved[way, group] > 0.0:
                saved[way, group] = refine(*data, wholes[group], space, second[way], start, stop)

        run(look, 1)
        run(begin, n_ways)
        is_rough = self._local.n_all > SMALL_ROWS and form.formula is not Formula.BINARY
        n_refined = min(REFINED, n_ways) if is_rough else n_ways
        ranked = np.argsort(-saved, axis=0, kind="stable")
        run(finish, n_refined)
        best = saved.argmax(axis=0)
        gains = np.maximum(saved[best, np.arange(n_groups)], 0.0)
        halves = np.empty(m, bool)
        halves[order] = second[best[self.groups], np.arange(m)] & (gains > 0.0)[self.groups]
        return gains, halves != halves[ends[self.groups]]

    @cached_property
    def _tiles(self) -> list[Tiles]:
        """Tiles that are independent, where every row is."""
        return [[tile] for tile in _cut(0, len(self._ids), ENTRIES_A_CALL // self._entries)]

    @cached_property
    def _units(self) -> list[Tiles]:
        """Tiles of whole groups, which are independent; those of a large group run in order."""
        size = max(64, ENTRIES_A_CALL // self._entries)
        largest = MAX_ENTRIES_A_CALL // self._entries
        if len(self._ids) <= size:
            return [_cut(0, len(self._ids), largest)]
        ends = np.append(np.flatnonzero(np.diff(self.groups)) + 1, len(self._ids))
        units = []
        start = 0
        while start < len(self._ids):
            # As many groups as make a call worth it, at least one.
            last = np.searchsorted(ends, start + size, side="right") - 1
            stop = int(ends[max(last, np.searchsorted(ends, start, side="right"))])
            units.append(_cut(start, stop, largest))
            start = stop
        return units

    def _run(self, task: Callable[[int, int, int], None], units: list[Tiles]) -> None:
        """Run ``task(unit, start, stop)``: units in parallel, the tiles of each in order."""

        def run(unit: int, worker: int) -> None:
            for start, stop in units[unit]:
                task(unit, start, stop)

        self._local.pool.run(run, len(units))


def thin(groups: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Return where at most so many rows of each group are, evenly spread; groups (m,) ascend."""
    within = np.arange(len(groups)) - np.searchsorted(groups, groups)
    step = (np.bincount(groups) - 1) // most + 1
    return np.flatnonzero(within % step[groups] == 0)


def _cut(start: int, stop: int, size: int) -> Tiles:
    """Cut a range of rows into tiles (start, stop) of this size."""
    size = max(64, size)
    return [(begin, min(begin + size, stop)) for begin in range(start, stop, size)]
