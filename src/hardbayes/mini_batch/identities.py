"""Names that clusters keep: permanent ids, and the events in which clusters come and go.

Clusters found now are matched with those told last by the weight that they share. The weight that a
cluster had is that of the micro-clusters nearest to where it was, as many as make it up: what came
since, and lies farther out, is no part of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from hardbayes.core.arrays import Floats

if TYPE_CHECKING:
    from hardbayes.core.geometry import Geometry
    from hardbayes.mini_batch.clusters import Clusters
    from hardbayes.mini_batch.summary import Summary

#: What may happen to a cluster, in the order of the codes in files.
KINDS = ("born", "died", "merged", "split")
Event = tuple[str, int, int] | tuple[str, int, int, int]

# A cluster that ends has died, if its weight has decayed to less than this part of what it was at
# most; otherwise it has merged into another while it was fed. Half: no rows for one half-life.
DYING = 0.5
# A new cluster comes from a split, if at least this part of its weight has left another cluster;
# otherwise most of its rows are new.
FROM_ANOTHER = 0.5


class Identities(NamedTuple):
    """The clusters told last."""

    ids: NDArray[np.int64]  # (k,)
    centres: Floats  # (k, d), in working coordinates
    weights: Floats  # (k,): as rows that are new now count
    largest: Floats  # (k,): the largest of their weights so far
    next_id: int
    events: tuple[Event, ...]

    @classmethod
    def of_nothing(cls, n_columns: int) -> Identities:
        """Return the names of no clusters."""
        none = np.zeros(0)
        return cls(np.zeros(0, np.int64), np.zeros((0, n_columns)), none, none, 0, ())

    def decayed(self, factor: float) -> Identities:
        """Return them with weights as rows that are new later count."""
        return self._replace(weights=self.weights * factor)

    def follow(self, found: Clusters, summary: Summary, geometry: Geometry, row: int) -> Identities:
        """Return the names after clusters were found at a row."""
        shared = self._shared(found, summary, geometry)
        old, new = linear_sum_assignment(shared, maximize=True)
        both = shared[old, new] > 0
        ids = np.full(len(found.weights), -1)
        largest = found.weights.copy()
        ids[new[both]] = self.ids[old[both]]
        largest[new[both]] = np.maximum(largest[new[both]], self.largest[old[both]])
        left = self.weights.copy()  # what has left each old cluster for another
        left[old[both]] -= found.weights[new[both]]
        events, next_id = list(self.events), self.next_id
        for c in np.flatnonzero(ids < 0):
            ids[c], next_id = next_id, next_id + 1
            origin = int(shared[:, c].argmax()) if len(self.ids) else -1
            if origin >= 0 and left[origin] >= FROM_ANOTHER * found.weights[c]:
                left[origin] -= found.weights[c]
                largest[ids == self.ids[origin]] = found.weights[ids == self.ids[origin]]
                events.append(("split", int(ids[c]), row, int(self.ids[origin])))
            else:
                events.append(("born", int(ids[c]), row))
        for o in np.flatnonzero(~np.isin(self.ids, ids)):
            if self.weights[o] < DYING * self.largest[o]:
                events.append(("died", int(self.ids[o]), row))
            else:
                into = shared[o].argmax()
                if not shared[o, into]:  # its rows are in micro-clusters nearer to others
                    into = geometry.between(self.centres[[o]], found.centres)[0].argmin()
                events.append(("merged", int(self.ids[o]), row, int(ids[into])))
        return Identities(ids, found.centres, found.weights, largest, next_id, tuple(events))

    def _shared(self, found: Clusters, summary: Summary, geometry: Geometry) -> Floats:
        """Return the weight (old, new) that clusters had and that is in those found now."""
        shared = np.zeros((len(self.ids), len(found.weights)))
        if not len(self.ids):
            return shared
        costs = geometry.between(summary.means(geometry), self.centres)
        nearest = costs.argmin(axis=1)
        for o, had in enumerate(self.weights):
            near = np.flatnonzero(nearest == o)
            near = near[np.argsort(costs[near, o], kind="stable")]
            weights = summary.weights[near]
            before = np.cumsum(weights) - weights
            np.add.at(shared[o], found.labels[near], np.clip(had - before, 0.0, weights))
        return shared
