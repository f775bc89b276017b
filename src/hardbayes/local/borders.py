"""Weight of rows on and beside the borders between neighbouring clusters."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.kernels.partition.borders import two_cheapest
from hardbayes.matrices import Floats

# Half the width of the middle strip, where 1 is the distance from a border to a centre. The strips
# beside it, equally wide, end a little beyond the centres.
REACH = 3 / 8


class Borders(NamedTuple):
    """Pairs of clusters that are the two cheapest of some rows, and the rows between them."""

    pairs: NDArray[np.int64]  # (m, 2), the lower number first
    weights: Floats  # (m, 3): of rows left of the middle strip, in it, and right of it
    squares: Floats  # (m, 3): sums of squared weights of the same rows


def count_borders(blocks: Iterable[tuple[Floats, Floats]], k: int) -> Borders:
    """Count rows by the position between their two cheapest of k >= 2 centres.

    ``blocks``: costs (m, k) of some rows, up to a constant of each row, and the weights (m,). The
    position is the difference of the two costs: 0 on the border, 1 or -1 in the mean of all rows
    of either cluster.
    """
    excess = np.zeros((k, k))
    found = [(*_two_cheapest(costs, some, excess), some) for costs, some in blocks]
    cheapest, second, margins, weights = (
        np.concatenate(parts) for parts in zip(*found, strict=True)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        means = excess / np.bincount(cheapest, weights, k)[:, np.newaxis]
        position = margins / ((means + means.T) / 2.0)[cheapest, second]
    lower, upper = np.minimum(cheapest, second), np.maximum(cheapest, second)
    strip = np.where(position < REACH, 1, np.where(cheapest == lower, 0, 2))
    near = position < 3 * REACH  # false where a cluster has no rows and no position
    codes, weights = (3 * (k * lower + upper) + strip)[near], weights[near]
    sums, squares = (
        np.bincount(codes, values, 3 * k * k).reshape(-1, 3).astype(np.float64)
        for values in (weights, weights**2)
    )
    pairs = np.flatnonzero(sums.any(axis=1))
    return Borders(np.column_stack(np.divmod(pairs, k)), sums[pairs], squares[pairs])


def _two_cheapest(
    costs: Floats, weights: Floats, excess: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    m = len(costs)
    cheapest, second, margins = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m)
    two_cheapest(costs, weights, cheapest, second, margins, excess)
    return cheapest, second, margins
