"""Which passes go with which costs: the one place that reads what a divergence offers.

Squared distances have a closed form for the change that a single row makes, so that moves of rows
are compiled, small data is swept in one call, and paths go by single clusters. Any other divergence
has the general versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.engine.partition.falling_path import FallingPath
from hardbayes.engine.partition.stepped_path import SteppedPath
from hardbayes.geometry.entrywise_totals import EntrywiseTotals
from hardbayes.moves.partition.cluster_potentials import (
    ClusterPotentials,
    EntrywisePotentials,
    SeparablePotentials,
)
from hardbayes.moves.partition.local_search import refine_by_rows, refine_by_turns
from hardbayes.moves.partition.rows_by_potentials import walk_by_potentials
from hardbayes.moves.partition.single_rows import walk_compiled
from hardbayes.tuples import Layout

if TYPE_CHECKING:
    from hardbayes.engine.partition.path import Path
    from hardbayes.geometry.base import Geometry
    from hardbayes.moves.partition.local_search import Refine
    from hardbayes.moves.partition.single_rows import Walk
    from hardbayes.structure.partition import Partition

# Costs of rows at centres up to which every round of moves ends with single-row moves of all rows.
SMALL = 1 << 17


@dataclass(frozen=True)
class Passes:
    """What a descent is made of."""

    walk: Walk  # single-row moves
    refine: Refine  # local search within trials
    sweeps_together: bool  # small data is swept in one compiled call
    relocated_costs: int  # after moves, all rows are relocated if there are fewer costs than this
    border_slack: float  # of the test for rows that might move; its factors are exact, or rough
    are_compiled: bool  # single-row moves: any number of rows may be visited
    are_incremental: bool  # steps of one cluster are compiled, for paths and detours


def passes_for(partition: Partition, sparse: bool) -> Passes:
    """Return the passes for a partition of dense or sparse rows."""
    geometry = partition.geometry
    if geometry.distance_costs:
        alone = not partition.prior_weight
        return Passes(walk_compiled, refine_by_rows, alone, SMALL, 0.9, True, alone)
    walk = partial(walk_by_potentials, _potentials(geometry, sparse))
    return Passes(walk, refine_by_turns, False, 0, 0.8, False, False)


def _potentials(geometry: Geometry, sparse: bool) -> type[ClusterPotentials]:
    """Return the cheapest way to compute what rows cost in clusters."""
    if isinstance(geometry, EntrywiseTotals):
        return EntrywisePotentials
    return SeparablePotentials if sparse and geometry.separable else ClusterPotentials


def layout_for(geometry: Geometry, sparse: bool, dtype: np.dtype) -> Layout:
    """Return how passes over rows of this dtype read centres.

    A distance in float32 tells most centres apart, in half the time. Other costs are differences of
    larger numbers.
    """
    if geometry.distance_costs:
        return Layout(dtype if sparse else np.dtype(np.float32), sparse, "distance", None)
    return Layout(dtype, sparse, "affine", None)


def path_type(partition: Partition) -> type[Path]:
    """Return the kind of path for a partition."""
    steps = partition.geometry.distance_costs and not partition.prior_weight
    return SteppedPath if steps else FallingPath
