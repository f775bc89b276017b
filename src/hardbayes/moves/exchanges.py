"""Exchanges: what no single split or merge gains, both together and their neighbours' answer may.

Two clusters are united, one is divided, or both; then the rows of the neighbourhood settle anew.
The whole is taken over where the objective is lower than before, else nothing has happened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.matrices import chunks
from hardbayes.moves.merges import WORTHWHILE, least_few, nearest_partners
from hardbayes.moves.refining import refine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hardbayes.executors.memory import MemoryExecutor
    from hardbayes.geometry.base import Floats
    from hardbayes.moves.splits import Divisions
    from hardbayes.structure.partition import Partition

NEIGHBOURS = 5  # that answer to each change
# Costs of rows at centres that all trials of a round may take: this many, or a part of a sweep's.
COSTS = 1 << 18
PART_OF_A_SWEEP = 0.25
# Rows of trials that are made side by side: one trial may have more.
ROWS_TOGETHER = 1 << 16


class Trial(NamedTuple):
    """Unite the clusters ``united``, divide the cluster ``divided``; either may be missing."""

    united: tuple[int, ...]
    divided: tuple[int, ...]

    @property
    def changed(self) -> list[int]:
        """The clusters that it begins with."""
        return [*self.united, *self.divided]


class Exchanged(NamedTuple):
    """How many trials were taken over, of those that divided and of those that united."""

    n_splits: int
    n_merges: int


class Outcome(NamedTuple):
    """What became of a trial."""

    gain: float  # how much lower the objective would be; 0 where rounding could feign it
    more: int  # how many clusters more there would be
    ids: NDArray[np.intp]  # (m,): rows of the neighbourhood
    places: NDArray[np.intp]  # (m,): where they are now among its clusters; the last may be new
    new_centre: Floats | None  # (d,): of the new one, if it has members


def exchange_clusters(
    executor: MemoryExecutor, partition: Partition, divisions: Divisions, n_trials: int
) -> Exchanged:
    """Try exchanges, the most promising first; take over those that lower the objective."""
    weights, totals = executor.totals()
    centres = partition.centres(weights, totals)
    origin = totals.sum(axis=0) / weights.sum()
    explained = partition.explained(weights, centres, origin)
    members = executor.member_counts()
    neighbours = _neighbours(partition, centres)
    budget = max(COSTS, PART_OF_A_SWEEP * executor.n_rows * len(centres))
    trials = list(_promising(partition, weights, centres, divisions, n_trials))
    touched = np.zeros(len(centres), bool)
    n_splits = n_merges = more = 0
    room = partition.max_clusters - executor.n_clusters
    while trials and budget > 0:
        together: list[tuple[Trial, NDArray[np.intp]]] = []
        n_rows = 0
        while trials and n_rows < ROWS_TOGETHER and budget > 0:
            trial = trials.pop(0)
            if touched[trial.changed].any():
                continue
            around = np.unique(np.append(neighbours[trial.changed], trial.changed))
            around = around[~touched[around]]
            n_around = int(members[around].sum())
            n_rows += n_around
            budget -= n_around * len(around)
            if budget > 0:
                together.append((trial, around))
        outcomes = _make(executor, partition, divisions, together, explained, origin)
        for t in np.argsort([-outcome.gain for outcome in outcomes], kind="stable"):
            (trial, around), outcome = together[t], outcomes[t]
            if outcome.gain > 0 and more + outcome.more <= room and not touched[around].any():
                _take_over(executor, around, outcome)
                touched[around] = True
                more += outcome.more
                n_splits += len(trial.divided)
                n_merges += len(trial.united) // 2
    return Exchanged(n_splits, n_merges)


def _promising(
    partition: Partition, weights: Floats, centres: Floats, divisions: Divisions, n_trials: int
) -> Iterator[Trial]:
    """Yield trials: cheap unions and worthwhile divisions, alone and in pairs, best ranks first."""
    unions: list[tuple[int, ...]] = [()]
    if len(centres) > 1:
        partners, costs = nearest_partners(partition, weights, centres)
        for a in np.argsort(costs, kind="stable"):
            pair = (int(min(a, partners[a])), int(max(a, partners[a])))
            if pair not in unions:
                unions.append(pair)
            if len(unions) > n_trials:
                break
    divided: list[tuple[int, ...]] = [()]
    for c in np.argsort(-divisions.saved, kind="stable")[:n_trials]:
        if divisions.saved[c] > 0:
            divided.append((int(c),))
    for total in range(1, len(unions) + len(divided)):
        for u in range(max(0, total - len(divided) + 1), min(total, len(unions) - 1) + 1):
            united, parted = unions[u], divided[total - u]
            if set(united) & set(parted):
                continue
            yield Trial(united, parted)
            n_trials -= 1
            if not n_trials:
                return


def _neighbours(partition: Partition, centres: Floats) -> NDArray[np.intp]:
    """Return the numbers (k, near) of the clusters nearest to each, itself among them."""
    k = len(centres)
    near = min(NEIGHBOURS + 1, k)
    nearest = np.empty((k, near), np.intp)
    for part in chunks(k, k):
        nearest[part] = least_few(partition.geometry.between(centres[part], centres), near)
    return nearest


def _make(
    executor: MemoryExecutor,
    partition: Partition,
    divisions: Divisions,
    trials: list[tuple[Trial, NDArray[np.intp]]],
    explained: Floats,
    origin: Floats,
) -> list[Outcome]:
    """Make trials side by side, each among the clusters of its neighbourhood and one more."""
    if not trials:
        return []
    first = np.cumsum([0] + [len(around) + 1 for _, around in trials])
    slots = np.full((len(trials), executor.n_clusters), -1)
    for t, (_, around) in enumerate(trials):
        slots[t, around] = first[t] + np.arange(len(around))
    ids = np.concatenate(list(executor.rows_in(np.flatnonzero((slots >= 0).any(axis=0)))))
    numbers = executor.numbers_of(ids)
    groups, at = np.nonzero(slots[:, numbers] >= 0)
    ids, numbers = ids[at], numbers[at]
    for t, (trial, _) in enumerate(trials):
        if trial.united:
            slots[t, trial.united[1]] = slots[t, trial.united[0]]
    places = slots[groups, numbers]
    apart = np.array([trial.divided[0] if trial.divided else -1 for trial, _ in trials])
    inside = np.flatnonzero(numbers == apart[groups])
    parts = executor.local(ids[inside], groups[inside], 2 * np.arange(len(trials) + 1))
    parts.choose(
        np.stack([divisions.left[apart], divisions.right[apart]], 1).reshape(2 * len(trials), -1)
    )
    leaves = inside[parts.places % 2 == 1]
    places[leaves] = first[groups[leaves] + 1] - 1

    local = executor.local(ids, groups, first)
    local.places[:] = places
    # Near the cap nobody opens a cluster but the trials themselves.
    room = partition.max_clusters - executor.n_clusters - 2 * len(trials)
    weights, centres = refine(local, partition, partition.penalty, max(0, room))

    used = weights > 0
    after = np.where(used, partition.explained(weights, centres, origin), 0.0)
    return [
        _outcome(
            partition, explained[around].sum(), after[part], used[part], centres[part],
            ids[groups == t], local.places[groups == t] - first[t],
        )
        for t, (_, around) in enumerate(trials)
        for part in [slice(first[t], first[t + 1])]
    ]  # fmt: skip


def _outcome(
    partition: Partition,
    before: float,
    after: Floats,
    used: NDArray[np.bool_],
    centres: Floats,
    ids: NDArray[np.intp],
    places: NDArray[np.intp],
) -> Outcome:
    """Judge a trial by what its clusters explained ``before`` and explain ``after`` (slots,)."""
    more = int(np.count_nonzero(used)) - (len(used) - 1)
    gain = float(after.sum() - before - partition.penalty * more)
    if not gain > WORTHWHILE * (partition.penalty + abs(before)):
        gain = 0.0
    return Outcome(gain, more, ids, places, centres[-1] if used[-1] else None)


def _take_over(executor: MemoryExecutor, around: NDArray[np.intp], outcome: Outcome) -> None:
    """Give the rows to the clusters where the trial left them."""
    numbers = np.append(around, executor.n_clusters)
    if outcome.new_centre is not None:
        executor.open_at(outcome.new_centre[np.newaxis])
    executor.reassign(outcome.ids, numbers[outcome.places])
