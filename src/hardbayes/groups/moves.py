"""Moves of the hard HDP.

Splits: a cluster becomes two, and each group that uses it chooses one of them, or both. Divisions
are found as those of any partition, without regard to groups. Then a few rounds of two
steps each: every group takes the cheaper of the two centres for all its rows, or both of them at
the cost of a local cluster; and the centres follow. What is proposed is judged by exact changes.

Merges: two clusters become one; a group that uses both then has one local cluster less.

Exchanges: a union and a division tried together, where neither alone lowers the objective. Two
clusters are united, one is divided, or both; then rows and local clusters move, in a state of
their own. The first trial in which the objective ends lower is proposed.

Groups begin to use clusters, or cease to: whole local clusters open and close at once. They are
weighted rows of the problem of the clusters alone.

The fit term of a local cluster is its scatter, which no move of it as a whole changes, and its
weight times the cost of its mean. So every move of a partition is one of local clusters: sweeps,
merges, splits, single-row moves and exchanges, as `dp_means.moves` has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats
from hardbayes.dp_means.moves import PartitionProposal
from hardbayes.dp_means.moves.exchanges import promising
from hardbayes.dp_means.moves.merges import RELATIVE_TOLERANCE, nearest_partners
from hardbayes.dp_means.moves.single_rows import LocalPenalties, MoveRows, propose_row_moves
from hardbayes.dp_means.moves.splits import Divisions
from hardbayes.groups.problem import GroupedPartition

if TYPE_CHECKING:
    from hardbayes.dp_means.local_rows import LocalRows
    from hardbayes.dp_means.state import PartitionState, Potential
    from hardbayes.groups.state import GroupedState, LocalClusters


Ids = NDArray[np.intp]

MAX_ROUNDS = 8  # in which rows choose a half, patience: fewer if none moves


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
    worth_it = parts.changes < -RELATIVE_TOLERANCE * partition.penalty
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
    one_each = local.group(np.arange(local.n_rows), clusters, np.arange(c + 1))
    two_each = local.group(np.arange(local.n_rows), clusters, 2 * np.arange(c + 1))
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


def propose_merges(state: GroupedState, grouped: GroupedPartition) -> PartitionProposal | None:
    """Propose to unite pairs of clusters while that lowers the objective.

    Those that save most first; a cluster takes part in one union, then all costs are computed anew.
    """
    partition = grouped.partition
    weights, totals = (part.copy() for part in state.base.totals())
    in_use = state.in_use()
    united = np.arange(len(weights))  # into which cluster each one goes
    left = np.arange(len(weights))
    change = 0.0
    while len(left) > 1:
        frees = grouped.union_frees(in_use[:, left])
        centres = partition.centres(weights[left], totals[left])
        partners, changes = nearest_partners(partition, weights[left], centres, frees)
        free = np.ones(len(left), bool)
        for a in np.argsort(changes, kind="stable"):
            b = partners[a]
            if not changes[a] < -RELATIVE_TOLERANCE * frees[a, b]:
                break
            if free[a] and free[b]:
                free[[a, b]] = False
                older, younger = sorted((int(left[a]), int(left[b])))
                weights[older] += weights[younger]
                totals[older] += totals[younger]
                in_use[:, older] = np.maximum(in_use[:, older], in_use[:, younger])
                united[united == younger] = older
                change += float(changes[a])
        if free.all():
            break
        left = np.unique(united)
    n_merges = len(weights) - len(left)
    return PartitionProposal(change, united=united, n_merges=n_merges) if n_merges else None


if TYPE_CHECKING:
    #: Lowers the objective of a state by small moves.
    Improve = Callable[[GroupedState], None]


Labels = NDArray[np.int32]


def propose_exchange(
    state: GroupedState,
    grouped: GroupedPartition,
    improve: Improve,
    divisions: Divisions,
    n_trials: int,
) -> PartitionProposal | None:
    """Try exchanges, the most promising first; propose the first that lowers the objective."""
    partition, base = grouped.partition, state.base
    weights, centres = base.centres()
    k = len(centres)
    frees = grouped.union_frees(state.in_use())
    partners, costs = nearest_partners(partition, weights, centres, frees)
    for united, divided in promising(partners, costs, divisions.saved, n_trials):
        if divided and k - len(united) // 2 >= partition.max_clusters:
            continue
        numbers = base.numbers()
        if united:
            numbers[numbers == united[1]] = united[0]
        if divided:
            rows, seconds = divide_one(state, grouped, divisions, divided[0])
            numbers[rows[seconds]] = k
        trial = state.trial(state.clusters_of(numbers)[1], numbers)
        improve(trial)
        proposal = state.proposal(grouped, _rename(trial.base.numbers(), base.numbers(), k))
        if proposal.change < -RELATIVE_TOLERANCE * partition.penalty:
            n_merges = len(united) // 2
            return proposal._replace(n_splits=len(divided), n_merges=n_merges)
    return None


def _rename(numbers: Labels, before: Labels, k: int) -> Labels:
    """Return numbers (n,) of clusters so that most rows keep those that they had before.

    A cluster gets the number from which most of its rows come; of several such the largest, and the
    others get new numbers from k on.
    """
    m = int(numbers.max()) + 1
    both = (numbers >= 0) & (before >= 0)
    shared = np.bincount(numbers[both].astype(np.intp) * k + before[both], minlength=m * k)
    shared = shared.reshape(m, k)
    names = np.full(m + 1, -1, np.int32)
    taken = np.zeros(k, bool)
    for cluster in np.argsort(-shared.max(axis=1), kind="stable"):
        own = int(shared[cluster].argmax())
        if not taken[own]:
            names[cluster], taken[own] = own, True
    new = np.flatnonzero(names[:-1] < 0)
    names[new] = k + np.arange(len(new))
    return names[numbers]


def propose_regrouping(state: GroupedState, grouped: GroupedPartition) -> PartitionProposal | None:
    """Propose to open and close local clusters, group by group, as long as their cost falls.

    Groups decide at the present centres. The change that is reported is exact: with centres that
    follow, so that it is at least as much as the groups expect.
    """
    numbers = state.base.numbers()
    after = regroup_rows(state, grouped, state.base.centres()[1], numbers)
    if np.array_equal(after, numbers):
        return None
    proposal = state.proposal(grouped, after)
    return proposal if proposal.change < -RELATIVE_TOLERANCE * grouped.local_penalty else None


def regroup_rows(
    state: GroupedState, grouped: GroupedPartition, centres: Floats, numbers: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the clusters of rows (n,) where each group chooses which of any centres it uses.

    The centres (k, d) stay; ``numbers`` (n,): where rows are before.
    """
    from hardbayes.groups.memory import regroup_rows

    form = grouped.partition.direct_form(centres)
    given = form, state.by_group, state.group_starts, numbers, grouped.local_penalty
    return regroup_rows(state.rows.take(), *given)


