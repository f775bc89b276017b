"""The slot of each row, and the bounds of the last assignment.

Bounds hold for the labels that an assignment left. They become invalid

- where labels change by anything but an assignment: `Labelling.set` and `Labelling.rename` drop
  them, and `MemoryRows.start` makes a new labelling, which has none;
- where the table of centres gets more room, so that slots are grouped otherwise: `MemoryRows` then
  drops them, or begins with new ones.

They stay valid where centres move, open or close, because `executors.bounds` brings them up to
date. `MemoryRows` also drops valid bounds where memory is short or where few would be tight.
Without bounds the next assignment scores every centre: slower, with the same labels.
"""

import numpy as np
from numpy.typing import NDArray

from hardbayes.executors.bounds import DistanceBounds
from hardbayes.matrices import Floats, chunks

Labels = NDArray[np.int32]


FIRST_ROWS = 4096  # compared before all others: most different partitions differ there


class Labelling:
    """Labels of n rows, none of them in a cluster at first.

    Attributes
    ----------
    slots : array (n,)
        The slot of each row, -1 for none. An assignment writes into it; everything else that
        changes labels is a method here.
    counted : array (n,) or None
        The labels that the totals were computed from; None where those are ``slots``.
    bounds : DistanceBounds or None
        Bounds of the last assignment. They hold for the labels that it left.
    """

    def __init__(self, n_rows: int, slots: Labels | None = None) -> None:
        self.slots: Labels = np.full(n_rows, -1, np.int32) if slots is None else slots
        self.counted: Labels | None = None
        self.bounds: DistanceBounds | None = None
        self._copy: Labels | None = None

    def set(self, ids: NDArray[np.signedinteger], slots: NDArray[np.signedinteger]) -> None:
        """Give rows ``ids`` to these slots; the totals remain those of the labels before."""
        if self.counted is None:
            self.counted = self.copy()
        self.slots[ids] = slots
        self.drop_bounds()

    def rename(self, names: Labels) -> None:
        """Give the rows of slot c to ``names[c]``; the last name is for rows in no slot."""
        for part in chunks(len(self.slots), 1):  # in place: a labelling is as long as the data
            self.slots[part] = names[self.slots[part]]
        self.drop_bounds()

    def drop_bounds(self) -> None:
        """Drop the bounds: the next assignment scores every centre."""
        self.bounds = None

    def copy(self) -> Labels:
        """Return a copy of the labels, valid until the next one is made."""
        if self._copy is None:
            self._copy = np.empty_like(self.slots)
        self._copy[:] = self.slots
        return self._copy


def is_same_partition(before: Labels, after: Labels, weights: Floats) -> bool:
    """Whether rows of positive weight are together as they were, whatever their slots."""
    some = slice(0, FIRST_ROWS)
    if not (_follows(before[some], after[some]) or (weights == 0).any()):
        return False
    weighted = weights > 0 if len(weights) > 1 else slice(None)
    old, new = before[weighted], after[weighted]
    return _follows(old, new) and _follows(new, old)


def _follows(source: Labels, target: Labels) -> bool:
    """Whether equal labels in ``source`` always have equal labels in ``target``."""
    partner = np.zeros(int(source.max(initial=-1)) + 2, np.int32)  # the last for rows in no slot
    partner[source] = target
    return bool((partner[source] == target).all())
