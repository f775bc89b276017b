"""Centres written into their slots, and how bounds on what they cost a row move and round.

Where costs are squared distances the bounds are on distances, and a centre that moves by ``drift``
changes them by as much at most. Elsewhere they are on the costs themselves, ``constant + offset -
<x, theta>``: at the overall mean m a cost changes by a known ``shift``, and at any other row x by
as much, give or take ``|x - m| |change of theta|``, its radius times the drift.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.core.compiling import inlined, kernel
from hardbayes.core.simd.vectors import squared_distance, sum_of_squares
from hardbayes.dp_means.compiled.sums import add_term, square_over

TOGETHER = 64  # columns that are written at a time, so that they stay in the cache


@kernel
def place(slots, exact, theta, offset, table, norms, drift, nothing):
    """Write centres and their affine form into slots.

    IN slots (k,), exact, theta (k, d), offset (k,) float64: where costs are squared distances,
    theta is half of what it should be, and the offset is found here; nothing (d,): zeros; OUT
    table: Centres; norms (slots,): |theta|; drift (k,): how far each of ``exact`` has moved.
    """
    d = exact.shape[1]
    factor = 2.0 if table.squared else 1.0
    for k in range(slots.shape[0]):
        drift[k] = put(slots[k], exact, theta, k, table, norms, nothing)
        if not table.squared:
            table.offset[slots[k]] = offset[k]
            table.exact_offset[slots[k]] = offset[k]
    # A few columns of all centres at a time: side by side, they share cache lines.
    for first in range(0, d, TOGETHER):
        for k in range(slots.shape[0]):
            block, lane = seat(slots[k], table)
            for j in range(first, min(first + TOGETHER, d)):
                table.theta[block, j, lane] = factor * theta[k, j]


@kernel
def put(slot, exact, theta, k, table, norms, nothing):
    """Write row k of ``exact`` into a slot, as for squared distances; return how far it has moved.

    A function of its own, for it takes longer to compile than to run.
    """
    d = exact.shape[1]
    square = sum_of_squares(theta, k * d, (k + 1) * d)
    table.offset[slot] = square - table.lowered * square
    table.exact_offset[slot] = square
    norms[slot] = (2.0 if table.squared else 1.0) * np.sqrt(square)
    drift = np.sqrt(squared_distance(exact, k, nothing, 1.0, table.exact, slot))
    for j in range(d):
        table.exact[slot, j] = exact[k, j]
    return drift


@inlined
def seat(slot, table):
    """Where theta of a slot is: its block, and its lane there."""
    if table.theta.shape[0] == 1:  # side by side, as sparse rows want them
        return 0, slot
    return slot // table.block, slot % table.block


@kernel
def place_means(slots, totals, prior_weight, prior, nothing, table, norms, drift, explained, mean):
    """Move centres to the means of their members, where costs are squared distances.

    Slots whose members have not changed stay as they are. IN slots (k,), prior (d,): the prior's
    own total; nothing (d,): zeros; IN/OUT totals: untouched afterwards; table: Centres; norms
    (slots,): |theta|; explained (slots, 2): what `squared_potential` is of each; OUT drift (k,):
    how far each has moved. SCRATCH mean (1, d).

    Returns the sum of the explained, what float64 drops of it, and the largest offset.
    """
    d = mean.shape[1]
    for k in range(slots.shape[0]):
        slot = slots[k]
        drift[k] = 0.0
        if not totals.touched[slot]:
            continue
        weight = totals.weight_coarse[slot] + totals.weight_fine[slot] + prior_weight
        for j in range(d):
            mean[0, j] = (totals.coarse[slot, j] + totals.fine[slot, j] + prior[j]) / weight
        drift[k] = put(slot, mean, mean, 0, table, norms, nothing)
        explained[slot, 0], explained[slot, 1] = square_over(
            totals.coarse, totals.fine, prior, slot, weight
        )
    for first in range(0, d, TOGETHER):
        for k in range(slots.shape[0]):
            if totals.touched[slots[k]]:
                block, lane = seat(slots[k], table)
                for j in range(first, min(first + TOGETHER, d)):
                    table.theta[block, j, lane] = 2.0 * table.exact[slots[k], j]
    value = 0.0
    remainder = 0.0
    most = 0.0
    for k in range(slots.shape[0]):
        slot = slots[k]
        totals.touched[slot] = False
        most = max(most, table.exact_offset[slot])
        value, remainder = add_term(value, remainder, explained[slot, 0], explained[slot, 1])
    return value, remainder, most


@kernel
def gaps(slots, table, nothing, nearest):
    """Find the squared distance from each centre to the next.

    IN slots (k,), table: Centres; nothing (d,): zeros; OUT nearest (k,).
    """
    for k in range(slots.shape[0]):
        nearest[k] = np.inf
        for other in range(k):
            gap = squared_distance(table.exact, slots[k], nothing, 1.0, table.exact, slots[other])
            nearest[k] = min(nearest[k], gap)
            nearest[other] = min(nearest[other], gap)


# Bounds live in float32; each update gives away more than its rounding error can take.
WIDEN = np.float64(1 + 1e-6)
NARROW = np.float64(1 - 1e-6)
NARROW32 = np.float32(1 - 1e-6)
TINY = np.float32(1e-37)


class Bounds(NamedTuple):
    """Bounds on distances or costs, and how far the centres have moved since they held."""

    upper: np.ndarray  # (n,) float32; empty where nothing is carried
    lower: np.ndarray  # (n, groups) float32
    half: np.ndarray  # (slots,) float32: half the distance to the next centre, rounded down, or 0
    drift: np.ndarray  # (slots,) float32, rounded up
    group_drift: np.ndarray  # (groups,) float32, rounded up
    radius: np.ndarray  # (n,) float32: |x - m|, rounded up; (1,) where costs are squared distances
    shift: np.ndarray  # (slots,) float64: by how much a cost at m has risen, at most
    group_shift: np.ndarray  # (groups,) float64: at least
    precision: float  # of a cost by the direct formula, relative
    farthest: float  # |m|
    span: int  # blocks in a group: a whole number of cells
    cell: int  # blocks of which only the two least scores are kept


@inlined
def carries(bounds):
    """Whether there are bounds at all."""
    return bounds.upper.shape[0] > 0


@inlined
def above(distance):
    """Round up to float32 with room to spare."""
    return np.float32(distance * WIDEN) + TINY


@inlined
def from_above(cost, slack, squared):
    """Bound for a row whose centre costs it no more than ``cost`` and its rounding error."""
    return above(np.sqrt(max(0.0, cost)) if squared else max(0.0, cost + slack))


@inlined
def from_below(cost, squared):
    """Bound for a row that other centres cost this or more, rounded down with room to spare."""
    if squared:
        return np.float32(np.sqrt(max(0.0, cost)) * NARROW) - TINY
    return np.float32(min(cost * NARROW, cost * (2 - NARROW))) - TINY  # infinity stays


@inlined
def cost_slack(constant, radius, centres, bounds):
    """Bound the rounding error of a row's costs by the direct formula, where they are affine."""
    if centres.squared:
        return 0.0
    size = (radius + bounds.farthest) * centres.theta_bound + centres.offset_bound
    return bounds.precision * (abs(constant) + size)
