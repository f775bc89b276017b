"""Penalties for partitions that were found by other costs than those of the fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.selection.hull import plateaus

if TYPE_CHECKING:
    from hardbayes.engine.partition.path import Path
    from hardbayes.selection.sampling import Sample


def reprice(path: Path, sample: Sample) -> dict[int, float]:
    """Return a penalty for each number of clusters of a path, in the units of a sample.

    The objective of each partition is computed by the divergence itself. The penalty is the middle
    of the plateau; off the convex hull, the middle between the savings of the last cluster and the
    next. That of one cluster is twice the largest at which others are better.
    """
    fits: list[tuple[int, float]] = []
    for k in range(1, path.n_clusters + 1):
        labels = path.labels_with(k)
        if labels is not None:
            fits.append((k, -sample.partition.potential(*sample.clusters(labels, k))))
    penalties = {p.k: p.middle for p in plateaus(fits)}
    for (_, before), (k, fit), (_, after) in zip(fits, fits[1:], fits[2:], strict=False):
        savings = max(before - fit, 0.0) * max(fit - after, 0.0)
        penalties.setdefault(k, float(np.sqrt(savings)))
    gains = [(fits[0][1] - fit) / (k - 1) for k, fit in fits[1:]]
    return penalties | {1: 2.0 * max(gains, default=0.0)}
