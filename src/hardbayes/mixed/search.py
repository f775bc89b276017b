"""Descents for a number of clusters, and a path of them: several starts, divisions and merges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, logsumexp

from hardbayes.core.arrays import Floats
from hardbayes.mixed.clusters import (
    Clusters,
    Labels,
    Prior,
    Rows,
    costs,
    fill,
    first_clusters,
    prior_cost,
    refit,
)

# With missing numbers, steps go on until one lowers the objective by less than this per row.
LEAST_FALL = 1e-6
SHORT, LONG = 4, 40  # steps of a candidate, and of the best ones on a path
BEST = 3  # candidates of a number of clusters whose descents are finished
STARTS = 4  # candidates from centres drawn at random
DIVIDED = 6  # clusters, the dearest ones, that a candidate may divide
SMALLEST = 10  # rows of a cluster that is divided
PATIENCE = 4  # numbers of clusters without more evidence, after which a path ends
MERGES = 2  # pairs tried on the way back
# Rows up to which each is tried in every other cluster, by whole refits: more take longer, and have
# no optimum that only one row hides.
FEW_ROWS = 24
_POWER_STEPS = 8
_LLOYD_STEPS = 8


class Found(NamedTuple):
    """A descent's end."""

    labels: Labels
    clusters: Clusters
    fit: float  # what the rows cost
    history: list[float]  # fit and pseudo-rows, after each step
    converged: bool

    @property
    def k(self) -> int:
        """Number of clusters."""
        return self.clusters.k

    @property
    def value(self) -> float:
        """What was minimised."""
        return self.history[-1]


class Problem(NamedTuple):
    """Rows, and what all their descents share."""

    rows: Rows
    prior: Prior
    one: Found  # one cluster

    @property
    def common(self) -> Floats:
        """The covariance of all rows."""
        return self.one.clusters.covariances[0]


def pose(rows: Rows, prior: Prior) -> Problem:
    """Return the problem of these rows, with its solution for one cluster."""
    p = rows.numbers.shape[1]
    labels = np.zeros(rows.n, np.int64)
    start = first_clusters(rows, labels, 1, prior, np.eye(p) + np.diag(rows.floors))
    return Problem(rows, prior, descend(rows, labels, start, prior, 10 * LONG))


def from_labels(problem: Problem, labels: Labels, steps: int, prior: Prior | None = None) -> Found:
    """Return the descent that begins with labels (n,), each of which occurs."""
    prior = problem.prior if prior is None else prior
    k = int(labels.max()) + 1
    first = first_clusters(problem.rows, labels, k, prior, problem.common)
    return descend(problem.rows, labels, first, prior, steps)


def descend(rows: Rows, labels: Labels, clusters: Clusters, prior: Prior, steps: int) -> Found:
    """Return where rows and parameters end that follow each other; the objective never rises.

    A cluster that loses its last row is closed.
    """
    history: list[float] = []
    every = np.arange(rows.n)
    for step in range(steps + 1):
        table = costs(rows, clusters).whole
        own = table[every, labels]
        fit = float(rows.weights @ own)
        history.append(fit + prior_cost(rows, clusters, prior))
        best = table.argmin(axis=1)
        moves = table[every, best] < own
        after = np.where(moves, best, labels)
        stands = not (moves & (rows.weights > 0)).any()
        is_level = len(history) > 1 and history[-2] - history[-1] <= LEAST_FALL * rows.total
        if stands and (rows.is_whole or is_level):
            # Rows of no weight follow the others.
            return Found(after, clusters, fit, history, True)
        alive = np.bincount(after, rows.weights, clusters.k) > 0
        if step == steps:
            if alive.all():  # labels are those that these parameters predict
                labels, fit = after, float(rows.weights @ table[every, after])
                history[-1] = fit + prior_cost(rows, clusters, prior)
            break
        labels = after
        if not alive.all():
            labels, clusters = _closed(rows, table, labels, clusters, alive)
        clusters = refit(rows, labels, clusters, prior)
    return Found(labels, clusters, fit, history, False)


