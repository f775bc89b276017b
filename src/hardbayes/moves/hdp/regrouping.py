"""Groups begin to use clusters, or cease to: whole local clusters open and close at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.local.local_clusters import regroup_rows
from hardbayes.moves.partition.merges import WORTHWHILE
from hardbayes.moves.partition.proposal import PartitionProposal

if TYPE_CHECKING:
    from hardbayes.moves.hdp.state import GroupedState
    from hardbayes.structure.hdp import GroupedPartition


def propose_regrouping(state: GroupedState, grouped: GroupedPartition) -> PartitionProposal | None:
    """Propose to open and close local clusters, group by group, as long as their cost falls.

    Groups decide at the present centres. The change that is reported is exact: with centres that
    follow, so that it is at least as much as the groups expect.
    """
    base, partition = state.base, grouped.partition
    numbers = base.numbers()
    weights, centres = base.centres()
    after = regroup_rows(
        state.rows.take(), partition.direct_form(centres), state.by_group, state.group_starts,
        numbers, grouped.local_penalty,
    )  # fmt: skip
    ids = np.flatnonzero(after != numbers)
    if not len(ids):
        return None
    k = len(weights)
    totals, everything = state.rows.totals(k, after), np.arange(k)
    new_weights = totals.weights(everything)
    left = new_weights > 0
    new_centres = partition.centres(new_weights[left], totals.sums(everything)[left])
    origin = partition.centres(weights.sum(keepdims=True), base.totals()[1].sum(0, keepdims=True))
    explained = partition.explained(weights, centres, origin[0]).sum()
    more = partition.explained(new_weights[left], new_centres, origin[0]).sum() - explained
    n_local = np.count_nonzero(state.pairs(after))
    change = (
        grouped.total_penalty(n_local, len(new_centres))
        - grouped.total_penalty(state.n_local, k)
        - float(more)
    )
    if not change < -WORTHWHILE * (grouped.local_penalty + abs(explained)):
        return None
    return PartitionProposal(change, ids, after[ids].astype(np.intp))
