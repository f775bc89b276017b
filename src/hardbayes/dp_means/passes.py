"""Which passes go with which costs: the one place that reads what a divergence offers.

Where there is a formula for the change that a single row makes, moves of rows are compiled, and
paths go by single clusters. Small data with squared distances is swept in one call. Any other
divergence has the general versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hardbayes.dp_means.moves.potentials import move_rows_by_potentials
from hardbayes.dp_means.moves.single_rows import move_rows_compiled, refine_by_rows, refine_by_turns
from hardbayes.dp_means.path import FallingPath
from hardbayes.dp_means.stepped_path import SteppedPath

if TYPE_CHECKING:
    from hardbayes.dp_means.moves.single_rows import MoveRows, Refine
    from hardbayes.dp_means.objective import Partition
    from hardbayes.dp_means.path import Path


# Costs of rows at centres up to which every round of moves ends with single-row moves of all rows.
MAX_COSTS = 1 << 17
# Entries of rows compared with clusters, up to which rows at the border are not picked: costs at
# centres of which they are a part say little of what rows would pay elsewhere.
MAX_ENTRIES = 1 << 30


@dataclass(frozen=True)
class Passes:
    """What a descent is made of."""

    move_rows: MoveRows  # single-row moves
    refine: Refine  # local search within trials
    sweeps_together: bool  # small data is swept in one compiled call
    max_costs_all_rows: int  # after moves, all rows may move if costs are fewer
    border_slack: float  # of the test for rows that might move; its factors are exact, or rough
    max_entries_all_rows: int  # all rows may move if fewer are compared
    are_compiled: bool  # single-row moves: any number of rows may be visited
    splits_then_merges: bool  # at the cap (`dp_means.moves.exchanges`)
    merges_early: bool  # after every sweep; else all costs of unions are computed, which takes long


def passes_for(partition: Partition) -> Passes:
    """Return the passes for a partition."""
    geometry = partition.geometry
    if geometry.distance_costs:
        alone = not partition.prior_weight
        return Passes(
            move_rows=move_rows_compiled,
            refine=refine_by_rows,
            sweeps_together=alone,
            max_costs_all_rows=MAX_COSTS,
            border_slack=0.9,
            max_entries_all_rows=0,
            are_compiled=True,
            splits_then_merges=alone,
            merges_early=True,
        )
    if geometry.formula is not None:
        return Passes(
            move_rows=move_rows_compiled,
            refine=refine_by_rows,
            sweeps_together=False,
            max_costs_all_rows=0,
            border_slack=0.8,
            max_entries_all_rows=MAX_ENTRIES,
            are_compiled=True,
            splits_then_merges=False,
            merges_early=False,
        )
    return Passes(
        move_rows=move_rows_by_potentials,
        refine=refine_by_turns,
        sweeps_together=False,
        max_costs_all_rows=0,
        border_slack=0.8,
        max_entries_all_rows=0,
        are_compiled=False,
        splits_then_merges=False,
        merges_early=True,
    )


def path_type(partition: Partition) -> type[Path]:
    """Return the kind of path for a partition."""
    geometry = partition.geometry
    steps = geometry.distance_costs and not partition.prior_weight
    return SteppedPath if steps or geometry.formula is not None else FallingPath
