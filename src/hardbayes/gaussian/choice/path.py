"""Partitions into many numbers of clusters: up by splits, down again by merges.

Clusters split and merge by marginal likelihood. Of the partitions on the path, some are the best
for a range of penalties: `plateaus`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from hardbayes.gaussian.choice.evidence import (
    MarginalLikelihood,
    classify,
    common_discriminants,
    discriminants,
    likeliest_prior,
    shrunk_covariances,
)
from hardbayes.gaussian.problem import Gaussians, merge_pairs, nearest_means

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.core.arrays import Floats
    from hardbayes.core.centre_free import Ids
    from hardbayes.gaussian.mixture import MixtureRows


N_WIDE = 3  # widest axes along which a cluster is cut
N_FLAT = 2  # axes of least fourth moments, where two clusters show; and one of the largest
MAX_COLUMNS = 256  # up to which fourth moments are computed
N_TRIALS = 2  # cuts of either kind that classification EM starts from
PRIOR_ROWS = (2.0, 128.0)  # by which a split is judged
MIN_SHARE = 0.05  # of a cluster's rows on either side of a cut
MAX_CLUSTERS = 160  # at the end of the path: larger numbers are not found, but cost time
ROWS_PER_CLUSTER = 2.0  # times the number that it takes for a mean and a covariance
# Clusters split whether that is likelier or not while there are fewer than so many, or fewer than
# one for so many rows: a grid of clusters is no likelier in two halves than whole.
MAX_FORCED = 128
MIN_FORCED = 16
ROWS_PER_FORCED = 24
N_NEIGHBOURS = 8  # clusters with which a merge is considered
MERGED_AT_ONCE = 12  # one pair for so many clusters, while merges make the rows likelier
FEW = 30  # clusters, up to which there are more rounds of EM after a merge
# Of classification EM after splits and merges, after merges of FEW clusters, and before the first
# merge: more take longer.
ROUNDS, ROUNDS_OF_FEW, ROUNDS_TO_THE_END = 3, 10, 20
MAX_RETURNS = 4  # times that the likeliest partition is split anew
SURE = 3.0  # nats that a split must gain then
# Penalties below so many nats a row, or in all, are not considered.
MIN_NATS_PER_ROW = 0.02
MIN_NATS = 3.0


class Splits(NamedTuple):
    """The likeliest split found of each cluster."""

    gains: Floats  # (k,): by how much two are likelier than one; minus infinity: no split
    halves: Gaussians  # weights (k, 2), means (k, 2, d), scatters (k, 2, h, d)
    is_common: NDArray[np.bool_]  # (k,): the halves have one covariance


def find_splits(rows: MixtureRows, labels: Ids, clusters: Gaussians) -> Splits:
    """Return the likeliest split found of every cluster."""
    k, d = clusters.means.shape
    directions = _directions(rows, labels, clusters)
    least = np.maximum(2.0, np.minimum(0.5 * rows.least_rows, MIN_SHARE * clusters.weights))
    values, cuts, gains = rows.cuts(labels, clusters.means, directions, least)
    t = min(N_TRIALS, len(directions))
    best = np.argsort(-gains, axis=0, kind="stable")[:t]  # (t, 2, k)
    exists = np.isfinite(np.take_along_axis(gains, best, axis=0)).reshape(2 * t, k)
    tries = (2 * best + np.arange(2)[:, np.newaxis]).reshape(2 * t, k)
    first = np.argsort(~exists, axis=0, kind="stable")
    tries = np.ascontiguousarray(np.take_along_axis(tries, first, axis=0).T)
    halves = rows.halves(labels, clusters.weights, values, cuts, tries, exists.sum(axis=0))

    pairs = Gaussians(
        halves.weights.reshape(-1),
        halves.means.reshape(-1, d),
        halves.scatters.reshape(-1, *halves.scatters.shape[-2:]),
    )
    which = np.flatnonzero(halves.found)
    apart = np.full(halves.found.shape, -np.inf)
    apart.reshape(-1)[which] = rows.evidence(pairs, 2 * which, 2 * which + 1, PRIOR_ROWS)
    numbers, best_one = np.arange(k), apart.argmax(axis=1)
    whole = rows.evidence(clusters, numbers, np.full(k, -1), PRIOR_ROWS)
    scatters = halves.scatters[numbers, best_one]
    if not rows.diagonal:
        scatters = np.tril(scatters) + np.tril(scatters, -1).swapaxes(-1, -2)
    found = Gaussians(halves.weights[numbers, best_one], halves.means[numbers, best_one], scatters)
    return Splits(apart[numbers, best_one] - whole, found, best_one % 2 == 0)


def apply(
    rows: MixtureRows, labels: Ids, k: int, splits: Splits, chosen: list[int]
) -> tuple[Ids, int]:
    """Return labels (n,) and their number with some clusters split."""
    labels = labels.copy()
    order, places = rows.by_cluster(labels, k)
    for c in chosen:
        ids = order[places[c] : places[c + 1]]
        pair = Gaussians(*(array[c] for array in splits.halves))
        if splits.is_common[c]:
            roots, offsets = common_discriminants(rows, pair)
        else:
            roots, offsets = discriminants(rows, pair, rows.least_rows)
        sides = rows.sample(ids, rows.weights[ids]).nearest(pair.means, roots, offsets)[0]
        labels[ids[sides == 1]] = k
        k += 1
    return labels, k


def _directions(rows: MixtureRows, labels: Ids, clusters: Gaussians) -> Floats:
    """Return directions (m, k, d), of length one, along which clusters may fall apart.

    Wide axes; and, of whitened rows, those of unusual fourth moments: low where there are two
    clusters, high where there is a small one.
    """
    d = clusters.means.shape[1]
    weights = np.maximum(clusters.weights, 1e-300)[:, np.newaxis, np.newaxis]
    covariances = rows.add_floor(clusters.scatters / weights)
    n_wide = min(N_WIDE, d)
    if rows.diagonal:
        widest = np.argsort(-covariances[:, 0], axis=1, kind="stable")[:, :n_wide]
        found = list(np.eye(d)[widest.T])
    else:
        axes = np.linalg.eigh(covariances)[1]
        found = [axes[:, :, -1 - at] for at in range(n_wide)]
    if 1 < d <= MAX_COLUMNS:
        roots = rows.factorise(covariances)[0]
        moments = rows.fourth_moments(labels, clusters.means, roots) / weights
        axes = np.linalg.eigh(moments)[1]
        if rows.diagonal:
            axes = roots[:, 0, :, np.newaxis] * axes
        else:
            axes = np.einsum("kji,kjm->kim", roots, axes)
        found += [axes[:, :, at] for at in range(min(N_FLAT, d))]
        if d > N_FLAT:
            found.append(axes[:, :, -1])
    directions = np.stack(found)
    directions /= np.maximum(np.linalg.norm(directions, axis=2, keepdims=True), 1e-300)
    # The sign of an eigenvector depends on rounding: make its largest entry positive.
    largest = np.abs(directions).argmax(axis=2)[:, :, np.newaxis]
    directions *= np.sign(np.take_along_axis(directions, largest, axis=2))
    return directions


class Step(NamedTuple):
    """A partition."""

    k: int
    evidence: float  # log marginal likelihood
    labels: Ids  # (n,)


Path: TypeAlias = dict[int, Step]  # the likeliest partition found into each number of clusters


def find_path(rows: MixtureRows, max_clusters: int = MAX_CLUSTERS) -> Path:
    """Return the likeliest partitions found into many numbers of clusters, one among them.

    Up by splits, down by merges; then the likeliest partition is split where that is likelier,
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
        clusters = rows.statistics(top.labels, top.k)
        found = find_splits(rows, top.labels, clusters)
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
    """Return labels and clusters after splits; IN/OUT path: every partition met."""
    labels = np.zeros(rows.n, np.int64)
    clusters = rows.statistics(labels, 1)
    prior = _note(rows, labels, clusters, path)
    n_forced = min(
        rows.total / ROWS_PER_FORCED,
        rows.total / (2 * ROWS_PER_CLUSTER * (rows.least_rows + 1)),
    )
    forced = min(MAX_FORCED, most, max(MIN_FORCED, int(n_forced)))
    while clusters.k < most:
        before = clusters.k
        found = find_splits(rows, labels, clusters)
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
    roots = rows.factorise(shrunk_covariances(rows, clusters, prior.pooled_rows))[0]
    partners = nearest_means(clusters.means, roots, N_NEIGHBOURS)
    pairs = np.stack([np.repeat(np.arange(k), partners.shape[1]), partners.ravel()], axis=1)
    lefts, rights = np.unique(np.sort(pairs, axis=1), axis=0).T
    each = prior.of_each(clusters)
    merged = prior.of_each(merge_pairs(clusters.pick(lefts), clusters.pick(rights)))
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


def plateaus(path: Path, total: float) -> list[Step]:
    """Return partitions that are the best for some range of penalties, the widest range first.

    Marginal likelihood less a penalty times ``log k``: splitting all clusters of a partition costs
    as much, however many there are. The width is the logarithm of the ratio of both ends. If no
    partition is the best at the least penalty, the likeliest is all that there is. ``total``:
    weight of the rows.
    """
    widths: dict[int, float] = {}
    for k, step in path.items():
        slopes = {
            j: (other.evidence - step.evidence) / np.log(j / k)
            for j, other in path.items()
            if j != k
        }
        low = max(
            [MIN_NATS, MIN_NATS_PER_ROW * total, *(slope for j, slope in slopes.items() if j > k)]
        )
        high = min((slope for j, slope in slopes.items() if j < k), default=0.0)
        if high > low:
            widths[k] = float(np.log(high / low))
    widest = sorted(widths, key=lambda k: -widths[k])
    return [path[k] for k in widest] or [likeliest(path)]
