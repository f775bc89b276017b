"""Features opened at the residuals of single rows, as a row-by-row loop would open them.

Broderick, Kulis & Jordan 2013, section 3: a row whose squared residual is above the penalty opens a
feature there, and rows visited later in the same sweep may take it. A row decides on old features
before it sees new ones, so one parallel pass decides those for all rows, and each birth needs one
more, over the rows after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.moves.features.new_features import with_feature

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.features.memory import Allocator
    from hardbayes.matrices import Floats
    from hardbayes.structure.feature_allocation import FeatureAllocation


def open_features(
    rows: Allocator,
    structure: FeatureAllocation,
    components: Floats,
    membership: NDArray[np.uint8],
    costs: Floats,
) -> tuple[Floats, NDArray[np.uint8]] | None:
    """Return components and membership with the features opened in this sweep, or None.

    ``costs`` (n,): squared residuals once old features are decided.
    """
    n_before = len(components)
    costs = rows.weights * costs
    price = max(structure.penalty, rows.nothing)
    visited = 0
    while len(components) < structure.max_components:
        dear = np.flatnonzero(costs[visited:] > price)
        if not len(dear):
            break
        opener = visited + int(dear[0])
        component = rows.residual(components, membership, opener)
        joined = rows.join(components, membership, component)
        joined.rows[:opener] = 0
        components, membership = with_feature(components, membership, component, joined.rows)
        costs -= np.where(joined.rows, rows.weights * joined.gains, 0.0)
        visited = opener + 1
    return None if len(components) == n_before else (components, membership)
