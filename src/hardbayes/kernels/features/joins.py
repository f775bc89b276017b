"""The rows that would have a new feature, all else left as it is."""

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.features.layout import inner_product, list_members
from hardbayes.kernels.partition.rows import pick
from hardbayes.kernels.simd.features import subtract_members


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
        gains[i] = 2.0 * inner_product(residual, 0, candidate, 0, d) - size
        joined[i] = gains[i] > 0
        if joined[i]:
            own = pick(weights, i)
            weight += own
            for j in range(d):
                total[j] += own * residual[0, j]
    return weight
