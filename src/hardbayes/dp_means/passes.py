"""Which passes go with which costs: the one place that reads what a divergence offers.

Where there is a formula for the change that a single row makes, moves of rows are compiled, and
paths go by single clusters. Small data with squared distances is swept in one call. Any other
divergence has the general versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hardbayes.dp_means.moves.potentials import walk_by_potentials
from hardbayes.dp_means.moves.single_rows import refine_by_rows, refine_by_turns, walk_compiled
from hardbayes.dp_means.path import FallingPath
from hardbayes.dp_means.stepped_path import SteppedPath

if TYPE_CHECKING:
    from hardbayes.dp_means.moves.single_rows import Refine, Walk
    from hardbayes.dp_means.objective import Partition
    from hardbayes.dp_means.path import Path


# Costs of rows at centres up to which every round of moves ends with single-row moves of all rows.
SMALL = 1 << 17
# Entries of rows compared with clusters, up to which rows at the border are not picked: costs at
# centres of which they are a part say little of what rows would pay elsewhere.
WALKED = 1 << 30


@dataclass(frozen=True)
class Passes:
    """What a descent is made of."""

    walk: Walk  # single-row moves
    refine: Refine  # local search within trials
    sweeps_together: bool  # small data is swept in one compiled call
    relocated_costs: int  # after moves, all rows are relocated if there are fewer costs than this
    border_slack: float  # of the test for rows that might move; its factors are exact, or rough
    walked_entries: int  # all rows are relocated if fewer entries than this are compared
    are_compiled: bool  # single-row moves: any number of rows may be visited
    splits_then_merges: bool  # at the cap (`dp_means.moves.exchanges`)
    merges_early: bool  # after every sweep; else all costs of unions are computed, which takes long


def passes_for(partition: Partition) -> Passes:
    """Return the passes for a partition."""
    geometry = partition.geometry
    if geometry.distance_costs:
        alone = not partition.prior_weight
        return Passes(
            walk=walk_compiled,
            refine=refine_by_rows,
            sweeps_together=alone,
            relocated_costs=SMALL,
            border_slack=0.9,
            walked_entries=0,
            are_compiled=True,
            splits_then_merges=alone,
            merges_early=True,
        )
    if geometry.formula is not None:
        return Passes(
            walk=walk_compiled,
            refine=refine_by_rows,
            sweeps_together=False,
            relocated_costs=0,
            border_slack=0.8,
            walked_entries=WALKED,
            are_compiled=True,
            splits_then_merges=False,
            merges_early=False,
        )
    return Passes(
        walk=walk_by_potentials,
        refine=refine_by_turns,
        sweeps_together=False,
        relocated_costs=0,
        border_slack=0.8,
        walked_entries=0,
        are_compiled=False,
        splits_then_merges=False,
        merges_early=True,
    )


def path_type(partition: Partition) -> type[Path]:
    """Return the kind of path for a partition."""
    geometry = partition.geometry
    steps = geometry.distance_costs and not partition.prior_weight
    return SteppedPath if steps or geometry.formula is not None else FallingPath
