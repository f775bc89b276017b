"""Clusters of a sample: classification EM, with covariances shrunk to the pooled one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.moves.gaussian.candidates import nearest_means
from hardbayes.structure.gaussians import Gaussians

if TYPE_CHECKING:
    from hardbayes.executors.gaussian.mixture import MixtureRows
    from hardbayes.executors.gaussian.protocol import Ids
    from hardbayes.matrices import Floats

N_CANDIDATES = 16  # clusters, besides its own, that a row may move to


def clusters_of(rows: MixtureRows, labels: Ids, k: int) -> Gaussians:
    """Return the statistics of clusters 0 to k-1."""
    return Gaussians(*rows.statistics(labels, k))


def pooled_covariance(rows: MixtureRows, clusters: Gaussians) -> Floats:
    """Return the covariance (1, h, d) of rows about their own means."""
    pooled = clusters.scatters.sum(axis=0, keepdims=True) / clusters.weights.sum()
    return rows.floored(pooled)


def shrunk_covariances(
    rows: MixtureRows, clusters: Gaussians, pooled_rows: float, pooled: Floats | None = None
) -> Floats:
    """Return covariances (k, h, d), of which ``pooled_rows`` rows have the pooled one (h, d)."""
    if pooled is None:
        pooled = clusters.scatters.sum(axis=0) / clusters.weights.sum()
    weights = clusters.weights[:, np.newaxis, np.newaxis]
    return rows.floored((clusters.scatters + pooled_rows * pooled) / (weights + pooled_rows))


def discriminants(
    rows: MixtureRows, clusters: Gaussians, pooled_rows: float
) -> tuple[Floats, Floats]:
    """Return roots (k, h, d) and offsets (k,): a row is likeliest where offset + distance is least.

    ``|x - mu|^2 + log|Sigma| - 2 log n``, with shrunk covariances.
    """
    roots, logarithms = rows.factorised(shrunk_covariances(rows, clusters, pooled_rows))
    return roots, logarithms - 2.0 * np.log(clusters.weights)


def common_discriminants(rows: MixtureRows, clusters: Gaussians) -> tuple[Floats, Floats]:
    """Return the same for clusters of one common covariance, whatever their weights."""
    root = rows.factorised(pooled_covariance(rows, clusters))[0]
    return np.repeat(root, clusters.k, axis=0), np.zeros(clusters.k)


def choose(
    rows: MixtureRows, clusters: Gaussians, roots: Floats, offsets: Floats, labels: Ids
) -> Ids:
    """Return the likeliest cluster (n,) of each row among its own and those near it."""
    near = nearest_means(clusters.means, roots, N_CANDIDATES)
    return rows.choose(clusters.means, roots, offsets, near, labels)


def classify(
    rows: MixtureRows,
    labels: Ids,
    k: int,
    pooled_rows: float,
    max_rounds: int,
    is_common: bool = False,
) -> tuple[Ids, Gaussians]:
    """Return labels (n,) after rounds of classification EM, and their clusters, none empty.

    ``is_common``: clusters have one covariance and no shares.
    """
    labels, clusters = without_empty(labels, clusters_of(rows, labels, k))
    for _ in range(max_rounds):
        if is_common:
            roots, offsets = common_discriminants(rows, clusters)
        else:
            roots, offsets = discriminants(rows, clusters, pooled_rows)
        chosen = choose(rows, clusters, roots, offsets, labels)
        if np.array_equal(chosen, labels):
            break
        labels, clusters = without_empty(chosen, clusters_of(rows, chosen, clusters.k))
    return labels, clusters


def without_empty(labels: Ids, clusters: Gaussians) -> tuple[Ids, Gaussians]:
    """Return labels (n,) and clusters without those that have no rows."""
    used = clusters.weights > 0
    if used.all():
        return labels, clusters
    return (np.cumsum(used) - 1)[labels], clusters.pick(used)
