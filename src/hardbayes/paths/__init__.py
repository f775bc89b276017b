"""Solutions along falling penalties."""

from hardbayes.paths.penalty_path import PenaltyPath
from hardbayes.paths.solving import WITH_PATHS, penalty_path

__all__ = ["WITH_PATHS", "PenaltyPath", "penalty_path"]
