"""Divisions of clusters in two, by marginal likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.selection.gaussian.clusters import common_discriminants, discriminants
from hardbayes.structure.gaussians import Gaussians

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.gaussian.mixture import MixtureRows
    from hardbayes.executors.gaussian.protocol import Ids
    from hardbayes.matrices import Floats

N_WIDE = 3  # widest axes along which a cluster is cut
N_FLAT = 2  # axes of least fourth moments, where two clusters show; and one of the largest
MAX_COLUMNS = 256  # up to which fourth moments are computed
N_TRIALS = 2  # cuts of either kind that classification EM starts from
PRIOR_ROWS = (2.0, 128.0)  # by which a division is judged
LEAST_SHARE = 0.05  # of a cluster's rows on either side of a cut


class Divisions(NamedTuple):
    """The likeliest division found of each cluster."""

    gains: Floats  # (k,): by how much two are likelier than one; minus infinity: no division
    halves: Gaussians  # weights (k, 2), means (k, 2, d), scatters (k, 2, h, d)
    is_common: NDArray[np.bool_]  # (k,): the halves have one covariance


def divide(rows: MixtureRows, labels: Ids, clusters: Gaussians) -> Divisions:
    """Return the likeliest division found of every cluster."""
    k, d = clusters.means.shape
    directions = _directions(rows, labels, clusters)
    least = np.maximum(2.0, np.minimum(0.5 * rows.least_rows, LEAST_SHARE * clusters.weights))
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
    return Divisions(apart[numbers, best_one] - whole, found, best_one % 2 == 0)


def apply(
    rows: MixtureRows, labels: Ids, k: int, divisions: Divisions, chosen: list[int]
) -> tuple[Ids, int]:
    """Return labels (n,) and their number with some clusters divided."""
    labels = labels.copy()
    order, places = rows.by_cluster(labels, k)
    for c in chosen:
        ids = order[places[c] : places[c + 1]]
        pair = Gaussians(*(array[c] for array in divisions.halves))
        if divisions.is_common[c]:
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
    covariances = rows.floored(clusters.scatters / weights)
    n_wide = min(N_WIDE, d)
    if rows.diagonal:
        widest = np.argsort(-covariances[:, 0], axis=1, kind="stable")[:, :n_wide]
        found = list(np.eye(d)[widest.T])
    else:
        axes = np.linalg.eigh(covariances)[1]
        found = [axes[:, :, -1 - at] for at in range(n_wide)]
    if 1 < d <= MAX_COLUMNS:
        roots = rows.factorised(covariances)[0]
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
