"""The rule that chooses among numbers of clusters.

A number counts if its plateau is clearly wider than those of structureless data of about as many
clusters, or if held-out rows thin out on the borders of its clusters. Of the numbers that count,
the one of the largest ``sqrt(k) * width`` is chosen; then any larger number that counts and adds
borders that are clearly empty. If none counts, the answer is one cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.selection.partition.valleys import filling, p_value_beyond, valley_p_value

if TYPE_CHECKING:
    from hardbayes.local.borders import Borders


# A plateau must exceed the reference, which varies from draw to draw, by this factor and by this
# margin: of narrow plateaus some are twice as wide as others by chance. Those of FEW clusters vary
# least, and need the margin alone.
FEW = 2
STANDS_OUT = 1.35
MARGIN = 0.2
# No plateau counts if borders are filled to more than this part of the least without clusters.
FULL = 1.3
LEVEL = 0.1  # of the tests for valleys, for all numbers together
# Borders that a finer number adds: filled to less than this part, with a score above this.
EMPTY = 0.7
CLEARLY = 2.3
LEAST_WIDTH = 0.05  # of a finer number: a penalty within a narrower plateau may miss it


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
    factor = 1.0 if k <= FEW else STANDS_OUT
    return factor * reference + MARGIN


def choose(candidates: Sequence[Candidate]) -> int:
    """Return the number of clusters, 1 where none counts."""
    counting = [candidate for candidate in candidates if candidate.strength >= 1.0]
    if not counting:
        return 1
    best = _best(counting)
    while finer := [c for c in counting if c.width >= LEAST_WIDTH and _refines(c, best)]:
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
