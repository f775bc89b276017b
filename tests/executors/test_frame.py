"""Working coordinates at the edge of what float64 holds."""

import warnings

import numpy as np
import pytest

from hardbayes import BPMeans, DPMeans, penalty_for
from hardbayes.problems.frame import power_of_two_scale

TINY = 5e-324


def test_the_scale_brings_numbers_below_one_or_says_that_none_does():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for largest in (1e-300, 0.3, 1.0, 1e19, 1.7e308):
            assert 0.5 <= largest * power_of_two_scale(largest) < 1
        assert power_of_two_scale(0.0) == 1.0
        assert power_of_two_scale(TINY) == np.inf


@pytest.mark.parametrize("divergence", ["squared_euclidean", "itakura_saito", "kl", "cosine"])
@pytest.mark.parametrize("level", [1, 1000])
def test_subnormal_rows_give_one_clear_error_and_no_warning(divergence, level):
    X = TINY * level * np.array([[1, 2], [2, 1], [3, 1], [1, 3]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"Multiply X by|[Rr]escale that row"):
            DPMeans(1.0, divergence=divergence).fit(X)


def test_subnormal_rows_elsewhere():
    X = TINY * np.array([[1, 2], [2, 1], [3, 1], [1, 3]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (BPMeans(1.0).fit, lambda X: penalty_for(X, 2)):
            with pytest.raises(ValueError, match="Multiply X by"):
                call(X)
