"""Clusters shared by groups of rows: the hard HDP of Kulis & Jordan 2012, section 4.

A local cluster is a pair of a group and a cluster that holds rows of it. So two local clusters of a
group in one cluster are one and the same, and a local cluster without rows does not exist.
"""

from dataclasses import dataclass

import numpy as np

from hardbayes.matrices import Floats
from hardbayes.structure.partition import Partition


@dataclass(frozen=True)
class GroupedPartition:
    """``sum_i w_i D(x_i, mu_z(i)) + local_penalty * pairs + sum_c [penalty + eta D(m, mu_c)]``.

    ``pairs``: how many pairs of a group and a cluster hold rows of positive weight (Kulis & Jordan
    2012, eq. 2; with a prior as partitions have it). ``partition`` is the problem of the clusters
    alone: its penalty is the global one, and local clusters are its weighted rows.
    """

    partition: Partition
    local_penalty: float

    def total_penalty(self, n_local: int, n_clusters: int) -> float:
        """Return what so many local clusters in so many clusters cost."""
        return self.local_penalty * n_local + self.partition.total_penalty(n_clusters)

    def row_openings(self, opening: Floats) -> Floats:
        """Return what rows pay to open a cluster; ``opening``: what the cluster alone costs."""
        return opening + self.local_penalty

    def union_frees(self, in_use: Floats) -> Floats:
        """Return what the union of each pair of clusters (k, k) frees in penalties.

        ``in_use`` (groups, k): one where a group uses a cluster, else zero. A group that uses both
        has one local cluster less.
        """
        both = np.einsum("gi,gj->ij", in_use, in_use, optimize=True)
        return self.partition.penalty + self.local_penalty * both
