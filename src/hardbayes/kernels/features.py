"""What features are to a kernel: components, their products, and the sums of all subsets.

A row of working coordinates ``y = x - origin`` is explained by a set z of features as ``zA -
origin``. The origin is zero unless the data lies far from it: then it is what keeps squares of the
offset from swallowing the rest.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel
from hardbayes.kernels.feature_lanes import project_block
from hardbayes.kernels.lanes import sum_of_squares

LANES = 8  # components side by side in a block of products
LOW = 16  # subsets side by side in the table: those of the first four features
MOST_EXACT = 12  # features up to which all subsets are looked at: 4096 of them


class Features(NamedTuple):
    """Components as the kernels read them."""

    components: np.ndarray  # (k, d)
    across: np.ndarray  # (blocks, d, LANES): the components side by side, zero where there is none
    gram: np.ndarray  # (k, k): components @ components.T
    origin: np.ndarray  # (1, d)
    subsets: np.ndarray  # (high, LOW): |zA - origin|^2 of each subset, inf where there is none


class Room(NamedTuple):
    """Scratch memory of one thread."""

    products: np.ndarray  # (blocks * LANES,): of one vector with each component
    high: np.ndarray  # (high,): sums of products over subsets of all but the first four features
    members: np.ndarray  # (k + 1,) int64: features of one row
    residual: np.ndarray  # (1, d)


def new_features(components: np.ndarray, origin: np.ndarray) -> Features:
    """Lay out components (k, d), which are not copied; ``origin`` (d,)."""
    k, d = components.shape
    blocks = max(1, -(-k // LANES))
    high = 1 << max(0, k - 4) if k <= MOST_EXACT else 0
    features = Features(
        components,
        np.zeros((blocks, d, LANES)),
        np.empty((k, k)),
        origin[np.newaxis],
        np.full((high, LOW), np.inf),
    )
    lay_out(features, np.empty((1, d)))
    return features


def new_room(features: Features) -> Room:
    """Allocate what one thread needs for these features."""
    blocks, d, lanes = features.across.shape
    high = len(features.subsets)
    return Room(
        np.empty(blocks * lanes),
        np.empty(high),
        np.empty(len(features.components) + 1, np.int64),
        np.empty((1, d)),
    )


@kernel
def lay_out(features, total):
    """OUT features.across, .gram, .subsets; total (1, d) is scratch."""
    components = features.components
    k, d = components.shape
    for a in range(k):
        block, lane = a // LANES, a % LANES
        for j in range(d):
            features.across[block, j, lane] = components[a, j]
    for a in range(k):
        for b in range(a + 1):
            features.gram[a, b] = inner_product(components, a, components, b, d)
            features.gram[b, a] = features.gram[a, b]
    if features.subsets.shape[0] == 0:
        return
    # Gray's order: each subset differs from the one before by one feature.
    for j in range(d):
        total[0, j] = -features.origin[0, j]
    subset = 0
    features.subsets[0, 0] = sum_of_squares(total, 0, d)
    for step in range(1, 1 << k):
        a = 0
        while (step >> a) & 1 == 0:
            a += 1
        subset ^= 1 << a
        sign = 1.0 if (subset >> a) & 1 else -1.0
        for j in range(d):
            total[0, j] += sign * components[a, j]
        features.subsets[subset // LOW, subset % LOW] = sum_of_squares(total, 0, d)


@inlined
def project(rows, i, features, products):
    """OUT products: of row i with each component."""
    for block in range(features.across.shape[0]):
        project_block(rows, i, features.across, block, products)


@inlined
def inner_product(x, row, y, other, d):
    """``sum_j x[row, j] y[other, j]`` in four sums side by side."""
    s0 = s1 = s2 = s3 = 0.0
    whole = d - d % 4
    for j in range(0, whole, 4):
        s0 += x[row, j] * y[other, j]
        s1 += x[row, j + 1] * y[other, j + 1]
        s2 += x[row, j + 2] * y[other, j + 2]
        s3 += x[row, j + 3] * y[other, j + 3]
    total = (s0 + s2) + (s1 + s3)
    for j in range(whole, d):
        total += x[row, j] * y[other, j]
    return total


@inlined
def list_members(i, membership, k, members):
    """OUT members: the features of row i, first to last; returns how many."""
    count = 0
    for a in range(k):  # without a branch, which chance would often mispredict
        members[count] = a
        count += membership[i, a]
    return count
