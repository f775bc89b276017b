"""Groups begin to use clusters, or cease to: whole local clusters open and close at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardbayes.matrices import Floats
from hardbayes.moves.partition.merges import WORTHWHILE
from hardbayes.moves.partition.proposal import PartitionProposal
from hardbayes.structure.hdp import GroupedPartition

if TYPE_CHECKING:
    from hardbayes.moves.hdp.state import GroupedState


def propose_regrouping(state: GroupedState, grouped: GroupedPartition) -> PartitionProposal | None:
    """Propose to open and close local clusters, group by group, as long as their cost falls.

    Groups decide at the present centres. The change that is reported is exact: with centres that
    follow, so that it is at least as much as the groups expect.
    """
    numbers = state.base.numbers()
    after = regrouped(state, grouped, state.base.centres()[1], numbers)
    if np.array_equal(after, numbers):
        return None
    proposal = state.proposal(grouped, after)
    return proposal if proposal.change < -WORTHWHILE * grouped.local_penalty else None


def regrouped(
    state: GroupedState, grouped: GroupedPartition, centres: Floats, numbers: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the clusters of rows (n,) where each group chooses which of any centres it uses.

    The centres (k, d) stay; ``numbers`` (n,): where rows are before.
    """
    form = grouped.partition.direct_form(centres)
    given = form, state.by_group, state.group_starts, numbers, grouped.local_penalty
    return state.rows.take().regroup(*given)
