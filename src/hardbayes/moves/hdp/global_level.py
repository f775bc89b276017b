"""Moves of whole local clusters, which are weighted rows of the problem of the clusters alone.

The fit term of a local cluster is its scatter, which no move of it as a whole changes, and its
weight times the cost of its mean. So every move of a partition is one of local clusters: sweeps,
merges, splits, single-row moves and exchanges, as `engine.partition` has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardbayes.matrices import Floats
from hardbayes.moves.partition.merges import WORTHWHILE
from hardbayes.moves.partition.proposal import PartitionProposal
from hardbayes.moves.partition.single_rows import LocalPenalties, Walk, propose_relocations
from hardbayes.structure.hdp import GroupedPartition

if TYPE_CHECKING:
    from hardbayes.moves.hdp.state import GroupedState, LocalClusters
    from hardbayes.moves.partition.state import PartitionState, Potential

    #: Minimises over the partitions of local clusters, from the present one; returns where it ends.
    Solve = Callable[[PartitionState, LocalClusters], Potential]


def propose_local_relocations(
    state: GroupedState, grouped: GroupedPartition, walk: Walk, max_passes: int
) -> PartitionProposal | None:
    """Propose to move whole local clusters, visited one after the other.

    One that joins a cluster which its group uses already frees the local penalty.
    """
    local = state.local_clusters()
    whole = state.partition_of(local)
    in_use = (state.ranks >= 0).astype(np.int32)
    paid = LocalPenalties(grouped.local_penalty, local.groups.numbers, in_use)
    ids = np.arange(local.rows.n_rows)
    proposal = propose_relocations(whole, grouped.partition, walk, ids, max_passes, paid)
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
    if not change < -WORTHWHILE * (grouped.partition.penalty + abs(before.value)):
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
