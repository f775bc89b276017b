"""One row moves between two clusters: when that is worth it, and what it does to their means.

With squared distances a row of weight w pays ``w N / (N + w) d^2`` to join a cluster of weight N,
and frees ``w N / (N - w) d^2`` where it leaves one (Hartigan's rule).
"""

import numpy as np

from hardbayes.kernels.compiling import inlined
from hardbayes.kernels.partition.rows import blend

# A row moves only where that gains more than rounding could pretend.
NOISE = 1e-12
FLOOR = 1e-15


@inlined
def is_worth_it(pays, frees, unit):
    """Whether a row that pays and frees so much should move; ``unit``: the weight they contain."""
    return pays < frees - NOISE * frees - FLOOR * np.sqrt(unit * frees)


@inlined
def transfer(rows, i, weight, source, target, left, centres, sizes, members):
    """Move row i; means, sizes and members of both clusters follow.

    ``left``: the size of the source without the row; 0 where that is nothing at all. IN/OUT
    centres: exact and exact_offset; sizes (slots,); members (slots,) int64.
    """
    if left > 0.0:
        blend(rows, i, sizes[source] / left, -weight / left, centres, source)
    share = weight / (sizes[target] + weight)
    blend(rows, i, 1.0 - share, share, centres, target)
    sizes[source] = left
    sizes[target] += weight
    members[source] -= 1
    members[target] += 1
