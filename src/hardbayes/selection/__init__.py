"""Choosing the penalty."""

from hardbayes.selection.farthest_first import penalty_for

__all__ = ["penalty_for"]