if TYPE_CHECKING:
    #: Minimises over the partitions of local clusters, from the present one; returns where it ends.
    Solve = Callable[[PartitionState, LocalClusters], Potential]


def propose_local_cluster_moves(
    state: GroupedState, grouped: GroupedPartition, move_rows: MoveRows, max_passes: int
) -> PartitionProposal | None:
    """Propose to move whole local clusters, visited one after the other.

    One that joins a cluster which its group uses already frees the local penalty.
    """
    local = state.local_clusters()
    whole = state.partition_of(local)
    in_use = (state.ranks >= 0).astype(np.int32)
    paid = LocalPenalties(grouped.local_penalty, local.groups.numbers, in_use)
    ids = np.arange(local.rows.n_rows)
    proposal = propose_row_moves(whole, grouped.partition, move_rows, ids, max_passes, paid)
    if proposal is None:
        return None
    numbers = np.append(proposal.numbers, -1)
    return _of_rows(local, numbers, proposal.opened, proposal.change)


def propose_global_moves(
    state: GroupedState, grouped: GroupedPartition, solve: Solve
) -> PartitionProposal | None:
    """Propose the partition of the local clusters that the moves of partitions lead to.

    ``solve`` minimises without regard to groups. Local clusters of a group that end in one cluster
    become one, which saves the local penalty beside.
    """
    local, k = state.local_clusters(), state.n_clusters
    whole = state.partition_of(local)
    before = whole.refit()
    after = solve(whole, local)
    # Clusters have kept their names, which were their numbers here; others are new.
    names = whole.names
    is_new = names >= k
    names = np.where(is_new, k + np.cumsum(is_new) - 1, names)
    numbers = np.append(names, -1)[whole.numbers()]
    pairs = np.unique(local.groups.numbers * (k + len(names)) + numbers)
    change = (
        after.above(before)
        + grouped.total_penalty(len(pairs), after.n_clusters)
        - grouped.total_penalty(state.n_local, k)
    )
    if not change < -RELATIVE_TOLERANCE * (grouped.partition.penalty + abs(before.value)):
        return None
    opened = whole.centres()[1][is_new] if is_new.any() else None
    return _of_rows(local, np.append(numbers, -1), opened, change)


def _of_rows(
    local: LocalClusters,
    numbers: NDArray[np.intp],
    opened: Floats | None,
    change: float,
) -> PartitionProposal:
    """Return what local clusters do as what their rows do; ``numbers`` (m + 1,) of their clusters.

    The last number is for rows without weight.
    """
    before = np.append(local.numbers, -1)
    ids = np.flatnonzero((before != numbers)[local.of_rows])
    return PartitionProposal(change, ids, numbers[local.of_rows[ids]], opened)
