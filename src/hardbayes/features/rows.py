"""The contract between a search for features and the place where the rows are.

There are n rows of d columns and k features. Rows are in working coordinates: shifted by
``origin``, and scaled so that no entry is above one. Components are scaled, too, but not shifted:
features z explain a row by ``zA - origin``. All numbers are float64.

Memberships decided by a pass, and sums returned by it, are exact up to rounding, unless a method
says otherwise. The same input gives the same bits, whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats


class Allocation(NamedTuple):
    """Components, and which rows have them."""

    components: Floats  # (k, d)
    membership: NDArray[np.uint8]  # (n, k), C-contiguous: Z

    def keep(self, kept: NDArray[np.bool_]) -> Allocation:
        """Return the allocation with only some of its features; ``kept`` (k,)."""
        return Allocation(self.components[kept], np.ascontiguousarray(self.membership[:, kept]))

    def copy(self) -> Allocation:
        """Return an allocation that passes may change."""
        return Allocation(self.components.copy(), self.membership.copy())


class Description(NamedTuple):
    """Shape, weights and precision of the rows."""

    n_rows: int
    n_columns: int
    weights: Floats  # (n,), or (1,) for all rows alike
    negligible: float  # weighted squared residuals of a row up to here are rounding
    n_fixed: int = 0  # one where all rows have the first feature, a base, and no pass takes it away

    @property
    def negligible_fit(self) -> float:
        """Fit terms up to here are rounding."""
        return self.negligible * self.n_rows


class Sums(NamedTuple):
    """Sums over all rows after a pass, W being the diagonal of weights and R the residuals."""

    fit: float  # weighted sum of squared residuals
    changed: int  # number of rows whose features changed
    gram: Floats  # (k, k): Z'WZ
    correction: Floats  # (k, d): Z'WR
    costs: Floats  # (n,): squared residuals


class LocalSearch(NamedTuple):
    """Result of alternating sweeps and refits."""

    sums: Sums  # of the last sweep
    fits: list[float]  # the fit term after each sweep
    converged: bool  # the last sweep changed nothing, with components at least squares
    is_independent: bool  # if columns of Z are dependent, nothing was refitted after the last sweep


class NewFeature(NamedTuple):
    """A feature that could be added, and the rows that would have it."""

    component: Floats  # (d,)
    rows: NDArray[np.uint8]  # (n,): one where the squared residual would fall
    gains: Floats  # (n,): by how much it would fall; negative where it would rise
    weight: float  # of those rows
    total: Floats  # (d,): their weighted residuals before


class Combination(NamedTuple):
    """Replace one or both of two columns of Z by a combination of the two.

    Both by their union, symmetric difference or intersection; one by the latter two, or by its part
    outside the other.
    """

    change: float  # of the objective, after a refit
    removed: list[int]  # one of the pair, or both
    pair: tuple[int, int]
    factors: tuple[int, int, int]  # the new column: multiples of the two and of their product


class FeatureRows(Protocol):
    """Rows, and passes over them. ``most`` and ``max_components`` are caps on k."""

    def describe(self) -> Description:
        """Return shape, weights and precision; no pass over the rows."""

    def sample(self, rng: RandomState) -> FeatureRows | None:
        """Return a random sample of the rows; None, without a draw, where these are few enough.

        Starts and perturbations are made on the sample. Its size is up to the executor.
        """

    def run_starts(self, task: Callable[[int, FeatureRows], None], n_starts: int) -> None:
        """Call ``task(start, rows)`` for 0 to ``n_starts - 1``, side by side or one by one.

        ``rows`` has the same rows, and is used by no other task at the same time.
        """

    def seed(self, with_base: bool, penalty: float, most: int, rng: RandomState) -> Allocation:
        """Return features to start from, components not at least squares.

        First the mean, which all rows have, if ``with_base``; then residuals of rows drawn by
        squared length, while each lowers the objective. May be drawn from a sample; then no row has
        any of the drawn features yet.
        """

    def sweep(self, allocation: Allocation, *, literal: bool = False) -> Sums:
        """Decide the features of every row at fixed components. INOUT membership.

        Up to twelve features, each row gets the best subset. With more this is approximate: no flip
        of one feature or two lowers its cost. ``literal``: one pass of single flips, as published.
        """

    def collect(self, allocation: Allocation) -> Sums:
        """Return the sums of the present memberships."""

    def refit(self, components: Floats, sums: Sums) -> bool:
        """Move components (k, d) to least squares. INOUT components, sums.correction.

        Returns False, with nothing moved, where columns of Z are dependent. Needs no rows.
        """

    def local_search(
        self, allocation: Allocation, *, is_refitted: bool, max_sweeps: int
    ) -> LocalSearch:
        """Alternate sweeps and refits. INOUT components, membership.

        ``is_refitted``: whether components are at least squares. At least one sweep is made, at
        most ``max_sweeps``; it may end before rows stop changing, so that it can be interrupted.
        """

    def collapsed_sweep(
        self, allocation: Allocation, gram: Floats, penalty: float, max_components: int
    ) -> tuple[Allocation, int]:
        """Return the allocation after one sweep with components integrated out, and the changes.

        Broderick, Kulis & Jordan 2013, section 4.1. Rows are visited in order; a row may open a
        feature of its own, or close it. IN components at least squares, gram = Z'WZ of full rank.
        Up to eight features, all subsets of a row are compared; with more, single flips.
        """

    def feature_at_row(self, allocation: Allocation, row: int) -> NewFeature:
        """Return the feature whose component is the residual of one row."""

    def grow_feature(self, allocation: Allocation, costs: Floats, rng: RandomState) -> NewFeature:
        """Return a new feature, by one-feature searches on the residuals of the rows.

        They start at the worst row and at some drawn by their weighted ``costs`` (n,). How well the
        component fits is approximate, and it may come from a sample; rows, gains and sums are not.
        """

    def best_combination(
        self, allocation: Allocation, gram: Floats, inverse: Floats, penalty: float
    ) -> Combination:
        """Return the combination of two columns that lowers the objective most.

        IN components at least squares, gram = Z'WZ and its inverse (k, k). The change is infinite
        where there is none.
        """
