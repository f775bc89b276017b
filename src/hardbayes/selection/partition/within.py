"""Clusters seen in the metric in which they are round.

Clusters of columns that are correlated, or of different units, are long. In the metric of the
covariance within clusters they are round, and rows between them stand out more clearly, as in the
linear discriminant analysis of Fisher.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from hardbayes.blas import one_blas_thread
from hardbayes.matrices import Floats
from hardbayes.selection.partition.sampling import cluster_totals

# Added to variances, as a part of those of all rows: clusters may be copies of a few rows.
LEAST = 1e-9


class Within:
    """Rows (n, d) with weights (n,) > 0, of which clusters are formed."""

    @one_blas_thread()
    def __init__(self, rows: NDArray[np.floating], weights: Floats) -> None:
        total = weights.sum()
        mean = np.asarray(weights @ rows, np.float64) / total
        deviations = np.sqrt(weights @ (rows - mean) ** 2 / total)
        varies = np.ptp(rows, axis=0) > 0
        self._mean = mean
        self._scale: Floats = np.where(varies, 1.0 / np.where(varies, deviations, 1.0), 0.0)
        self._rows: Floats = (rows - mean) * self._scale
        self._weights = weights / total
        self._covariance: Floats = (self._rows * self._weights[:, np.newaxis]).T @ self._rows

    @one_blas_thread()
    def affine(self, labels: NDArray[np.int32], k: int) -> tuple[Floats, Floats]:
        """Return (k, d) ``theta`` and (k,) ``offset`` of the metric within k clusters.

        ``offset - theta @ x`` is half the squared distance of x to each centre, up to a constant.
        With few rows a column, covariances count less beside the variances.
        """
        n, d = self._rows.shape
        sizes, totals = cluster_totals(self._rows, self._weights, labels, k)
        centres = totals / sizes[:, np.newaxis]
        within = self._covariance - (centres * sizes[:, np.newaxis]).T @ centres
        variances = np.maximum(np.diag(within), 0.0)
        within *= n / (n + d)
        np.fill_diagonal(within, variances + LEAST)
        theta: Floats = cho_solve(cho_factor(within), centres.T).T
        offset = np.einsum("kd,kd->k", centres, theta) / 2.0
        theta = theta * self._scale
        return theta, offset + theta @ self._mean