def _closed(
    rows: Rows, table: Floats, labels: Labels, clusters: Clusters, alive: NDArray[np.bool_]
) -> tuple[Labels, Clusters]:
    """Return labels and parameters without clusters that have lost all weight."""
    table = np.where(alive, table, np.inf)
    labels = np.where(alive[labels], labels, table.argmin(axis=1))
    numbers: Labels = np.cumsum(alive) - 1
    covariances = clusters.covariances
    if len(covariances) == clusters.k:
        covariances = covariances[alive] if clusters.k > 1 else covariances
    kept = Clusters(
        clusters.weights[alive], clusters.means[alive], covariances, clusters.log_shares[alive]
    )
    return numbers[labels], kept


def doubt(problem: Problem, found: Found) -> float:
    """Return the entropy of the memberships of all rows: what hard labels cost more than soft."""
    table = -costs(problem.rows, found.clusters).whole
    logs = table - logsumexp(table, axis=1, keepdims=True)
    return float(problem.rows.weights @ entr(np.exp(logs)).sum(axis=1))


def embeddings(problem: Problem) -> list[Floats]:
    """Return coordinates of the rows in which clusters may be round, for starts.

    Those of a factor analysis of mixed data (numbers in standard deviations, levels over the roots
    of their shares): its first axes as long as they are, and more of them, all of one length; and
    the numbers that are in no steps, of one length.
    """
    rows = problem.rows
    one = problem.one.clusters
    filled = _without_holes(problem)
    numbers = (filled - one.means[0]) / np.sqrt(np.diagonal(one.covariances[0]))
    width = int(rows.sizes.sum())
    levels = np.zeros((rows.n, width + 1))
    for places in rows.places.T:
        levels[np.arange(rows.n), places] = 1.0
    shares = np.maximum(rows.shares, np.finfo(float).tiny)
    if not rows.numbers.shape[1] + width:
        return []
    levels = (levels[:, :width] - shares) / np.sqrt(shares)
    for at, codes in enumerate(rows.levels.T):
        start = rows.starts[at]
        levels[codes < 0, start : start + rows.sizes[at]] = 0.0
    left, sizes = _axes(np.hstack([numbers, levels]), rows.weights)
    if not len(sizes):
        return []
    powers = sizes**2
    few = max(2, min(len(sizes), np.count_nonzero(powers > powers.mean()) + 1))
    many = max(2, np.count_nonzero(powers > 0.2 * sizes.mean() ** 2))
    found = [left[:, :few] * sizes[:few], left[:, :many]]
    smooth = rows.floors < 0.05 * np.diagonal(one.covariances[0])
    if 1 < smooth.sum() < found[1].shape[1]:
        found.append(_axes(numbers[:, smooth], rows.weights)[0])
    return found


def _axes(table: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return principal coordinates of variance one (n, r), and their standard deviations (r,)."""
    roots = np.sqrt(weights / weights.sum())[:, None]
    middle = (weights @ table) / weights.sum()
    _, sizes, right = np.linalg.svd(roots * (table - middle), full_matrices=False)
    kept = sizes > 1e-6 * max(sizes.max(initial=0.0), 1e-12)
    sizes, right = sizes[kept], right[kept]
    # Signs are free: the largest entry is positive, whatever the order of the columns.
    signs = np.sign(right[np.arange(len(right)), np.abs(right).argmax(axis=1)])
    return (table - middle) @ (right.T * signs) / sizes, sizes


def _without_holes(problem: Problem) -> Floats:
    """Return the numbers (n, p); missing ones are what the others tell in one cluster."""
    return fill(problem.rows, np.zeros(problem.rows.n, np.int64), problem.one.clusters)[0]


def seeded(points: Floats, weights: Floats, k: int, rng: np.random.RandomState) -> Labels:
    """Return labels (n,) of k-means from centres drawn by their distances."""
    at = _draw(weights, rng)
    nearest = np.square(points - points[at]).sum(axis=1)
    centres = [points[at]]
    for _ in range(k - 1):
        chances = weights * nearest
        at = _draw(chances if chances.sum() > 0 else weights, rng)
        centres.append(points[at])
        nearest = np.minimum(nearest, np.square(points - points[at]).sum(axis=1))
    middle = np.array(centres)
    for _ in range(_LLOYD_STEPS):
        labels = (np.square(middle).sum(axis=1) - 2 * points @ middle.T).argmin(axis=1)
        sizes = np.bincount(labels, weights, k)
        sums = np.column_stack([np.bincount(labels, weights * x, k) for x in points.T])
        middle = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1e-300)[:, None], middle)
    return _numbered(labels)


def _draw(chances: Floats, rng: np.random.RandomState) -> int:
    heap = np.cumsum(chances)
    return int(min(np.searchsorted(heap, rng.random_sample() * heap[-1]), len(heap) - 1))


def _numbered(labels: Labels) -> Labels:
    """Return labels without gaps."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def divisions(
    problem: Problem, found: Found, bases: list[Floats], rng: np.random.RandomState
) -> list[Labels]:
    """Return labels in which one cluster is cut across its longest axis, in each embedding."""
    rows = problem.rows
    sizes = np.bincount(found.labels, minlength=found.k)
    dearest = np.argsort(-sizes, kind="stable")[:DIVIDED]
    candidates = []
    for cluster in dearest:
        ids = np.flatnonzero(found.labels == cluster)
        if len(ids) < SMALLEST:
            continue
        for base in bases:
            own, weights = base[ids], rows.weights[ids]
            if not weights.sum() > 0:
                continue
            own = own - (weights @ own) / weights.sum()
            axis = own.T @ (weights * (own @ rng.normal(size=own.shape[1])))
            for _ in range(_POWER_STEPS):
                axis = own.T @ (weights * (own @ axis))
                axis /= np.linalg.norm(axis) + 1e-300
            labels = found.labels.copy()
            labels[ids[own @ axis > 0]] = found.k
            if len(np.unique(labels)) == found.k + 1:
                candidates.append(labels)
    return candidates


