"""The two cheapest centres of rows, from costs that are given."""

import numpy as np

from hardbayes.kernels.compiling import kernel


@kernel
def two_cheapest(costs, weights, cheapest, second, margins, excess):
    """Find the two cheapest of k >= 2 centres for each row.

    IN costs (m, k), weights (m,) float64; OUT cheapest, second (m,) int64; margins (m,): how much
    more the second costs; IN/OUT excess (k, k): the rows whose cheapest centre is i add to
    ``excess[i, j]`` how much more they cost at j, times their weights.
    """
    for row in range(costs.shape[0]):
        first, other = np.int64(0), np.int64(-1)
        least, next_cost = costs[row, 0], np.inf
        for c in range(1, costs.shape[1]):
            cost = costs[row, c]
            if cost < least:
                other, next_cost = first, least
                first, least = c, cost
            elif cost < next_cost or other < 0:
                other, next_cost = c, cost
        cheapest[row], second[row], margins[row] = first, other, next_cost - least
        for c in range(costs.shape[1]):
            excess[first, c] += weights[row] * (costs[row, c] - least)
