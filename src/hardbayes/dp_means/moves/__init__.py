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

    from hardbayes.core.arrays import Floats


NO_ROWS: NDArray[np.intp] = np.zeros(0, np.intp)  # where whole clusters go


class PartitionProposal(NamedTuple):
    """Rows that go to other clusters, or clusters whose rows all go to others.

    Clusters go by their numbers, in order of creation; those from k on are new.
    """

    change: float  # of the objective: negative
    ids: NDArray[np.intp] = NO_ROWS  # (m,): rows that go
    numbers: NDArray[np.intp] = NO_ROWS  # (m,): to these clusters
    opened: Floats | None = None  # (new, d): where new clusters open
    united: NDArray[np.intp] | None = None  # (k,): the rows of cluster c go to ``united[c]``
    n_splits: int = 0
    n_merges: int = 0
