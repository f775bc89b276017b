"""The contract of a model whose clusters have no centres in the space of the rows.

Covariances, kernels and graphs have this in common: labels, additive statistics of a cluster, the
cost of a union, the gain of a single-row move, a division. The moves of this package and
`engine.label_first.descent` use nothing else of a model. What is minimised is

    sum_k [cost of cluster k + penalty]

over partitions into at most ``max_clusters`` clusters. Costs may be negative, the penalty may not:
a normalised cut has the cost ``-links / degree`` and the penalty ``1 + cluster_penalty``.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardbayes.matrices import Floats

Ids = NDArray[np.int64]
S = TypeVar("S")  # the statistics of several clusters; only the model reads them


class Unions(NamedTuple):
    """Pairs of clusters, cheapest first."""

    lefts: NDArray[np.integer]  # (m,)
    rights: NDArray[np.integer]  # (m,)
    costs: Floats  # (m,): cost of the union minus the costs of both, without penalties


class Division(NamedTuple):
    """A cluster in two halves."""

    saved: float  # cost of the cluster minus the costs of both halves, without penalties
    halves: Any  # which rows are in which half, in the model's own form


class LabelFirstModel(Protocol[S]):
    """Rows, and what a partition of them costs. No method changes the model or its arguments.

    Attributes
    ----------
    weights : array (n,)
        Weights of the rows, >= 0. A row of weight zero contributes nothing to statistics.
    penalty : float
        What each cluster costs besides, >= 0.
    max_clusters : int
    unit : float
        The scale of costs: differences of 1e-9 of it are taken for rounding.
    """

    weights: Floats
    penalty: float
    max_clusters: int
    unit: float

    def statistics(self, labels: Ids, k: int) -> S:
        """Return the statistics of clusters 0 to k-1 of labels (n,), some perhaps empty."""

    def costs(self, statistics: S) -> Floats:
        """Return the exact cost (k,) of each cluster, without the penalty; zero where empty."""

    def unions(self, statistics: S) -> Unions:
        """Return unions of two or more clusters, with exact costs.

        Those of each cluster with a few neighbours suffice.
        """

    def divide(
        self, members: list[Ids], statistics: S, which: Sequence[int], rng: np.random.RandomState
    ) -> list[Division]:
        """Return a good division of each cluster in ``which``; ``members[c]`` are its rows.

        ``saved`` may be an estimate, from a sample of the rows; zero where there is no division.
        """

    def second_half(self, ids: Ids, division: Division) -> NDArray[np.bool_]:
        """Return which rows ``ids`` (m,), all those of the cluster, are in the second half."""

    def move_rows(self, labels: Ids, statistics: S, max_passes: int) -> tuple[Ids, int]:
        """Return labels (n,) after moves of single rows, and the number of moves.

        Each move lowers the objective, by its exact change given the moves before it. Rows may
        leave clusters empty, or open new ones, numbered from k on, up to ``max_clusters``.
        """

    def work(self, k: int) -> int:
        """Return the approximate number of multiply-adds of a pass over all rows."""

    def choose(self, statistics: S) -> Ids | None:
        """Return the cheapest cluster (n,) of each row while the clusters stay as they are.

        Such a step never raises the objective. None where the model has none.
        """
        return None

    def sweep(self, statistics: S) -> tuple[Ids, bool] | None:
        """Return labels (n,) as `choose` does, with births: clusters that single rows open.

        New clusters are numbered from k on, up to ``max_clusters``; the flag is whether that bound
        prevented one. None where the model has none.
        """
        return None

    def regroup(self, labels: Ids, rng: np.random.RandomState) -> Ids | None:
        """Return labels (n,) after moves of groups of rows, at no higher objective.

        None where the model has none.
        """
        return None
