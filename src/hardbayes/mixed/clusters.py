"""Clusters of coded rows: what a row costs in each, their best parameters, and the objective.

A row costs, in nats, with c its categories and x its numbers that are there,

    -log(n_k / n) - sum_c log share_k(c) + 1/2 [(x - m_k)' V^-1 (x - m_k) + tr(V^-1 F) + log det V]

V is the covariance within clusters, one for all of them or one for each, restricted to the numbers
that are there; F holds the floors: a cell in steps is taken to have this variance of its own. Each
cluster carries `Prior.rows` pseudo-rows with the shares of all rows, and where covariances are its
own some with a common covariance; they are part of the objective.

Where numbers are missing, `refit` is a step of the EM algorithm: they are replaced by what the
others tell, with their variance. The objective, which is that of the cells that are there, falls
nevertheless (Dempster, Laird & Rubin 1977). So a missing cell is no evidence for any cluster.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats

Labels = NDArray[np.signedinteger]


class Rows:
    """Coded rows with weights; rows that lack the same numbers share a pattern."""

    def __init__(
        self, numbers: Floats, levels: Labels, weights: Floats, floors: Floats, sizes: Labels
    ) -> None:
        self.weights = weights
        self.levels = levels  # (n, c): of categories, -1 where missing
        self.floors = floors  # (p,)
        self.sizes = sizes  # (c,): numbers of levels
        seen = ~np.isnan(numbers)
        self.numbers = np.ascontiguousarray(np.where(seen, numbers, 0.0))  # (n, p)
        self.is_whole = bool(seen.all())
        self.seen = np.ones((1, seen.shape[1]), bool)  # (g, p): of each pattern
        self.pattern = np.zeros(len(numbers), np.int64)  # (n,)
        if not self.is_whole:
            self.seen, pattern = np.unique(seen, axis=0, return_inverse=True)
            self.pattern = pattern.ravel()
        self.order = np.argsort(self.pattern, kind="stable")  # rows (n,), pattern by pattern,
        self.ends = np.cumsum(np.bincount(self.pattern, minlength=len(self.seen)))  # and their ends

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.weights)

    @cached_property
    def total(self) -> float:
        """Their weight."""
        return float(self.weights.sum())

    @cached_property
    def starts(self) -> Labels:
        """Where the levels of each category begin among all (c,)."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def places(self) -> Labels:
        """The place of each level (n, c) among all; beyond the last where it is missing."""
        return np.where(self.levels < 0, int(self.sizes.sum()), self.levels + self.starts)

    @cached_property
    def shares(self) -> Floats:
        """The shares of all levels in all rows."""
        counts = self.count(np.zeros(self.n, np.int64), 1)[0]
        totals = np.add.reduceat(counts, self.starts) if len(self.sizes) else np.zeros(0)
        return counts / np.maximum(np.repeat(totals, self.sizes), np.finfo(float).tiny)

    def count(self, labels: Labels, k: int) -> Floats:
        """Return the weight of each level in each cluster (k, levels)."""
        width = int(self.sizes.sum()) + 1
        counts = np.zeros(k * width)
        for places in self.places.T:
            counts += np.bincount(labels * width + places, self.weights, k * width)
        return counts.reshape(k, width)[:, :-1]

    def take(self, ids: Labels) -> Rows:
        """Return some of the rows."""
        numbers = np.where(self.seen[self.pattern[ids]], self.numbers[ids], np.nan)
        return Rows(numbers, self.levels[ids], self.weights[ids], self.floors, self.sizes)


class Prior(NamedTuple):
    """Pseudo-rows that each cluster carries."""

    rows: float  # with the shares of all rows
    # (p, p): the covariance of p + 2 more, where each cluster has a covariance of its own.
    covariance: Floats | None = None

    @property
    def strength(self) -> float:
        """How many pseudo-rows have that covariance."""
        return 0.0 if self.covariance is None else float(len(self.covariance) + 2)


class Clusters(NamedTuple):
    """Parameters of clusters."""

    weights: Floats  # (k,)
    means: Floats  # (k, p)
    covariances: Floats  # (1 or k, p, p), with the floors
    log_shares: Floats  # (k, levels)

    @property
    def k(self) -> int:
        """Number of clusters."""
        return len(self.weights)


class Parts(NamedTuple):
    """What rows (n,) cost in clusters (k,), in parts."""

    divergences: Floats  # (n, k): from the mean and the shares; never below zero
    halves: Floats  # (n, 1 or k): half the logarithms of determinants, and the floors
    weights: Floats  # (k,): of the clusters

    @property
    def whole(self) -> Floats:
        """The cost of each row in each cluster."""
        return self.divergences + (self.halves - np.log(self.weights / self.weights.sum()))


