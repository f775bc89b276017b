"""Whether features are there: rows that a fit has not seen have them or not.

The null: rows are drawn from continuous factors and noise of any covariance, each direction with
one mode: Gaussian, elliptical, uniform, exponential, and so on. BP-means finds features in all of
them, because any direction can be divided in two.

Rows are halved. On each half the path of K-features gives components for K = 1, 2, ... Those of one
half are taken to the rows of the other, which get *real* coefficients by least squares (a base that
all rows have is subtracted first). A coefficient is a fixed linear form of a row, so under the null
it has one mode, while a feature that rows have or do not have makes two, at 0 and 1. In windows of
width WINDOW, at one mode there are at least as many rows in the valley, at 1/2, as at the lower of
the two peaks.

For each row, count the features in whose lower peak it lies, and take off those in whose valley it
lies. The sum over rows, divided by the root of the sum of squares, has at most mean 0 and
deviation 1 under the null, however features depend on each other: rows are independent. Which peak
is lower is known from the half that was fitted. That is ``deviations``, for both halves together.
The sum may be large because of some of the features only; ``weakest`` is the p-value of the least
certain one, by a binomial test, the geometric mean of the halves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.pool import Pool
from hardbayes.features.descent import FeatureSearch, FeatureSolution
from hardbayes.features.problem import FeatureAllocation, FeatureProblem, pose_features
from hardbayes.features.rows import Allocation
from hardbayes.features.starts import k_features_path, minimise_features

# Deviations of all features together, from which they are there: fewer find fainter features, and
# some in noise (benchmarks.choosing_features).
NEEDED = 3.0
# The p-value that the least certain feature needs, where the range of penalties speaks for another
# number (benchmarks.choosing_features).
WEAKEST = 0.05
WINDOW = 1.0 / 3.0  # of coefficients: the widest that do not overlap are half the distance
STARTS = 3  # at each K, of which the best is kept: more are slower (benchmarks.choosing_features)
# Features by which the paths go on after the number with the most evidence
# (benchmarks.choosing_features).
AHEAD = 5
MAX_FEATURES = 24  # patience
HALF = 1 << 18  # entries of a half, patience: further rows are left out
MIN_HALF = 8  # rows of a half: fewer cannot reach the evidence


class Evidence(NamedTuple):
    """What rows of the other half say about a number of features."""

    n_components: int
    deviations: float
    weakest: float

    @property
    def are_all_there(self) -> bool:
        """Whether features are there, each of them."""
        return self.deviations >= NEEDED and self.weakest < WEAKEST


class _Half(NamedTuple):
    """Features of one half of the rows: which have them, and components in the user's units."""

    membership: NDArray[np.bool_]
    components: Floats


