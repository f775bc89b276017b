"""Whether rows thin out on the borders between clusters that were found without these rows.

The rows that have the same two cheapest centres form a convex cell, and their position between the
two centres is affine in the row. In the middle strip of such a cell a log-concave density
(Gaussian, uniform on a convex set, exponential) has at least the harmonic mean of its mass in the
equally wide strips beside it, whatever the number of rows and columns; so have most heavy-tailed
ones. Between clusters there are fewer rows. Nothing was fitted to the rows that are counted, so the
counts are those of a plain sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr, ndtri

from hardbayes.matrices import Floats

if TYPE_CHECKING:
    from hardbayes.local.borders import Borders


FEWEST = 4.0  # rows in either outer strip for a pair to be tested
SMALLEST_P = 1e-15
LOWEST_SCORE = -2.0  # of a pair of halves: one that failed does not outvote the others
NO_WEIGHT = 1e-300
CLEARER = 1.5


def valley_p_value(halvings: Sequence[tuple[Borders, Borders]]) -> float:
    """Return the p-value of the hypothesis that rows thin out nowhere; one without any halving.

    Simes' test over the pairs of clusters of a half, Fisher's over the two halves. Several halvings
    of the same rows are averaged as standard scores: the variance of the mean is at most one.
    """
    scores = []
    for halves in halvings:
        p = [max(_simes(ndtr(-_scores(borders))), SMALLEST_P) for borders in halves]
        scores.append(max(-ndtri(chdtrc(2 * len(p), -2.0 * np.log(p).sum())), LOWEST_SCORE))
    return float(ndtr(-np.mean(scores))) if scores else 1.0


def p_value_beyond(p_value: float, reference: float) -> float:
    """Return the p-value of a valley that is clearer than that of structureless rows.

    Their standard scores are compared, that of the reference times CLEARER. A reference of one half
    or more changes nothing.
    """
    if reference >= 0.5 or p_value >= 0.5:
        return p_value
    score, needed = -ndtri([max(p_value, NO_WEIGHT), max(reference, NO_WEIGHT)])
    return float(ndtr((CLEARER * needed - score) / np.sqrt(2.0)))  # a difference of two scores


def filling(
    folds: Sequence[Borders], which: Sequence[NDArray[np.bool_]] | None = None
) -> tuple[float, float]:
    """Return how full the middle strips are, and how clearly they are not full.

    The first is the rows there as a part of the least that data without clusters have, summed over
    all pairs of clusters, or over those that ``which`` masks in each fold. The second is the
    standard score of what is missing.
    """
    sums = np.zeros(3)
    for number, borders in enumerate(folds):
        some = slice(None) if which is None else which[number]
        weight = borders.squares[some].sum() / max(borders.weights[some].sum(), NO_WEIGHT)
        left, middle, right = (borders.weights[some] / max(weight, NO_WEIGHT)).T
        least, variance = _least_middle(left, right)
        # The harmonic mean of two counts is about a half below that of their expectations.
        least = least + 0.5 * (left + right > 0)
        sums += [middle.sum(), least.sum(), variance.sum()]
    # Two folds count every row once.
    middle, least, variance = sums / max(1.0, len(folds) / 2)
    score = (least - middle) / np.sqrt((least + middle) / 2.0 + variance + 1.0)
    return float((middle + 1.0) / (least + 1.0)), float(score)


def _scores(borders: Borders) -> Floats:
    """Return a standard score for each pair with enough rows: the larger, the fewer are between."""
    total = borders.weights.sum(axis=1)
    weight = borders.squares.sum(axis=1) / np.maximum(total, NO_WEIGHT)  # effective, of one row
    counts = borders.weights / np.maximum(weight, NO_WEIGHT)[:, np.newaxis]
    counts = counts[np.minimum(counts[:, 0], counts[:, 2]) >= FEWEST]
    left, middle, right = counts.T + 0.5
    least, variance = _least_middle(left, right)
    scores: Floats = (least - middle) / np.sqrt((least + middle) / 2.0 + variance)
    return scores


def _least_middle(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return the harmonic means of counts, and the variances of these estimates."""
    total = np.maximum(left + right, 1e-60)
    return 2.0 * left * right / total, 4.0 * left * right * (left**3 + right**3) / total**4


def _simes(p: Floats) -> float:
    p = np.sort(p)
    return float(np.min(p * len(p) / np.arange(1, len(p) + 1), initial=1.0))
