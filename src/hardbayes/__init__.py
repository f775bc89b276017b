"""Clusters and features without being told how many.

Small-variance Bayesian nonparametrics.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hardbayes._version import __version__

__all__ = [
    "BPMeans",
    "DPMeans",
    "GaussianDPMeans",
    "GraphDPMeans",
    "HDPMeans",
    "HDPTopics",
    "KFeatures",
    "KernelDPMeans",
    "KernelHDPMeans",
    "MiniBatchDPMeans",
    "Mixed",
    "MixedDPMeans",
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
    "row_blocks",
    "save",
]

if TYPE_CHECKING:
    from hardbayes import datasets as datasets
    from hardbayes import plot as plot
    from hardbayes import samplers as samplers
    from hardbayes.core.penalty_path import PenaltyPath
    from hardbayes.core.row_blocks import row_blocks
    from hardbayes.dp_means.choice.farthest_first import penalty_for
    from hardbayes.dp_means.estimator import DPMeans
    from hardbayes.features.estimator import BPMeans, KFeatures
    from hardbayes.gaussian.estimator import GaussianDPMeans
    from hardbayes.graph.estimator import GraphDPMeans
    from hardbayes.groups.estimator import HDPMeans
    from hardbayes.groups.farthest_first import local_global_penalties_for
    from hardbayes.kernel.estimator import KernelDPMeans
    from hardbayes.kernel.grouped import KernelHDPMeans
    from hardbayes.kernel.lower_bound import objective_lower_bound
    from hardbayes.kernel.spectral import SpectralDPMeans
    from hardbayes.mini_batch.estimator import MiniBatchDPMeans
    from hardbayes.mixed.divergence import Mixed
    from hardbayes.mixed.estimator import MixedDPMeans
    from hardbayes.objectives import by_size, objective
    from hardbayes.paths import penalty_path
    from hardbayes.persistence.model import load, save
    from hardbayes.reports import report
    from hardbayes.samplers import certainty
    from hardbayes.topics.estimator import HDPTopics
else:
    # Each name is imported when it is first used: `hardbayes --help` and error messages of the
    # command then need not wait for scikit-learn.
    _MODULES = {
        "core.penalty_path": ["PenaltyPath"],
        "core.row_blocks": ["row_blocks"],
        "datasets": [],
        "dp_means.choice.farthest_first": ["penalty_for"],
        "dp_means.estimator": ["DPMeans"],
        "features.estimator": ["BPMeans", "KFeatures"],
        "gaussian.estimator": ["GaussianDPMeans"],
        "graph.estimator": ["GraphDPMeans"],
        "groups.estimator": ["HDPMeans"],
        "groups.farthest_first": ["local_global_penalties_for"],
        "kernel.estimator": ["KernelDPMeans"],
        "kernel.grouped": ["KernelHDPMeans"],
        "kernel.lower_bound": ["objective_lower_bound"],
        "kernel.spectral": ["SpectralDPMeans"],
        "mini_batch.estimator": ["MiniBatchDPMeans"],
        "mixed.divergence": ["Mixed"],
        "mixed.estimator": ["MixedDPMeans"],
        "objectives": ["by_size", "objective"],
        "paths": ["penalty_path"],
        "persistence.model": ["load", "save"],
        "plot": [],
        "reports": ["report"],
        "samplers": ["certainty"],
        "topics.estimator": ["HDPTopics"],
    }
    _HOMES = {name: module for module, names in _MODULES.items() for name in names}

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        elif name in _MODULES:
            value = import_module(f"{__name__}.{name}")
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_HOMES, "datasets", "plot", "samplers"})
