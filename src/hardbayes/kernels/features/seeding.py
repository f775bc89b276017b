"""Seeds for features: residuals of rows drawn by their squared length.

Broderick, Kulis & Jordan 2013, section 5, after k-means++.
"""

from hardbayes.kernels.compiling import kernel, shared
from hardbayes.kernels.features.layout import ONLY, inner_product, list_members
from hardbayes.kernels.partition.rows import pick
from hardbayes.kernels.simd.features import subtract_members


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
