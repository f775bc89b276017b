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
    """What a descent is made of; unless told otherwise, what any divergence has."""

    move_rows: MoveRows = move_rows_by_potentials  # single-row moves
    refine: Refine = refine_by_turns  # local search within trials
    are_compiled: bool = False  # single-row moves: any number of rows may be visited
    # Squared distances without a prior: small data is swept in one compiled call, and at the cap
    # clusters split, then merge (`dp_means.moves.exchanges`).
    are_plain: bool = False
    max_costs_all_rows: int = 0  # after moves, all rows may move if costs are fewer
    max_entries_all_rows: int = 0  # all rows may move if fewer are compared
    border_slack: float = 0.8  # of the test for rows that might move; its factors are rough
    merges_early: bool = True  # after every sweep; else all costs of unions take long


def passes_for(partition: Partition) -> Passes:
    """Return the passes for a partition."""
    geometry = partition.geometry
    if geometry.distance_costs:
        return Passes(
            move_rows_compiled,
            refine_by_rows,
            are_compiled=True,
            are_plain=not partition.prior_weight,
            max_costs_all_rows=MAX_COSTS,
            border_slack=0.9,  # the factors are exact
        )
    if geometry.formula is not None:
        return Passes(
            move_rows_compiled,
            refine_by_rows,
            are_compiled=True,
            max_entries_all_rows=MAX_ENTRIES,
            merges_early=False,
        )
    return Passes()


def path_type(partition: Partition) -> type[Path]:
    """Return the kind of path for a partition."""
    geometry = partition.geometry
    steps = geometry.distance_costs and not partition.prior_weight
    return SteppedPath if steps or geometry.formula is not None else FallingPath
