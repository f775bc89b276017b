"""The one definition of the objective of the hard HDP."""

from typing import NamedTuple

from hardbayes.engine.partition.objective import Terms
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
