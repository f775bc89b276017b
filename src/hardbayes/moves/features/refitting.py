"""Least squares for a given membership; columns of Z that depend on others are dropped."""

from hardbayes.executors.features.protocol import Allocation, FeatureRows, Sums
from hardbayes.structure.feature_allocation import independent_least_squares


def refitted(rows: FeatureRows, allocation: Allocation, sums: Sums | None = None) -> Allocation:
    """Return the allocation at least squares; its components may be changed in place.

    ``sums`` of the allocation, if there are any yet.
    """
    sums = rows.collect(allocation) if sums is None else sums
    if rows.refit(allocation.components, sums):
        return allocation
    return without_dependent(allocation, sums)


def without_dependent(allocation: Allocation, sums: Sums) -> Allocation:
    """Return the allocation at least squares without columns of Z that depend on others.

    The others fit the rows as well, for a smaller penalty.
    """
    kept, components = independent_least_squares(allocation.components, sums.gram, sums.correction)
    return Allocation(components, allocation.keep(kept).membership)
