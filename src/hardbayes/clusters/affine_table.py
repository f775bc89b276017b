"""Centres where costs are affine in the row: ``constant + offset - <x, theta>``."""

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hardbayes.clusters.centre_table import CentreTable
from hardbayes.matrices import Floats
from hardbayes.tuples import Drift, Totals


class AffineTable(CentreTable):
    """A table of centres for any divergence.

    Bounds on costs are moved by how much the cost at ``layout.anchor`` has changed: the table
    keeps that cost, up to a constant of the anchor, and its rounding error.
    """

    _most: Floats
    _least: Floats
    per_slot = (*CentreTable.per_slot, "_potentials", "_level", "_doubt", "_most", "_least")

    def refit(self, totals: Totals) -> tuple[float, float]:
        """Move the clusters to their best centres; those whose members have not changed stay."""
        partition, slots = self._partition, self.slots
        touched = slots[totals.touched[slots]]
        if len(touched):
            weights = totals.weights(touched)
            centres = partition.centres(weights, totals.sums(touched))
            self._write(touched, centres)
            self._potentials[touched] = partition.potentials(weights, centres)
            totals.touched[touched] = False
        return math.fsum(self._potentials[slots]), 0.0

    def _write(self, slots: NDArray[np.intp], centres: Floats) -> None:
        super()._write(slots, centres)
        anchor = self.layout.anchor
        if anchor is None:
            return
        offset = self.exact_offset[slots]
        level = offset - self.exact[slots] @ anchor
        size = np.abs(offset) + self.theta_norm[slots] * self._anchor_norm
        doubt = (self.n_columns + 8) * float(np.finfo(np.float64).eps) * size
        rise, doubts = level - self._level[slots], doubt + self._doubt[slots]
        self._level[slots], self._doubt[slots] = level, doubt
        self._most[slots] += rise + doubts
        self._least[slots] += rise - doubts

    @cached_property
    def _anchor_norm(self) -> float:
        assert self.layout.anchor is not None
        return float(np.linalg.norm(self.layout.anchor))

    def take_drift(self) -> Drift:
        """Return how far centres have moved since this was last called."""
        drift = super().take_drift()._replace(most=self._most, least=self._least)
        self._most, self._least = np.zeros(self.n_slots), np.zeros(self.n_slots)
        return drift

    def _forget_drift(self, slots: NDArray[np.intp] | slice) -> None:
        super()._forget_drift(slots)
        self._most[slots] = self._least[slots] = 0.0

    def _allocate(self, blocks: int) -> None:
        super()._allocate(blocks)
        slots = self.n_slots
        self._potentials = np.zeros(slots)
        self._level, self._doubt = np.zeros(slots), np.zeros(slots)
        self._most, self._least = np.zeros(slots), np.zeros(slots)
