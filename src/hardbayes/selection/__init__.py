"""Choosing the penalty."""

from hardbayes.selection.farthest_first import penalty_for
from hardbayes.selection.hdp.farthest_first import local_global_penalties_for

__all__ = ["local_global_penalties_for", "penalty_for"]
