"""Which of several centres wins: against NumPy."""

import numpy as np

from hardbayes.dp_means.compiled.assign import beats
from tests.core.alone import alone


def test_which_of_two_centres_wins():
    rank = np.array([5, 2, 9])
    assert alone(beats)(1.0, 0, 2.0, 1, rank) and not alone(beats)(3.0, 0, 2.0, 1, rank)
    assert alone(beats)(2.0, 1, 2.0, 0, rank) and not alone(beats)(2.0, 2, 2.0, 0, rank)
    assert alone(beats)(9.0, 2, np.inf, -1, rank)
