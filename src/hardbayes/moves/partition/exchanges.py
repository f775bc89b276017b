"""Exchanges: what no single split or merge gains, both together and their neighbours' answer may.

Two clusters are united, one is divided, or both; then the rows of the neighbourhood settle anew.
The whole is taken over where the objective is lower than before, else nothing has happened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.matrices import chunks
from hardbayes.moves.partition.local_search import refine
from hardbayes.moves.partition.merges import WORTHWHILE, least_few, nearest_partners

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hardbayes.executors.memory import MemoryExecutor
    from hardbayes.matrices import Floats
    from hardbayes.moves.partition.splits import Divisions
    from hardbayes.structure.partition import Partition

NEIGHBOURS = 5  # that answer to each change
# What all trials of a round may take: so many entries of rows compared with centres, or a part of
# a sweep.
ENTRIES = 1 << 22
PART_OF_A_SWEEP = 0.25
# Rows of trials that are made side by side: one trial may have more.
ROWS_TOGETHER = 1 << 16


class Trial(NamedTuple):
    """Unite the clusters ``united``, divide the cluster ``divided``; either may be missing."""

    united: tuple[int, ...]
    divided: tuple[int, ...]
    around: NDArray[np.intp]  # clusters whose rows may answer, these among them


class Outcome(NamedTuple):
    """What became of a trial."""

    gain: float  # how much lower the objective would be; 0 where rounding could feign it
    more: int  # how many clusters more there would be
    ids: NDArray[np.intp]  # (m,): rows of the clusters around
    places: NDArray[np.intp]  # (m,): where they are now among these; the last may be new
    new_centre: Floats | None  # (d,): of the new one, if it has members


class Exchanged(NamedTuple):
    """How many trials were taken over, of those that divided and of those that united."""

    n_splits: int
    n_merges: int


def exchange_clusters(
    executor: MemoryExecutor, partition: Partition, divisions: Divisions, n_trials: int
) -> Exchanged:
    """Try exchanges, the most promising first; take over those that lower the objective."""
    weights, totals = executor.totals()
    centres = partition.centres(weights, totals)
    origin = totals.sum(axis=0) / weights.sum()
    explained = partition.explained(weights, centres, origin)
    touched = np.zeros(len(centres), bool)
    room = partition.max_clusters - executor.n_clusters
    n_splits = n_merges = 0
    pairs = _promising(partition, weights, centres, divisions, n_trials)
    for trials in _batches(executor, pairs, _neighbours(partition, centres), touched):
        outcomes = _make(executor, partition, divisions, trials, explained, origin)
        for t in np.argsort([-outcome.gain for outcome in outcomes], kind="stable"):
            trial, outcome = trials[t], outcomes[t]
            if outcome.gain > 0 and outcome.more <= room and not touched[trial.around].any():
                _take_over(executor, trial.around, outcome)
                touched[trial.around] = True
                room -= outcome.more
                n_splits += len(trial.divided)
                n_merges += len(trial.united) // 2
    return Exchanged(n_splits, n_merges)


def _promising(
    partition: Partition, weights: Floats, centres: Floats, divisions: Divisions, n_trials: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield what to unite and what to divide, alone and in pairs, best ranks first."""
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
            yield united, parted
            n_trials -= 1
            if not n_trials:
                return


