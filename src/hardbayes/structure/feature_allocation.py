"""A feature allocation of the rows: each row has any set of features, and adds their components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.matrices import Floats

# A column is dependent where the others leave less than this share of it.
DEPENDENT = 1e-10


@dataclass(frozen=True)
class FeatureAllocation:
    """``sum_i w_i |x_i - z_i A|^2 + penalty * K`` over K, binary rows z_i and components A.

    Broderick, Kulis & Jordan 2013, eq. 6, with at most ``max_components`` features (eq. 15). With a
    penalty of zero it is their K-features (eq. 14).

    All numbers are in working coordinates.
    """

    penalty: float
    max_components: int

    def total(self, fit: float, n_components: int) -> float:
        """Return the objective."""
        return fit + self.penalty * n_components


def independent_columns(gram: Floats) -> NDArray[np.bool_]:
    """Return which columns of Z (k,) are not sums of those before them, from Z'WZ.

    A dependent column buys nothing: the others fit the rows as well without it.
    """
    left = gram.astype(np.float64)
    kept = np.zeros(len(gram), bool)
    for k in range(len(gram)):
        if left[k, k] > DEPENDENT * gram[k, k]:
            kept[k] = True
            left = left - np.outer(left[:, k], left[k]) / left[k, k]
    return kept
