"""Counts of words: the domain of topics."""

from hardbayes.geometry.poisson import Poisson


class WordCounts(Poisson):
    """Counts, zeros included; fractions are weights."""

    domain = "counts >= 0"
