"""The one definition of the objective of the hard HDP."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.engine.partition.objective import measure_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.engine.partition.objective import Terms
    from hardbayes.moves.hdp.state import GroupedState
    from hardbayes.structure.hdp import GroupedPartition


class GroupedTerms(NamedTuple):
    """The parts of the objective, in working units."""

    terms: Terms  # of the partition
    n_local: int

    @property
    def cost(self) -> float:
        """The objective without penalties."""
        return self.terms.fit + self.terms.prior

    def total(self, grouped: GroupedPartition) -> float:
        """Return the objective."""
        return self.cost + grouped.total_penalty(self.n_local, self.terms.n_clusters)


def measure_grouped(state: GroupedState, labels: NDArray[np.int32]) -> GroupedTerms:
    """Return the terms of any labels (n,), from 0 on, at minimising centres."""
    n_local = np.count_nonzero(state.pairs(labels, int(labels.max()) + 1))
    return GroupedTerms(measure_labels(state.base, labels), int(n_local))
