"""Centres into their slots: what the other kernels read follows from here."""

import numpy as np

from hardbayes.kernels.compiling import kernel


@kernel
def place(slots, centres, theta, offset, table, points, norms, drift):
    """Write centres and their affine form into slots.

    IN slots (k,), centres (k, d), theta (k, d), offset (k,) float64; OUT table: Centres; points
    (slots, d): the centres; norms (slots,): |theta|; drift (k,): how far each centre has moved.
    """
    d = centres.shape[1]
    lanes = table.theta.shape[2]
    for k in range(slots.shape[0]):
        slot = slots[k]
        block = slot // lanes
        lane = slot % lanes
        moved = 0.0
        square = 0.0
        for j in range(d):
            step = centres[k, j] - points[slot, j]
            moved += step * step
            square += theta[k, j] * theta[k, j]
            points[slot, j] = centres[k, j]
            table.theta[block, j, lane] = theta[k, j]
        table.offset[slot] = offset[k]
        table.exact_offset[slot] = offset[k]
        norms[slot] = np.sqrt(square)
        drift[k] = np.sqrt(moved)
