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


class Trial(NamedTuple):
    """Unite the clusters ``united``, divide the cluster ``divided``; either may be missing."""

    united: tuple[int, ...]
    divided: tuple[int, ...]


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
    budget = max(COSTS, PART_OF_A_SWEEP * executor.n_rows * len(centres))
    members = executor.member_counts()
    neighbours = _neighbours(partition, centres)
    touched = np.zeros(len(centres), bool)
    n_splits = n_merges = 0
    for trial in _promising(partition, weights, centres, divisions, n_trials):
        changed = [*trial.united, *trial.divided]
        if touched[changed].any():
            continue
        around = np.unique(np.append(neighbours[changed], changed))
        around = around[~touched[around]]
        budget -= int(members[around].sum()) * len(around)
        if budget < 0:
            break
        ids = np.concatenate(list(executor.rows_in(around)))
        if _attempt(executor, partition, divisions, trial, explained, origin, around, ids):
            touched[around] = True
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


def _attempt(
    executor: MemoryExecutor,
    partition: Partition,
    divisions: Divisions,
    trial: Trial,
    explained: Floats,
    origin: Floats,
    around: NDArray[np.intp],
    ids: NDArray[np.intp],
) -> bool:
    """Make one trial among the clusters ``around`` with rows ``ids``; say whether it was kept."""
    k = len(around)
    n_open = executor.n_clusters
    if len(trial.divided) > len(trial.united) // 2 and n_open >= partition.max_clusters:
        return False
    position = np.empty(int(around[-1]) + 1, np.intp)
    position[around] = np.arange(k)
    places = position[executor.numbers_of(ids)]
    for c in trial.divided:
        inside = np.flatnonzero(places == position[c])
        parts = executor.local(ids[inside], np.zeros(len(inside), np.intp), np.array([0, 2]))
        parts.choose(np.array([divisions.left[c], divisions.right[c]]))
        places[inside[parts.places == 1]] = k
    if trial.united:
        a, b = position[list(trial.united)]
        places[places == b] = a
    slots = k + 1
    local = executor.local(ids, np.zeros(len(ids), np.intp), np.array([0, slots]))
    local.places[:] = places
    n_used = k + len(trial.divided) - len(trial.united) // 2
    room = min(partition.max_clusters - (n_open - k + n_used), slots - n_used)
    weights, centres = refine(local, partition, partition.penalty, room)

    used = weights > 0
    before = explained[around].sum()
    after = partition.explained(weights[used], centres[used], origin).sum()
    gain = after - before - partition.penalty * (int(np.count_nonzero(used)) - k)
    if not gain > WORTHWHILE * (partition.penalty + abs(before)):
        return False
    numbers = np.append(around, n_open)
    if used[k]:
        executor.open_at(centres[k:])
    else:
        numbers[k] = around[0]
    executor.reassign(ids, numbers[local.places])
    return True
