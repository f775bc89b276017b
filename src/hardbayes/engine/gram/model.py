"""Clusters in the space of a Mercer kernel as a label-first model."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.engine.label_first.ratios import ratio, unions_of
from hardbayes.executors.gram.protocol import GramRows
from hardbayes.matrices import Floats
from hardbayes.moves.gram.halving import halve
from hardbayes.moves.label_first.model import Division, Ids, LabelFirstModel, Unions

TRIAL_ROWS = 1 << 10  # of a cluster on which its division is tried
MANY_ROWS = 1 << 13  # from which on a pass over all rows takes so long that few are made


class HalvedSample(NamedTuple):
    """Some rows of a cluster, and which are in its second half."""

    ids: Ids  # (m,)
    weights: Floats  # (m,)
    second: NDArray[np.bool_]  # (m,)


@dataclass(frozen=True, eq=False)
class GramClusters:
    """Clusters of these labels (n,); sums of kernel values are made when they are first read."""

    rows: GramRows
    labels: Ids
    k: int

    @cached_property
    def sums(self) -> tuple[Floats, Floats]:
        """Volumes (k,) and links (k, k)."""
        return self.rows.statistics(self.labels, self.k)

    @property
    def volumes(self) -> Floats:
        """Weights (k,) of the clusters."""
        return self.sums[0]

    @property
    def links(self) -> Floats:
        """Sums (k, k) of weighted kernel values between clusters."""
        return self.sums[1]

    @property
    def inside(self) -> Floats:
        """Sums (k,) within clusters."""
        return np.ascontiguousarray(np.diag(self.links))

    @cached_property
    def traces(self) -> Floats:
        """Sums (k,) of ``w_i K_ii``."""
        own = self.rows.weights * self.rows.diagonal
        return np.bincount(self.labels, own, self.k).astype(np.float64)


class GramModel(LabelFirstModel[GramClusters]):
    """Rows, what a partition of them costs, and the order (n,) in which they are visited."""

    def __init__(self, rows: GramRows, penalty: float, max_clusters: int, order: Ids) -> None:
        self.rows = rows
        self.order = order
        self.weights = rows.weights
        self.penalty = penalty
        self.max_clusters = max_clusters
        self.unit = float(np.sum(rows.weights * np.abs(rows.diagonal))) / rows.n
        self._last = GramClusters(rows, np.empty(0, np.int64), 0)

    def statistics(self, labels: Ids, k: int) -> GramClusters:
        """Return clusters of these labels, the last ones if these are the same."""
        if k != self._last.k or not np.array_equal(labels, self._last.labels):
            self._last = GramClusters(self.rows, labels, k)
        return self._last

    def costs(self, statistics: GramClusters) -> Floats:
        """Return the sum of squared distances from the mean of each cluster."""
        return statistics.traces - ratio(statistics.inside, statistics.volumes)

    def unions(self, statistics: GramClusters) -> Unions:
        """Return all unions of two clusters."""
        lefts, rights = np.triu_indices(statistics.k, 1)
        links = statistics.links[lefts, rights]
        return unions_of(statistics.inside, statistics.volumes, lefts, rights, links)

    def divide(
        self,
        members: list[Ids],
        statistics: GramClusters,
        which: Sequence[int],
        rng: np.random.RandomState,
    ) -> list[Division]:
        """Return halves along leading eigenvectors, found on a sample of a large cluster."""
        return [self._division(members[c], rng) for c in which]

    def _division(self, ids: Ids, rng: np.random.RandomState) -> Division:
        ids = ids[self.weights[ids] > 0]
        if len(ids) > TRIAL_ROWS:
            whole = self.weights[ids].sum()
            ids = np.sort(rng.choice(ids, TRIAL_ROWS, replace=False))
            weights = self.weights[ids] * (whole / self.weights[ids].sum())
        else:
            weights = self.weights[ids]
        saved, second = halve(self.rows.part(ids, weights), rng)
        return Division(saved, HalvedSample(ids, weights, second))

    def second_half(self, ids: Ids, division: Division) -> NDArray[np.bool_]:
        """Return which rows are nearer to the mean of the second half than to that of the first."""
        sample: HalvedSample = division.halves
        sides = np.full(len(ids), -1)
        sides[np.searchsorted(ids, sample.ids)] = sample.second
        rest = np.flatnonzero(sides < 0)
        if len(rest):
            members = np.stack([~sample.second, sample.second]) * sample.weights
            members /= members.sum(axis=1, keepdims=True)
            among = np.einsum(
                "sa,ab,sb->s", members, self.rows.values(sample.ids, sample.ids), members
            )
            for start in range(0, len(rest), TRIAL_ROWS):
                part = rest[start : start + TRIAL_ROWS]
                reach = self.rows.values(ids[part], sample.ids) @ members.T
                sides[part] = (among - 2.0 * reach).argmin(axis=1)
        return sides == 1

    def move_rows(self, labels: Ids, statistics: GramClusters, max_passes: int) -> tuple[Ids, int]:
        """Return labels after moves of single rows."""
        clusters = (statistics.inside, statistics.volumes)
        return self.rows.move(labels, *clusters, self.penalty, self.order, max_passes)

    def choose(self, statistics: GramClusters) -> Ids | None:
        """Return each row's nearest cluster; of many rows None, for moves do more in one pass."""
        if self.rows.n > MANY_ROWS:
            return None
        return self.nearest(statistics, np.arange(self.rows.n))[0]

    def nearest(self, statistics: GramClusters, ids: Ids) -> tuple[Ids, Floats]:
        """Return the nearest cluster (m,) of some rows, and its squared distance (m,)."""
        clusters = (statistics.labels, statistics.inside, statistics.volumes)
        labels, distances, _ = self.rows.sweep(*clusters, ids, np.inf, 0)
        return labels[ids], distances[ids]

    def distances(self, statistics: GramClusters, ids: Ids) -> Floats:
        """Return the squared distances (m,) of some rows from the means of their own clusters."""
        volumes, labels, everyone = statistics.volumes, statistics.labels, np.arange(self.rows.n)
        found = np.empty(len(ids))
        size = max(1, (1 << 21) // self.rows.n)
        for start in range(0, len(ids), size):
            part = ids[start : start + size]
            own = labels[part]
            same = (labels == own[:, np.newaxis]) * self.weights
            reach = np.einsum("ij,ij->i", self.rows.values(part, everyone), same)
            found[start : start + size] = (
                self.rows.diagonal[part]
                - 2.0 * reach / volumes[own]
                + statistics.inside[own] / volumes[own] ** 2
            )
        return np.maximum(found, 0.0)

    def sweep(self, statistics: GramClusters) -> tuple[Ids, bool]:
        """Return the same with births."""
        clusters = (statistics.labels, statistics.inside, statistics.volumes)
        room = max(0, self.max_clusters - statistics.k)
        labels, _, capped = self.rows.sweep(*clusters, self.order, self.penalty, room)
        return labels, capped

    def work(self, k: int) -> int:
        """Return the number of kernel values."""
        return self.rows.n * self.rows.n
