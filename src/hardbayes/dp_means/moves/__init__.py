"""Moves propose changes of a partition; the descent applies them.

A move is a function of the state of a fit that changes nothing. It returns a proposal with the
exact change of the objective but for rounding, or None where it finds nothing better. The descent
applies proposals, in one method; nothing else changes the state of a fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.core.arrays import DirectForm, Floats


NO_ROWS: NDArray[np.intp] = np.zeros(0, np.intp)  # where whole clusters go


class Divided(NamedTuple):
    """Clusters of which the rows nearer to the second of two centres go to another."""

    clusters: NDArray[np.intp]  # (c,)
    halves: DirectForm  # (2c, d): two centres each
    to: NDArray[np.intp]  # (c,): the number of the other cluster; -1: all rows stay


class PartitionProposal(NamedTuple):
    """Rows that go to other clusters, or clusters of which all rows or a half go to others.

    Clusters go by their numbers, in order of creation; those from k on are new.
    """

    change: float  # of the objective: negative
    ids: NDArray[np.intp] = NO_ROWS  # (m,): rows that go
    numbers: NDArray[np.intp] = NO_ROWS  # (m,): to these clusters
    opened: Floats | None = None  # (new, d): where new clusters open
    united: NDArray[np.intp] | None = None  # (k,): the rows of cluster c go to ``united[c]``
    n_splits: int = 0
    n_merges: int = 0
    divided: Divided | None = None
    n_divided: int = 0  # rows that go to other clusters by that

    @property
    def n_rows(self) -> int:
        """How many rows go to other clusters one by one or by halves."""
        return len(self.ids) + self.n_divided
