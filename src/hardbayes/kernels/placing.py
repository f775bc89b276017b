"""Centres into their slots: what the other kernels read follows from here."""

import numpy as np

from hardbayes.kernels.compiling import kernel

TOGETHER = 64


@kernel
def place(slots, exact, theta, offset, table, norms, drift):
    """Write centres and their affine form into slots.

    IN slots (k,), exact, theta (k, d), offset (k,) float64; OUT table: Centres; norms (slots,):
    |theta|; drift (k,): how far each of ``exact`` has moved.
    """
    d = exact.shape[1]
    lanes = table.lanes
    side_by_side = table.theta.shape[0] == 1  # as sparse rows want them
    for k in range(slots.shape[0]):
        table.offset[slots[k]] = offset[k]
        table.exact_offset[slots[k]] = offset[k]
        norms[slots[k]] = 0.0
        drift[k] = 0.0
    # A few columns of all centres at a time: side by side, they share cache lines.
    for first in range(0, d, TOGETHER):
        for k in range(slots.shape[0]):
            slot = slots[k]
            block = 0 if side_by_side else slot // lanes
            lane = slot if side_by_side else slot % lanes
            moved = 0.0
            square = 0.0
            for j in range(first, min(first + TOGETHER, d)):
                step = exact[k, j] - table.exact[slot, j]
                moved += step * step
                square += theta[k, j] * theta[k, j]
                table.exact[slot, j] = exact[k, j]
                table.theta[block, j, lane] = theta[k, j]
            norms[slot] += square
            drift[k] += moved
    for k in range(slots.shape[0]):
        norms[slots[k]] = np.sqrt(norms[slots[k]])
        drift[k] = np.sqrt(drift[k])
