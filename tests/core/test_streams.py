"""Seeded streams are NumPy's own."""

import numpy as np
import pytest

from hardbayes.core.estimator import seeded_stream


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**32 - 1])
def test_the_stream_is_that_of_the_seed(seed):
    ours, theirs = seeded_stream(seed), np.random.RandomState(seed)
    np.testing.assert_array_equal(ours.permutation(50), theirs.permutation(50))
    np.testing.assert_array_equal(ours.normal(size=7), theirs.normal(size=7))
