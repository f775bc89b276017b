"""Centres where costs are squared distances: compiled means, and scores laid out lazily."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.clusters.centre_table import CentreTable
from hardbayes.kernels.partition.placing import place_means
from hardbayes.kernels.partition.rows import ROUNDINGS
from hardbayes.local.exact_totals import potential, prior_potential, with_remainder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.matrices import Floats
    from hardbayes.tuples import Centres, Totals


class DistanceTable(CentreTable):
    """A table of centres for squared distances.

    A lazy one lays scores out on the first `view`. Where rows are few there may be none, and the
    kernels that lay out need not be compiled.
    """

    per_slot = (*CentreTable.per_slot, "_explained")

    @property
    def _lowered(self) -> float:
        """By what part of themselves offsets are lowered, and so the scores of dense rows.

        A score ``|c|^2 - 2 <x, c>`` errs by at most so much of ``|c|^2``, and by what depends on
        the row alone. So each centre has an error of its own: with one bound for all, a single
        centre far away would leave all rows in doubt.
        """
        if self.layout.sparse:
            return 0.0
        return 2.0 * (self.n_columns + ROUNDINGS) * self._precision

    def refit(self, totals: Totals) -> tuple[float, float]:
        """Move the centres to the means; those whose members have not changed stay."""
        partition, slots = self._partition, self.slots
        if self._lazy:
            self.exact[slots] = partition.centres(totals.weights(slots), totals.sums(slots))
            return potential(totals, slots, partition.prior_weight, partition.prior_mean)
        eta = partition.prior_weight
        distance = np.empty(len(slots))
        view = self._view(self.n_slots // self.block)
        prior = eta * partition.prior_mean
        found: dict[int, tuple[float, float, float]] = {}

        def task(part: slice, tile: int) -> None:
            found[tile] = place_means(
                slots[part], totals, eta, prior, self._zeros, view, self.theta_norm,
                distance[part], self._explained, np.empty((1, self.n_columns)),
            )  # fmt: skip

        self._over_slots(task, len(slots))
        offset = max(largest for *_, largest in found.values())
        self._sizes = 2.0 * math.sqrt(offset), offset
        self._moved[slots] += distance
        numbers = [number for tile in sorted(found) for number in found[tile][:2]]
        numbers += len(slots) * prior_potential(eta, prior)
        return with_remainder(numbers)

    def _write(self, slots: NDArray[np.intp], centres: Floats) -> None:
        if self._lazy:
            self.exact[slots] = centres
        else:
            super()._write(slots, centres)

    def view(self) -> Centres:
        """Return the arrays for kernels that score, without the empty blocks at the end."""
        if self._lazy:
            self._lazy = False
            self.theta[:] = 0
            self._write(self.slots, self.exact[self.slots])
            self._forget_drift(slice(None))
        return super().view()

    def direct(self) -> Centres:
        """Return the arrays for kernels that use the direct formula only."""
        if self._lazy and not self.layout.sparse:  # dense rows do not read the offsets
            return self._view(self.n_slots // self.block)
        return self.view()

    def _allocate(self, blocks: int) -> None:
        super()._allocate(blocks)
        self._explained = np.zeros((self.n_slots, 2))
