"""Clusters and features without being told how many.

Small-variance Bayesian nonparametrics.
"""

from hardbayes._version import __version__
from hardbayes.estimators import BPMeans, DPMeans, GaussianDPMeans, KFeatures, objective
from hardbayes.paths import PenaltyPath, penalty_path
from hardbayes.persistence import load, save
from hardbayes.selection import local_global_penalties_for, penalty_for

__all__ = [
    "BPMeans",
    "DPMeans",
    "GaussianDPMeans",
    "KFeatures",
    "PenaltyPath",
    "__version__",
    "load",
    "local_global_penalties_for",
    "objective",
    "penalty_for",
    "penalty_path",
    "save",
]
