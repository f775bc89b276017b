"""The one loop.

Decide for each row, open what must be opened, refit, until the partition repeats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.engine.objective import Point, Terms, measure
from hardbayes.engine.status import Status
from hardbayes.moves.births import open_clusters

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.executors.memory import MemoryExecutor
    from hardbayes.geometry.base import Floats
    from hardbayes.structure.partition import Partition


@dataclass(frozen=True)
class Solution:
    """Where a fit ended, in working coordinates and units."""

    labels: NDArray[np.int32]  # (n,), clusters in order of creation
    centres: Floats  # (k, d)
    terms: Terms
    trace: Floats  # (sweeps,): fit and prior terms after each sweep
    cluster_counts: NDArray[np.int64]  # (sweeps,)
    status: Status

    def total(self, penalty: float) -> float:
        """Return the objective at this penalty, in working units."""
        return self.terms.fit + self.terms.prior + penalty * self.terms.n_clusters


def alternate(
    executor: MemoryExecutor,
    partition: Partition,
    start: Floats,
    prices: Floats,
    visits: NDArray[np.signedinteger],
    max_sweeps: int,
    report: Callable[[int, int, int], None],
) -> Solution:
    """Minimise from the centres ``start`` (k, d) by Kulis & Jordan's Algorithm 1.

    ``prices`` (n,) or (1,); ``visits`` (n,): each row's place in the visiting order;
    ``report(sweep, clusters, changed)`` is called after every sweep.
    """
    executor.start(start)
    per_cluster = partition.prior_weight * float(partition.geometry.potential(partition.prior_mean))
    points: list[Point] = []
    status = Status.OUT_OF_SWEEPS
    while len(points) < max_sweeps:
        n_dear = executor.assign(prices)
        n_born = open_clusters(executor, partition, prices, visits) if n_dear else 0
        n_changed = executor.collect()
        weights, totals = executor.totals()
        kept = weights > 0
        as_many = bool(points) and np.count_nonzero(kept) == points[-1].n_clusters
        repeats = n_changed == 0 or (n_born > 0 and as_many and executor.same_partition())
        executor.commit()
        if not kept.all():
            executor.close(~kept)
        centres = partition.centres(weights[kept], totals[kept])
        point = Point(
            len(centres), *executor.potential(partition.prior_weight, partition.prior_mean, centres)
        )
        executor.recentre(centres)
        points.append(point)
        report(len(points), len(centres), n_changed)
        if repeats:
            capped = n_dear > n_born and len(centres) >= partition.max_clusters
            status = Status.CAPPED if capped else Status.CONVERGED
            break

    executor.forget_bounds()
    terms = measure(executor, partition, centres)
    trace = np.array(
        [terms.fit + terms.prior + point.above(points[-1], per_cluster) for point in points]
    )
    counts = np.array([point.n_clusters for point in points])
    if status is Status.OUT_OF_SWEEPS or executor.has_orphans:
        # Labels that agree with the centres, as predict would give them; nobody misses a centre
        # nobody chose.
        executor.assign(np.array([np.inf]), last=True)
        chosen = np.bincount(executor.cluster_numbers(), minlength=len(centres)) > 0
        executor.close(~chosen)
        centres = centres[chosen]
        terms = measure(executor, partition, centres)
        trace[-1], counts[-1] = terms.fit + terms.prior, len(centres)
    return Solution(
        executor.cluster_numbers(), centres, terms, np.maximum(trace, 0.0), counts, status
    )
