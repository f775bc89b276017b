"""The canonical form of a model: a base that all rows have, and features of at most half of them.

Memberships with the same span fit equally well. Where a column of ones is in it, one feature can be
a base, and any other can be exchanged for its complement.
"""

import numpy as np
from numpy.typing import NDArray

from hardbayes.matrices import Floats

ROUNDING = 1e-9


def canonical_membership(
    membership: NDArray[np.uint8], gram: Floats, weight: float
) -> NDArray[np.uint8] | None:
    """Return memberships (n, k) in canonical form.

    ``gram`` (k, k) = Z'WZ of full rank; ``weight`` of all rows. None where a column of ones is not
    in the span, or nothing changes.
    """
    own = np.diagonal(gram)
    coefficients = np.linalg.solve(gram, own)  # of the column of ones
    if not len(own) or weight - own @ coefficients > ROUNDING * weight:
        return None
    base = int(np.argmax(np.where(np.abs(coefficients) > ROUNDING, own, -1.0)))
    heavy = own > weight / 2
    heavy[base] = False
    if own[base] >= weight and not heavy.any():
        return None
    changed = membership.copy()
    changed[:, heavy] ^= 1
    changed[:, base] = 1
    return changed