def _batches(
    executor: MemoryExecutor,
    pairs: Iterator[tuple[tuple[int, ...], tuple[int, ...]]],
    neighbours: NDArray[np.intp],
    touched: NDArray[np.bool_],
) -> Iterator[list[Trial]]:
    """Yield trials to be made side by side, as long as a round may last.

    Clusters ``touched`` (k,) by a trial taken over in the meantime take no part in others.
    """
    members = executor.member_counts()
    budget = max(
        ENTRIES / executor.n_columns, PART_OF_A_SWEEP * executor.n_rows * len(members)
    )  # costs of rows at centres
    trials: list[Trial] = []
    n_rows = 0
    for united, divided in pairs:
        changed = [*united, *divided]
        if touched[changed].any():
            continue
        around = np.unique(np.append(neighbours[changed], changed))
        around = around[~touched[around]]
        n_around = int(members[around].sum())
        budget -= n_around * len(around)
        if budget < 0:
            break
        trials.append(Trial(united, divided, around))
        n_rows += n_around
        if n_rows > ROWS_TOGETHER:
            yield trials
            trials, n_rows = [], 0
    if trials:
        yield trials


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
    trials: list[Trial],
    explained: Floats,
    origin: Floats,
) -> list[Outcome]:
    """Make trials side by side, each with slots for the clusters around it and a new one."""
    first = np.cumsum([0] + [len(trial.around) + 1 for trial in trials])
    ids, groups, places = _begin(executor, divisions, trials, first)
    local = executor.local(ids, groups, first)
    local.places[:] = places
    # Near the cap nobody opens a cluster but the trials themselves.
    room = partition.max_clusters - executor.n_clusters - 2 * len(trials)
    weights, centres = refine(local, partition, partition.penalty, max(0, room))
    after = np.where(weights > 0, partition.explained(weights, centres, origin), 0.0)
    outcomes = []
    for t, trial in enumerate(trials):
        slots, rows = slice(first[t], first[t + 1]), groups == t
        used = weights[slots] > 0
        before = explained[trial.around].sum()
        more = int(np.count_nonzero(used)) - len(trial.around)
        gain = float(after[slots].sum() - before - partition.penalty * more)
        if not gain > WORTHWHILE * (partition.penalty + abs(before)):
            gain = 0.0
        new_centre = centres[first[t + 1] - 1] if used[-1] else None
        outcomes.append(Outcome(gain, more, ids[rows], local.places[rows] - first[t], new_centre))
    return outcomes


def _begin(
    executor: MemoryExecutor, divisions: Divisions, trials: list[Trial], first: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of all trials, each one's trial, and the slot where it begins."""
    slots = np.full((len(trials), executor.n_clusters), -1)
    for t, trial in enumerate(trials):
        slots[t, trial.around] = first[t] + np.arange(len(trial.around))
    ids = np.concatenate(list(executor.rows_in(np.flatnonzero((slots >= 0).any(axis=0)))))
    numbers = executor.cluster_numbers(ids).astype(np.intp)
    # Copies, for views of strided memory would have the kernels compiled once more.
    groups, at = map(np.ascontiguousarray, np.nonzero(slots[:, numbers] >= 0))
    ids, numbers = ids[at], numbers[at]
    for t, trial in enumerate(trials):
        if trial.united:
            older, younger = trial.united
            slots[t, younger] = slots[t, older]
    places = slots[groups, numbers]

    divided = np.array([trial.divided[0] if trial.divided else -1 for trial in trials])
    inside = np.flatnonzero(numbers == divided[groups])
    halves = np.stack([divisions.left[divided], divisions.right[divided]], axis=1)
    local = executor.local(ids[inside], groups[inside], 2 * np.arange(len(trials) + 1))
    local.choose(halves.reshape(2 * len(trials), -1))
    leaving = inside[local.places % 2 == 1]
    places[leaving] = first[groups[leaving] + 1] - 1
    return ids, groups, places


def _take_over(executor: MemoryExecutor, around: NDArray[np.intp], outcome: Outcome) -> None:
    """Give the rows to the clusters where the trial left them."""
    numbers = np.append(around, executor.n_clusters)
    ids, places = outcome.ids, outcome.places
    if outcome.new_centre is not None:
        executor.open_at(outcome.new_centre[np.newaxis])
    else:  # rows of no weight alone may have gone there: they stay where they were
        known = places < len(around)
        ids, places = ids[known], places[known]
    executor.reassign(ids, numbers[places])
