"""Named tuples of arrays that passes take and return."""

import numpy as np
import pytest

from hardbayes.core.arrays import DirectForm, Totals, centres_without_scores, no_totals

TOTALS = Totals(
    np.arange(12.0).reshape(4, 3), np.full((4, 3), 0.25), np.arange(4.0), np.full(4, 0.5),
    np.zeros(4, bool),
)  # fmt: skip


@pytest.mark.parametrize("slots", [[0, 1, 2, 3], [1, 2], [2], [3, 1], [0, 2, 3], [1, 1], []])
def test_weights_and_sums_of_some_slots(slots):
    slots = np.array(slots, np.intp)
    np.testing.assert_array_equal(TOTALS.weights(slots), slots + 0.5)
    np.testing.assert_array_equal(TOTALS.sums(slots), np.arange(12.0).reshape(4, 3)[slots] + 0.25)


def test_weights_and_sums_may_be_written_into():
    slots = np.arange(4)
    TOTALS.weights(slots)[:] = 9.0
    TOTALS.sums(slots)[:] = 9.0
    np.testing.assert_array_equal(TOTALS.coarse[0], [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(TOTALS.weight_coarse, np.arange(4.0))


def test_totals_of_empty_slots():
    totals = no_totals(3, 2)
    assert [part.shape for part in totals] == [(3, 2), (3, 2), (3,), (3,), (3,)]
    assert not any(part.any() for part in totals) and totals.touched.dtype == bool


def test_centres_for_the_direct_formula_only():
    form = DirectForm(np.ones((5, 2)), np.arange(5.0), False)
    centres = centres_without_scores(form, np.dtype(np.float32))
    assert centres.exact is form.exact and centres.exact_offset is form.offset
    assert not centres.squared and centres.theta.dtype == centres.offset.dtype == np.float32
    np.testing.assert_array_equal(centres.rank, np.arange(5))
    assert (centres.used, centres.room, centres.block, centres.n_blocks) == (5, 5, 1, 5)
