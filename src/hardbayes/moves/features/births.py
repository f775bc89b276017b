"""New features: grown from residuals where a fit has converged, or opened at single rows.

The second is the published way (Broderick, Kulis & Jordan 2013, section 3): a row whose cost is
above the penalty opens a feature at its residual, and rows visited later in the same sweep may have
it. A row decides on old features before it sees new ones. So one parallel pass decides old features
for all rows, and each birth needs one pass more, over the rows after it.
"""

import numpy as np
from numpy.random import RandomState

from hardbayes.executors.features.protocol import Allocation, FeatureRows, NewFeature
from hardbayes.matrices import Floats
from hardbayes.moves.features.proposals import LocalOptimum, Proposal
from hardbayes.structure.feature_allocation import FeatureAllocation

# A column is dependent if no more than this share of it is outside the span of the others.
DEPENDENT = 1e-9


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
    return Proposal(change, with_feature(optimum.allocation, feature))


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
        allocation = with_feature(allocation, feature)
        costs -= np.where(feature.rows, weights * feature.gains, 0.0)
        visited = opener + 1
    return None if len(allocation.components) == n_before else allocation


def with_feature(allocation: Allocation, feature: NewFeature) -> Allocation:
    """Return the allocation with one feature more."""
    return Allocation(
        np.concatenate([allocation.components, feature.component[np.newaxis]]),
        np.concatenate([allocation.membership, feature.rows[:, np.newaxis]], axis=1),
    )
