"""The slot of each row, the labels that the totals stand for, and the bounds that hold for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.bounds import DistanceBounds
    from hardbayes.matrices import Floats

    Labels = NDArray[np.int32]


class Labelling:
    """Labels of n rows, none of them in a cluster at first.

    Attributes
    ----------
    slots : array (n,)
        The slot of each row, -1 for none. Only an assignment writes into it.
    uncounted : array (n,) or None
        The labels that the totals stand for, where these are not the present ones.
    bounds : DistanceBounds or None
        Bounds of the last assignment. They hold for the labels that it left.
    """

    def __init__(self, n_rows: int) -> None:
        self.slots: Labels = np.full(n_rows, -1, np.int32)
        self.uncounted: Labels | None = None
        self.bounds: DistanceBounds | None = None
        self._before: Labels | None = None

    def replace(self, slots: Labels) -> None:
        """Take other labels than an assignment left: bounds no longer hold, and are dropped."""
        if self.uncounted is None and slots is not self.slots:
            self.uncounted = self.slots
        self.slots = slots
        self.bounds = None

    def begin(self) -> Labels:
        """Return a copy of the labels before an assignment, valid until the next."""
        if self._before is None:
            self._before = np.empty_like(self.slots)
        self._before[:] = self.slots
        return self._before


def is_same_partition(before: Labels, after: Labels, weights: Floats) -> bool:
    """Whether rows of positive weight are together as they were, whatever their slots."""
    weighted = weights > 0 if len(weights) > 1 else slice(None)
    old, new = before[weighted], after[weighted]
    return _follows(old, new) and _follows(new, old)


def _follows(source: Labels, target: Labels) -> bool:
    """Whether equal labels in ``source`` always have equal labels in ``target``."""
    partner = np.zeros(int(source.max(initial=-1)) + 2, np.int32)  # the last for rows in no slot
    partner[source] = target
    return bool((partner[source] == target).all())