def costs(rows: Rows, clusters: Clusters) -> Parts:
    """Return what each row costs in each cluster."""
    from hardbayes.mixed.compiled import cost_rows

    p, m = len(rows.floors), len(clusters.covariances)
    divergences = np.empty((rows.n, clusters.k))
    halves = np.empty((m, len(rows.seen)))
    cost_rows(
        rows.numbers, rows.places, rows.order, rows.ends, rows.seen, rows.floors, clusters.means,
        clusters.covariances, clusters.log_shares, divergences, halves, np.empty((p, p)),
        np.empty(p), np.empty(p), np.empty(clusters.k),
    )  # fmt: skip
    return Parts(divergences, halves.T[rows.pattern], clusters.weights)


def refit(rows: Rows, labels: Labels, earlier: Clusters, prior: Prior) -> Clusters:
    """Return parameters of least objective for these labels (n,).

    With missing numbers they are those of one step of EM from earlier ones.
    """
    k = earlier.k
    weights = np.bincount(labels, rows.weights, k).astype(np.float64)
    _, sums, squares = fill(rows, labels, earlier)
    shifts = sums / weights[:, None]
    if prior.covariance is None:
        covariances = (squares - sums.T @ shifts) / rows.total
    else:
        own = squares - sums[:, :, None] * shifts[:, None, :]
        totals = (weights + prior.strength)[:, None, None]
        covariances = (own + prior.strength * prior.covariance) / totals
    log_shares = log_shares_of(rows, labels, k, prior)
    return Clusters(weights, earlier.means + shifts, covariances, log_shares)


def log_shares_of(rows: Rows, labels: Labels, k: int, prior: Prior) -> Floats:
    """Return the logarithms of the shares of levels (k, levels)."""
    if not len(rows.sizes):
        return np.zeros((k, 0))
    counts = rows.count(labels, k) + prior.rows * rows.shares
    totals = np.repeat(np.add.reduceat(counts, rows.starts, axis=1), rows.sizes, axis=1)
    tiny = np.finfo(np.float64).tiny  # a level that no row has, and no pseudo-row
    return np.log(np.maximum(counts / np.maximum(totals, tiny), tiny))


def fill(rows: Rows, labels: Labels, earlier: Clusters) -> tuple[Floats, Floats, Floats]:
    """Return numbers (n, p) without holes, and sums of deviations from earlier means.

    The sums are those of each cluster (k, p), and of products for each covariance (m, p, p).
    """
    from hardbayes.mixed.compiled import total_rows

    p = len(rows.floors)
    filled = np.empty_like(rows.numbers)
    sums = np.zeros_like(earlier.means)
    squares = np.zeros_like(earlier.covariances)
    total_rows(
        rows.numbers, rows.weights, labels, rows.order, rows.ends, rows.seen, rows.floors,
        earlier.means, earlier.covariances, filled, sums, squares, np.empty((p, p)), np.empty(p),
    )  # fmt: skip
    return filled, sums, squares


def first_clusters(rows: Rows, labels: Labels, k: int, prior: Prior, like: Floats) -> Clusters:
    """Return parameters for labels (n,): means of what is there, a covariance ``like`` (p, p)."""
    p = rows.numbers.shape[1]
    there = rows.seen[rows.pattern] * rows.weights[:, None]
    sums, counts = np.zeros((k, p)), np.zeros((k, p))
    for j in range(p):
        sums[:, j] = np.bincount(labels, there[:, j] * rows.numbers[:, j], k)
        counts[:, j] = np.bincount(labels, there[:, j], k)
    means = np.divide(sums, counts, out=np.zeros((k, p)), where=counts > 0)
    m = 1 if prior.covariance is None else k
    covariances = np.repeat(like[None], m, axis=0)
    first = Clusters(np.ones(k), means, covariances, np.zeros((k, int(rows.sizes.sum()))))
    return refit(rows, labels, first, prior)


def prior_cost(rows: Rows, clusters: Clusters, prior: Prior) -> float:
    """Return what the pseudo-rows of all clusters cost."""
    found = -prior.rows * float((clusters.log_shares @ rows.shares).sum())
    if prior.covariance is not None:
        determinants = np.linalg.slogdet(clusters.covariances)[1]
        traces = np.einsum("kij,ji->k", np.linalg.inv(clusters.covariances), prior.covariance)
        found += 0.5 * prior.strength * float((determinants + traces).sum())
    return found