def halved(matrix: Matrix, weights: Floats | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of two random halves. They do not depend on the seed of a fit."""
    rng = np.random.RandomState(0)
    counted = np.arange(matrix.shape[0]) if weights is None else np.flatnonzero(weights)
    most = max(2 * MIN_HALF, 2 * (HALF // matrix.shape[1]))
    ids = rng.permutation(counted)[:most]
    return np.sort(ids[: len(ids) // 2]), np.sort(ids[len(ids) // 2 :])


class HeldOut:
    """Two halves of the rows, each with features found in it; and what the other says of them."""

    def __init__(
        self,
        matrix: Matrix,
        weights: Floats | None,
        max_sweeps: int,
        pool: Pool,
        base: bool | None = None,
    ) -> None:
        self.halves = halved(matrix, weights)
        self.pool = pool
        self.parts = [matrix[half] for half in self.halves]
        self.are_too_few = min(map(len, self.halves)) < MIN_HALF
        if self.are_too_few:
            return
        self.problems = [
            pose_features(part, None if weights is None else weights[half], pool, int(base is True))
            for part, half in zip(self.parts, self.halves, strict=True)
        ]
        free = FeatureAllocation(0.0, MAX_FEATURES)
        self.search = FeatureSearch(free, False, False, max_sweeps, base)

    def evidence(self) -> list[Evidence]:
        """Return the evidence for 1, 2, ... features, to AHEAD beyond the number with the most.

        A base alone, or more features than columns, is not tested.
        """
        if self.are_too_few:
            return []
        paths = [_path(problem, self.search) for problem in self.problems]
        found: list[Evidence] = []
        best = 0
        for k in range(1, MAX_FEATURES + 1):
            self.pool.report.step("held-out features", k, MAX_FEATURES)
            pair = [next(path, None) for path in paths]
            if k > best + AHEAD or pair[0] is None or pair[1] is None:
                break
            evidence = self._evidence(pair)
            if evidence is not None:
                found.append(evidence)
                best = max(found, key=lambda each: each.deviations).n_components
        return found

    def evidence_from(self, membership: NDArray[np.uint8], components: Floats) -> Evidence | None:
        """Return the evidence for features that each half begins from: those of all rows.

        Where they start has seen the other half: this tells how many features there are, not
        whether there are any.
        """
        found: list[_Half | None] = []
        for half, problem in zip(self.halves, self.problems, strict=True):
            free = replace(self.search, structure=FeatureAllocation(0.0, len(components)))
            start = Allocation(
                components * problem.frame.scale, np.ascontiguousarray(membership[half])
            )
            stream = np.random.RandomState(0)
            found.append(_half(problem, minimise_features(problem.rows, free, 1, stream, [start])))
        return self._evidence(found)

    def _evidence(self, pair: list[_Half | None]) -> Evidence | None:
        one, other = pair
        if one is None or other is None or len(one.components) != len(other.components):
            return None
        return _evidence(len(one.components), [(one, self.parts[1]), (other, self.parts[0])])


def _path(problem: FeatureProblem, search: FeatureSearch) -> Iterator[_Half]:
    """Yield the features of one half, for K = 1, 2, ..."""
    path = k_features_path(problem.rows, search, STARTS, np.random.RandomState(0))
    next(path)  # no features, or a base alone
    for solution in path:
        yield _half(problem, solution)


def _half(problem: FeatureProblem, solution: FeatureSolution) -> _Half:
    components, membership = solution.allocation
    return _Half(membership.astype(bool), problem.components_to_user(components))


def _evidence(k: int, pairs: list[tuple[_Half, Matrix]]) -> Evidence | None:
    sums, logarithms = [], []
    for half, rows in pairs:
        coefficients = coefficients_of(half.membership, half.components, rows)
        if coefficients is None:
            return None
        shares = half.membership[:, ~half.membership.all(axis=0)].mean(axis=0)
        deviations, worst = two_modes(coefficients, shares)
        sums.append(deviations)
        logarithms.append(np.log(max(worst, np.finfo(float).tiny)))
    both = float(np.sum(sums) / np.sqrt(2.0))
    return Evidence(k, both, float(np.exp(np.mean(logarithms))))


def coefficients_of(
    membership: NDArray[np.bool_], components: Floats, rows: Matrix
) -> Floats | None:
    """Return the real coefficients (n, k) of rows on the components that are no base.

    None where there are none, or where they are not determined.
    """
    base = membership.all(axis=0)
    others = components[~base]
    if not len(others) or len(others) > others.shape[1]:
        return None
    if np.linalg.matrix_rank(others) < len(others):
        return None
    inverse = np.linalg.pinv(others)
    offset = components[base].sum(axis=0) @ inverse
    return np.asarray(rows @ inverse, np.float64) - offset


def two_modes(coefficients: Floats, shares: Floats) -> tuple[float, float]:
    """Return the evidence that coefficients (n, k) have modes at 0 and 1, and the worst p-value.

    ``shares`` (k,): of the rows of the other half that have each feature.
    """
    lower = (shares <= 0.5).astype(float)  # a feature of few rows has the lower peak at 1
    at_lower, in_valley, at_higher = (
        np.abs(coefficients - place) < WINDOW / 2 for place in (lower, 0.5, 1.0 - lower)
    )
    net = at_lower.sum(axis=1) - in_valley.sum(axis=1)
    root = float(np.sqrt((net.astype(float) ** 2).sum()))
    peaks = np.minimum(at_lower.sum(axis=0), at_higher.sum(axis=0))
    valleys = in_valley.sum(axis=0)
    p_values = bdtr(valleys, valleys + peaks, 0.5)
    return float(net.sum()) / root if root else 0.0, float(p_values.max())
