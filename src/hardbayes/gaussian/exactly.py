"""Exactly so many clusters with covariances: those of the path, with a prior that keeps them.

At a penalty of zero the objective would rather have single rows as clusters, and one with all
others. So the number decides which partition of the path by marginal likelihood is taken; then only
rows move.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids
from hardbayes.core.exact_number import ToldPenalty, unjudged
from hardbayes.core.pool import one_blas_thread
from hardbayes.gaussian.choice.evidence import classify, likeliest_prior
from hardbayes.gaussian.choice.path import Path, Step, apply, find_path, find_splits, merge_costs
from hardbayes.gaussian.choice.prior import Keeper, Kept, candidate_priors
from hardbayes.gaussian.choice.sample import Sample
from hardbayes.gaussian.mixture import MixtureRows

ROUNDS = 3  # of classification after each union: more take longer
FEWER = "no rows are nearest to more of them"


@one_blas_thread()
def keep_exactly(
    sample: Sample, n_clusters: int, given_prior: Floats | None
) -> tuple[Kept, ToldPenalty]:
    """Return a partition of a sample into so many clusters, and a penalty in its units.

    Fewer, where there are no more different rows.
    """
    rows = sample.rows
    n_clusters = min(n_clusters, rows.n)
    path = _path_with(rows, [n_clusters])
    n_clusters = max(k for k in path if k <= n_clusters)
    labels = path[n_clusters].labels
    kept = Keeper(rows, path, n_clusters, given_prior).near(labels, n_clusters)
    if kept is None:  # the objective's own rows would go elsewhere
        prior = candidate_priors(rows, rows.statistics(labels, n_clusters))[0]
        prior = prior if given_prior is None else given_prior
        return Kept(n_clusters, labels, prior, 0.0, 0.0, True, 0.0), unjudged(0.0)
    if kept.is_capped:
        return kept, ToldPenalty(kept.penalty, kept.penalty, kept.penalty)
    return kept, ToldPenalty(kept.penalty, kept.low, kept.high)


@one_blas_thread()
def partitions(sample: Sample, numbers: Sequence[int]) -> list[Ids]:
    """Return labels of a sample for numbers of clusters, those that it has different rows for."""
    numbers = [k for k in numbers if k <= sample.rows.n] or [sample.rows.n]
    path = _path_with(sample.rows, numbers)
    return [path[k].labels for k in numbers if k in path] or [path[max(path)].labels]


def _path_with(rows: MixtureRows, numbers: Sequence[int]) -> Path:
    """Return the path, with these numbers of clusters on it, or as many as rows differ."""
    path = find_path(rows)
    for k in numbers:
        if k not in path:
            step = _step_to(rows, path, k)
            path = path | {step.k: step}
    return path


def _step_to(rows: MixtureRows, path: Path, n_clusters: int) -> Step:
    """Return a partition that the path lacks: from the next with more clusters, or the last."""
    more = [k for k in path if k > n_clusters]
    start = path[min(more) if more else max(path)]
    labels, k = start.labels, start.k
    while k > n_clusters:
        clusters = rows.statistics(labels, k)
        prior = likeliest_prior(rows, clusters)[0]
        lefts, rights, costs = merge_costs(rows, clusters, prior)
        cheapest = int(costs.argmin())
        merged = np.where(labels == rights[cheapest], lefts[cheapest], labels)
        merged = np.unique(merged, return_inverse=True)[1]
        moved, clusters = classify(rows, merged, k - 1, prior.pooled_rows, ROUNDS)
        k -= 1
        labels = moved if clusters.k == k else merged
    while k < n_clusters:
        labels, found = _divided(rows, labels, k)
        if found == k:
            break
        k = found
    return Step(k, likeliest_prior(rows, rows.statistics(labels, k))[1], labels)


def _divided(rows: MixtureRows, labels: Ids, k: int) -> tuple[Ids, int]:
    """Return labels with one cluster more: by the likeliest split, or of the widest cluster.

    Not one more, where the rows of each cluster are equal.
    """
    clusters = rows.statistics(labels, k)
    found = find_splits(rows, labels, clusters)
    best = int(found.gains.argmax())
    if np.isfinite(found.gains[best]):
        divided, more = apply(rows, labels, k, found, [best])
        if len(np.unique(divided)) == more:
            return divided, more
    spreads = np.zeros((k, rows.d))
    for column in range(rows.d):
        values = rows.rows[:, column]
        low, high = np.full(k, np.inf), np.full(k, -np.inf)
        np.minimum.at(low, labels, values)
        np.maximum.at(high, labels, values)
        spreads[:, column] = high - low
    if not spreads.any():
        return labels, k
    widest, longest = np.unravel_index(int(spreads.argmax()), spreads.shape)
    own = np.flatnonzero(labels == widest)
    values = rows.rows[own, longest]
    divided = labels.copy()
    divided[own[values > (values.min() + values.max()) / 2.0]] = k
    return divided, k + 1
