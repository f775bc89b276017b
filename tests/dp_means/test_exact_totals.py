"""Exact totals: a function of the members alone, whatever way they came."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from hardbayes.core.arrays import Totals
from hardbayes.core.pool import Pool
from hardbayes.core.rows import kernel_rows
from hardbayes.dp_means import totals as exact_totals
from hardbayes.dp_means.totals import (
    ExactTotals,
    Rounding,
    potential,
    prior_potential,
    quantum,
    rounding_constants,
    with_remainder,
)

ALL = np.arange(3)


def rows_of(X, sparse=False):
    return kernel_rows(csr_array(X) if sparse else X, np.zeros(X.shape[1]), np.ones(1))


def empty_totals(X, weights, pool, n_slots=3, sparse=False):
    rounding = Rounding(weights, len(X), np.abs(X).max(axis=0))
    return ExactTotals(rows_of(X, sparse), X.shape, weights, rounding, pool, n_slots)


def totals_after(X, weights, moves, n_slots=3, n_threads=1, sparse=False):
    """Totals after the rows went through these labellings, one after another."""
    before = np.full(len(X), -1, np.int32)
    with Pool(n_threads) as pool:
        totals = empty_totals(X, weights, pool, n_slots, sparse)
        for labels in moves:
            after = np.asarray(labels, np.int32)
            totals.move(before, after, len(X))
            before = after
    return totals.parts


def random_rows(seed, d=5, n=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-6, 6, d)
    return X, rng.uniform(0, 2, n), rng.integers(0, 3, n).astype(np.int32)


def assert_same(found, expected):
    for part, other in zip(found[:4], expected[:4], strict=True):
        np.testing.assert_array_equal(part, other)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("most_shared", [0, 1 << 19])
@pytest.mark.parametrize("d", [3, 20, 40])
@pytest.mark.parametrize("seed", range(5))
def test_totals_depend_on_the_members_alone(dtype, d, seed, most_shared, monkeypatch):
    """Whatever way the rows came, and whether threads share them by columns or by rows."""
    monkeypatch.setattr(exact_totals, "WORTH_SHARING", 0)
    monkeypatch.setattr(exact_totals, "MAX_SHARED_SUMS", most_shared)
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(500, d)) * 10.0 ** rng.uniform(-6, 6, d)).astype(dtype)
    weights = rng.uniform(0, 2, 500)
    last = rng.integers(0, 3, 500)
    way = [rng.integers(-1, 3, 500) for _ in range(7)] + [last]
    X[rng.random(X.shape) < 0.4] = 0
    direct = totals_after(X, weights, [last])
    for n_threads, sparse in product((1, 2, 16), (False, True)):
        totals = totals_after(X, weights, way, n_threads=n_threads, sparse=sparse)
        assert_same(totals, direct)


def test_totals_are_as_good_as_exact_sums():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) * [1.0, 1e-9, 1e9]
    totals = totals_after(X, np.ones(1), [np.zeros(2000)])
    assert totals.weights(ALL)[0] == 2000
    for j in range(3):
        assert totals.sums(ALL)[0, j] == pytest.approx(math.fsum(X[:, j]), rel=1e-14)


@pytest.mark.parametrize("sparse", [False, True])
def test_totals_are_sums_of_rounded_parts(sparse):
    """The definition, in rational numbers: nothing is rounded but single rows."""
    X, weights, labels = random_rows(0)
    found = totals_after(X, weights, [labels], sparse=sparse)
    rounding = Rounding(weights, len(X), np.abs(X).max(axis=0))

    def expected(values, constants):
        (coarse, fine), sums = constants, []
        first = (values + coarse) - coarse
        second = ((values - first) + fine) - fine
        for c, part in product(range(3), (first, second)):
            members = [list(map(Fraction, row)) for row in part[labels == c]]
            sums.append([float(sum(column)) for column in zip(*members, strict=True)])
        return np.array(sums[0::2]), np.array(sums[1::2])

    parts = expected(weights[:, np.newaxis] * X, rounding.rows)
    assert_same(found[:2], parts)
    parts = expected(weights[:, np.newaxis], rounding.weights)
    np.testing.assert_array_equal(found.weight_coarse, parts[0][:, 0])
    np.testing.assert_array_equal(found.weight_fine, parts[1][:, 0])


def test_a_lone_row_comes_back_to_the_bit():
    X = np.random.default_rng(1).normal(size=(100, 5))
    labels = np.ones(100, int)
    labels[17] = 0
    totals = totals_after(X, np.ones(1), [np.zeros(100), np.full(100, 2), labels])
    np.testing.assert_array_equal(totals.sums(ALL)[0], X[17])


def test_what_is_left_of_nothing_is_nothing():
    X, weights, labels = random_rows(1)
    totals = totals_after(X, weights, [labels, np.full(len(X), 1), np.full(len(X), -1)])
    assert not any(part.any() for part in totals[:4])


def test_slots_that_rows_came_to_or_left_are_touched():
    X, weights, labels = random_rows(2)
    with Pool(1) as pool:
        totals = empty_totals(X, weights, pool, n_slots=5)
        nowhere = np.full(len(X), -1, np.int32)
        totals.move(nowhere, labels, len(X))
        np.testing.assert_array_equal(totals.parts.touched, [True, True, True, False, False])
        totals.parts.touched[:] = False
        after = labels.copy()
        after[np.flatnonzero(labels == 0)[0]] = 3
        totals.move(labels, after, 1)
    np.testing.assert_array_equal(totals.parts.touched, [True, False, False, True, False])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("worth_sharing", [0, 1 << 16])
def test_added_rows_are_as_if_moved_there(worth_sharing, sparse, monkeypatch):
    monkeypatch.setattr(exact_totals, "WORTH_SHARING", worth_sharing)
    X, weights, labels = random_rows(3, n=400)
    ids = np.random.default_rng(0).permutation(400)[:250]
    some = np.full(400, -1, np.int32)
    some[ids] = labels[ids]
    with Pool(3) as pool:
        totals = empty_totals(X, weights, pool, sparse=sparse)
        totals.add(ids[:100], labels[ids[:100]].astype(np.intp))
        totals.add(ids[100:], labels[ids[100:]].astype(np.intp))
        assert_same(totals.parts, totals_after(X, weights, [some]))


def test_united_slots():
    X, weights, labels = random_rows(4)
    with Pool(1) as pool:
        totals = empty_totals(X, weights, pool)
        totals.move(np.full(len(X), -1, np.int32), labels, len(X))
        totals.parts.touched[:] = False
        totals.unite(np.array([0, 0, 2]))
    united = np.array([0, 0, 2])[labels]
    assert_same(totals.parts, totals_after(X, weights, [united]))
    np.testing.assert_array_equal(totals.parts.touched, [True, True, False])


def test_renamed_slots_are_touched_and_others_empty():
    X, weights, labels = random_rows(5)
    names = np.array([4, -1, 1])
    with Pool(1) as pool:
        totals = empty_totals(X, weights, pool)
        totals.move(np.full(len(X), -1, np.int32), labels, len(X))
        totals.parts.touched[:] = False
        totals.rename(names, 6)
    expected = totals_after(X, weights, [names[labels]], n_slots=6)
    assert_same(totals.parts, expected)
    assert totals.parts.touched.all()


def test_more_slots_leave_the_others_as_they_were():
    X, weights, labels = random_rows(6)
    with Pool(1) as pool:
        totals = empty_totals(X, weights, pool)
        totals.move(np.full(len(X), -1, np.int32), labels, len(X))
        before = totals.parts
        totals.grow(2)
        assert totals.parts is before
        totals.grow(7)
    assert totals.parts.coarse.shape == (7, 5)
    assert_same([part[:3] for part in totals.parts], before)
    assert not any(part[3:].any() for part in totals.parts[:4])


def test_each_thread_but_the_caller_has_a_share_of_its_own():
    X, weights, _ = random_rows(7)
    with Pool(3) as pool:
        totals = empty_totals(X, weights, pool)
        assert totals.share(0) is totals.parts
        share = totals.share(2)
        assert share is totals.share(2) and share is not totals.share(1)
        share.coarse[1], share.weight_fine[1], share.touched[1] = 2.0, 0.5, True
        totals.add_shares()
        np.testing.assert_array_equal(totals.parts.coarse[:, 0], [0.0, 2.0, 0.0])
        assert totals.parts.weight_fine[1] == 0.5 and totals.parts.touched[1]
        totals.add_shares()  # what was added is not added again
        assert totals.parts.coarse[1, 0] == 2.0
        totals.grow(4)  # shares have the new size
        assert totals.share(2).coarse.shape == (4, 5)


def test_shares_are_few_where_sums_are_many(monkeypatch):
    X, weights, _ = random_rows(8)
    with Pool(3) as pool:
        totals = empty_totals(X, weights, pool, n_slots=4)
        monkeypatch.setattr(exact_totals, "MAX_SHARED_SUMS", 2 * 4 * 5)
        assert totals.can_be_shared()
        monkeypatch.setattr(exact_totals, "MAX_SHARED_SUMS", 2 * 4 * 5 - 1)
        assert not totals.can_be_shared()


def test_sums_stay_within_exact_range():
    """The largest possible sum of coarse parts is still a whole number of quanta below 2^53."""
    for largest in (1.0, 0.75, 3e-7, 2.0**40):
        coarse, fine = rounding_constants(np.array([largest]), 10**6)
        assert largest / (coarse[0] / (1.5 * 2.0**52)) <= 2.0**52
        assert 10**6 * coarse[0] / fine[0] <= 2.0**52


@pytest.mark.parametrize("largest", [1.0, 0.75, 3e-7, 2.0**40, 1.0 - 2.0**-53])
def test_a_quantum_is_the_finest_power_of_two_that_sums_may_have(largest):
    found = quantum(np.array([largest]))[0]
    assert math.frexp(found)[0] == 0.5
    assert 2.0**50 <= largest / found <= 2.0**51


def test_one_weight_for_all_rounds_as_many_do():
    largest = np.array([3.0, 0.0, 1e-7])
    one, many = Rounding(np.array([0.75]), 9, largest), Rounding(np.full(9, 0.75), 9, largest)
    np.testing.assert_array_equal(one.rows, many.rows)
    np.testing.assert_array_equal(one.weights, many.weights)
    assert np.isfinite(one.rows).all()  # also of a column of zeros
    np.testing.assert_array_equal(
        one.rows, rounding_constants(6.75 * np.maximum(largest, 1e-200), 9)
    )
    np.testing.assert_array_equal(one.weights, rounding_constants(np.array([6.75]), 9))


def test_a_sum_with_what_float64_drops_of_it():
    numbers = [1e16, 1.0, -1e16, 2.0**-60]
    value, rest = with_remainder(numbers)
    assert value == 1.0 and rest == 2.0**-60
    assert with_remainder([]) == (0.0, 0.0)


@pytest.mark.parametrize("prior_weight", [0.0, 0.75])
def test_the_potential_of_clusters_with_a_prior(prior_weight):
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(4, 3)), 2.0**-55 * rng.normal(size=(4, 3)), rng.uniform(1, 2, 4)
    totals = Totals(*parts, np.zeros(4), np.zeros(4, bool))
    mean, slots = rng.normal(size=3), np.array([3, 1])
    value, rest = potential(totals, slots, prior_weight, mean)
    prior = [Fraction(prior_weight * m) for m in mean]
    exact = Fraction(0)
    for k in slots:
        sums = [
            Fraction(a) + Fraction(b) + c
            for a, b, c in zip(*(p[k] for p in parts[:2]), prior, strict=True)
        ]
        exact += sum(s * s for s in sums) / Fraction(parts[2][k] + prior_weight)
        if prior_weight:
            exact -= sum(p * p for p in prior) / Fraction(prior_weight)
    assert abs(Fraction(value) + Fraction(rest) - exact) < 1e-29
    alone = prior_potential(prior_weight, prior_weight * mean)
    assert math.fsum(alone) == pytest.approx(-prior_weight * (mean**2).sum())
    assert len(alone) == (2 if prior_weight else 0)
