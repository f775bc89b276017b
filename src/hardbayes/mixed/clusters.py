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
_CELLS = 1 << 22  # of matrices of rows with missing numbers that are held at once


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
        self.numbers = np.where(seen, numbers, 0.0)  # (n, p)
        self.is_whole = bool(seen.all())
        self.seen = np.ones((1, seen.shape[1]), bool)  # (g, p): of each pattern
        self.pattern = np.zeros(len(numbers), np.int64)  # (n,)
        if not self.is_whole:
            self.seen, pattern = np.unique(seen, axis=0, return_inverse=True)
            self.pattern = pattern.ravel()

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


class Solved(NamedTuple):
    """Covariances restricted to the numbers that each pattern has."""

    inverses: Floats  # (m, g, p, p): zero where a number is missing
    halves: Floats  # (m, g): half the logarithm of the determinant and the cost of the floors


def solve(clusters: Clusters, rows: Rows) -> Solved:
    """Return inverses and determinants for every covariance and pattern."""
    seen = rows.seen.astype(np.float64)
    both = seen[:, :, None] * seen[:, None, :]
    p = seen.shape[1]
    whole = clusters.covariances[:, None] * both + (1 - seen)[:, :, None] * np.eye(p)
    inverses = np.linalg.inv(whole) * both
    inverses = (inverses + inverses.swapaxes(-1, -2)) / 2
    floors = np.einsum("mgii,i->mg", inverses, rows.floors)
    return Solved(inverses, 0.5 * (np.linalg.slogdet(whole)[1] + floors))


class Parts(NamedTuple):
    """What rows (n,) cost in clusters (k,), in parts."""

    divergences: Floats  # (n, k): from the mean and the shares; never below zero
    constants: Floats  # (n, k): what the cluster costs any row with these cells

    @property
    def whole(self) -> Floats:
        """The cost of each row in each cluster."""
        return self.divergences + self.constants


def costs(rows: Rows, clusters: Clusters) -> Parts:
    """Return what each row costs in each cluster."""
    solved = solve(clusters, rows)
    shares = np.column_stack([clusters.log_shares, np.zeros(clusters.k)]).T
    found = np.zeros((rows.n, clusters.k))
    for places in rows.places.T:
        found -= shares[places]
    found += 0.5 * _squares(rows, clusters, solved)
    shares_of_rows = np.log(clusters.weights / clusters.weights.sum())
    constants = solved.halves.T[rows.pattern] - shares_of_rows
    return Parts(found, np.broadcast_to(constants, found.shape))


def _squares(rows: Rows, clusters: Clusters, solved: Solved) -> Floats:
    """Return squared distances (n, k) in the metric of the covariances."""
    found = np.zeros((rows.n, clusters.k))
    p = clusters.means.shape[1]
    if not p:
        return found
    step = max(1, _CELLS // (p * p if not rows.is_whole else p))
    for begin in range(0, rows.n, step):
        part = slice(begin, begin + step)
        pattern = rows.pattern[part]
        seen = rows.seen[pattern]
        for k, mean in enumerate(clusters.means):
            inverses = solved.inverses[k % len(solved.inverses)]
            apart = (rows.numbers[part] - mean) * seen
            if rows.is_whole:
                across = apart @ inverses[0]
            else:
                across = np.matmul(apart[:, None, :], inverses[pattern])[:, 0]
            found[part, k] = (apart * across).sum(axis=1)
    return np.maximum(found, 0.0)


def refit(rows: Rows, labels: Labels, earlier: Clusters, prior: Prior) -> Clusters:
    """Return parameters of least objective for these labels (n,).

    With missing numbers they are those of one step of EM from earlier ones.
    """
    k, p = earlier.k, rows.numbers.shape[1]
    weights = np.bincount(labels, rows.weights, k).astype(np.float64)
    filled, spreads = fill(rows, labels, earlier)
    means = np.zeros((k, p))
    for j in range(p):
        means[:, j] = np.bincount(labels, rows.weights * filled[:, j], k)
    means /= weights[:, None]
    apart = filled - means[labels]
    if prior.covariance is None:
        scatter = (apart * rows.weights[:, None]).T @ apart + spreads.sum(axis=0)
        covariances = scatter[None] / rows.total
    else:
        covariances = np.empty((k, p, p))
        for each in range(k):
            own = apart[labels == each] * np.sqrt(rows.weights[labels == each])[:, None]
            scatter = own.T @ own + spreads[each] + prior.strength * prior.covariance
            covariances[each] = scatter / (weights[each] + prior.strength)
    return Clusters(weights, means, covariances, log_shares_of(rows, labels, k, prior))


def log_shares_of(rows: Rows, labels: Labels, k: int, prior: Prior) -> Floats:
    """Return the logarithms of the shares of levels (k, levels)."""
    if not len(rows.sizes):
        return np.zeros((k, 0))
    counts = rows.count(labels, k) + prior.rows * rows.shares
    totals = np.repeat(np.add.reduceat(counts, rows.starts, axis=1), rows.sizes, axis=1)
    tiny = np.finfo(np.float64).tiny  # a level that no row has, and no pseudo-row
    return np.log(np.maximum(counts / np.maximum(totals, tiny), tiny))


def fill(rows: Rows, labels: Labels, earlier: Clusters) -> tuple[Floats, Floats]:
    """Return numbers (n, p) without holes, and sums of variances of cells by cluster (k, p, p)."""
    k, p = earlier.k, rows.numbers.shape[1]
    counts = np.zeros((k, len(rows.seen)))
    np.add.at(counts, (labels, rows.pattern), rows.weights)
    floors = np.diag(rows.floors)
    if rows.is_whole or not p:
        return rows.numbers, counts.sum(axis=1)[:, None, None] * floors
    solved = solve(earlier, rows)
    backs = earlier.covariances[:, None] @ solved.inverses  # (m, g, p, p): from seen to all
    left = earlier.covariances[:, None] - backs @ earlier.covariances[:, None]
    left = left + backs @ floors @ backs.swapaxes(-1, -2)
    spreads = np.stack(
        [np.einsum("g,gij->ij", counts[each], left[each % len(left)]) for each in range(k)]
    )
    filled = np.empty_like(rows.numbers)
    step = max(1, _CELLS // (p * p))
    for begin in range(0, rows.n, step):
        part = slice(begin, begin + step)
        own, pattern = labels[part], rows.pattern[part]
        middle = earlier.means[own]
        apart = (rows.numbers[part] - middle) * rows.seen[pattern]
        moved = np.matmul(backs[own % len(backs), pattern], apart[:, :, None])[:, :, 0]
        filled[part] = np.where(rows.seen[pattern], rows.numbers[part], middle + moved)
    return filled, spreads


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
