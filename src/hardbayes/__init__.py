"""Clusters and features without being told how many.

Small-variance Bayesian nonparametrics.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hardbayes._version import __version__
from hardbayes.core.penalty_path import PenaltyPath
from hardbayes.dp_means.choice.farthest_first import penalty_for
from hardbayes.dp_means.estimator import DPMeans
from hardbayes.features.estimator import BPMeans, KFeatures
from hardbayes.gaussian.estimator import GaussianDPMeans
from hardbayes.graph.estimator import GraphDPMeans
from hardbayes.groups.estimator import HDPMeans
from hardbayes.groups.farthest_first import local_global_penalties_for
from hardbayes.kernel.estimator import KernelDPMeans
from hardbayes.kernel.lower_bound import objective_lower_bound
from hardbayes.kernel.spectral import SpectralDPMeans
from hardbayes.objectives import by_size, objective
from hardbayes.paths import penalty_path
from hardbayes.persistence import load, save
from hardbayes.topics.estimator import HDPTopics

__all__ = [
    "BPMeans",
    "DPMeans",
    "GaussianDPMeans",
    "GraphDPMeans",
    "HDPMeans",
    "HDPTopics",
    "KFeatures",
    "KernelDPMeans",
    "PenaltyPath",
    "SpectralDPMeans",
    "__version__",
    "by_size",
    "certainty",
    "load",
    "local_global_penalties_for",
    "objective",
    "objective_lower_bound",
    "penalty_for",
    "penalty_path",
    "report",
    "save",
]

# What few programs need: imported at the first look at it.
_LAZY = ("certainty", "datasets", "plot", "report", "samplers")

if TYPE_CHECKING:
    from hardbayes import datasets as datasets
    from hardbayes import plot as plot
    from hardbayes import samplers as samplers
    from hardbayes.reports import report as report
    from hardbayes.samplers import certainty as certainty
else:  # a type checker would take a module that has it to have every name

    def __getattr__(name: str) -> Any:
        if name == "report":
            return import_module(f"{__name__}.reports").report
        if name == "certainty":
            return import_module(f"{__name__}.samplers").certainty
        if name in _LAZY:
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
