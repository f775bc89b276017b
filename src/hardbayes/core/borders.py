"""Borders between clusters of linked things: what they cut, by what halving a cluster would cut.

For a cluster c, ``out(c)`` is the share of its links that leave it, and ``half(c)`` the least share
of the inner links of a half that dividing it would cut. ``out / half`` is about one where a border
is a place like any other, and little where few links cross it.

The least cut of a cluster is looked for among sweeps along the eigenvector of its links that
belongs to the second largest eigenvalue, and along its principal axes where rows have coordinates;
each side has at least a fifth of the links.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, eigh
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackError, eigsh

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids
from hardbayes.core.pool import one_blas_thread

AXES = 3  # principal axes of a cluster along which it is divided
LEAST_SIDE = 0.2  # of the links, on each side of a half
FEWEST = 8  # rows of a cluster that is divided into halves
MOST_DENSE = 150  # rows of a cluster up to which all its links are held
LEAST_DEGREE = 1e-12  # of the largest: a row with less has no links to speak of
TINY = 1e-300  # instead of zero, against overflow of a ratio


class Borders(NamedTuple):
    """Of each cluster (k,), the share of links that leave it, and the least that a half cuts."""

    out: Floats
    halves: Floats  # infinite for clusters of a few rows


def borders_of(links: csr_array, labels: Ids, coordinates: Floats | None = None) -> Borders:
    """Return the borders of clusters 0 to k-1 of labels (n,) of links (n, n).

    ``coordinates`` (n, q): of rows, where they have some.
    """
    members = [np.flatnonzero(labels == c) for c in range(int(labels.max()) + 1)]
    found = [_border_of(links, ids, coordinates) for ids in members]
    return Borders(*np.array(found).T)


def highest_border(links: csr_array, labels: Ids, most: float = np.inf) -> float:
    """Return the highest ``out / halves`` of clusters; infinite as soon as one exceeds ``most``.

    It is infinite, too, for one cluster, and where a cluster is too small to be halved or falls
    apart.
    """
    sizes = np.bincount(labels)
    if len(sizes) < 2 or sizes.min() < FEWEST:
        return np.inf
    highest = 0.0
    for c in range(len(sizes)):
        out, half = _border_of(links, np.flatnonzero(labels == c))
        highest = max(highest, out / half) if 0 < half < np.inf else np.inf
        if highest > most:
            return np.inf
    return highest


def _border_of(
    links: csr_array, ids: Ids, coordinates: Floats | None = None
) -> tuple[float, float]:
    """Return what the border of some rows cuts, and what halving them would cut."""
    ours = links[ids]
    own, volume = ours[:, ids], max(float(ours.sum()), TINY)
    out = max(volume - float(own.sum()), 0.0) / volume
    return out, _least_half(own, None if coordinates is None else coordinates[ids])


def _least_half(links: csr_array, coordinates: Floats | None) -> float:
    """Return the least share of links that halves cut; infinite for a few rows."""
    n = links.shape[0]
    if n < FEWEST:
        return np.inf
    pairs = links.tocoo()
    upper = pairs.row < pairs.col
    ends = (pairs.row[upper], pairs.col[upper], pairs.data[upper])
    degrees = np.asarray(links.sum(axis=1)).ravel()
    degrees = np.maximum(degrees, max(LEAST_DEGREE * float(degrees.max()), TINY))
    with one_blas_thread():
        slow = _slowest(links, degrees)
        sweeps = [] if slow is None else [slow]
        if coordinates is not None:
            centred = coordinates - coordinates.mean(axis=0)
            sweeps += list((centred @ eigh(centred.T @ centred)[1][:, : -AXES - 1 : -1]).T)
    return min((_least_cut(sweep, *ends, degrees) for sweep in sweeps), default=np.inf)


def _slowest(links: csr_array, degrees: Floats) -> Floats | None:
    """Return the positions (n,) of rows along the slowest walk on the links; None if not found."""
    n, roots = len(degrees), np.sqrt(degrees)
    scaled = links.multiply(1.0 / roots[:, np.newaxis]).multiply(1.0 / roots).tocsr()
    try:
        if n <= MOST_DENSE:
            vectors = eigh(scaled.toarray(), subset_by_index=[n - 2, n - 1])[1]
        else:
            # Not ones: where all degrees are equal they are an eigenvector, and the iteration would
            # go on from a vector of its own, another one each time.
            start = np.random.RandomState(0).uniform(0.5, 1.5, n)
            values, vectors = eigsh(scaled, 2, which="LA", tol=1e-2, v0=start)
            vectors = vectors[:, np.argsort(values)]
    except (ArpackError, LinAlgError):
        return None
    # Lanczos iterations may find fewer, in links that fall apart.
    return np.asarray(vectors[:, 0] / roots) if vectors.shape[1] == 2 else None


def _least_cut(
    positions: Floats, lefts: Ids, rights: Ids, values: Floats, degrees: Floats
) -> float:
    """Return the least share of the links of the smaller side that a cut along an order cuts.

    The order is that of positions (n,), rows at equal ones as they come; both sides have enough.
    """
    n = len(positions)
    order = np.argsort(positions, kind="stable")
    ranks = np.empty(n, np.int64)
    ranks[order] = np.arange(n)
    left, right = ranks[lefts], ranks[rights]
    opened = np.bincount(np.minimum(left, right), values, n)
    closed = np.bincount(np.maximum(left, right), values, n)
    cuts = np.cumsum(opened - closed)[:-1]
    below = np.cumsum(degrees[order])[:-1]
    sides = np.minimum(below, degrees.sum() - below)
    even = sides >= LEAST_SIDE * degrees.sum()
    return float((cuts[even] / sides[even]).min()) if even.any() else np.inf
