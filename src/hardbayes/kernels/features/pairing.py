"""Totals over the rows that have two features at once, for combinations of columns."""

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.features.layout import list_members
from hardbayes.kernels.partition.rows import pick
from hardbayes.kernels.simd.features import subtract_members


@kernel
def pair_totals(
    rows, weights, components, origin, membership, first, totals, counts, members, residual
):  # fmt: skip
    """Add up residuals and memberships of rows that have both features ``first + a < b``.

    IN rows (n, d), weights (n,) or (1,), components (k, d), origin (1, d), membership (n, k); INOUT
    totals (m, k, d): adds weighted residuals at [a, b]; counts (m, k, k): adds at [a, b, c] the
    weight of those that also have c. members (k + 1,) int64 and residual (1, d) are scratch.
    """
    n, d = rows.shape
    for i in range(n):
        weight = pick(weights, i)
        if weight == 0:
            continue
        count = list_members(i, membership, components.shape[0], members)
        subtract_members(rows, i, members, count, components, origin, residual, 0)
        for low in range(count):
            a = members[low] - first
            if a < 0 or a >= totals.shape[0]:
                continue
            for high in range(low + 1, count):
                b = members[high]
                for third in range(count):
                    counts[a, b, members[third]] += weight
                for j in range(d):
                    totals[a, b, j] += weight * residual[0, j]
