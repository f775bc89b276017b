"""Data sets for examples, tests and experiments: drawn from a seed, made by a rule, or small."""

from hardbayes.datasets.documents import make_bars, make_word_histograms
from hardbayes.datasets.graphs import load_karate_club, make_planted_partition
from hardbayes.datasets.mixed_tables import make_customers
from hardbayes.datasets.pictures import make_dice, make_tabletop
from hardbayes.datasets.points import make_blobs_apart, make_shared_gaussians, make_three_gaussians
from hardbayes.datasets.tables import (
    load_balance_scale,
    load_breast_ljubljana,
    load_car_evaluation,
    load_soybean,
    load_vehicle,
)

__all__ = [
    "load_balance_scale",
    "load_breast_ljubljana",
    "load_car_evaluation",
    "load_karate_club",
    "load_soybean",
    "load_vehicle",
    "make_bars",
    "make_blobs_apart",
    "make_customers",
    "make_dice",
    "make_planted_partition",
    "make_shared_gaussians",
    "make_tabletop",
    "make_three_gaussians",
    "make_word_histograms",
]
