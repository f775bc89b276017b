"""Local search within trial divisions: rows choose among the few clusters of their group.

Two ways, of which `engine.partition.passes` picks one for the costs at hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.local.groups import GroupedRows
    from hardbayes.matrices import Floats
    from hardbayes.structure.partition import Partition

MAX_PASSES = 16


class Refine(Protocol):
    """Local search."""

    def __call__(
        self,
        grouped: GroupedRows,
        partition: Partition,
        penalty: float,
        room: int,
        before: Floats | None = None,
        fresh: NDArray[np.bool_] | None = None,
    ) -> tuple[Floats, Floats]:
        """Improve ``grouped.places``; return weights (slots,) and centres (slots, d).

        ``penalty``: what an opened cluster costs; ``room``: how many may be opened; ``before``
        (g,): the potential, less penalties, that each group should exceed, if that is all that
        matters; ``fresh`` (slots,): clusters that are not as they were when no row could gain.
        """


def refine_by_rows(
    grouped: GroupedRows,
    partition: Partition,
    penalty: float,
    room: int,
    before: Floats | None = None,
    fresh: NDArray[np.bool_] | None = None,
) -> tuple[Floats, Floats]:
    """Move rows one by one, by exact changes of the objective, where these are compiled."""
    weights, centres = _clusters(grouped, partition)
    clusters = grouped.moving(partition.moving_form(centres), weights, partition.prior_weight)
    goals, worth = None, clusters.worth(penalty)
    if before is not None and worth is not None:
        goals = before - np.add.reduceat(worth, grouped.first[:-1])
    grouped.relocate(clusters, penalty, room, MAX_PASSES, goals, fresh)
    weights = np.where(clusters.members > 0, clusters.sizes - partition.prior_weight, 0.0)
    return weights, clusters.centres


def refine_by_turns(
    grouped: GroupedRows,
    partition: Partition,
    penalty: float,
    room: int,
    before: Floats | None = None,
    fresh: NDArray[np.bool_] | None = None,
) -> tuple[Floats, Floats]:
    """All rows choose, then the centres follow: for any divergence. No cluster is opened."""
    weights, centres = _clusters(grouped, partition)
    for _ in range(MAX_PASSES):
        places = grouped.places.copy()
        grouped.choose(partition.direct_form(centres), closed=weights == 0)
        if np.array_equal(places, grouped.places):
            break
        weights, centres = _clusters(grouped, partition)
    return weights, centres


def _clusters(grouped: GroupedRows, partition: Partition) -> tuple[Floats, Floats]:
    """Return weights (slots,) and centres (slots, d); empty slots are at the prior's mean."""
    weights, totals = grouped.totals()
    empty = weights == 0
    if empty.any():
        totals[empty] = partition.prior_mean
        return weights, partition.centres(np.where(empty, 1.0, weights), totals)
    return weights, partition.centres(weights, totals)
