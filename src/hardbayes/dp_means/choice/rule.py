"""The rule that chooses among numbers of clusters, and its test for valleys between them.

A number counts if its plateau is clearly wider than those of structureless data of about as many
clusters, or if held-out rows thin out on the borders of its clusters. Of the numbers that count,
the one of the largest ``sqrt(k) * width`` is chosen; then any larger number that counts and adds
borders that are clearly empty. If none counts, the answer is one cluster.

The test: rows that have the same two cheapest centres form a convex cell, and their position
between the two centres is affine in the row. In the middle strip of such a cell a log-concave
density (Gaussian, uniform on a convex set, exponential) has at least the harmonic mean of its mass
in the equally wide strips beside it, whatever the number of rows and columns; so have most
heavy-tailed ones. Between clusters there are fewer rows. Nothing was fitted to the rows that are
counted, so the counts are those of a plain sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr, ndtri

from hardbayes.core.arrays import Floats
from hardbayes.core.plateaus import Table

if TYPE_CHECKING:
    from hardbayes.dp_means.local_rows import Borders


MIN_OUTER_ROWS = 4.0  # rows in either outer strip for a pair to be tested
MIN_P = 1e-15  # of a half, about the rounding of float64: its logarithm is finite
LOWEST_SCORE = -2.0  # of a pair of halves: one that failed does not outvote the others
NO_WEIGHT = 1e-300  # instead of zero, against overflow of a ratio or of a score
# Times the score of structureless rows, from which a valley is evidence: a larger factor divides
# fewer texts without clusters, and misses more clusters.
CLEARER = 1.5


def valley_p_value(halvings: Sequence[tuple[Borders, Borders]]) -> float:
    """Return the p-value of the hypothesis that rows thin out nowhere; one without any halving.

    Simes' test over the pairs of clusters of a half, Fisher's over the two halves. Several halvings
    of the same rows are averaged as standard scores: the variance of the mean is at most one.
    """
    scores = []
    for halves in halvings:
        p = [max(_simes(ndtr(-_scores(borders))), MIN_P) for borders in halves]
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
    counts = counts[np.minimum(counts[:, 0], counts[:, 2]) >= MIN_OUTER_ROWS]
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


# A plateau must exceed the reference, which varies from draw to draw, by this factor and by this
# margin: of narrow plateaus some are twice as wide as others by chance. Those of at most SMALL_K
# clusters vary least, and need the margin alone. Less finds more, and divides more draws without
# any (benchmarks.choosing).
SMALL_K = 2
STANDS_OUT = 1.35
MARGIN = 0.2
# No plateau counts if borders are filled to more than this part of the least without clusters.
FULL = 1.3
# Of the tests for valleys, for all numbers together: a higher one finds more clusters, and divides
# more draws without any (benchmarks.choosing).
LEVEL = 0.1
# Borders that a finer number adds: filled to less than this part, with a score above this.
EMPTY = 0.7
CLEARLY = 2.3
MIN_WIDTH = 0.05  # of a finer number: a penalty within a narrower plateau may miss it


class Fold(NamedTuple):
    """The clusters of one half of the rows, and the rows of the other half on their borders."""

    labels: NDArray[np.int32]
    borders: tuple[Borders, ...]  # in each of the metrics in which rows are looked at


class Candidate(NamedTuple):
    """A number of clusters, and the evidence for it."""

    k: int
    width: float
    reference: float
    is_division: bool  # whether more than outliers are divided from the largest cluster
    p_value: float  # of the valleys, times k (k - 1): the levels of all numbers add up to one
    filled: float  # how full the borders are
    folds: dict[int, Fold]  # by number of the half; those of a halving are 2h and 2h + 1

    @property
    def strength(self) -> float:
        """The stronger evidence, as a part of what is needed: from 1 on the number counts."""
        if not self.is_division:
            return 0.0
        width = self.width / needed_width(self.k, self.reference)
        if self.filled > FULL:
            width = min(width, 1.0) * FULL / self.filled
        return max(width, float(np.log(max(self.p_value, 1e-300)) / np.log(LEVEL)))

    @property
    def score(self) -> float:
        """The largest wins; borders that are more than full count against a number."""
        return self.width * float(np.sqrt(self.k / max(1.0, self.filled)))


def with_evidence(
    k: int,
    width: float,
    reference: float,
    is_division: bool,
    folds: dict[int, Fold],
    reference_p_value: float = 1.0,
) -> Candidate:
    """Return a candidate with what its folds tell; both of a halving are there, or neither.

    ``reference_p_value``: that of the clearest valley in structureless rows.
    """
    p_value, metric = _clearest(folds)
    p_value = p_value_beyond(_times_numbers(k, p_value), reference_p_value)
    folds = {at: Fold(fold.labels, (fold.borders[metric],)) for at, fold in folds.items()}
    filled = filling([folds[at].borders[0] for at in sorted(folds)])[0]
    return Candidate(k, width, reference, is_division, p_value, filled, folds)


def p_value_of(k: int, folds: dict[int, Fold]) -> float:
    """Return the p-value of the valleys between k clusters, times k (k - 1)."""
    return _times_numbers(k, _clearest(folds)[0])


def _times_numbers(k: int, p_value: float) -> float:
    return min(1.0, p_value * k * (k - 1))


def _clearest(folds: dict[int, Fold]) -> tuple[float, int]:
    """Return the smallest p-value of the valleys in any metric, and the number of the metric."""
    ways = list(zip(*(folds[at].borders for at in sorted(folds)), strict=True))
    found = [
        (valley_p_value(list(zip(way[::2], way[1::2], strict=True))), metric)
        for metric, way in enumerate(ways)
    ]
    return min(found, default=(1.0, 0))


def needed_width(k: int, reference: float) -> float:
    """Return how wide a plateau of k clusters must be, given that of structureless data."""
    factor = 1.0 if k <= SMALL_K else STANDS_OUT
    return factor * reference + MARGIN


def choose(candidates: Sequence[Candidate]) -> int:
    """Return the number of clusters, 1 where none counts."""
    counting = [candidate for candidate in candidates if candidate.strength >= 1.0]
    if not counting:
        return 1
    best = _best(counting)
    while finer := [c for c in counting if c.width >= MIN_WIDTH and _refines(c, best)]:
        best = _best(finer)
    return best.k


def _best(candidates: Sequence[Candidate]) -> Candidate:
    return max(candidates, key=lambda candidate: (candidate.score, -candidate.k))


def _refines(fine: Candidate, coarse: Candidate) -> bool:
    """Whether held-out rows thin out where the finer clusters divide coarser ones."""
    if fine.k <= coarse.k:
        return False
    borders, inner = [], []
    for number in sorted(fine.folds.keys() & coarse.folds.keys()):
        labels, (found,) = fine.folds[number]
        shared = np.zeros((fine.k, coarse.k))
        np.add.at(shared, (labels, coarse.folds[number].labels), 1.0)
        parent = shared.argmax(axis=1)
        inner.append(parent[found.pairs[:, 0]] == parent[found.pairs[:, 1]])
        borders.append(found)
    if not any(mask.any() for mask in inner):
        return False
    filled, score = filling(borders, inner)
    return filled < EMPTY and score > CLEARLY


# Numbers of clusters within this factor are one layer (a convention: a layer and the next differ
# as much as two clusters and three).
APART = 1.5


def layer_numbers(table: Table) -> list[tuple[int, float]]:
    """Return numbers of clusters with evidence and its strength, rising, of a table of candidates.

    The chosen one, and those whose plateaus stand out; of those near each other the widest. Rows
    also thin out between unions of clusters, so valleys alone do not make a layer.
    """
    kept: list[tuple[int, float]] = []
    for at in np.lexsort((-table["width"], ~table["chosen"])):
        k, strength = int(table["n_clusters"][at]), float(table["strength"][at])
        counts = strength >= 1.0 and table["width"][at] > needed_width(k, table["reference"][at])
        near = any(max(k, other) <= APART * min(k, other) for other, _ in kept)
        if k > 1 and not near and (counts or table["chosen"][at]):
            kept.append((k, strength))
    return sorted(kept)
