"""Several starts of a fit, of which the best is kept: a mean, the farthest rows, or rows drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.core.arrays import VisitOrder, centres_without_scores
from hardbayes.dp_means.descent import Descent, Solution
from hardbayes.dp_means.passes import passes_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from hardbayes.core.arrays import Floats
    from hardbayes.dp_means.objective import Partition
    from hardbayes.dp_means.rows import Rows
    from hardbayes.dp_means.state import PartitionState


def costs_at(rows: Rows, partition: Partition, centre: Floats) -> Floats:
    """Return the cost (n,) of every row at one point (d,)."""
    form = partition.direct_form(centre[np.newaxis])
    everywhere = np.zeros(rows.n_rows, np.int32)
    return rows.costs(centres_without_scores(form, rows.layout.dtype), everywhere)


def farthest_first(rows: Rows, partition: Partition, mean: Floats, opening: Floats) -> Floats:
    """Start at the overall mean and add the row farthest above its opening cost.

    Stops when no row is above it, or at the cap. Returns centres (k, d).
    """
    centres = [mean]
    nearest = costs_at(rows, partition, centres[0])
    while len(centres) < min(partition.max_clusters, rows.n_rows + 1):
        excess = rows.weights * nearest - opening
        row = int(np.argmax(excess))
        if not excess[row] > 0:
            break
        centres.append(_opened_by(rows, partition, row))
        np.minimum(nearest, costs_at(rows, partition, centres[-1]), out=nearest)
    return np.array(centres)


def k_means_plus_plus(
    rows: Rows, partition: Partition, opening: Floats, rng: np.random.RandomState
) -> Floats:
    """Draw a first row by weight, then rows above their opening cost by their cost.

    After Arthur & Vassilvitskii 2007. Stops when no row is above it, or at the cap. Returns centres
    (k, d).
    """
    n = rows.n_rows
    chance = np.broadcast_to(rows.weights, n)
    nearest = np.full(n, np.inf)
    centres: list[Floats] = []
    while True:
        cumulated = np.cumsum(chance)
        row = int(np.searchsorted(cumulated, rng.random_sample() * cumulated[-1], side="right"))
        row = min(row, n - 1)
        centres.append(_opened_by(rows, partition, row))
        np.minimum(nearest, costs_at(rows, partition, centres[-1]), out=nearest)
        costs = rows.weights * nearest
        chance = np.where(costs > opening, costs, 0.0)
        if len(centres) >= min(partition.max_clusters, n) or not chance.any():
            return np.array(centres)


def _opened_by(rows: Rows, partition: Partition, row: int) -> Floats:
    """Return the centre (d,) of a cluster that holds this row alone."""
    local = rows.take(np.array([row]))
    return partition.opening_centres(local.dense(), local.weights_at())[0]


@dataclass(frozen=True)
class Starts:
    """How often and from where to start, and how to go on."""

    init: str | Floats  # a name, or centres (k, d) in working coordinates
    order: str  # in which rows are visited, as `VisitOrder.draw` takes it
    number: int
    search: str  # which stages follow
    max_steps: int

    @property
    def random(self) -> bool:
        """Whether one start differs from the next."""
        seeded = isinstance(self.init, str) and self.init == "k-means++"
        return self.order != "given" or self.search == "split-merge" or seeded


def minimise(
    state: PartitionState,
    partition: Partition,
    opening: Floats,
    mean: Callable[[], Floats],
    starts: Starts,
    rng: np.random.RandomState,
    report: Callable[[int, int, int, int], None],
) -> Solution:
    """Return the solution with the lowest objective.

    ``opening`` (n,) or (1,): what it costs each row to open a cluster; ``mean()``
    returns the mean (d,) of all rows, which few starts need; ``report(start, step, clusters,
    changed)`` is called after every step.
    """
    rows = state.rows
    passes = passes_for(partition)
    best: Solution | None = None
    for start in range(starts.number if starts.random else 1):
        order = VisitOrder.draw(starts.order, rng)
        centres = first_centres(rows, partition, opening, mean, starts.init, rng)
        descent = Descent(
            state,
            partition,
            passes,
            opening,
            order,
            rng,
            lambda step, k, changed, start=start: report(start, step, k, changed),  # type: ignore[misc]
        )
        solution = descent.run(centres, starts.search, starts.max_steps)
        if best is None or solution.total(partition) < best.total(partition):
            best = solution
    assert best is not None  # there is at least one start
    return best


def first_centres(
    rows: Rows,
    partition: Partition,
    opening: Floats,
    mean: Callable[[], Floats],
    init: str | Floats,
    rng: np.random.RandomState,
) -> Floats:
    """Return the centres (k, d) to start from."""
    if not isinstance(init, str):
        return init
    if init == "farthest-first":
        return farthest_first(rows, partition, mean(), opening)
    if init == "k-means++":
        return k_means_plus_plus(rows, partition, opening, rng)
    return mean()[np.newaxis]
