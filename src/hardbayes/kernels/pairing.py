"""Totals over the rows that have two features at once: what judging merged columns needs."""

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.features import leave_residual
from hardbayes.kernels.rows import pick


@kernel
def pair_totals(
    rows, weights, components, origin, membership, first, totals, counts, residual
):  # fmt: skip
    """Add up residuals and memberships of rows that have both features ``first + a < b``.

    INOUT totals (m, k, d): weighted residuals at [a, b]; counts (m, k, k): the weight of those rows
    that also have a third; residual (1, d) is scratch.
    """
    n, d = rows.shape
    k = components.shape[0]
    for i in range(n):
        weight = pick(weights, i)
        if weight == 0:
            continue
        leave_residual(rows, i, membership, components, origin, residual)
        for a in range(totals.shape[0]):
            if not membership[i, first + a]:
                continue
            for b in range(first + a + 1, k):
                if not membership[i, b]:
                    continue
                for c in range(k):
                    counts[a, b, c] += weight * membership[i, c]
                for j in range(d):
                    totals[a, b, j] += weight * residual[0, j]
