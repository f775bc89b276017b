"""The canonical form of memberships: the same span, with a base and light features."""

import numpy as np
import pytest

from hardbayes.features.moves import canonical_membership


def canonical(Z, weights=None):
    Z = np.array(Z, np.uint8)
    weights = np.ones(len(Z)) if weights is None else weights
    return canonical_membership(Z, (Z.T * weights) @ Z.astype(float), float(weights.sum()))


def test_complementary_features_become_a_base_and_one_of_them():
    found = canonical([[1, 0], [1, 0], [0, 1], [1, 0], [1, 0]])
    np.testing.assert_array_equal(found, [[1, 0], [1, 0], [1, 1], [1, 0], [1, 0]])


def test_heavy_features_are_exchanged_for_their_complement():
    Z = np.array([[1, 1], [1, 1], [1, 1], [1, 0]])
    np.testing.assert_array_equal(canonical(Z), np.column_stack([Z[:, 0], 1 - Z[:, 1]]))
    weights = np.array([1.0, 1.0, 1.0, 5.0])
    assert canonical(Z, weights) is None  # the second feature has less than half of the weight


@pytest.mark.parametrize("Z", [[[1, 0], [0, 1], [0, 0]], np.empty((4, 0)), [[1], [1]]])
def test_none_without_a_base_or_a_change(Z):
    assert canonical(Z) is None


@pytest.mark.parametrize("seed", range(10))
def test_the_span_stays_the_same(seed):
    rng = np.random.default_rng(seed)
    Z = (rng.random((20, 4)) < 0.6).astype(np.uint8)
    Z[:, 1] = 1 - Z[:, 0]
    found = canonical(Z)
    assert np.linalg.matrix_rank(np.hstack([Z, found])) == np.linalg.matrix_rank(found) == 4
    assert found.all(axis=0).sum() == 1
    assert np.sort(found.sum(axis=0))[-2] <= 10
