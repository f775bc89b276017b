"""Several starts of the one loop, of which the best is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.engine.partition.descent import Descent, Solution
from hardbayes.matrices import inverse_permutation
from hardbayes.moves.partition.seeding import farthest_first, k_means_plus_plus
from hardbayes.problems.partition import opening_prices

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.matrices import Floats
    from hardbayes.problems.partition import Problem
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
    problem: Problem,
    partition: Partition,
    starts: Starts,
    rng: np.random.RandomState,
    report: Callable[[int, int, int, int], None],
) -> Solution:
    """Return the solution with the lowest objective.

    ``report(start, step, clusters, changed)`` is called after every step.
    """
    executor = problem.executor
    prices = opening_prices(executor, partition)
    best: Solution | None = None
    for start in range(starts.number if starts.random else 1):
        visits = draw_visits(executor.n_rows, starts.order, rng)
        centres = first_centres(problem, partition, prices, starts.init, rng)
        descent = Descent(
            executor,
            partition,
            prices,
            visits,
            rng,
            lambda step, k, changed, start=start: report(start, step, k, changed),  # type: ignore[misc]
        )
        solution = descent.run(centres, starts.search, starts.max_steps)
        if best is None or solution.total(partition.penalty) < best.total(partition.penalty):
            best = solution
    assert best is not None  # there is at least one start
    return best


def draw_visits(n_rows: int, order: str, rng: np.random.RandomState) -> NDArray[np.signedinteger]:
    """Return each row's place (n,) in the order of a sweep."""
    dtype: type[np.signedinteger] = np.int32 if n_rows < 2**31 else np.int64
    rows: NDArray[np.signedinteger] = np.arange(n_rows, dtype=dtype)
    if order == "given":
        return rows
    # The draws of permutation(n_rows), in half the room.
    return inverse_permutation(rng.permutation(rows))


def first_centres(
    problem: Problem,
    partition: Partition,
    prices: Floats,
    init: str | Floats,
    rng: np.random.RandomState,
) -> Floats:
    """Return the centres (k, d) to start from."""
    if not isinstance(init, str):
        return init
    if init == "farthest-first":
        return farthest_first(problem.executor, partition, problem.mean, prices)
    if init == "k-means++":
        return k_means_plus_plus(problem.executor, partition, prices, rng)
    return problem.mean[np.newaxis]
