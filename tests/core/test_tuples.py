"""Named tuples of arrays that passes take and return."""

from collections import Counter

import numpy as np
import pytest

from hardbayes.core.arrays import DirectForm, Totals, VisitOrder, centres_without_scores, no_totals

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


def test_rows_are_visited_as_given_or_by_a_bijection():
    ids = np.arange(100_000)
    given = VisitOrder.draw("given", np.random.RandomState(0))
    np.testing.assert_array_equal(given.rows(5), np.arange(5))
    order = VisitOrder.draw("random", np.random.RandomState(0))
    assert len(np.unique(order.ranks(ids))) == len(ids)
    np.testing.assert_array_equal(order.ranks(ids[7:9]), order.ranks(ids)[7:9])
    rows = order.rows(50)
    np.testing.assert_array_equal(np.sort(rows), ids[:50])
    np.testing.assert_array_equal(order.first(ids[:50], 50), rows)
    np.testing.assert_array_equal(order.first(ids[:50], 7), rows[:7])
    assert order != VisitOrder.draw("random", np.random.RandomState(1))


def test_all_orders_of_few_rows_are_about_as_frequent():
    rng = np.random.RandomState(0)
    orders = [tuple(VisitOrder.draw("random", rng).rows(4)) for _ in range(4800)]
    counts = Counter(orders).values()
    assert len(counts) == 24
    assert sum((count - 200) ** 2 / 200 for count in counts) < 49.7  # 23 degrees of freedom, .001
