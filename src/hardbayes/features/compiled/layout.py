"""Features as compiled functions read them: components, their products, sums of all subsets.

A row of working coordinates ``y = x - origin`` is explained by features z as ``zA - origin``. The
origin is zero unless the data is far from zero: without it, rounding of the large squares would
hide the differences.

Also the refit, least-squares components from Z'WZ and Z'WR by Cholesky's factorisation, and seeds:
residuals of rows drawn by their squared length (Broderick, Kulis & Jordan 2013, section 5, after
k-means++).
"""

from typing import NamedTuple

import numpy as np

from hardbayes.core.compiling import inlined, kernel, shared
from hardbayes.core.rows import pick
from hardbayes.core.simd.vectors import sum_of_squares
from hardbayes.features.compiled.simd import EIGHT, project_block, subtract_members

# A column of Z is dependent if no more than this share of it is outside the span of those before:
# the rounding of Cholesky's factorisation.
DEPENDENT = 1e-10
LANES = 8  # components side by side in a block of products
LOW = 16  # subsets side by side in the table: those of the first four features
MAX_EXACT = 12  # features up to which all subsets are compared: 4096 of them
MIN_ROWS = 8  # for each subset, or a table of all sums costs more than it saves
MAX_TABLED = 1 << 16  # numbers in a table of all sums of components: it must stay in cache
STEPS = 12  # down from one, in the search for a margin
ONLY = np.int64(0)  # the row of a matrix that has one; kernels are compiled anew for a literal
READ_AT_ONCE = 1 << 13  # numbers: 64 kilobytes, so that rows stay in cache


@kernel
def refit(components, gram, correction, factor):
    """Move components to least squares; return False, with nothing moved, if Z'WZ is singular.

    INOUT components (k, d); IN gram (k, k) = Z'WZ; INOUT correction (k, d) = Z'WR, R being the
    residuals at the present components: the change is solved for, so that rounding is relative to
    it. OUT factor (k, k).
    """
    k, d = components.shape
    if not factorise(gram, 0.0, factor):
        return False
    for a in range(k):
        for b in range(a):
            for j in range(d):
                correction[a, j] -= factor[a, b] * correction[b, j]
        for j in range(d):
            correction[a, j] /= factor[a, a]
    for a in range(k - 1, -1, -1):
        for b in range(a + 1, k):
            for j in range(d):
                correction[a, j] -= factor[b, a] * correction[b, j]
        for j in range(d):
            correction[a, j] /= factor[a, a]
            components[a, j] += correction[a, j]
    return True


@inlined
def factorise(gram, margin, factor):
    """OUT factor (k, k): Cholesky's, of ``gram - margin diag(gram)``; False if there is none."""
    for a in range(gram.shape[0]):
        for b in range(a + 1):
            left = gram[a, b]
            for c in range(b):
                left -= factor[a, c] * factor[b, c]
            if b < a:
                factor[a, b] = left / factor[b, b]
            else:
                left -= margin * gram[a, a]
                if not left > DEPENDENT * gram[a, a]:
                    return False
                factor[a, a] = np.sqrt(left)
    return True


class Features(NamedTuple):
    """Components as the kernels read them."""

    components: np.ndarray  # (k, d)
    blocks: np.ndarray  # (blocks, d, LANES): components side by side, zero where there is none
    gram: np.ndarray  # (k, k): components @ components.T
    origin: np.ndarray  # (1, d)
    subsets: np.ndarray  # (high, LOW): |zA - origin|^2 of each subset, inf where there is none
    sums: np.ndarray  # (2^k, d): zA of each subset; (0, d) where it costs more than it saves
    margin: np.ndarray  # (1,): gram is at least this share of its diagonal; 0 if unknown
    has_base: np.ndarray  # (1,) bool: all rows have the first feature, and keep it


class Workspace(NamedTuple):
    """Scratch memory of one thread, for features of the same shape."""

    products: np.ndarray  # (blocks * LANES,): of one vector with each component
    high: np.ndarray  # (high,): sums of products over subsets of all but the first four
    members: np.ndarray  # (k + 1,) int64: features of one row
    chosen: np.ndarray  # (EIGHT,) int64: subsets of rows
    residuals: np.ndarray  # (EIGHT, d)
    correlations: np.ndarray  # (blocks * LANES, EIGHT): of residuals with each component
    signs: np.ndarray  # (k, EIGHT): 1 where a row lacks a feature, -1 where it has it
    totals: np.ndarray  # (2^k, d): weighted residuals of the rows with each subset; or (0, d)
    weights: np.ndarray  # (2^k,): and their weight
    factor: np.ndarray  # (k, k)
    rows: np.ndarray  # (some, d): those read last


