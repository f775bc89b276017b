"""Labels, the labels that totals stand for, and bounds that hold for them."""

import numpy as np
import pytest

from hardbayes.executors.labelling import Labelling, is_same_partition
from tests.reference.dp_means import same_partition


def test_no_row_is_in_a_cluster_at_first():
    labelling = Labelling(4)
    np.testing.assert_array_equal(labelling.slots, [-1] * 4)
    assert labelling.slots.dtype == np.int32
    assert labelling.uncounted is None and labelling.bounds is None


def test_other_labels_drop_the_bounds_and_keep_what_is_counted():
    labelling = Labelling(3)
    counted, bounds = labelling.slots, object()
    first, second = np.array([0, 1, 2], np.int32), np.array([2, 1, 2], np.int32)
    labelling.bounds = bounds
    labelling.replace(first)
    assert labelling.slots is first and labelling.uncounted is counted
    assert labelling.bounds is None
    labelling.replace(second)
    assert labelling.slots is second and labelling.uncounted is counted  # still the first ones


def test_the_same_labels_drop_the_bounds_alone():
    labelling = Labelling(3)
    labelling.bounds = object()
    labelling.replace(labelling.slots)
    assert labelling.bounds is None and labelling.uncounted is None


def test_what_an_assignment_begins_with_is_a_copy_until_the_next():
    labelling = Labelling(3)
    before = labelling.begin()
    labelling.slots[:] = [4, 5, 6]
    np.testing.assert_array_equal(before, [-1, -1, -1])
    assert labelling.begin() is before  # the same memory
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
