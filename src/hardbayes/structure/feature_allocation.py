"""A feature allocation of the rows: each row has any set of features, and adds their components."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardbayes.matrices import Floats

# A column is dependent if no more than this share of it is outside the span of those before it.
DEPENDENT = 1e-10


@dataclass(frozen=True)
class FeatureAllocation:
    """``sum_i w_i |x_i - z_i A|^2 + penalty * K`` over K, binary rows z_i and components A.

    Broderick, Kulis & Jordan 2013, eq. 6, with at most ``max_components`` features (eq. 15). With a
    penalty of zero it is their K-features (eq. 14). All numbers are in working coordinates.
    """

    penalty: float
    max_components: int

    def total(self, fit: float, n_components: int) -> float:
        """Return the objective."""
        return fit + self.penalty * n_components


def independent_columns(gram: Floats) -> NDArray[np.bool_]:
    """Return which columns of Z (k,) are outside the span of those before them, from Z'WZ."""
    left = gram.astype(np.float64)
    kept = np.zeros(len(gram), bool)
    for k in range(len(gram)):
        if left[k, k] > DEPENDENT * gram[k, k]:
            kept[k] = True
            left = left - np.outer(left[:, k], left[k]) / left[k, k]
    return kept


def independent_least_squares(
    components: Floats, gram: Floats, correction: Floats
) -> tuple[NDArray[np.bool_], Floats]:
    """Return which columns of Z (k,) are independent, and least-squares components of those.

    ``gram`` (k, k) = Z'WZ; ``correction`` (k, d) = Z'WR, R being the residuals at ``components``.
    """
    kept = independent_columns(gram)
    target = correction[kept] + gram[kept] @ components
    return kept, np.linalg.solve(gram[np.ix_(kept, kept)], target)
