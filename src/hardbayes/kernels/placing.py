"""Centres into their slots: what the other kernels read follows from here."""

import numpy as np

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.lanes import squared_distance, sum_of_squares

TOGETHER = 64


@kernel
def place(slots, exact, theta, offset, table, norms, drift, nothing):
    """Write centres and their affine form into slots.

    IN slots (k,), exact, theta (k, d), offset (k,) float64, nothing (d,): zeros; OUT table:
    Centres; norms (slots,): |theta|; drift (k,): how far each of ``exact`` has moved.
    """
    d = exact.shape[1]
    lanes = table.lanes
    side_by_side = table.theta.shape[0] == 1  # as sparse rows want them
    for k in range(slots.shape[0]):
        slot = slots[k]
        table.offset[slot] = offset[k]
        table.exact_offset[slot] = offset[k]
        norms[slot] = np.sqrt(sum_of_squares(theta, k * d, (k + 1) * d))
        drift[k] = np.sqrt(squared_distance(exact, k, nothing, 1.0, table.exact, slot))
        for j in range(d):
            table.exact[slot, j] = exact[k, j]
    # A few columns of all centres at a time: side by side, they share cache lines.
    for first in range(0, d, TOGETHER):
        for k in range(slots.shape[0]):
            block = 0 if side_by_side else slots[k] // lanes
            lane = slots[k] if side_by_side else slots[k] % lanes
            for j in range(first, min(first + TOGETHER, d)):
                table.theta[block, j, lane] = theta[k, j]
