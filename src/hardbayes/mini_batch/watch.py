"""Whether the clusters found last still fit: when a stream is due to be clustered anew.

A new cluster shows as rows that cost more than rows did, by more than a penalty in all. Clusters
that fade show as pairs whose union costs less than a penalty. And where nothing of that happens,
growth by a part of the rows is enough: more rows can pay for more clusters.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.core.arrays import Floats
from hardbayes.dp_means.moves.merges import RELATIVE_TOLERANCE, nearest_partners
from hardbayes.dp_means.objective import Partition

if TYPE_CHECKING:
    from hardbayes.core.geometry import Geometry
    from hardbayes.core.pool import Pool
    from hardbayes.mini_batch.clusters import Clusters
    from hardbayes.mini_batch.summary import Summary
    from hardbayes.mini_batch.windows import Absorbed

# Clusters are found anew when rows have grown by this part, or after this part of a half-life. Less
# follows growth and drift more closely, and takes longer.
GROWTH = 0.25


class Watch(NamedTuple):
    """The clusters found last, in the weights of the summary, and how rows since then cost."""

    centres: Floats  # (k, d), in working coordinates
    weights: Floats  # (k,): with rows since then
    cost: float  # of a row, in the mean, when they were found
    excess: float  # by how much rows since then cost more in all, from where that was least
    row: int  # when they were found
    time: float

    @classmethod
    def of_nothing(cls, n_columns: int) -> Watch:
        """Return the watch before there are clusters: anything is due."""
        return cls(np.zeros((0, n_columns)), np.zeros(0), 0.0, 0.0, 0, -np.inf)

    @classmethod
    def of(cls, found: Clusters, present: float, row: int, time: float) -> Watch:
        """Return the watch over clusters that were just found; ``present`` undoes its factor."""
        cost = found.fit / float(found.weights.sum())
        return cls(found.centres, found.weights / present, cost, 0.0, row, time)

    def scaled(self, factor: float) -> Watch:
        """Return the watch where all weights are multiplied by a factor."""
        return self._replace(weights=self.weights * factor, excess=self.excess * factor)

    def after(
        self,
        absorbed: Absorbed,
        summary: Summary,
        geometry: Geometry,
        penalty: float,
        half_life: float | None,
        row: int,
        time: float,
        pool: Pool,
    ) -> tuple[Watch, bool]:
        """Return the watch after a window, and whether it is time to find clusters anew."""
        if not len(self.centres):
            return self, True
        means = summary.take(absorbed.touched).means(geometry)
        costs = geometry.between(means, self.centres)
        nearest = costs.argmin(axis=1)
        weights = self.weights + np.bincount(nearest, absorbed.weights, len(self.weights))
        spent = float(absorbed.costs.sum() + absorbed.weights @ costs.min(axis=1))
        excess = max(0.0, self.excess + spent - self.cost * float(absorbed.weights.sum()))
        watch = self._replace(weights=weights, excess=excess)
        grown = row >= (1.0 + GROWTH) * self.row
        if half_life is not None:
            grown = time - self.time >= GROWTH * half_life
        return watch, grown or excess > penalty or watch._merges(geometry, penalty, half_life, pool)

    def _merges(
        self, geometry: Geometry, penalty: float, half_life: float | None, pool: Pool
    ) -> bool:
        """Whether two clusters should unite, one of which may have faded."""
        if half_life is None or len(self.centres) < 2:
            return False
        partition = Partition(geometry, penalty, 0.0, np.zeros(self.centres.shape[1]), 0)
        if geometry.nonnegative:  # no column counts as empty
            partition = replace(partition, prior_mean=np.ones(self.centres.shape[1]))
        costs = nearest_partners(partition, self.weights, self.centres, pool=pool)[1]
        return bool((costs < penalty * (1 - RELATIVE_TOLERANCE)).any())