def new_features(
    components: np.ndarray, origin: np.ndarray, n_rows: int, has_base: bool = False
) -> Features:
    """Allocate what `lay_out` fills in; components (k, d) are not copied; ``origin`` (d,).

    ``has_base``: all rows have the first feature, and keep it. ``n_rows`` are decided in one call:
    for few, a table of all sums costs more than it saves.
    """
    k, d = components.shape
    blocks = max(1, -(-k // LANES))
    high = 1 << max(0, k - 4) if k <= MAX_EXACT else 0
    tabled = k <= MAX_EXACT and (MIN_ROWS << k) <= n_rows and d << k <= MAX_TABLED
    return Features(
        components, np.zeros((blocks, d, LANES)), np.empty((k, k)), origin[np.newaxis],
        np.full((high, LOW), np.inf), np.empty((1 << k if tabled else 0, d)), np.empty(1),
        np.array([has_base]),
    )  # fmt: skip


def new_workspace(features: Features) -> Workspace:
    """Allocate what one thread needs for these features."""
    blocks, d, lanes = features.blocks.shape
    k = len(features.components)
    return Workspace(
        np.empty(blocks * lanes), np.empty(len(features.subsets)), np.empty(k + 1, np.int64),
        np.empty(EIGHT, np.int64), np.zeros((EIGHT, d)), np.empty((blocks * lanes, EIGHT)),
        np.ones((k, EIGHT)), np.empty(features.sums.shape), np.empty(len(features.sums)),
        np.empty((k, k)), np.empty((max(1, READ_AT_ONCE // d), d)),
    )  # fmt: skip


@shared
def lay_out(features, workspace):
    """OUT features.blocks, gram, subsets, sums, margin; IN its components and origin."""
    components = features.components
    k, d = components.shape
    for a in range(k):
        block, lane = a // LANES, a % LANES
        for j in range(d):
            features.blocks[block, j, lane] = components[a, j]
    for a in range(k):
        for b in range(a + 1):
            features.gram[a, b] = inner_product(components, a, components, b, d)
            features.gram[b, a] = features.gram[a, b]
    features.margin[0] = margin_of(features.gram, workspace.factor)
    if features.sums.shape[0] > 0:
        lay_out_sums(features, workspace.residuals)
    elif features.subsets.shape[0] > 0:
        lay_out_subsets(features, workspace.residuals)
    if features.has_base[0]:  # to flip it would cost infinitely much
        features.gram[0, 0] = np.inf
        features.subsets[:, ::2] = np.inf


@shared
def lay_out_sums(features, total):
    """OUT features.sums, each from the one without its last feature; features.subsets."""
    components, sums = features.components, features.sums
    k, d = components.shape
    sums[0] = 0.0
    for a in range(k):
        for subset in range(1 << a):
            for j in range(d):
                sums[(1 << a) + subset, j] = sums[subset, j] + components[a, j]
    for subset in range(1 << k):
        for j in range(d):
            total[0, j] = sums[subset, j] - features.origin[0, j]
        features.subsets[subset // LOW, subset % LOW] = sum_of_squares(total, 0, d)


@shared
def lay_out_subsets(features, total):
    """OUT features.subsets, in Gray code order: successive subsets differ by one feature."""
    components = features.components
    k, d = components.shape
    for j in range(d):
        total[0, j] = -features.origin[0, j]
    subset = 0
    features.subsets[subset // LOW, subset % LOW] = sum_of_squares(total, 0, d)
    for step in range(1, 1 << k):
        a = 0
        while (step >> a) & 1 == 0:
            a += 1
        subset ^= 1 << a
        sign = 1.0 if (subset >> a) & 1 else -1.0
        for j in range(d):
            total[0, j] += sign * components[a, j]
        features.subsets[subset // LOW, subset % LOW] = sum_of_squares(total, 0, d)


@shared
def margin_of(gram, factor):
    """Return a number m such that ``gram - m diag(gram)`` is positive definite; 0 if none is found.

    Then ``|eA|^2 >= m sum_a e_a^2 |A_a|^2`` for all e. Trial factorisations go down from m = 1.
    """
    margin = 1.0
    for _ in range(STEPS):
        margin *= 0.75
        if factorise(gram, margin, factor):
            return margin
    return 0.0


@inlined
def project(rows, i, features, products):
    """OUT products (at least k,): of row i with each component."""
    for block in range(features.blocks.shape[0]):
        project_block(rows, i, features.blocks, block, products)


@inlined
def inner_product(x, row, y, other, d):
    """Return ``sum_j x[row, j] y[other, j]``, in four sums side by side."""
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
    for a in range(k):  # without a branch: it would often be mispredicted
        members[count] = a
        count += membership[i, a]
    return count


@kernel
def draw_seeds(
    rows, weights, origin, n_given, penalty, negligible, draws, components, membership, costs,
    members,
):  # fmt: skip
    """Add features while each lowers the fit term by more than the penalty; returns how many.

    IN rows (n, d), origin (1, d), draws (most,) uniform in [0, 1); INOUT components (most + 1, d)
    and membership (n, most) uint8, of which the first ``n_given`` are filled; the last component is
    scratch. Weighted squared residuals up to ``negligible`` count as none. OUT costs (n,): weighted
    squared residuals. members (most + 1,) int64 is scratch.
    """
    n, d = rows.shape
    most = draws.shape[0]
    residual = components[most:]
    k = n_given
    while True:
        total = 0.0
        largest = 0.0
        for i in range(n):
            size = residual_of(rows, i, membership, k, components, origin, members)
            costs[i] = pick(weights, i) * size
            total += costs[i]
            largest = max(largest, costs[i])
        if k == most or not largest > negligible:
            return k
        left = draws[k] * total
        drawn = 0
        for i in range(n):
            if costs[i] > 0:
                drawn = i
                left -= costs[i]
                if left < 0:
                    break
        size = residual_of(rows, drawn, membership, k, components, origin, members)
        for j in range(d):
            components[k, j] = residual[0, j]
        gain = 0.0
        for i in range(n):
            residual_of(rows, i, membership, k, components, origin, members)
            own = 2.0 * inner_product(residual, ONLY, components, k, d) - size
            membership[i, k] = own > 0
            if own > 0:
                gain += pick(weights, i) * own
        if not gain > penalty:
            return k
        k += 1


@shared
def residual_of(rows, i, membership, k, components, origin, members):
    """OUT components[-1]: the residual of row i with the first k; returns its square."""
    count = list_members(i, membership, k, members)
    last = components.shape[0] - 1
    return subtract_members(rows, i, members, count, components, origin, components, last)
