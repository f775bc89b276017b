"""Which centre is the cheapest for a row: by the direct formula, where scores leave doubt."""

import numpy as np

from hardbayes.kernels.compiling import inlined
from hardbayes.kernels.partition.rows import row_cost


@inlined
def beats(cost, k, best, winner, rank):
    """Whether slot ``k`` is cheaper than the winner so far, or as cheap and older."""
    return winner < 0 or cost < best or (cost == best and rank[k] < rank[winner])


@inlined
def cheapest(rows, i, constants, centres, first, last, own, winner, best, next_best):
    """Return the winner so far, its cost and the next, or those of slots ``first`` to ``last``.

    By the direct formula. The ``own`` slot is left out, and so are free ones.
    """
    for k in range(first, last):
        if k != own and centres.rank[k] >= 0:
            cost = row_cost(rows, i, constants, centres, k)
            if beats(cost, k, best, winner, centres.rank):
                next_best = best
                best = cost
                winner = np.int64(k)
            else:
                next_best = min(next_best, cost)
    return winner, best, next_best
