"""How far out the rows of a cluster lie, and what is an outlier at a share."""

import numpy as np
import pytest

from hardbayes.core import schema
from hardbayes.core.fitted import (
    QUANTILES,
    SHARES,
    costs_at_share,
    measure_cost_quantiles,
    rank_within,
)

ONE = np.ones(1)


def chi_square(rng, sizes, scales, d=4):
    labels = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
    costs = rng.chisquare(d, len(labels)) * np.repeat(scales, sizes)
    order = rng.permutation(len(labels))
    return costs[order], labels[order]


def called(quantiles, costs, labels, share):
    return costs > costs_at_share(quantiles, share)[labels]


@pytest.mark.parametrize("share", [0.3, 0.1, 0.03, 0.01])
def test_of_large_clusters_each_calls_its_own_share(share):
    costs, labels = chi_square(np.random.default_rng(0), [4000, 3000, 2000], [1.0, 50.0, 0.01])
    quantiles = measure_cost_quantiles(costs, labels, 3, ONE)
    for c in range(3):
        mine = labels == c
        found = called(quantiles, costs, labels, share)[mine].mean()
        assert found == pytest.approx(share, rel=0.2)


def test_shares_of_the_grid_are_exact_where_enough_rows_lie_beyond():
    costs, labels = chi_square(np.random.default_rng(1), [2000], [1.0])
    quantiles = measure_cost_quantiles(costs, labels, 1, ONE)
    ranked, last = np.sort(costs), (2000 * (1 - SHARES[1:8])).round().astype(int) - 1
    np.testing.assert_array_equal(quantiles[0, 1:8], (ranked[last] + ranked[last + 1]) / 2)


@pytest.mark.parametrize("size", [3, 8, 25, 60])
def test_small_clusters_borrow_the_shape_of_the_tail(size):
    """Of new rows about a share is called, although no cluster has a hundred."""
    rng = np.random.default_rng(2)
    sizes = [size] * (3000 // size)
    costs, labels = chi_square(rng, sizes, np.ones(len(sizes)))
    quantiles = measure_cost_quantiles(costs, labels, len(sizes), ONE)
    fresh, at = chi_square(rng, [500] * len(sizes), np.ones(len(sizes)))
    assert 0.005 < called(quantiles, fresh, at, 0.01).mean() < 0.04


def test_the_scale_is_the_clusters_own():
    costs, labels = chi_square(np.random.default_rng(3), [12, 5000], [100.0, 1.0])
    quantiles = measure_cost_quantiles(costs, labels, 2, ONE)
    ratio = quantiles[0, 6] / quantiles[1, 6]
    assert 30 < ratio < 300


def test_beyond_the_grid_the_tail_goes_on():
    costs, labels = chi_square(np.random.default_rng(4), [3000, 40], [1.0, 2.0])
    quantiles = measure_cost_quantiles(costs, labels, 2, ONE)
    limits = [costs_at_share(quantiles, share) for share in (0.9, 0.5, 0.07, 1e-3, 1e-5, 1e-9)]
    assert (np.diff(limits, axis=0) > 0).all() and np.isfinite(limits).all()
    np.testing.assert_array_equal(costs_at_share(quantiles, 0.02), quantiles[:, 5])


def test_weights_count_as_repetitions():
    rng = np.random.default_rng(5)
    costs, labels = chi_square(rng, [900, 700], [1.0, 3.0])
    weights = rng.integers(0, 4, len(costs))
    repeated = np.repeat(np.arange(len(costs)), weights)
    weighted = measure_cost_quantiles(costs, labels, 2, weights.astype(float))
    plain = measure_cost_quantiles(costs[repeated], labels[repeated], 2, ONE)
    # But for a step from one row to the next: repeated rows have themselves as neighbours.
    np.testing.assert_allclose(weighted[:, 1:6], plain[:, 1:6], rtol=0.01)


def test_rows_without_weight_say_nothing():
    costs, labels = chi_square(np.random.default_rng(6), [300, 300], [1.0, 1.0])
    weights = np.ones(600)
    weights[:50] = 0.0
    changed = costs.copy()
    changed[:50] = 1e9
    np.testing.assert_array_equal(
        measure_cost_quantiles(costs, labels, 2, weights),
        measure_cost_quantiles(changed, labels, 2, weights),
    )


@pytest.mark.parametrize("n", [1, 2, 5])
def test_single_rows_and_equal_rows(n):
    """Where rows do not differ, nothing is known of how they might: any other is an outlier."""
    alone = measure_cost_quantiles(np.zeros(n), np.arange(n, dtype=np.int32), n, ONE)
    np.testing.assert_array_equal(alone, 0.0)
    equal = measure_cost_quantiles(np.zeros(n), np.zeros(n, np.int32), 1, ONE)
    np.testing.assert_array_equal(equal, 0.0)


def test_a_single_row_beside_wide_clusters_is_as_wide_as_they_are():
    costs, labels = chi_square(np.random.default_rng(7), [500, 1], [1.0, 0.0])
    quantiles = measure_cost_quantiles(costs, labels, 2, ONE)
    assert quantiles[1, 6] == pytest.approx(quantiles[0, 6], rel=0.3)


def test_many_rows_are_thinned(monkeypatch):
    costs, labels = chi_square(np.random.default_rng(8), [9000, 6000], [1.0, 9.0])
    whole = measure_cost_quantiles(costs, labels, 2, ONE)
    monkeypatch.setattr("hardbayes.core.fitted.MAX_ROWS", 4000)
    np.testing.assert_allclose(
        measure_cost_quantiles(costs, labels, 2, ONE)[:, 1:7], whole[:, 1:7], rtol=0.15
    )


def test_what_a_file_may_hold():
    quantiles, expected = (
        np.ones((3, len(SHARES))),
        {"k": schema.length("k"), "spread": QUANTILES},
    )
    schema.check({"k": 3, "spread": quantiles}, expected)
    for k, wrong in (
        (2, quantiles),
        (3, quantiles.astype(np.float32)),
        (3, -quantiles),
        (3, np.nan * quantiles),
    ):
        with pytest.raises(ValueError, match="contradicts itself"):
            schema.check({"k": k, "spread": wrong}, expected)


def test_a_file_without_the_numbers_says_so():
    with pytest.raises(ValueError, match=r"file of hardbayes 0\.1\.0.*Fit it again"):
        costs_at_share(None, 0.01)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_a_cluster_are_ranked_as_by_a_sort_of_all(weighted):
    rng = np.random.default_rng(7)
    costs = np.round(rng.exponential(size=300), 1)  # with ties
    weights = rng.choice([0.5, 1.0, 2.0], 300) if weighted else np.ones(300)
    labels = rng.integers(0, 9, 300)
    labels[labels == 4] = 5  # one without rows
    order = np.lexsort((costs, labels))
    apart = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=9))
    ranked, counted = costs[apart], weights[apart]
    rank_within(ranked, counted, np.append(0, ends[:-1]), ends)
    np.testing.assert_array_equal(ranked, costs[order])
    np.testing.assert_array_equal(counted, weights[order])
