"""Solutions of the hard HDP at rising penalties: from many clusters to few, by merges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.engine.hdp.descent import GroupedDescent, GroupedSolution
from hardbayes.matrices import Floats
from hardbayes.moves.partition.merges import nearest_partners
from hardbayes.structure.hdp import GroupedPartition

if TYPE_CHECKING:
    from hardbayes.moves.hdp.state import GroupedState


STEP = 1.2  # from one penalty to the next
SMALLEST = 1e-6  # penalty to begin with, over the largest cost of a union
MAX_STEPS = 3  # of each descent: the next one goes on from where it ends


def rising_path(
    state: GroupedState,
    free: GroupedPartition,
    ratio: float,
    start: Floats,
    rng: np.random.RandomState,
) -> Iterator[tuple[GroupedPartition, GroupedSolution]]:
    """Yield solutions from centres ``start`` (k, d) to one cluster, each from the one before.

    The local penalty is ``ratio`` times the global one. ``free``: the problem without penalties.
    """
    state.start(start)
    state.refit()
    order = np.arange(state.rows.n_rows)
    partition = replace(free.partition, max_clusters=state.n_clusters)
    # The first penalty is one at which few clusters go. With a prior, unions may cost less than
    # nothing.
    costs = nearest_partners(partition, *state.base.centres())[1]
    if not len(costs):
        costs = np.ones(1)
    penalty = max(float(np.quantile(costs, 0.25)) / 2, SMALLEST * float(np.abs(costs).max()))
    while True:
        grouped = GroupedPartition(replace(partition, penalty=penalty), ratio * penalty)
        # No cluster opens on the way: what rows would pay for one does not matter.
        descent = GroupedDescent(state, grouped, np.array([np.inf]), order, rng)
        yield grouped, descent.run("merge", MAX_STEPS, is_last=False)
        if state.n_clusters == 1:
            return
        penalty *= STEP
