"""Choosing penalties and numbers of clusters, with what spoke for the choice.

- `partition`: clusters around centres, for every divergence;
- `gaussian`: clusters with covariances;
- `hdp`: clusters that groups of rows share;
- `gram`, `graph`: clusters by a kernel, and of graphs;
- `features`, `topics`: features that overlap, and topics of documents;
- `hull`, `choice_table`: plateaus of any path, and the table that estimators show.
"""

from hardbayes.selection.hdp.farthest_first import local_global_penalties_for
from hardbayes.selection.partition.farthest_first import penalty_for

__all__ = ["local_global_penalties_for", "penalty_for"]
