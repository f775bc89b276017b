"""The contract between clusters with covariances and the place where their rows live.

Rows are in coordinates in which the prior matrix is the identity. Clusters are weights (k,), means
(k, d) and scatters (k, h, d), where h is d, or 1 where covariances are diagonal. Roots (k, h, d)
are lower triangular matrices W; the distance of a row from a cluster is ``|W (x - mu)|^2``.
Everything is exact up to the rounding of float64, and does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids


class Trial(NamedTuple):
    """Some rows of a cluster, and sides from which to look for its two halves."""

    rows: Floats  # (m, d)
    weights: Floats  # (m,), with the sum that all rows of the cluster have
    sides: NDArray[np.uint8]  # (starts, m), 0 or 1
    whole: float  # log|I + S| of the cluster


class GaussianRows(Protocol):
    """Rows (n, d) with weights (n,) >= 0."""

    n: int
    d: int
    diagonal: bool
    weights: Floats

    def take(self, ids: NDArray[np.integer]) -> Floats:
        """Return a bounded number of rows (m, d), as a copy in memory."""

    def sample(self, ids: NDArray[np.integer], weights: Floats) -> GaussianRows:
        """Return some of the rows, with these weights (m,)."""

    def statistics(self, labels: Ids, k: int) -> tuple[Floats, Floats, Floats]:
        """Return weights, means and scatters of clusters 0 to k-1; zeros where one is empty."""

    def roots(self, scatters: Floats) -> tuple[Floats, Floats]:
        """Return roots (k, h, d) with ``W'W = (I + S)^-1``, and ``log|I + S|`` (k,)."""

    def nearest(
        self, means: Floats, roots: Floats, offsets: Floats | None = None
    ) -> tuple[Ids, Floats]:
        """Return the nearest cluster of each row (n,), the first of equals, and its distance (n,).

        Offsets (k,), if any, are added to the distances.
        """

    def distances(self, means: Floats, roots: Floats) -> Floats:
        """Return the distance (n, k) of each row from every cluster."""

    def sweep(
        self, means: Floats, roots: Floats, order: Ids, opening_cost: float, max_births: int
    ) -> tuple[Ids, bool]:
        """Return labels (n,) after a sweep with births, and whether ``max_births`` prevented one.

        In the order (n,) of visits, a row whose weight times distance exceeds the opening cost
        opens a cluster at itself, of scatter zero, which rows visited later may choose. Births are
        numbered from k on.
        """

    def move_rows(
        self, labels: Ids, weights: Floats, means: Floats, scatters: Floats, max_passes: int
    ) -> tuple[Ids, int]:
        """Return labels (n,) after single-row moves, and the number of moves.

        The statistics are those of the labels. Each move lowers the sum of ``log|I + S|``; no
        cluster is left empty.
        """

    def divide(self, trials: Sequence[Trial]) -> list[tuple[float, Floats, Floats]]:
        """Return the best division of each trial that alternation from its sides leads to.

        By how much ``log|I + S|`` falls on its rows, and means (2, d) and roots (2, h, d) of the
        halves: a row is in the nearer one. Zero and empty arrays where there is no division.
        """