class Path:
    """The best partition found for each number of clusters, all with one covariance."""

    def __init__(self, problem: Problem, rng: np.random.RandomState, n_init: int = 1) -> None:
        self.problem = problem
        self.best: dict[int, Found] = {1: problem.one}
        self._rng = rng
        self._starts = STARTS * n_init
        self._bases = embeddings(problem)

    def offer(self, found: Found) -> None:
        """Keep a partition if it is the best for its number of clusters."""
        known = self.best.get(found.k)
        if known is None or found.value < known.value:
            self.best[found.k] = found

    def extend(self, k: int) -> None:
        """Look for k clusters: from random centres, and by dividing one of k - 1."""
        problem, rng = self.problem, self._rng
        candidates = []
        if k - 1 in self.best:
            candidates = divisions(problem, self.best[k - 1], self._bases, rng)
        for start in range(self._starts if self._bases else 0):
            base = self._bases[start % len(self._bases)]
            candidates.append(seeded(base, problem.rows.weights, k, rng))
        candidates = [labels for labels in candidates if _has_weight(labels, problem.rows)]
        tried = [from_labels(problem, labels, SHORT) for labels in candidates]
        tried = sorted((each for each in tried if each.k == k), key=lambda each: each.value)
        for each in tried[:BEST]:
            found = descend(problem.rows, each.labels, each.clusters, problem.prior, LONG)
            self.offer(moved_by_rows(problem, found) if problem.rows.n <= FEW_ROWS else found)

    def merge_back(self) -> None:
        """Look for fewer clusters by merging two, from the most on."""
        for k in range(max(self.best), 2, -1):
            if k not in self.best:
                continue
            labels = self.best[k].labels
            merged = [_merged(labels, one, other) for one in range(k) for other in range(one)]
            tried = [from_labels(self.problem, each, 0) for each in merged]
            for each in sorted(tried, key=lambda each: each.value)[:MERGES]:
                found = descend(
                    self.problem.rows, each.labels, each.clusters, self.problem.prior, LONG
                )
                self.offer(found)


def moved_by_rows(problem: Problem, found: Found) -> Found:
    """Return the descent in which rows move one by one, each time the one that gains most."""
    while True:
        best = found
        for row in range(problem.rows.n):
            for cluster in range(found.k):
                labels = found.labels.copy()
                labels[row] = cluster
                if _has_weight(labels, problem.rows) and labels.max() + 1 == found.k:
                    tried = from_labels(problem, labels, LONG)
                    if tried.k == found.k and tried.value < best.value - LEAST_FALL:
                        best = tried
        if best is found:
            return found
        found = best


def _has_weight(labels: Labels, rows: Rows) -> bool:
    """Whether each cluster has rows that count."""
    return bool((np.bincount(labels, rows.weights) > 0).all())


def _merged(labels: Labels, one: int, other: int) -> Labels:
    """Return labels in which two clusters are one."""
    return _numbered(np.where(labels == one, other, labels))
