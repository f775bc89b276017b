"""Births: candidates for a new feature, and the rows that would have one."""

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.features.layout import ONLY, inner_product, list_members
from hardbayes.kernels.partition.rows import pick
from hardbayes.kernels.simd.features import subtract_members

MOST_ROUNDS = 10


@kernel
def grow(
    rows, weights, components, origin, membership, seeds, candidates, gains, residuals, joined,
    total, members,
):  # fmt: skip
    """Grow a candidate from the residual of each of the rows ``seeds`` (m,), by one-feature search.

    A candidate is the mean residual of the rows whose cost it lowers, repeated until these are the
    same. IN rows (n, d), weights (n,) or (1,), components (k, d), origin (1, d), membership (n, k);
    OUT candidates (m, d); gains (m,): by how much each lowers the weighted sum of costs; residuals
    (n, d): of the rows. joined (n,) uint8, total (1, d) and members (k + 1,) int64 are scratch.
    """
    n, d = rows.shape
    for i in range(n):
        count = list_members(i, membership, components.shape[0], members)
        subtract_members(rows, i, members, count, components, origin, residuals, i)
    for m in range(seeds.shape[0]):
        for j in range(d):
            candidates[m, j] = residuals[seeds[m], j]
        joined[:] = 2  # neither in nor out
        for _ in range(MOST_ROUNDS):
            size = inner_product(candidates, m, candidates, m, d)
            total[:] = 0.0
            weight = 0.0
            gains[m] = 0.0
            changed = False
            for i in range(n):
                gain = 2.0 * inner_product(residuals, i, candidates, m, d) - size
                changed |= joined[i] != (gain > 0)
                joined[i] = gain > 0
                if gain > 0:
                    own = pick(weights, i)
                    weight += own
                    gains[m] += own * gain
                    for j in range(d):
                        total[0, j] += own * residuals[i, j]
            if not changed or weight == 0:
                break
            for j in range(d):
                candidates[m, j] = total[0, j] / weight


@kernel
def join(
    rows, weights, components, origin, membership, candidate, size, gains, joined, total, members,
    residual,
):  # fmt: skip
    """Let rows join a candidate (1, d) of squared length ``size`` where that lowers their cost.

    IN rows (n, d), weights (n,) or (1,), components (k, d), origin (1, d), membership (n, k); OUT
    gains (n,): by how much their cost falls; joined (n,) uint8: where that is above zero; INOUT
    total (d,): adds the weighted residuals of those rows. members (k + 1,) int64 and residual
    (1, d) are scratch. Returns the weight of the rows that joined.
    """
    n, d = rows.shape
    weight = 0.0
    for i in range(n):
        count = list_members(i, membership, components.shape[0], members)
        subtract_members(rows, i, members, count, components, origin, residual, 0)
        gains[i] = 2.0 * inner_product(residual, ONLY, candidate, ONLY, d) - size
        joined[i] = gains[i] > 0
        if joined[i]:
            own = pick(weights, i)
            weight += own
            for j in range(d):
                total[j] += own * residual[0, j]
    return weight
