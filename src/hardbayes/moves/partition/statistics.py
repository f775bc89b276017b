"""Weights, totals, centres and unions of the clusters, as long as no label changes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from hardbayes.moves.partition.merges import nearest_partners

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hardbayes.matrices import Floats
    from hardbayes.pool import Pool
    from hardbayes.structure.partition import Partition
    from hardbayes.tuples import Totals


class ClusterStatistics:
    """What exact totals say of the clusters in these slots (k,), computed when first read.

    Several moves read the same arrays: to change one, copy it.
    """

    def __init__(
        self, partition: Partition, totals: Totals, slots: NDArray[np.intp], pool: Pool
    ) -> None:
        self._partition = partition
        self._totals = totals
        self._slots = slots
        self._pool = pool

    @cached_property
    def weights(self) -> Floats:
        """Weights (k,)."""
        return self._totals.weights(self._slots)

    @cached_property
    def totals(self) -> Floats:
        """Totals (k, d)."""
        return self._totals.sums(self._slots)

    @cached_property
    def centres(self) -> Floats:
        """Minimising centres (k, d)."""
        return self._partition.centres(self.weights, self.totals)

    @cached_property
    def unions(self) -> tuple[NDArray[np.intp], Floats]:
        """With which other cluster each (k,) unites most cheaply, and what that costs."""
        return nearest_partners(self._partition, self.weights, self.centres, pool=self._pool)
