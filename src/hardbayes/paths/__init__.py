"""Solutions along falling penalties."""

from hardbayes.paths.penalty_path import PenaltyPath
from hardbayes.paths.solving import penalty_path

__all__ = ["PenaltyPath", "penalty_path"]
