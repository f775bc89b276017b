"""Clusters with covariances as a model without centres, and candidates for moves.

Clusters with covariances as a centre-free model.

Candidates for moves of whole clusters with covariances: sides to start from, and neighbours.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, chunks
from hardbayes.core.centre_free import CentreFreeModel, Division, Ids, Unions
from hardbayes.gaussian.problem import GaussianPartition, Gaussians
from hardbayes.gaussian.rows import GaussianRows, Trial

N_AXES = 3  # widest directions along which a cluster is cut
N_PAIRS = 2  # random pairs of rows between which it is cut
BALLS = (0.1, 0.25) * 3  # shares of the rows, those nearest to a random row
N_NEIGHBOURS = 4  # clusters with which a union is considered


def starting_sides(
    rows: Floats, weights: Floats, mean: Floats, scatter: Floats, rng: np.random.RandomState
) -> NDArray[np.uint8]:
    """Return sides (starts, m) of the rows (m, d) of a cluster; none where it has one row only.

    Cut at the mean along wide axes; between two rows; a ball around a row, because a small cluster
    has to start as one (the larger half draws rows away from the smaller); the farthest row alone.
    """
    heavy = np.flatnonzero(weights > 0)
    if len(heavy) < 2:
        return np.empty((0, len(rows)), np.uint8)
    gaps = rows - mean
    if len(scatter) == 1:
        directions = np.eye(rows.shape[1])[np.argsort(-scatter[0], kind="stable")[:N_AXES]]
    else:
        directions = np.linalg.eigh(scatter)[1].T[::-1][:N_AXES]
        # The sign of an eigenvector depends on rounding: make its largest entry positive.
        largest = np.abs(directions).argmax(axis=1)
        directions = directions * np.sign(directions[np.arange(len(directions)), largest, None])
    starts = [gaps @ direction > 0 for direction in directions]
    for a, b in rows[heavy[rng.randint(len(heavy), size=(N_PAIRS, 2))]]:
        starts.append((rows - (a + b) / 2) @ (b - a) > 0)
    for row, share in zip(heavy[rng.randint(len(heavy), size=len(BALLS))], BALLS, strict=True):
        between, last = rows - rows[row], int(share * len(rows))
        apart = np.einsum("ij,ij->i", between, between)
        starts.append(apart <= np.partition(apart, last)[last])
    farthest = heavy[np.argmax(np.einsum("ij,ij->i", gaps[heavy], gaps[heavy]))]
    starts.append(np.arange(len(rows)) == farthest)
    return np.array(starts, np.uint8)


def neighbouring_unions(clusters: Gaussians, partition: GaussianPartition, roots: Floats) -> Unions:
    """Return the unions of neighbouring ones among two clusters or more, cheapest first.

    ``roots`` (k, h, d) are lower triangular, ``W'W = (I + S)^-1``.
    """
    k = clusters.k
    near = min(N_NEIGHBOURS, k - 1)
    partners = np.concatenate(
        [
            nearest_means(clusters.means, roots, near, part)
            for part in chunks(k, k * clusters.means.shape[1])
        ]
    )
    pairs = np.stack([np.repeat(np.arange(k), near), partners.ravel()], axis=1)
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    costs = np.concatenate(
        [
            partition.union_costs(clusters.pick(pairs[part, 0]), clusters.pick(pairs[part, 1]))
            for part in chunks(len(pairs), clusters.scatters[0].size)
        ]
    )
    order = np.argsort(costs, kind="stable")
    return Unions(pairs[order, 0], pairs[order, 1], costs[order])


def nearest_means(means: Floats, roots: Floats, near: int, part: slice = slice(None)) -> Ids:
    """Return up to ``near`` others (m, near) whose means are nearest to each cluster of a part.

    In its own metric, ``roots`` (k, h, d); ascending where there are more, else nearest first.
    """
    k = len(means)
    gaps = means[part, np.newaxis, :] - means
    if roots.shape[1] == 1:
        scaled = gaps * roots[part]
    else:
        scaled = np.einsum("mkd,med->mke", gaps, roots[part], optimize=True)
    apart = np.einsum("mkd,mkd->mk", scaled, scaled)
    apart[np.arange(len(apart)), np.arange(k)[part]] = np.inf
    if near >= k - 1:
        return np.ascontiguousarray(np.argsort(apart, axis=1, kind="stable")[:, : k - 1])
    return np.sort(np.argpartition(apart, near - 1, axis=1)[:, :near], axis=1)


TRIAL_ROWS = 1 << 10  # of a cluster on which its division is tried


class GaussianModel(CentreFreeModel[Gaussians]):
    """Rows, what a partition of them costs, and the order (n,) in which a sweep visits them."""

    def __init__(self, rows: GaussianRows, partition: GaussianPartition, order: Ids) -> None:
        self.rows = rows
        self.partition = partition
        self.order = order
        self.weights = rows.weights
        self.penalty = partition.penalty
        self.max_clusters = partition.max_clusters
        self.unit = partition.rate

    def statistics(self, labels: Ids, k: int) -> Gaussians:
        """Return weights, means and scatters."""
        return Gaussians(*self.rows.statistics(labels, k))

    def costs(self, statistics: Gaussians) -> Floats:
        """Return ``rate log|I + S|`` of each cluster."""
        return self.partition.costs(statistics)

    def unions(self, statistics: Gaussians) -> Unions:
        """Return the unions of neighbouring clusters."""
        roots = self.rows.roots(statistics.scatters)[0]
        return neighbouring_unions(statistics, self.partition, roots)

    def divide(
        self,
        members: list[Ids],
        statistics: Gaussians,
        which: Sequence[int],
        rng: np.random.RandomState,
    ) -> list[Division]:
        """Return divisions; what they save is estimated on at most `TRIAL_ROWS` rows of each."""
        sizes, means, scatters = statistics
        whole = self.costs(statistics) / self.unit
        trials = []
        for c in which:
            ids = members[c]
            if len(ids) > TRIAL_ROWS:
                ids = np.sort(rng.permutation(ids)[:TRIAL_ROWS])
            rows, weights = self.rows.take(ids), self.weights[ids]
            sides = starting_sides(rows, weights, means[c], scatters[c], rng)
            if len(sides):
                weights = sizes[c] / weights.sum() * weights
            trials.append(Trial(rows, weights, sides, float(whole[c])))
        found = self.rows.divide(trials)
        return [Division(self.unit * saved, halves) for saved, *halves in found]

    def second_half(self, ids: Ids, division: Division) -> NDArray[np.bool_]:
        """Return which rows are nearer to the second half."""
        return self.rows.sample(ids, self.weights[ids]).nearest(*division.halves)[0] == 1

    def move_rows(self, labels: Ids, statistics: Gaussians, max_passes: int) -> tuple[Ids, int]:
        """Return labels after single-row moves, and the number of moves."""
        return self.rows.move_rows(labels, *statistics, max_passes)

    def work(self, k: int) -> int:
        """Return the number of multiply-adds of all distances."""
        d = self.rows.d
        return self.rows.n * k * d * (1 if self.rows.diagonal else d)

    def choose(self, statistics: Gaussians) -> Ids:
        """Return the nearest cluster of each row."""
        return nearest(self.rows, statistics)[0]

    def sweep(self, statistics: Gaussians) -> tuple[Ids, bool]:
        """Return the same with births.

        A cluster of one row has the prior's covariance: it costs a row ``rate |x - mu|^2``.
        """
        means, roots = statistics.means, self.rows.roots(statistics.scatters)[0]
        room = max(0, self.max_clusters - statistics.k)
        return self.rows.sweep(means, roots, self.order, self.penalty / self.unit, room)


def nearest(rows: GaussianRows, clusters: Gaussians) -> tuple[Ids, Floats]:
    """Return each row's nearest cluster (n,), the first of equals, and its distance (n,)."""
    return rows.nearest(clusters.means, rows.roots(clusters.scatters)[0])
