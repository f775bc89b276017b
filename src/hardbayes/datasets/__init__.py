"""Data sets for examples, tests and experiments, drawn from a seed."""

from hardbayes.datasets.bars import make_bars
from hardbayes.datasets.graphs import load_karate_club, make_planted_partition
from hardbayes.datasets.groups import make_shared_gaussians
from hardbayes.datasets.pictures import make_dice, make_tabletop
from hardbayes.datasets.points import make_blobs_apart, make_three_gaussians
from hardbayes.datasets.words import make_word_histograms

__all__ = [
    "load_karate_club",
    "make_bars",
    "make_blobs_apart",
    "make_dice",
    "make_planted_partition",
    "make_shared_gaussians",
    "make_tabletop",
    "make_three_gaussians",
    "make_word_histograms",
]
