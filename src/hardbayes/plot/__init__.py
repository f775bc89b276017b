"""Plots of fitted models, in the style of scikit-learn's Display objects.

Importing this package does not import matplotlib; drawing does. Install it with
``pip install "hardbayes[plot]"``.
"""

from hardbayes.plot.clusters import ClustersDisplay
from hardbayes.plot.components import ComponentsDisplay
from hardbayes.plot.graph import GraphDisplay
from hardbayes.plot.groups import GroupsDisplay
from hardbayes.plot.layers import LayersDisplay
from hardbayes.plot.objective import ObjectiveDisplay, fit_figure
from hardbayes.plot.penalty_path import PenaltyPathDisplay
from hardbayes.plot.topics import TopicsDisplay

__all__ = [
    "ClustersDisplay",
    "ComponentsDisplay",
    "GraphDisplay",
    "GroupsDisplay",
    "LayersDisplay",
    "ObjectiveDisplay",
    "PenaltyPathDisplay",
    "TopicsDisplay",
    "fit_figure",
]
