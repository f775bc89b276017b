"""Clusters, topics and features without being told how many.

Small-variance Bayesian nonparametrics.
"""

from hardbayes._version import __version__
from hardbayes.estimators import BPMeans, DPMeans, KFeatures, objective
from hardbayes.persistence import load, save
from hardbayes.selection import penalty_for

__all__ = [
    "BPMeans",
    "DPMeans",
    "KFeatures",
    "__version__",
    "load",
    "objective",
    "penalty_for",
    "save",
]
