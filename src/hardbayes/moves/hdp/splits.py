"""Splits: a cluster becomes two, and each group that uses it chooses one of them, or both.

Divisions are found as those of any partition, without regard to groups. Then a few rounds of two
steps each: every group takes the cheaper of the two centres for all its rows, or both of them at
the cost of a local cluster; and the centres follow. What is proposed is judged by exact changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.matrices import Floats
from hardbayes.moves.partition.merges import WORTHWHILE
from hardbayes.moves.partition.proposal import PartitionProposal
from hardbayes.moves.partition.splits import Divisions
from hardbayes.structure.hdp import GroupedPartition

if TYPE_CHECKING:
    from hardbayes.local.rows import LocalRows
    from hardbayes.moves.hdp.state import GroupedState

Ids = NDArray[np.intp]

MAX_ROUNDS = 8


class Parts(NamedTuple):
    """Clusters divided in two, with what each division would change."""

    seconds: NDArray[np.bool_]  # (m,): which rows go to the second part
    changes: Floats  # (c,): of the objective; inf where there is no division
    centres: Floats  # (c, d): of the second parts


def propose_splits(
    state: GroupedState, grouped: GroupedPartition, divisions: Divisions
) -> PartitionProposal | None:
    """Propose to split clusters where that lowers the objective, local penalties included."""
    partition, k = grouped.partition, state.n_clusters
    room = partition.max_clusters - k
    chosen = np.flatnonzero(divisions.are_worth_it(partition.penalty))
    chosen = chosen[np.argsort(-divisions.saved[chosen], kind="stable")][: max(room, 0)]
    if not len(chosen):
        return None
    order = np.full(k, -1)
    order[chosen] = np.arange(len(chosen))
    numbers = order[state.base.numbers(state.weighted)]
    by_cluster = np.argsort(numbers, kind="stable")
    by_cluster = by_cluster[numbers[by_cluster] >= 0]
    ids, numbers = state.weighted[by_cluster], numbers[by_cluster]
    halves = np.stack([divisions.left[chosen], divisions.right[chosen]])
    parts = _divide(state.rows.take(ids), grouped, numbers, state.groups.numbers[ids], halves)
    worth_it = parts.changes < -WORTHWHILE * partition.penalty
    if not worth_it.any():
        return None
    divisions.names[chosen[worth_it]] = -1  # divide both parts again, whatever their weight
    new = k + np.cumsum(worth_it) - 1
    going = parts.seconds & worth_it[numbers]
    return PartitionProposal(
        float(parts.changes[worth_it].sum()),
        ids[going],
        new[numbers[going]],
        parts.centres[worth_it],
        n_splits=int(worth_it.sum()),
    )


def divide_one(
    state: GroupedState, grouped: GroupedPartition, divisions: Divisions, cluster: int
) -> tuple[Ids, NDArray[np.bool_]]:
    """Return the rows of a cluster, and which of them go to the second part of its division."""
    numbers = state.base.numbers(state.weighted)
    ids = state.weighted[numbers == cluster]
    halves = np.stack([divisions.left[[cluster]], divisions.right[[cluster]]])
    groups = state.groups.numbers[ids]
    parts = _divide(state.rows.take(ids), grouped, np.zeros(len(ids), np.intp), groups, halves)
    return ids, parts.seconds


def _divide(
    local: LocalRows, grouped: GroupedPartition, clusters: Ids, groups: Ids, halves: Floats
) -> Parts:
    """Divide clusters between two centres each (2, c, d), which follow their rows.

    ``clusters`` (m,): of each row, 0 to c - 1, sorted; ``groups`` (m,).
    """
    partition, c = grouped.partition, halves.shape[1]
    pairs = np.unique(clusters * (int(groups.max()) + 1) + groups, return_inverse=True)[1]
    weights = local.weights_at()
    one_each = local.grouped(np.arange(local.n_rows), clusters, np.arange(c + 1))
    two_each = local.grouped(np.arange(local.n_rows), clusters, 2 * np.arange(c + 1))
    seconds = np.zeros(local.n_rows, bool)
    for _ in range(MAX_ROUNDS):
        before = seconds
        first, second = (weights * one_each.choose(partition.direct_form(half)) for half in halves)
        seconds = _choose(first, second, pairs, grouped.local_penalty)
        if np.array_equal(before, seconds):
            break
        two_each.places[:] = 2 * clusters + seconds
        sizes, totals = two_each.totals()
        there = (sizes > 0)[:, np.newaxis]
        centres = partition.centres(
            np.where(sizes > 0, sizes, 1.0), np.where(there, totals, partition.prior_mean)
        )
        halves = centres.reshape(c, 2, -1).swapaxes(0, 1)
    heavy = np.bincount(2 * clusters + seconds, weights, 2 * c)
    parts = np.asarray(heavy, np.float64).reshape(c, 2)
    real = (parts > 0).all(axis=1)
    saved = partition.union_costs(parts[:, 0], halves[0], parts[:, 1], halves[1])
    both = np.bincount(2 * pairs + seconds, minlength=2 * (pairs.max() + 1)).reshape(-1, 2) > 0
    owners = np.zeros(len(both), np.intp)
    owners[pairs] = clusters
    more = np.bincount(owners[both.all(axis=1)], minlength=c)
    changes = partition.penalty + grouped.local_penalty * more - saved
    return Parts(seconds, np.where(real, changes, np.inf), halves[1])


def _choose(first: Floats, second: Floats, pairs: Ids, local_penalty: float) -> NDArray[np.bool_]:
    """Return which rows (m,) take the second centre, given their costs at either.

    The rows of a pair of group and cluster all take the first, or the second, or each the cheaper
    one at the local penalty.
    """
    cheaper = second < first
    all_first, all_second, mixed = (
        np.bincount(pairs, costs) for costs in (first, second, np.where(cheaper, second, first))
    )
    apart = mixed + local_penalty < np.minimum(all_first, all_second)
    return np.where(apart[pairs], cheaper, (all_second < all_first)[pairs])
