"""Moves on columns of Z: drop one, or replace one or two by a combination of two."""

import numpy as np

from hardbayes.executors.features.protocol import Allocation, Combination, FeatureRows
from hardbayes.matrices import Floats
from hardbayes.moves.features.proposals import LocalOptimum, Proposal
from hardbayes.structure.feature_allocation import FeatureAllocation


def drop_feature(
    rows: FeatureRows, structure: FeatureAllocation, optimum: LocalOptimum, _: object = None
) -> Proposal | None:
    """Propose to drop the feature that is worth least, if that is less than the penalty."""
    allocation = optimum.allocation
    if not len(allocation.components):
        return None
    changes = drop_costs(optimum.inverse, allocation.components) - structure.penalty
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
    return Proposal(found.change, combined(optimum.allocation, found))


def combined(allocation: Allocation, combination: Combination) -> Allocation:
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
