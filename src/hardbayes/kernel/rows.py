"""The contract between clusters in the space of a Mercer kernel and the place where its values are.

Rows i have weights w_i and kernel values K_ij. Clusters are ``volumes`` (k,), the sums of weights,
and ``links`` (k, k), the sums of ``w_i w_j K_ij`` over the rows of two clusters. A cluster costs
``sum_i w_i K_ii - links_cc / volume_c``: the weighted squared distances from its mean, which is
never formed. Everything is exact up to the rounding of float64, and does not depend on the number
of threads. No method holds more than a bounded number of kernel values.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids


class GramRows(Protocol):
    """Rows with weights (n,) >= 0, and their kernel values. No method changes its arguments."""

    n: int
    weights: Floats  # (n,)
    diagonal: Floats  # (n,): K_ii

    def statistics(self, labels: Ids, k: int) -> tuple[Floats, Floats]:
        """Return volumes (k,) and links (k, k) of clusters 0 to k-1; zeros where one is empty."""

    def sweep(
        self, labels: Ids, inside: Floats, volumes: Floats, order: Ids, cost: float, most: int
    ) -> tuple[Ids, Floats, bool]:
        """Return labels (n,) after a sweep with births, distances (n,), and whether it was capped.

        The means of ``labels``, with ``inside`` (k,) on the diagonal of their links, stay as they
        are. In the order of visits, of all rows or some (others get no label), a row whose weight
        times squared distance exceeds ``cost`` opens a cluster at itself, which rows visited later
        may choose; births are numbered from k on, at most ``most``. Among equal distances the first
        cluster is chosen.
        """

    def move(
        self,
        labels: Ids,
        inside: Floats,
        volumes: Floats,
        penalty: float,
        order: Ids,
        max_passes: int,
    ) -> tuple[Ids, int]:
        """Return labels (n,) after single-row moves, and their number.

        Each lowers the sum of costs plus ``penalty`` for each cluster, by its exact change given
        the moves before it. The last row of a cluster may leave it.
        """

    def values(self, ids: NDArray[np.integer], columns: NDArray[np.integer]) -> Floats:
        """Return a bounded number of kernel values (m, l), dense."""

    def times(self, vectors: Floats) -> Floats:
        """Return the product (n, r) of the kernel matrix with vectors (n, r)."""

    def whole(self) -> Floats:
        """Return all kernel values (n, n): for few rows."""

    def part(self, ids: NDArray[np.integer], weights: Floats) -> GramRows:
        """Return some rows, with these weights (m,); their kernel values are held in memory."""
