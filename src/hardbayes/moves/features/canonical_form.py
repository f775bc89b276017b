"""The same model in the form that people read best: a base, and features that few rows have.

Memberships that span the same columns fit equally well. Where a column of ones is among them, as it
is where two features complete each other, all rows share a base, and every other feature may as
well be what its rows lack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.matrices import Floats

ROUNDING = 1e-9


def readable(
    membership: NDArray[np.uint8], gram: Floats, weight: float
) -> NDArray[np.uint8] | None:
    """Return memberships (n, k) with a base and features of at most half the weight.

    ``gram`` (k, k) = Z'WZ of full rank, ``weight`` that of all rows. None where all rows share no
    base, or nothing changes.
    """
    own = np.diagonal(gram)
    share = np.linalg.solve(gram, own)  # of each column in the column of ones
    if not len(own) or weight - own @ share > ROUNDING * weight:
        return None
    base = int(np.argmax(np.where(np.abs(share) > ROUNDING, own, -1.0)))
    heavy = own > weight / 2
    heavy[base] = False
    if own[base] >= weight and not heavy.any():
        return None
    changed = membership.copy()
    changed[:, heavy] ^= 1
    changed[:, base] = 1
    return changed
