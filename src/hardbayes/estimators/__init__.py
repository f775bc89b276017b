"""scikit-learn estimators: they validate, compose the parts, call the engine and store results."""

from hardbayes.estimators.bp_means import BPMeans
from hardbayes.estimators.dp_means import DPMeans
from hardbayes.estimators.gaussian_dp_means import GaussianDPMeans
from hardbayes.estimators.graph_dp_means import GraphDPMeans
from hardbayes.estimators.hdp_means import HDPMeans
from hardbayes.estimators.hdp_topics import HDPTopics
from hardbayes.estimators.k_features import KFeatures
from hardbayes.estimators.kernel_dp_means import KernelDPMeans
from hardbayes.estimators.lower_bound import objective_lower_bound
from hardbayes.estimators.numbering import by_size
from hardbayes.estimators.objectives import objective
from hardbayes.estimators.spectral_dp_means import SpectralDPMeans

__all__ = [
    "BPMeans",
    "DPMeans",
    "GaussianDPMeans",
    "GraphDPMeans",
    "HDPMeans",
    "HDPTopics",
    "KFeatures",
    "KernelDPMeans",
    "SpectralDPMeans",
    "by_size",
    "objective",
    "objective_lower_bound",
]
