"""Clusters between which rows thin out: what is left when all other neighbours are merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.selection.gaussian.borders import Borders
from hardbayes.selection.gaussian.clusters import classify, clusters_of
from hardbayes.selection.gaussian.evidence import likeliest_prior
from hardbayes.selection.gaussian.path import Path, Step, likeliest

if TYPE_CHECKING:
    from hardbayes.executors.gaussian.mixture import MixtureRows

LOSS = 0.05  # nats a row by which a partition to begin with may be less likely than the best
MERGED_AT_ONCE = 20  # one pair for so many clusters before rows choose anew
ROUNDS = 5


def separate(rows: MixtureRows, path: Path, dip_rows: MixtureRows) -> Step:
    """Return a partition after merges of neighbours without a valley between them.

    From the finest partition that is almost as likely as the best; those first that are least
    likely two.
    """
    least = likeliest(path).evidence - LOSS * rows.total
    start = max((step for step in path.values() if step.evidence >= least), key=lambda s: s.k)
    labels, k, guess = start.labels, start.k, None
    while k > 1:
        borders = Borders(rows, labels, k, dip_rows, guess)
        n_merged = 0
        while n_merged < max(1, k // MERGED_AT_ONCE) and k - n_merged > 1:
            weak = borders.weakest()
            if weak is None:
                break
            borders.merge(*weak)
            n_merged += 1
        if not n_merged:
            break
        used, names = np.unique(borders.names, return_inverse=True)
        labels, guess = names[labels], names[borders.guess]
        labels, clusters = classify(rows, labels, len(used), borders.prior.pooled_rows, ROUNDS)
        if clusters.k < len(used):
            guess = None  # clusters have other numbers now
        k = clusters.k
    return Step(k, likeliest_prior(rows, clusters_of(rows, labels, k))[1], labels)
