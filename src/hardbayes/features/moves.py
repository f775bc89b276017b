"""Moves on whole features: what a fit does besides sweeps to leave a local optimum.

- Drop a feature, or replace one or two columns of Z by a combination of two.
- Open a feature: grown from residuals where a fit has converged, or at single rows. The second is
  the published way (Broderick, Kulis & Jordan 2013, section 3): a row whose cost is above the
  penalty opens a feature at its residual, and rows visited later in the same sweep may have it. A
  row decides on old features before it sees new ones. So one parallel pass decides old features for
  all rows, and each birth needs one pass more, over the rows after it.
- Sweep once with components integrated out.
- Draw one column of Z anew. Of the ways tried to perturb an allocation (a feature dropped and
  another grown, one added and the cheapest dropped, two at once) this reached the best known
  objectives soonest.

Also the refit, which drops columns of Z that depend on others, and the canonical form. Memberships
with the same span fit equally well: where a column of ones is in it, one feature can be a base that
all rows have, and any other can be exchanged for its complement, so that at most half of the rows
have it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats
from hardbayes.features.problem import FeatureAllocation, independent_least_squares
from hardbayes.features.rows import Allocation, Combination, FeatureRows, NewFeature, Sums

# Returns a proposal that lowers the objective, or None; changes nothing.
Move = Callable[[FeatureRows, FeatureAllocation, "LocalOptimum", RandomState], "Proposal | None"]

# Improvements below this share of the fit term are rounding.
RELATIVE_TOLERANCE = 1e-10
# A column of Z is dependent if no more than this share of it is outside the span of the others: far
# above the rounding of sums of products, far below a column that fits anything.
DEPENDENT = 1e-9


class LocalOptimum(NamedTuple):
    """An allocation that no sweep changes, its components at least squares."""

    allocation: Allocation
    sums: Sums
    inverse: Floats  # (k, k): of Z'WZ

    def is_lowered_by(self, change: float) -> bool:
        """Whether a change of the objective is below rounding."""
        return change < -RELATIVE_TOLERANCE * self.sums.fit


class Proposal(NamedTuple):
    """An allocation to put in the place of the present one."""

    change: float  # of the objective, exact up to rounding once components are at least squares
    allocation: Allocation  # shares no memory with the present one; components need a refit


def open_feature(
    rows: FeatureRows, structure: FeatureAllocation, optimum: LocalOptimum, rng: RandomState
) -> Proposal | None:
    """Propose a feature grown from residuals, if it lowers the fit term by more than the penalty.

    The exact change of the objective, after a refit of all components, follows from the rows that
    would have the feature.
    """
    (components, membership), sums = optimum.allocation, optimum.sums
    weights = rows.describe().weights
    is_full = len(components) >= structure.max_components
    if is_full or not (weights * sums.costs).max() > rows.describe().negligible:
        return None
    feature = rows.grow_feature(optimum.allocation, sums.costs, rng)
    overlap = (weights * feature.rows) @ membership
    outside = feature.weight - overlap @ optimum.inverse @ overlap
    if not outside > DEPENDENT * feature.weight:
        return None
    change = structure.penalty - float(feature.total @ feature.total / outside)
    if not optimum.is_lowered_by(change):
        return None
    return Proposal(change, add_feature(optimum.allocation, feature))


def open_at_rows(
    rows: FeatureRows, structure: FeatureAllocation, allocation: Allocation, costs: Floats
) -> Allocation | None:
    """Return the allocation with the features that single rows open in this sweep, or None.

    ``costs`` (n,): squared residuals once old features are decided.
    """
    n_before = len(allocation.components)
    weights = rows.describe().weights
    costs = weights * costs
    opening_cost = max(structure.penalty, rows.describe().negligible)
    visited = 0
    while len(allocation.components) < structure.max_components:
        above = np.flatnonzero(costs[visited:] > opening_cost)
        if not len(above):
            break
        opener = visited + int(above[0])
        feature = rows.feature_at_row(allocation, opener)
        feature.rows[:opener] = 0
        allocation = add_feature(allocation, feature)
        costs -= np.where(feature.rows, weights * feature.gains, 0.0)
        visited = opener + 1
    return None if len(allocation.components) == n_before else allocation


def close_at_rows(
    rows: FeatureRows, structure: FeatureAllocation, allocation: Allocation, sums: Sums
) -> Allocation | None:
    """Return the allocation without features of one row that save less than the penalty, or None.

    A row that leaves such a feature frees the penalty, for features without rows do not count
    (Broderick, Kulis & Jordan 2013, eq. 6). ``sums`` of the allocation.
    """
    membership, weights = allocation.membership, np.diagonal(sums.gram)
    correction = sums.correction.copy()
    kept = np.ones(len(weights), bool)
    for k in np.flatnonzero(np.count_nonzero(membership, axis=0) == 1):
        component = allocation.components[k]
        saves = 2.0 * correction[k] @ component + weights[k] * component @ component
        if k >= rows.describe().n_fixed and saves < structure.penalty:
            kept[k] = False
            own = membership[np.argmax(membership[:, k])] > 0
            correction[own] += weights[k] * component  # the row has a larger residual now
    return None if kept.all() else allocation.keep(kept)


def add_feature(allocation: Allocation, feature: NewFeature) -> Allocation:
    """Return the allocation with one feature more."""
    return Allocation(
        np.concatenate([allocation.components, feature.component[np.newaxis]]),
        np.concatenate([allocation.membership, feature.rows[:, np.newaxis]], axis=1),
    )


def drop_feature(
    rows: FeatureRows, structure: FeatureAllocation, optimum: LocalOptimum, _: object = None
) -> Proposal | None:
    """Propose to drop the feature that is worth least, if that is less than the penalty."""
    allocation = optimum.allocation
    if not len(allocation.components):
        return None
    changes = drop_costs(optimum.inverse, allocation.components) - structure.penalty
    changes[: rows.describe().n_fixed] = np.inf
    best = int(np.argmin(changes))
    if not optimum.is_lowered_by(changes[best]):
        return None
    return Proposal(float(changes[best]), allocation.keep(np.arange(len(changes)) != best))


def drop_costs(inverse: Floats, components: Floats) -> Floats:
    """Return by how much the fit term rises (k,) if a feature is dropped and the rest refitted."""
    return np.einsum("kd,kd->k", components, components) / np.diagonal(inverse)


def combine_features(
    rows: FeatureRows, structure: FeatureAllocation, optimum: LocalOptimum, _: object = None
) -> Proposal | None:
    """Propose the best combination of two features in the place of one of them, or of both."""
    found = rows.best_combination(
        optimum.allocation, optimum.sums.gram, optimum.inverse, structure.penalty
    )
    if not optimum.is_lowered_by(found.change):
        return None
    return Proposal(found.change, combine(optimum.allocation, found))


def combine(allocation: Allocation, combination: Combination) -> Allocation:
    """Return the allocation after a combination; its component, the last, is zero."""
    (n, k), d = allocation.membership.shape, allocation.components.shape[1]
    kept = [a for a in range(k) if a not in combination.removed]
    # Allocated at once: on a hundred rows NumPy's delete and stack cost more than a sweep.
    components = np.zeros((len(kept) + 1, d))
    membership = np.empty((n, len(kept) + 1), np.uint8)
    components[:-1] = allocation.components[kept]
    membership[:, :-1] = allocation.membership[:, kept]
    first, second = (allocation.membership[:, at].astype(np.int8) for at in combination.pair)
    alpha, beta, delta = combination.factors
    membership[:, -1] = alpha * first + beta * second + delta * first * second
    return Allocation(components, membership)


def refit_components(
    rows: FeatureRows, allocation: Allocation, sums: Sums | None = None
) -> Allocation:
    """Return the allocation at least squares; its components may be changed in place.

    ``sums`` of the allocation, if there are any yet.
    """
    sums = rows.collect(allocation) if sums is None else sums
    if rows.refit(allocation.components, sums):
        return allocation
    return drop_dependent(allocation, sums)


def drop_dependent(allocation: Allocation, sums: Sums) -> Allocation:
    """Return the allocation at least squares without columns of Z that depend on others.

    The others fit the rows as well, for a smaller penalty.
    """
    kept, components = independent_least_squares(allocation.components, sums.gram, sums.correction)
    return Allocation(components, allocation.keep(kept).membership)


def run_collapsed_sweep(
    rows: FeatureRows, structure: FeatureAllocation, allocation: Allocation
) -> tuple[Allocation, Sums]:
    """Return a copy after one collapsed sweep, and its sums; IN components at least squares."""
    gram = rows.collect(allocation).gram
    swept, changed = rows.collapsed_sweep(
        allocation, gram, structure.penalty, structure.max_components
    )
    return swept, rows.collect(swept)._replace(changed=changed)


def sweep_collapsed(
    rows: FeatureRows, structure: FeatureAllocation, optimum: LocalOptimum, _: object = None
) -> Proposal | None:
    """Propose the allocation after a collapsed sweep, if that changes any row."""
    swept, sums = run_collapsed_sweep(rows, structure, optimum.allocation)
    if sums.changed == 0:
        return None
    # Components have drifted a little from least squares, in as many updates as there are rows.
    swept = refit_components(rows, swept, sums)
    before = structure.total(optimum.sums.fit, len(optimum.allocation.components))
    return Proposal(structure.total(sums.fit, len(swept.components)) - before, swept)


def perturb(
    allocation: Allocation, max_components: int, rng: RandomState, n_fixed: int = 0
) -> Allocation:
    """Return a copy with one column, or one more below the cap, of random zeros and ones.

    None of the first ``n_fixed``. Components need a refit.
    """
    components, membership = allocation
    n, k = membership.shape
    end = min(k + 1, max_components)
    if end <= n_fixed:
        return allocation.copy()
    column = rng.randint(n_fixed, end)
    if column == k:
        components = np.vstack([components, np.zeros(components.shape[1])])
        membership = np.column_stack([membership, np.zeros(n, np.uint8)])
    else:
        components, membership = allocation.copy()
    membership[:, column] = rng.randint(2, size=n)
    return Allocation(components, membership)


def canonical_membership(
    membership: NDArray[np.uint8], gram: Floats, weight: float
) -> NDArray[np.uint8] | None:
    """Return memberships (n, k) in canonical form.

    ``gram`` (k, k) = Z'WZ of full rank; ``weight`` of all rows. None where a column of ones is not
    in the span, or nothing changes.
    """
    own = np.diagonal(gram)
    coefficients = np.linalg.solve(gram, own)  # of the column of ones
    if not len(own) or weight - own @ coefficients > DEPENDENT * weight:
        return None
    base = int(np.argmax(np.where(np.abs(coefficients) > DEPENDENT, own, -1.0)))
    heavy = own > weight / 2
    heavy[base] = False
    if own[base] >= weight and not heavy.any():
        return None
    changed = membership.copy()
    changed[:, heavy] ^= 1
    changed[:, base] = 1
    return changed
