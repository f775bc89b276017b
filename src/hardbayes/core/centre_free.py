"""Models whose clusters have no centres among the rows: their contract, and partitions by labels.

Covariances, kernels and graphs have this in common: labels, additive statistics of a cluster, the
cost of a merge, the gain of a single-row move, a split. `core.centre_free_descent` uses nothing
else of a model. What is minimised is

    sum_k [cost of cluster k + penalty]

over partitions into at most ``max_clusters`` clusters. Costs may be negative, the penalty may not:
a normalised cut has the cost ``-links / degree`` and the penalty ``1 + cluster_penalty``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats
from hardbayes.core.loop import Proposal

Ids = NDArray[np.int64]
S = TypeVar("S")  # the statistics of several clusters; only the model reads them


class Merges(NamedTuple):
    """Pairs of clusters, cheapest first."""

    lefts: NDArray[np.integer]  # (m,)
    rights: NDArray[np.integer]  # (m,)
    costs: Floats  # (m,): cost of both together minus the costs of each, without penalties


class Split(NamedTuple):
    """A cluster in two halves."""

    saved: float  # cost of the cluster minus the costs of both halves, without penalties
    halves: Any  # which rows are in which half, in the model's own form


class CentreFreeModel(Protocol[S]):
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

    def merges(self, statistics: S) -> Merges:
        """Return merges of two or more clusters, with exact costs.

        Those of each cluster with a few neighbours suffice.
        """

    def split(
        self, members: list[Ids], statistics: S, which: Sequence[int], rng: np.random.RandomState
    ) -> list[Split]:
        """Return a good split of each cluster in ``which``; ``members[c]`` are its rows.

        ``saved`` may be an estimate, from a sample of the rows; zero where there is no split.
        """

    def second_half(self, ids: Ids, split: Split) -> NDArray[np.bool_]:
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


@dataclass(frozen=True, eq=False)
class Labelled(Generic[S]):
    """Labels without empty clusters, and their statistics. Nothing of it changes."""

    model: CentreFreeModel[S]
    labels: Ids  # (n,), 0 to k-1
    k: int
    statistics: S

    @cached_property
    def costs(self) -> Floats:
        """Exact cost (k,) of each cluster, without the penalty."""
        return self.model.costs(self.statistics)

    @cached_property
    def objective(self) -> float:
        """What is minimised; infinite while rows have no labels."""
        return float(self.costs.sum()) + self.model.penalty * self.k if self.k else np.inf

    @cached_property
    def members(self) -> list[Ids]:
        """Rows of each cluster, ascending."""
        order = self.labels.astype(np.min_scalar_type(self.k)).argsort(kind="stable")
        ends = np.bincount(self.labels).cumsum().tolist()
        return [order[start:stop] for start, stop in pairwise([0, *ends])]

    @cached_property
    def keys(self) -> list[bytes]:
        """What identifies each cluster: its rows that have weight."""
        weighs = self.model.weights > 0
        return [ids[weighs[ids]].tobytes() for ids in self.members]


def unlabelled(model: CentreFreeModel[S], statistics: S) -> Labelled[S]:
    """Return a start from clusters alone: rows have no labels until they first choose."""
    return Labelled(model, np.full(len(model.weights), -1), 0, statistics)


def labelled(model: CentreFreeModel[S], labels: Ids) -> Labelled[S]:
    """Return the partition of these labels (n,); clusters without weight are dropped."""
    used = np.zeros(int(labels.max()) + 1, bool)
    used[labels[model.weights > 0]] = True
    k = int(np.count_nonzero(used))
    if k == len(used):
        return Labelled(model, labels, k, model.statistics(labels, k))
    lost = ~used[labels]  # rows of no weight whose cluster is dropped
    labels = np.where(used, np.cumsum(used) - 1, 0)[labels]
    statistics = model.statistics(labels, k)
    if lost.any() and (chosen := model.choose(statistics)) is not None:
        labels[lost] = chosen[lost]
    return Labelled(model, labels, k, statistics)


def propose(
    current: Labelled[S], labels: Ids, n_changed: int, n_splits: int = 0, n_merges: int = 0
) -> Proposal[Labelled[S]]:
    """Return the proposal of other labels (n,)."""
    outcome = labelled(current.model, labels)
    change = outcome.objective - current.objective
    return Proposal(change, outcome, n_changed, n_splits, n_merges)


def ratio(inside: Floats, volumes: Floats) -> Floats:
    """Return ``inside / volumes``, zero where a cluster is empty.

    Clusters of kernels and of graphs cost minus that, but for a constant.
    """
    return np.divide(inside, volumes, out=np.zeros(len(inside)), where=volumes > 0)


def merges_of(
    inside: Floats,
    volumes: Floats,
    lefts: NDArray[np.integer],
    rights: NDArray[np.integer],
    links: Floats,
) -> Merges:
    """Return the merges of pairs (m,) of clusters (k,) with these links (m,) between them."""
    ratios = ratio(inside, volumes)
    both = inside[lefts] + inside[rights] + 2.0 * links
    rises = ratios[lefts] + ratios[rights] - both / (volumes[lefts] + volumes[rights])
    order = np.lexsort((rights, lefts, rises))
    return Merges(lefts[order], rights[order], rises[order])
