"""Bounds on what centres cost a row: what they are, and how they round.

Where costs are squared distances the bounds are on distances, and a centre that moves by ``drift``
changes them by as much at most. Elsewhere they are on the costs themselves, ``constant + offset -
<x, theta>``: at the overall mean m a cost changes by a known ``shift``, and at any other row x by
as much, give or take ``|x - m| |change of theta|``, its radius times the drift.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.kernels.compiling import inlined

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
