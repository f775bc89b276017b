"""Samplers of the posteriors whose limits the other models are: how sure a clustering is."""

from hardbayes.samplers.features import IBPGibbs
from hardbayes.samplers.how_sure import Certainty, certainty
from hardbayes.samplers.mixture import DPGaussianGibbs, DPMixtureGibbs

__all__ = ["Certainty", "DPGaussianGibbs", "DPMixtureGibbs", "IBPGibbs", "certainty"]
