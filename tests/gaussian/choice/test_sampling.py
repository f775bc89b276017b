"""The rows among which clusters are found."""

import numpy as np
import pytest

from hardbayes.gaussian.choice import sample as sampling
from hardbayes.gaussian.choice.sample import distinct_rows, moments, resolution
from tests.gaussian.choice.samples import sampled


def test_equal_rows_are_one_and_order_does_not_matter():
    rng = np.random.default_rng(0)
    rows, counts = rng.normal(size=(50, 3)), rng.integers(1, 4, 50)
    repeated = rng.permutation(np.repeat(rows, counts, axis=0))
    weighted = distinct_rows(rows, counts.astype(float))
    copied = distinct_rows(repeated, np.ones(len(repeated)))
    for mine, theirs in zip(weighted[:2], copied[:2], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(rows[weighted.ids], weighted.rows)
    np.testing.assert_array_equal(repeated[copied.ids], copied.rows)


def test_rows_that_differ_beyond_the_first_columns_are_told_apart():
    rows = np.zeros((40, 12))
    rows[:, -1] = np.arange(40) // 2
    found = distinct_rows(rows + np.linspace(0, 1, 12), np.ones(40))
    np.testing.assert_array_equal(found.rows[:, -1], np.repeat(np.arange(20), 2) + 1.0)
    np.testing.assert_array_equal(found.weights, 1.0)  # on a grid: copies stay apart


def test_weights_count_for_one_at_least():
    rows = np.random.default_rng(1).normal(size=(10, 2))
    for weight, mean in ((1e-200, 1.0), (0.5, 1.0), (7.0, 7.0), (1e9, 1e6)):
        np.testing.assert_allclose(distinct_rows(rows, np.full(10, weight)).weights, mean)
    weights = np.r_[np.zeros(4), np.ones(6)]
    assert set(distinct_rows(rows, weights).ids) == set(range(4, 10))


def test_moments():
    rng = np.random.default_rng(2)
    rows, weights = rng.normal(size=(30, 2)) * [1.0, 50.0] + 7.0, rng.uniform(1, 2, 30)
    rows = np.column_stack([rows, np.full(30, 0.1)])
    middle, spread = moments(rows, weights)
    share = weights / weights.sum()
    np.testing.assert_allclose(middle, share @ rows)
    np.testing.assert_allclose(spread[:2], np.sqrt(share @ (rows - middle) ** 2)[:2])
    assert spread[2] == 1.0  # a constant column


@pytest.mark.parametrize("factor", [1e160, 1e-200])
def test_variances_beyond_float64_are_refused(factor):
    rows = factor * np.random.default_rng(3).normal(size=(10, 2))
    with pytest.raises(ValueError, match="do not fit float64"):
        moments(rows, np.ones(10))


def test_resolution():
    assert resolution(np.array([3.0, 1.0, 1.0, 2.0, 9.0])) == 1.0
    assert resolution(np.ones(4)) == 0.0


@pytest.mark.parametrize("diagonal", [False, True])
def test_a_sample_is_standardised_and_part_of_a_larger_one(diagonal, monkeypatch):
    monkeypatch.setattr(sampling, "MAX_ROWS", 100)
    monkeypatch.setattr(sampling, "MAX_DIP_ROWS", 150)
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(400, 2)) * [3.0, 0.1] + 1e3
    with sampled(matrix, diagonal=diagonal) as sample:
        rows, larger = sample.rows, sample.dip_rows
        assert (rows.n, larger.n, len(sample.unseen)) == (100, 150, 50)
        np.testing.assert_allclose(rows.rows, (matrix[sample.ids] - sample.middle) / sample.spread)
        seen = np.setdiff1d(np.arange(150), sample.unseen)
        np.testing.assert_array_equal(larger.rows[seen], rows.rows)
        np.testing.assert_array_equal(larger.jittered[seen], rows.jittered)
        np.testing.assert_allclose(sample.unit, 4.0)
        # What is added to a column is at most as wide as the gaps between its values.
        widths = np.sqrt(12.0 * rows.floor)
        assert (np.abs(rows.jittered - rows.rows) <= widths / 2).all()
        prior = np.array([2.0, 5.0]) if diagonal else np.array([[2.0, 0.3], [0.3, 5.0]])
        np.testing.assert_allclose(sample.from_sample(sample.to_sample(prior)), prior)


def test_all_rows_are_taken_where_they_are_few():
    with sampled(np.random.default_rng(5).normal(size=(40, 2))) as sample:
        assert sample.dip_rows is sample.rows and len(sample.unseen) == 0
