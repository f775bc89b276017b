"""Groups begin to use clusters, or cease to: whole local clusters open and close at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
    numbers = state.base.numbers()
    after = state.regrouped(state.base.centres()[1], numbers, grouped.local_penalty)
    if np.array_equal(after, numbers):
        return None
    proposal = state.proposal(grouped, after)
    return proposal if proposal.change < -WORTHWHILE * grouped.local_penalty else None
