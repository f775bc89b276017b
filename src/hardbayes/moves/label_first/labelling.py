"""A partition with what follows from its labels, and proposals of another one."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Generic, NamedTuple

import numpy as np

from hardbayes.matrices import Floats
from hardbayes.moves.label_first.model import Ids, LabelFirstModel, S


@dataclass(frozen=True, eq=False)
class Labelled(Generic[S]):
    """Labels without empty clusters, and their statistics. Nothing of it changes."""

    model: LabelFirstModel[S]
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


class Proposal(NamedTuple, Generic[S]):
    """A move: what it leads to, and what that changes."""

    change: float  # exact change of the objective
    outcome: Labelled[S]
    n_changed: int  # rows or clusters, as they are reported
    n_splits: int = 0
    n_merges: int = 0


def unlabelled(model: LabelFirstModel[S], statistics: S) -> Labelled[S]:
    """Return a start from clusters alone: rows have no labels until they first choose."""
    return Labelled(model, np.full(len(model.weights), -1), 0, statistics)


def labelled(model: LabelFirstModel[S], labels: Ids) -> Labelled[S]:
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
) -> Proposal[S]:
    """Return the proposal of other labels (n,)."""
    outcome = labelled(current.model, labels)
    change = outcome.objective - current.objective
    return Proposal(change, outcome, n_changed, n_splits, n_merges)
