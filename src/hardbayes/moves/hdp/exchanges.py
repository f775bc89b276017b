"""Exchanges: a union and a division tried together, where neither alone lowers the objective.

Two clusters are united, one is divided, or both; then the rows around move one by one, by exact
changes with local penalties. The trial in which the objective ends lowest is proposed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.moves.hdp.splits import divide_one
from hardbayes.moves.partition.exchanges import ENTRIES, neighbours, promising
from hardbayes.moves.partition.merges import WORTHWHILE, nearest_partners
from hardbayes.moves.partition.proposal import PartitionProposal
from hardbayes.moves.partition.single_rows import Clusters, Tolls

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.moves.hdp.state import GroupedState
    from hardbayes.moves.partition.single_rows import Walk
    from hardbayes.moves.partition.splits import Divisions
    from hardbayes.structure.hdp import GroupedPartition

    Ids = NDArray[np.intp]
    Labels = NDArray[np.int32]

MAX_PASSES = 8


def propose_exchange(
    state: GroupedState,
    grouped: GroupedPartition,
    walk: Walk,
    divisions: Divisions,
    n_trials: int,
) -> PartitionProposal | None:
    """Try exchanges, the most promising first, and propose the best one.

    Trials with more rows than a round may compare are left out.
    """
    partition, base = grouped.partition, state.base
    weights, centres = base.centres()
    k = len(centres)
    frees = grouped.union_frees(state.in_use())
    partners, costs = nearest_partners(partition, weights, centres, frees)
    near = neighbours(partition, centres)
    best: PartitionProposal | None = None
    for united, divided in promising(partners, costs, divisions.saved, n_trials):
        changed = [*united, *divided]
        ids = base.rows_in(np.unique(np.append(near[changed], changed)))
        is_too_much = len(ids) * k * state.rows.entries_per_row > ENTRIES // n_trials
        if is_too_much or (k >= partition.max_clusters and not united):
            continue
        numbers = base.numbers()
        if united:
            numbers[numbers == united[1]] = united[0]
        if divided:
            rows, seconds = divide_one(state, grouped, divisions, divided[0])
            numbers[rows[seconds]] = k
        _relocate(state, grouped, walk, ids, numbers)
        trial = state.proposal(grouped, numbers)
        least = 0.0 if best is None else best.change
        if trial.change < least - WORTHWHILE * partition.penalty:
            best = trial._replace(n_splits=len(divided), n_merges=len(united) // 2)
    return best


def _relocate(
    state: GroupedState, grouped: GroupedPartition, walk: Walk, ids: Ids, numbers: Labels
) -> None:
    """Let rows ``ids`` move one by one. IN/OUT numbers (n,) of the clusters of all rows."""
    partition = grouped.partition
    k = max(state.n_clusters, int(numbers.max()) + 1)
    totals, every = state.rows.totals(k, numbers), np.arange(k)
    weights, sums = totals.weights(every), totals.sums(every)
    sums[weights == 0] = partition.prior_mean  # a cluster not yet open
    centres = partition.centres(np.where(weights > 0, weights, 1.0), sums)
    pairs = state.pairs(numbers, k)
    tolls = Tolls(grouped.local_penalty, state.groups.numbers[ids], pairs)
    members = pairs.sum(axis=0, dtype=np.int64)
    own = numbers[ids].astype(np.intp)
    clusters = Clusters(weights, centres, members, tolls)
    walk(state.rows.take(ids), partition, own, clusters, MAX_PASSES)
    numbers[ids] = own
