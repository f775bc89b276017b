"""Solutions along falling penalties."""

from hardbayes.paths.penalty_path import PenaltyPath, penalty_path

__all__ = ["PenaltyPath", "penalty_path"]
