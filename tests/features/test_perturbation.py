"""Perturbations: one column drawn anew, or one more."""

import numpy as np
import pytest

from hardbayes.features.moves import perturb
from hardbayes.features.rows import Allocation


@pytest.fixture
def allocation():
    return Allocation(np.arange(6.0).reshape(2, 3), np.zeros((40, 2), np.uint8))


@pytest.mark.parametrize("seed", range(8))
def test_one_column_changes_and_the_original_does_not(allocation, seed):
    components, membership = perturb(allocation, 2, np.random.RandomState(seed))
    assert not allocation.membership.any()
    assert membership.dtype == np.uint8 and membership.shape == (40, 2)
    assert membership.any(axis=0).sum() == 1
    assert 5 < membership.sum() < 35  # by fair coins
    np.testing.assert_array_equal(components, allocation.components)


@pytest.mark.parametrize(("cap", "sizes"), [(2, {2}), (3, {2, 3})])
def test_below_the_cap_a_column_may_be_added(allocation, cap, sizes):
    streams = [np.random.RandomState(seed) for seed in range(30)]
    assert {len(perturb(allocation, cap, rng).components) for rng in streams} == sizes


def test_from_no_features_one_is_added():
    empty = Allocation(np.empty((0, 3)), np.empty((10, 0), np.uint8))
    components, membership = perturb(empty, 4, np.random.RandomState(0))
    assert components.shape == (1, 3) and membership.shape == (10, 1)
