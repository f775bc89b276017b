"""Exchanges: a union and a division tried together, where neither alone lowers the objective.

Two clusters are united, one is divided, or both; then rows and local clusters move, in a state of
their own. The first trial in which the objective ends lower is proposed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardbayes.moves.hdp.splits import divide_one
from hardbayes.moves.partition.exchanges import promising
from hardbayes.moves.partition.merges import WORTHWHILE, nearest_partners
from hardbayes.moves.partition.proposal import PartitionProposal
from hardbayes.moves.partition.splits import Divisions
from hardbayes.structure.hdp import GroupedPartition

if TYPE_CHECKING:
    from hardbayes.moves.hdp.state import GroupedState

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
        proposal = state.proposal(grouped, _renamed(trial.base.numbers(), base.numbers(), k))
        if proposal.change < -WORTHWHILE * partition.penalty:
            n_merges = len(united) // 2
            return proposal._replace(n_splits=len(divided), n_merges=n_merges)
    return None


def _renamed(numbers: Labels, before: Labels, k: int) -> Labels:
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
