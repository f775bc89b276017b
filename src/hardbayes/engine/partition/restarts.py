"""Several starts of a fit, of which the best is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.engine.partition.descent import Descent, Solution
from hardbayes.engine.partition.passes import passes_for
from hardbayes.matrices import inverse_permutation
from hardbayes.moves.partition.seeding import farthest_first, k_means_plus_plus

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.executors.protocol import Rows
    from hardbayes.matrices import Floats
    from hardbayes.moves.partition.state import PartitionState
    from hardbayes.structure.partition import Partition


@dataclass(frozen=True)
class Starts:
    """How often and from where to start, and how to go on."""

    init: str | Floats  # a name, or centres (k, d) in working coordinates
    order: str  # "random" or "given": in which order rows are visited
    number: int
    search: str  # which stages follow
    max_steps: int

    @property
    def random(self) -> bool:
        """Whether one start differs from the next."""
        seeded = isinstance(self.init, str) and self.init == "k-means++"
        return self.order == "random" or self.search == "split-merge" or seeded


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
        visit_rank = draw_visit_rank(rows.n_rows, starts.order, rng)
        centres = first_centres(rows, partition, opening, mean, starts.init, rng)
        descent = Descent(
            state,
            partition,
            passes,
            opening,
            visit_rank,
            rng,
            lambda step, k, changed, start=start: report(start, step, k, changed),  # type: ignore[misc]
        )
        solution = descent.run(centres, starts.search, starts.max_steps)
        if best is None or solution.total(partition) < best.total(partition):
            best = solution
    assert best is not None  # there is at least one start
    return best


def draw_visit_rank(
    n_rows: int, order: str, rng: np.random.RandomState
) -> NDArray[np.signedinteger]:
    """Return each row's place (n,) in the order of a sweep."""
    dtype: type[np.signedinteger] = np.int32 if n_rows < 2**31 else np.int64
    rows: NDArray[np.signedinteger] = np.arange(n_rows, dtype=dtype)
    if order == "given":
        return rows
    # The draws of permutation(n_rows), in half the memory.
    return inverse_permutation(rng.permutation(rows))


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
