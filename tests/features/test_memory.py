"""Passes over rows in memory against brute force and the NumPy executor."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from hardbayes.core.pool import Pool
from hardbayes.features import memory
from hardbayes.features import tiles as tiling
from hardbayes.features.memory import MemoryFeatureRows
from hardbayes.features.rows import Allocation
from hardbayes.features.tiles import Tiles
from tests.reference.feature_rows import NumpyFeatureRows
from tests.reference.features import least_squares, rank

SCALE = 0.5
# Rows in tiles or not, with a table of all subsets or without, components alike or not.
SHAPES = [
    dict(n=37, d=5, k=3),
    dict(n=300, d=33, k=6, alike=0.9),
    dict(n=100, d=40, k=9),
    dict(n=5, d=2, k=4),
    dict(n=64, d=1, k=2),
    dict(n=20, d=3, k=0),
    dict(n=40, d=12, k=5, shift=1e6),
    dict(n=500, d=8, k=7, tile=600),
    dict(n=900, d=3, k=3, tile=100, noise=2.0),
    dict(n=211, d=20, k=8, tile=1500, weighted=True),
    dict(n=90, d=10, k=4, dependent=True),
]


class Data:
    """Rows near sums of features, and an allocation to start from, as plain arrays."""

    def __init__(
        self, n, d, k, *, seed, tile=None, noise=0.3, alike=0.0, shift=0.0, weighted=False,
        dependent=False,
    ):  # fmt: skip
        rng = np.random.default_rng(seed)
        components = rng.standard_normal((k, d)) + alike * 3 * rng.standard_normal(d)
        if dependent:
            components[-1] = components[0]
        values = (rng.random((n, k)) < 0.5) @ components + noise * rng.standard_normal((n, d))
        if shift:  # a base that all rows have reaches there
            components[0] += shift
            values += shift
        self.values = values
        self.shift = np.full(d, shift)
        self.weights = rng.integers(0, 4, n).astype(float) if weighted else np.ones(1)
        self.components = components * SCALE
        self.start = (rng.random((n, k)) < 0.5).astype(np.uint8)
        self.tile = tile

    def rows(self, pool, values=None):
        values = self.values if values is None else values
        return MemoryFeatureRows(Tiles(values, self.shift, SCALE, self.weights), pool)

    def numpy_rows(self):
        weights = np.broadcast_to(self.weights, len(self.values))
        return NumpyFeatureRows(self.values * SCALE, weights)

    def allocation(self, fitted=False):
        """The start, or its independent columns at least squares."""
        if not fitted:
            return Allocation(self.components, self.start.copy())
        weighted = np.broadcast_to(self.weights, len(self.values)) > 0
        k = next(
            k for k in range(self.start.shape[1], -1, -1)
            if rank(self.start[weighted, :k]) == k
        )  # fmt: skip
        Z = np.ascontiguousarray(self.start[:, :k])
        return Allocation(least_squares(self.values * SCALE, Z, self.numpy_rows().weights)[0], Z)

    def residuals(self, membership):
        return self.values * SCALE - membership.astype(float) @ self.components


@pytest.fixture(params=range(len(SHAPES)), ids=lambda at: "-".join(map(str, SHAPES[at].values())))
def data(request, monkeypatch):
    shape = SHAPES[request.param]
    if "tile" in shape:
        monkeypatch.setattr(tiling, "KEPT", shape["tile"])
        monkeypatch.setattr(tiling, "TILE", shape["tile"])
        monkeypatch.setattr(tiling, "RUN", 2 * shape["tile"])
    return Data(**shape, seed=request.param)


def assert_sums_follow(sums, data, membership):
    left = data.residuals(membership)
    weights = np.broadcast_to(data.weights, len(left))
    Z = membership.astype(float)
    close = dict(rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(sums.costs, (left**2).sum(axis=1), **close)
    np.testing.assert_allclose(sums.fit, weights @ sums.costs)
    np.testing.assert_allclose(sums.gram, (weights[:, None] * Z).T @ Z)
    np.testing.assert_allclose(sums.correction, (weights[:, None] * Z).T @ left, **close)


def test_every_row_gets_its_cheapest_subset(data):
    allocation = data.allocation()
    with Pool(2) as pool:
        rows = data.rows(pool)
        sums = rows.sweep(allocation)
        again = rows.sweep(allocation)
    subsets = np.array(list(product([0, 1], repeat=len(data.components))), float)
    costs = np.array([(data.residuals(s[np.newaxis]) ** 2).sum(axis=1) for s in subsets])
    np.testing.assert_allclose(sums.costs, costs.min(axis=0), rtol=1e-8, atol=1e-8)
    assert sums.changed == (allocation.membership != data.start).any(axis=1).sum()
    assert again.changed == 0
    assert_sums_follow(sums, data, allocation.membership)


def test_the_published_pass_flips_in_order(data):
    allocation = data.allocation()
    with Pool(2) as pool:
        sums = data.rows(pool).sweep(allocation, literal=True)
    expected = data.start.astype(float)
    left = data.residuals(expected)
    for a, component in enumerate(data.components):
        sign = 1 - 2 * expected[:, a]
        gain = 2 * sign * (left @ component) - component @ component
        flips = gain > 1e-9 * (component @ component)
        left -= np.outer(flips * sign, component)
        expected[flips, a] = 1 - expected[flips, a]
    np.testing.assert_array_equal(allocation.membership, expected)
    assert_sums_follow(sums, data, allocation.membership)


def test_collect_changes_no_row(data):
    allocation = data.allocation()
    with Pool(1) as pool:
        sums = data.rows(pool).collect(allocation)
    np.testing.assert_array_equal(allocation.membership, data.start)
    assert sums.changed == 0
    assert_sums_follow(sums, data, allocation.membership)


@pytest.mark.parametrize("store", [np.float32, csr_array])
def test_how_rows_are_stored_does_not_matter(data, store):
    data.values = data.values.astype(np.float32).astype(float)
    if store is csr_array:
        data.shift = np.zeros_like(data.shift)
    stored = csr_array(data.values) if store is csr_array else data.values.astype(store)
    found = []
    for values in (data.values, stored):
        allocation = data.allocation()
        with Pool(2) as pool:
            found.append(data.rows(pool, values).sweep(allocation).fit)
        found.append(allocation.membership)
    assert found[0] == found[2]
    np.testing.assert_array_equal(found[1], found[3])


@pytest.mark.parametrize("seed", range(3))
def test_of_many_features_neither_one_flip_nor_two_help(seed):
    data = Data(50, 10, 14, seed=seed, noise=1.0)
    allocation = data.allocation()
    with Pool(1) as pool:
        sums = data.rows(pool).sweep(allocation)
    assert_sums_follow(sums, data, allocation.membership)
    k = len(data.components)
    for a in range(k):
        for b in range(a, k):
            other = allocation.membership.copy()
            other[:, list({a, b})] ^= 1
            assert ((data.residuals(other) ** 2).sum(axis=1) >= sums.costs - 1e-9).all()


def test_local_search_alternates_sweeps_and_refits(data):
    found, expected = data.allocation(fitted=True).copy(), data.allocation(fitted=True).copy()
    with Pool(2) as pool:
        rows, slow = data.rows(pool), data.numpy_rows()
        result = rows.local_search(found, is_refitted=True, max_sweeps=3)
    for fit in result.fits:
        again = slow.local_search(expected, is_refitted=True, max_sweeps=1)
        assert fit == pytest.approx(again.sums.fit)
    assert len(result.fits) <= 3
    assert (result.converged, result.is_independent) == (again.converged, again.is_independent)
    np.testing.assert_array_equal(found.membership, expected.membership)
    np.testing.assert_allclose(found.components, expected.components, rtol=1e-6, atol=1e-7)


def test_refit_is_least_squares_or_nothing(data):
    allocation = Allocation(data.components.copy(), data.start)
    with Pool(1) as pool:
        rows = data.rows(pool)
        sums = rows.collect(allocation)
        done = rows.refit(allocation.components, sums)
    assert done == (rank(sums.gram) == len(sums.gram))
    expected = data.components
    if done:
        expected = least_squares(data.values * SCALE, data.start, data.numpy_rows().weights)[0]
    np.testing.assert_allclose(allocation.components, expected, rtol=1e-6, atol=1e-8)


def test_a_feature_at_a_row(data):
    allocation, row = data.allocation(), len(data.values) - 1
    with Pool(2) as pool:
        found = data.rows(pool).feature_at_row(allocation, row)
    expected = data.numpy_rows().feature_at_row(allocation, row)
    assert_same_feature(found, expected)


@pytest.mark.parametrize("seed", range(4))
def test_a_feature_grows_from_the_worst_row_and_from_draws(seed):
    data = Data(60, 6, 4, seed=seed, weighted=True)
    allocation = data.allocation()
    with Pool(1) as pool:
        rows = data.rows(pool)
        costs = rows.collect(allocation).costs
        found = rows.grow_feature(allocation, costs, np.random.RandomState(seed))
    stream = np.random.RandomState(seed)
    assert_same_feature(found, data.numpy_rows().grow_feature(allocation, costs, stream))


def test_a_grown_feature_says_what_it_gains(data):
    allocation = data.allocation()
    with Pool(2) as pool:
        rows = data.rows(pool)
        costs = rows.collect(allocation).costs
        found = rows.grow_feature(allocation, costs, np.random.RandomState(0))
    slow = data.numpy_rows()
    assert_same_feature(found, slow._new_feature(data.residuals(data.start), found.component))


def assert_same_feature(found, expected):
    close = dict(rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.component, expected.component, **close)
    clear = np.abs(expected.gains) > 1e-6
    np.testing.assert_array_equal(found.rows[clear], expected.rows[clear])
    np.testing.assert_allclose(found.gains, expected.gains, **close)
    if clear.all():
        assert found.weight == expected.weight
        np.testing.assert_allclose(found.total, expected.total, **close)


def test_the_best_combination(data):
    data.start, data.components = data.start[:, :4], data.components[:4]
    allocation = data.allocation(fitted=True)
    gram = data.numpy_rows().collect(allocation).gram
    inverse = np.linalg.inv(gram)
    with Pool(2) as pool:
        found = data.rows(pool).best_combination(allocation, gram, inverse, 0.5)
    expected = data.numpy_rows().best_combination(allocation, gram, inverse, 0.5)
    assert found.change == pytest.approx(expected.change, rel=1e-6, abs=1e-6)
    if np.isfinite(found.change):
        assert found.removed
        assert set(found.removed) <= set(found.pair)


def test_pairs_in_blocks_give_the_same_combination(monkeypatch):
    data = Data(60, 6, 5, seed=3)
    allocation = data.allocation(fitted=True)
    with Pool(1) as pool:
        rows = data.rows(pool)
        gram = rows.collect(allocation).gram
        whole = rows.best_combination(allocation, gram, np.linalg.inv(gram), 0.5)
        monkeypatch.setattr(memory, "PAIR_NUMBERS", 1)
        assert rows.best_combination(allocation, gram, np.linalg.inv(gram), 0.5) == whole


@pytest.mark.parametrize("with_base", [False, True])
def test_seeds_follow_the_draws(with_base):
    data = Data(60, 6, 4, seed=5, weighted=True)
    with Pool(1) as pool:
        found = data.rows(pool).seed(with_base, 1.0, 6, np.random.RandomState(1))
    expected = data.numpy_rows().seed(with_base, 1.0, 6, np.random.RandomState(1))
    np.testing.assert_allclose(found.components, expected.components)
    np.testing.assert_array_equal(found.membership, expected.membership)
    assert found.membership.shape[1] == len(found.components) > with_base


def test_seeds_of_many_tiles_leave_the_rows_for_the_first_sweep(monkeypatch):
    monkeypatch.setattr(tiling, "KEPT", 200)
    monkeypatch.setattr(tiling, "TILE", 200)
    data = Data(90, 6, 4, seed=5)
    with Pool(1) as pool:
        found = data.rows(pool).seed(True, 0.1, 6, np.random.RandomState(1))
    assert len(found.components) > 1
    np.testing.assert_allclose(found.components[0], (data.values * SCALE).mean(axis=0))
    assert found.membership[:, 0].all()
    assert not found.membership[:, 1:].any()


def test_seeds_of_a_sample_cost_their_share_of_the_penalty(monkeypatch):
    monkeypatch.setattr(tiling, "KEPT", 200)
    monkeypatch.setattr(tiling, "TILE", 200)
    data, rng = Data(90, 6, 4, seed=5), np.random.RandomState(1)
    with Pool(1) as pool:
        found = data.rows(pool).seed(False, 40.0, 6, np.random.RandomState(1))
    drawn = np.unique(rng.randint(90, size=200 // 6))
    sample = NumpyFeatureRows(data.values[drawn] * SCALE)
    expected = sample.seed(False, 40.0 * len(drawn) / 90, 6, rng)
    assert 0 < len(expected.components) < 6
    np.testing.assert_allclose(found.components, expected.components)


def test_few_rows_have_no_sample_and_many_one_of_a_tile(monkeypatch):
    data = Data(90, 6, 4, seed=5, weighted=True)
    with Pool(1) as pool:
        rng = np.random.RandomState(0)
        assert data.rows(pool).sample(rng) is None
        assert rng.randint(1000) == np.random.RandomState(0).randint(1000)
        monkeypatch.setattr(tiling, "KEPT", 200)
        monkeypatch.setattr(tiling, "TILE", 200)
        sample = data.rows(pool).sample(np.random.RandomState(0))
    n, d, weights, negligible, _ = sample.describe()
    assert n * d <= 200
    assert len(weights) == n
    assert 0 < negligible < 1e-20


@pytest.mark.parametrize("kept", [1 << 18, 100])
def test_every_start_is_run(kept, monkeypatch):
    monkeypatch.setattr(tiling, "KEPT", kept)
    monkeypatch.setattr(tiling, "TILE", kept)
    data = Data(90, 6, 4, seed=5)
    fits = np.zeros(7)
    with Pool(3) as pool:

        def task(start, rows):
            fits[start] = rows.sweep(data.allocation()).fit

        data.rows(pool).run_starts(task, 7)
    assert (fits == fits[0]).all()
    assert fits[0] > 0
