import math
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from hardbayes.executors.exact_totals import ExactTotals, Quanta, snap_constants
from hardbayes.executors.reading import read_only
from hardbayes.kernels.partition.rows import DenseRows, SparseRows
from hardbayes.pool import Pool


def rows_of(X, sparse=False):
    if not sparse:
        return DenseRows(read_only(X), np.zeros(X.shape[1]), np.ones(1))
    X = csr_array(X)
    return SparseRows(read_only(X.data), read_only(X.indices), read_only(X.indptr), np.ones(1))


def totals_after(X, weights, moves, n_slots=3, n_threads=1, sparse=False):
    """Totals after the rows went through these labellings, one after another."""
    totals = ExactTotals(weights, Quanta(weights, len(X), np.abs(X).max(axis=0)))
    totals.clear(n_slots, X.shape[1])
    before = np.full(len(X), -1, np.int32)
    with Pool(n_threads) as pool:
        for labels in moves:
            after = np.asarray(labels, np.int32)
            totals.move(rows_of(X, sparse), before, after, len(X), pool)
            before = after
    return totals.of(np.arange(n_slots))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("most_shared", [0, 1 << 19])
@pytest.mark.parametrize("d", [3, 20, 40])
@pytest.mark.parametrize("seed", range(5))
def test_totals_depend_on_the_members_alone(dtype, d, seed, most_shared, monkeypatch):
    """Whatever way the rows came, and whether threads share them by columns or by rows."""
    monkeypatch.setattr("hardbayes.executors.exact_totals.WORTH_SHARING", 0)
    monkeypatch.setattr("hardbayes.executors.exact_totals.MOST_SHARED", most_shared)
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(500, d)) * 10.0 ** rng.uniform(-6, 6, d)).astype(dtype)
    weights = rng.uniform(0, 2, 500)
    last = rng.integers(0, 3, 500)
    detour = [rng.integers(0, 3, 500) for _ in range(7)] + [last]
    X[rng.random(X.shape) < 0.4] = 0
    direct = totals_after(X, weights, [last])
    for n_threads, sparse in product((1, 2, 16), (False, True)):
        totals = totals_after(X, weights, detour, n_threads=n_threads, sparse=sparse)
        for part, same in zip(totals, direct, strict=True):
            np.testing.assert_array_equal(part, same)


def test_totals_are_as_good_as_exact_sums():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) * [1.0, 1e-9, 1e9]
    weight, total = totals_after(X, np.ones(1), [np.zeros(2000)])
    assert weight[0] == 2000
    for j in range(3):
        assert total[0, j] == pytest.approx(math.fsum(X[:, j]), rel=1e-14)


def test_a_lone_row_comes_back_to_the_bit():
    X = np.random.default_rng(1).normal(size=(100, 5))
    labels = np.ones(100, int)
    labels[17] = 0
    _, total = totals_after(X, np.ones(1), [np.zeros(100), np.full(100, 2), labels])
    np.testing.assert_array_equal(total[0], X[17])


def test_sums_stay_within_exact_range():
    """The largest possible sum of coarse parts is still a whole number of quanta below 2^53."""
    for largest in (1.0, 0.75, 3e-7, 2.0**40):
        snap, fine_snap = snap_constants(np.array([largest]), 10**6)
        assert largest / (snap[0] / (1.5 * 2.0**52)) <= 2.0**52
        assert 10**6 * snap[0] / fine_snap[0] <= 2.0**52
