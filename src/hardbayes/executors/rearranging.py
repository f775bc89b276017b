"""Many labels changed at once, for moves that judge whole clusters.

Clusters go by their numbers here: those alive, oldest first. The totals follow with the next
`collect`; bounds, which know nothing of it, are dropped at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.executors.labelled_rows import LabelledRows
from hardbayes.executors.local import LocalRows, MovingClusters
from hardbayes.executors.stepper import Stepper
from hardbayes.matrices import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hardbayes.matrices import Floats

SLACK = 0.8


class Rearranging(LabelledRows):
    """What moves may do to the labels of an executor."""

    @property
    def cluster_names(self) -> NDArray[np.int64]:
        """A name for each living cluster, oldest first, that no other ever has."""
        return self.table.rank[self.table.alive]

    def open_at(self, centres: Floats) -> None:
        """Open clusters at these points (k, d); they get the next numbers."""
        self._bounds = None
        self.table.open(centres)

    def reassign(self, ids: NDArray[np.intp], numbers: NDArray[np.intp]) -> None:
        """Give these rows to these clusters."""
        self._bounds = None
        self.labels[ids] = self.table.alive[numbers]

    def relabel(self, numbers: NDArray[np.intp]) -> None:
        """Give all rows of cluster c to cluster ``numbers[c]``."""
        self._bounds = None
        slots = np.arange(len(self.table.rank) + 1, dtype=np.int32)
        slots[-1] = -1  # rows whose cluster is gone stay nowhere
        slots[self.table.alive] = self.table.alive[numbers]
        self.labels = slots[self.labels]

    def sample_by_cluster(
        self, size: int, rng: np.random.RandomState
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return about ``size`` rows sorted by cluster, and the number of each one's cluster.

        All rows, where there are no more than that; but for those whose cluster is gone.
        """
        if self.n_rows <= size:
            ids = np.arange(self.n_rows)
        else:
            ids = np.unique(rng.randint(self.n_rows, size=size))
        numbers = self.cluster_numbers(ids).astype(np.intp)
        order = np.argsort(numbers, kind="stable")
        order = order[np.searchsorted(numbers[order], 0) :]
        return ids[order], numbers[order]

    def rows_in(self, clusters: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        """Yield the rows of these clusters, in order, so many at a time as take little room."""
        wanted = np.zeros(len(self.table.rank) + 1, bool)
        wanted[self.table.alive[clusters]] = True
        for part in chunks(self.n_rows, 1):
            yield part.start + np.flatnonzero(wanted[self.labels[part]])

    def member_counts(self) -> NDArray[np.int64]:
        """Return how many rows of any weight each living cluster has."""
        counts = np.zeros(len(self.table.rank), np.int64)
        for part in chunks(self.n_rows, 1):
            labels = self.labels[part]
            if len(self.weights) > 1:
                labels = labels[self.weights[part] > 0]
            counts += np.bincount(labels, minlength=len(counts))
        return counts[self.table.alive]

    def local(
        self, ids: NDArray[np.intp], groups: NDArray[np.intp], first: NDArray[np.intp]
    ) -> LocalRows:
        """Return these rows to try things out on."""
        return LocalRows(self, ids, groups, first)

    def stepper(
        self, labels: NDArray[np.int32], n_slots: int, rng: np.random.RandomState
    ) -> Stepper:
        """Return these clusters to go on from step by step, in so many slots."""
        return Stepper(self, labels, n_slots, rng)

    def moving(
        self, weights: Floats, members: NDArray[np.int64], centres: Floats, prior_weight: float
    ) -> MovingClusters:
        """Return clusters (slots,) at these centres (slots, d) for rows to move between."""
        return MovingClusters(weights + prior_weight, members, prior_weight, self.bare(centres))

    def restless(self, sizes: Floats, prior_weight: float) -> NDArray[np.intp]:
        """Return the rows that might gain by moving; ``sizes`` (k,): weights with the prior's.

        To join a cluster costs at least ``N / (N + w)`` times a lower bound on the cost there, to
        leave one frees at most ``N / (N - w)`` times an upper bound; who is alone might free the
        penalty. Without bounds the costs are taken, for divergences other than squared distances
        with some slack: there the two factors are right for small changes only.
        """
        bounds = self._bounds if self.geometry.squared_distance else None
        size = np.ones(len(self.table.rank))
        size[self.table.alive] = sizes
        pays = np.ones(len(size))  # nobody joins a slot that is dead
        pays[self.table.alive] = sizes / (sizes + float(self.weights.max()))
        width = 1 if bounds is None else -(-self.table.used // bounds.width)  # groups in use
        found = []
        for part in chunks(self.n_rows, max(width, len(sizes) if bounds is None else 0)):
            own = size[self.labels[part]]
            weights = self.weights_of(part)
            left = own - weights
            alone = left - prior_weight <= 1e-9 * weights
            frees = own / np.where(alone, own, left)
            if bounds is not None:
                groups = np.minimum.reduceat(pays, np.arange(0, len(pays), bounds.width))
                frees *= np.square(bounds.upper[part], dtype=np.float64)
                least = groups[:width] * np.maximum(bounds.lower[part, :width], 0.0) ** 2
            else:
                costs = self.costs_of(part)
                at = np.arange(len(own)), self.cluster_numbers(part)
                frees *= costs[at]
                costs[at] = np.inf
                least = pays[self.table.alive] * costs
                if not self.geometry.squared_distance:
                    least *= SLACK
            found.append(part.start + np.flatnonzero((least.min(axis=1) <= frees) | alone))
        return np.concatenate(found)
