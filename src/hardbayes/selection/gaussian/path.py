"""Partitions into many numbers of clusters: up by divisions, down again by merges."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from hardbayes.moves.gaussian.candidates import nearest_means
from hardbayes.selection.gaussian.clusters import classify, clusters_of, shrunk_covariances
from hardbayes.selection.gaussian.divisions import apply, divide
from hardbayes.selection.gaussian.evidence import MarginalLikelihood, likeliest_prior
from hardbayes.structure.gaussians import Gaussians, united

if TYPE_CHECKING:
    from hardbayes.executors.gaussian.mixture import MixtureRows
    from hardbayes.executors.gaussian.protocol import Ids
    from hardbayes.matrices import Floats

MAX_CLUSTERS = 160
ROWS_PER_CLUSTER = 2.0  # times the number that it takes for a mean and a covariance
# Clusters divide whether that is likelier or not while there are fewer than so many, or fewer than
# one for so many rows: a grid of clusters is no likelier in two halves than whole.
MAX_FORCED = 128
MIN_FORCED = 16
ROWS_PER_FORCED = 24
N_NEIGHBOURS = 8  # clusters with which a merge is considered
MERGED_AT_ONCE = 12  # one pair for so many clusters, while merges make the rows likelier
FEW = 30  # clusters, up to which there are more rounds of EM after a merge
ROUNDS, ROUNDS_OF_FEW, ROUNDS_TO_THE_END = 3, 10, 20
MAX_RETURNS = 4  # times that the likeliest partition is divided anew
SURE = 3.0  # nats that a division must gain then


class Step(NamedTuple):
    """A partition."""

    k: int
    evidence: float  # log marginal likelihood
    labels: Ids  # (n,)


Path: TypeAlias = dict[int, Step]  # the likeliest partition found into each number of clusters


def find_path(rows: MixtureRows, max_clusters: int = MAX_CLUSTERS) -> Path:
    """Return the likeliest partitions found into many numbers of clusters, one among them.

    Up by divisions, down by merges; then the likeliest partition is divided where that is likelier,
    and merged again, while it helps.
    """
    rows_of_one = ROWS_PER_CLUSTER * (rows.least_rows + 1)
    most = int(max(1, min(max_clusters, rows.total / rows_of_one, rows.n / 4)))
    if most == 1:  # rows are too few for two; there is nothing to compare one with
        return {1: Step(1, 0.0, np.zeros(rows.n, np.int64))}
    path: Path = {}
    labels, clusters = _grow(rows, most, path)
    _shrink(rows, labels, clusters, 1, path)
    for _ in range(MAX_RETURNS):
        top = likeliest(path)
        clusters = clusters_of(rows, top.labels, top.k)
        found = divide(rows, top.labels, clusters)
        chosen = [c for c in _by_gain(found.gains) if found.gains[c] > SURE][: most - top.k]
        if not chosen:
            break
        labels, k = apply(rows, top.labels, top.k, found, chosen)
        pooled_rows = likeliest_prior(rows, clusters)[0].pooled_rows
        labels, clusters = classify(rows, labels, k, pooled_rows, ROUNDS)
        _shrink(rows, labels, clusters, max(1, top.k // 2), path)
        if likeliest(path).evidence <= top.evidence + SURE:
            break
    return path


def likeliest(path: Path) -> Step:
    """Return the likeliest partition of all."""
    return max(path.values(), key=lambda step: step.evidence)


def up_to(path: Path, most: int) -> Path:
    """Return the partitions into at most so many clusters."""
    return {k: step for k, step in path.items() if k <= most}


def _grow(rows: MixtureRows, most: int, path: Path) -> tuple[Ids, Gaussians]:
    """Return labels and clusters after divisions; IN/OUT path: every partition met."""
    labels = np.zeros(rows.n, np.int64)
    clusters = clusters_of(rows, labels, 1)
    prior = _note(rows, labels, clusters, path)
    n_forced = min(
        rows.total / ROWS_PER_FORCED,
        rows.total / (2 * ROWS_PER_CLUSTER * (rows.least_rows + 1)),
    )
    forced = min(MAX_FORCED, most, max(MIN_FORCED, int(n_forced)))
    while clusters.k < most:
        before = clusters.k
        found = divide(rows, labels, clusters)
        found.gains[clusters.weights < 2.0 * max(2.0, 0.5 * rows.least_rows)] = -np.inf
        order = [c for c in _by_gain(found.gains) if np.isfinite(found.gains[c])]
        n_gaining = sum(found.gains[c] > 0 for c in order)
        chosen = order[: min(max(n_gaining, forced - before), most - before)]
        if not chosen:
            break
        labels, k = apply(rows, labels, before, found, chosen)
        is_common = before < forced
        labels, clusters = classify(rows, labels, k, prior.pooled_rows, ROUNDS, is_common)
        prior = _note(rows, labels, clusters, path)
        if clusters.k <= before:
            break
    return labels, clusters


def _shrink(rows: MixtureRows, labels: Ids, clusters: Gaussians, least: int, path: Path) -> None:
    """Merge clusters down to ``least``, those first that cost least; IN/OUT path."""
    pooled_rows = likeliest_prior(rows, clusters)[0].pooled_rows
    labels, clusters = classify(rows, labels, clusters.k, pooled_rows, ROUNDS_TO_THE_END)
    prior = _note(rows, labels, clusters, path)
    while (k := clusters.k) > least:
        lefts, rights, costs = merge_costs(rows, clusters, prior)
        free, names, n_merged = np.ones(k, bool), np.arange(k), 0
        for p in np.argsort(costs, kind="stable"):
            if n_merged and not costs[p] < 0:
                break
            if free[lefts[p]] and free[rights[p]]:
                free[[lefts[p], rights[p]]] = False
                names[rights[p]] = lefts[p]
                n_merged += 1
                if n_merged >= k // MERGED_AT_ONCE:
                    break
        kept = names == np.arange(k)
        names = (np.cumsum(kept) - 1)[names]
        n_rounds = ROUNDS if k > FEW else ROUNDS_OF_FEW
        labels, clusters = classify(rows, names[labels], k - n_merged, prior.pooled_rows, n_rounds)
        prior = _note(rows, labels, clusters, path)


def merge_costs(
    rows: MixtureRows, clusters: Gaussians, prior: MarginalLikelihood
) -> tuple[Ids, Ids, Floats]:
    """Return pairs of neighbours (m,), (m,), and how much less likely rows are if they merge."""
    k = clusters.k
    roots = rows.factorised(shrunk_covariances(rows, clusters, prior.pooled_rows))[0]
    partners = nearest_means(clusters.means, roots, N_NEIGHBOURS)
    pairs = np.stack([np.repeat(np.arange(k), partners.shape[1]), partners.ravel()], axis=1)
    lefts, rights = np.unique(np.sort(pairs, axis=1), axis=0).T
    each = prior.of_each(clusters)
    merged = prior.of_each(united(clusters.pick(lefts), clusters.pick(rights)))
    shares = prior.of_shares(k) - prior.of_shares(k - 1)
    return lefts, rights, each[lefts] + each[rights] - merged + shares


def _by_gain(gains: Floats) -> list[int]:
    return np.argsort(-gains, kind="stable").tolist()


def _note(rows: MixtureRows, labels: Ids, clusters: Gaussians, path: Path) -> MarginalLikelihood:
    """IN/OUT path: a partition, if it is the likeliest of its number; return its prior."""
    prior, value = likeliest_prior(rows, clusters)
    if clusters.k not in path or value > path[clusters.k].evidence:
        path[clusters.k] = Step(clusters.k, value, labels)
    return prior
