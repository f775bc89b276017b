"""The finest partition of a path in which all neighbouring clusters are two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.selection.gaussian.borders import LIKELY, STRICT, SURE, Borders, Rule
from hardbayes.selection.gaussian.clusters import classify
from hardbayes.selection.gaussian.evidence import departure
from hardbayes.selection.gaussian.path import Path, likeliest

if TYPE_CHECKING:
    from hardbayes.executors.gaussian.mixture import MixtureRows
    from hardbayes.executors.gaussian.protocol import Ids

LOSS = 0.05  # nats a row by which a partition to begin with may be less likely than the best
MERGED_AT_ONCE = 20  # one pair for so many clusters before rows choose anew
ROUNDS = 5
MOST = 0.85  # share of neighbours that must be two for the likeliest partition to stand as a whole
# Departure from Gaussian clusters up to which the likeliest partition is believed, and from which
# on nothing but valleys counts.
GAUSSIAN = 0.035
FEW = 8  # clusters that are believed then, however many are left when they merge
SHAPES = 0.05
# Over the square root of n, how far n Gaussian rows depart by chance: 5 % and 1 % of all samples
# (Lilliefors 1967).
FIVE_PERCENT, ONE_PERCENT = 0.886, 1.031
# Where merging leaves more than so many times the clusters of a wide plateau, they are its parts.
MANY = 2
WIDE = 1.0  # logarithm of the ratio of the penalties between which a number is the best


def finest(rows: MixtureRows, path: Path, dip_rows: MixtureRows) -> tuple[Ids, int]:
    """Return labels (n,) and their number.

    The likeliest partition, if most of its neighbours are two, or if its clusters look Gaussian and
    are few, or not more than twice as many as merging leaves; else what merging those that are not
    two leaves, or a finer partition of the path. If those are many, as in clusters that are
    themselves made of clusters, the coarser partition on the widest plateau.
    """
    top = likeliest(path)
    if top.k > 1 and Borders(rows, top.labels, top.k, dip_rows).separate(LIKELY, MOST):
        return top.labels, top.k
    apart, root = departure(rows, top.labels, top.k), np.sqrt(rows.total)
    rule = STRICT if apart > max(SHAPES, ONE_PERCENT / root) else LIKELY
    labels, k = consolidated(rows, path, dip_rows, rule)
    if k < top.k <= max(2 * k, FEW) and apart <= max(GAUSSIAN, FIVE_PERCENT / root):
        return top.labels, top.k
    for j in sorted(path, reverse=True):
        if j < max(k, 2):
            break
        if j > top.k and path[j].evidence < top.evidence - 2 * LOSS * rows.total:
            continue
        if Borders(rows, path[j].labels, j, dip_rows).separate(rule):
            labels, k = path[j].labels, j
            break
    if k > MANY:
        for j in wide_plateaus(path):
            if Borders(rows, path[j].labels, j, dip_rows).separate(STRICT):
                return (path[j].labels, j) if k > MANY * j else (labels, k)
    return labels, k


def wide_plateaus(path: Path) -> list[int]:
    """Return numbers of clusters, above one, that are the best for a wide range of penalties.

    By likelihood less a penalty for each cluster; the largest ``sqrt(k) * width`` first, the width
    of a plateau being the logarithm of the ratio of its ends. No penalty is below `SURE` nats.
    """
    scores: dict[int, float] = {}
    for k in path:
        slopes = {j: (path[j].evidence - path[k].evidence) / (j - k) for j in path if j != k}
        low = max([SURE, *(slope for j, slope in slopes.items() if j > k)])
        high = min((slope for j, slope in slopes.items() if j < k), default=0.0)
        if high > low * np.exp(WIDE):
            scores[k] = float(np.sqrt(k) * np.log(high / low))
    return sorted(scores, key=lambda k: -scores[k])


def consolidated(
    rows: MixtureRows, path: Path, dip_rows: MixtureRows, rule: Rule = LIKELY
) -> tuple[Ids, int]:
    """Return labels (n,) and their number after merges of neighbours that are not two.

    From the finest partition that is almost as likely as the best; the least likely two first.
    """
    least = likeliest(path).evidence - LOSS * rows.total
    start = max((step for step in path.values() if step.evidence >= least), key=lambda s: s.k)
    labels, k, guess = start.labels, start.k, None
    while k > 1:
        borders = Borders(rows, labels, k, dip_rows, guess)
        n_merged = 0
        while n_merged < max(1, k // MERGED_AT_ONCE) and k - n_merged > 1:
            weak = borders.weakest(rule)
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
    return labels, k
