"""Merges: two clusters become one; a group that uses both then has one local cluster less."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.moves.partition.merges import WORTHWHILE, nearest_partners
from hardbayes.moves.partition.proposal import PartitionProposal
from hardbayes.structure.hdp import GroupedPartition

if TYPE_CHECKING:
    from hardbayes.moves.hdp.state import GroupedState


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
            if not changes[a] < -WORTHWHILE * frees[a, b]:
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
