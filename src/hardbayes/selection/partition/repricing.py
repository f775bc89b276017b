"""Penalties for partitions that were found by other costs than those of the fit."""

from itertools import pairwise

from hardbayes.engine.partition.path import Path
from hardbayes.selection.hull import lower_hull, plateaus
from hardbayes.selection.partition.sampling import Sample


def reprice(path: Path, sample: Sample) -> dict[int, float]:
    """Return a penalty for each number of clusters of a path, in the units of a sample.

    The objective of each partition is computed by the divergence itself. The penalty is the middle
    of the plateau; off the convex hull, the one at which the numbers below and above are equal.
    That of one cluster is twice the largest at which others are better.
    """
    fits: list[tuple[int, float]] = []
    for k in range(1, path.n_clusters + 1):
        labels = path.labels_with(k)
        if labels is not None:
            fits.append((k, -sample.partition.potential(*sample.clusters(labels, k))))
    gains = [(fits[0][1] - fit) / (k - 1) for k, fit in fits[1:]]
    slope = max(gains, default=0.0)
    penalties = {1: 2.0 * slope} | {p.k: p.middle for p in plateaus(fits)}
    for (few, fit), (many, other) in pairwise(lower_hull(fits)):
        if fit > other:
            slope = (fit - other) / (many - few)
        for k in range(few + 1, many + 1):
            penalties.setdefault(k, slope)
    return penalties
