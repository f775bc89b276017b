"""The finest partition of a path in which all neighbouring clusters are two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.selection.gaussian.borders import LIKELY, STRICT, Borders, Rule
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


def finest(rows: MixtureRows, path: Path, dip_rows: MixtureRows) -> tuple[Ids, int]:
    """Return labels (n,) and their number.

    The likeliest partition, if most of its neighbours are two, or if its clusters look Gaussian and
    are few, or not more than twice as many as merging leaves; else what merging those that are not
    two leaves, or a finer partition of the path.
    """
    top = likeliest(path)
    if top.k > 1 and Borders(rows, top.labels, top.k, dip_rows).separate(LIKELY, MOST):
        return top.labels, top.k
    apart = departure(rows, top.labels, top.k)
    # Few rows depart by chance.
    rule = STRICT if apart > max(SHAPES, 1.0 / np.sqrt(rows.total)) else LIKELY
    labels, k = consolidated(rows, path, dip_rows, rule)
    if k < top.k <= max(2 * k, FEW) and apart <= GAUSSIAN:
        return top.labels, top.k
    for j in sorted(path, reverse=True):
        if j < max(k, 2):
            break
        if j > top.k and path[j].evidence < top.evidence - 2 * LOSS * rows.total:
            continue
        if Borders(rows, path[j].labels, j, dip_rows).separate(rule):
            return path[j].labels, j
    return labels, k


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
