"""Labels, the labels that totals stand for, and bounds that hold for them."""

import numpy as np
import pytest

from hardbayes.dp_means.bounds import Labelling, is_same_partition
from tests.reference.dp_means import same_partition


def test_no_row_is_in_a_cluster_at_first():
    labelling = Labelling(4)
    np.testing.assert_array_equal(labelling.slots, [-1] * 4)
    assert labelling.slots.dtype == np.int32
    assert labelling.counted is None and labelling.bounds is None


def test_it_may_begin_with_labels():
    labels = np.array([1, 0], np.int32)
    assert Labelling(2, labels).slots is labels


def test_rows_that_are_given_to_slots_drop_the_bounds_and_keep_what_is_counted():
    labelling = Labelling(3)
    labelling.bounds = object()
    labelling.set(np.array([2, 0]), np.array([5, 7]))
    np.testing.assert_array_equal(labelling.slots, [7, -1, 5])
    np.testing.assert_array_equal(labelling.counted, [-1, -1, -1])
    assert labelling.bounds is None
    labelling.bounds = object()
    labelling.set(np.array([1]), np.array([4]))
    np.testing.assert_array_equal(labelling.slots, [7, 4, 5])
    np.testing.assert_array_equal(labelling.counted, [-1, -1, -1])  # still the first ones
    assert labelling.bounds is None


def test_slots_with_other_names_drop_the_bounds(monkeypatch):
    monkeypatch.setattr("hardbayes.core.arrays.CHUNK_BYTES", 16)  # two rows at a time
    labelling = Labelling(5, np.array([2, 0, -1, 1, 2], np.int32))
    labelling.bounds = object()
    labelling.rename(np.array([3, 0, 9, -1], np.int32))
    np.testing.assert_array_equal(labelling.slots, [9, 3, -1, 0, 9])
    assert labelling.bounds is None and labelling.counted is None


def test_bounds_alone_are_dropped():
    labelling = Labelling(3)
    labelling.bounds = object()
    labelling.drop_bounds()
    assert labelling.bounds is None and labelling.counted is None
    np.testing.assert_array_equal(labelling.slots, [-1] * 3)


def test_a_copy_is_valid_until_the_next():
    labelling = Labelling(3)
    before = labelling.copy()
    labelling.slots[:] = [4, 5, 6]
    np.testing.assert_array_equal(before, [-1, -1, -1])
    assert labelling.copy() is before  # the same memory
    np.testing.assert_array_equal(before, [4, 5, 6])


@pytest.mark.parametrize("seed", range(60))
def test_rows_are_together_as_they_were(seed):
    """For rows of positive weight, whatever the names of the clusters."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    before = rng.integers(-1, 4, n).astype(np.int32)
    after = np.array([7, 3, 0, 1, 2], np.int32)[before] if seed % 2 else before.copy()
    for i in rng.integers(0, n, rng.integers(0, 3)):
        after[i] = rng.integers(-1, 8)
    weights = rng.integers(0, 2, n).astype(float) if seed % 3 else np.ones(1)
    weighted = np.broadcast_to(weights, n) > 0
    expected = same_partition(before[weighted], after[weighted])
    assert is_same_partition(before, after, weights) == expected


def test_one_cluster_that_became_two_or_two_that_became_one():
    one, two = np.zeros(3, np.int32), np.array([0, 1, 1], np.int32)
    for before, after in ((one, two), (two, one)):
        assert not is_same_partition(before, after, np.ones(1))
    assert is_same_partition(one, two, np.array([0.0, 1.0, 1.0]))
    nowhere = np.full(3, -1, np.int32)
    assert is_same_partition(nowhere, one, np.ones(1))
    assert not is_same_partition(nowhere, two, np.ones(1))
