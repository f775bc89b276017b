"""Passes over rows and their features against loops over rows and subsets."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from hardbayes.executors.features import tiles as tiling
from hardbayes.executors.features.memory import Allocator
from hardbayes.executors.features.tiles import Tiles
from hardbayes.pool import Pool
from hardbayes.problems.frame import Frame

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


class Rows:
    """Rows near sums of features, memberships to begin from, and all of it in plain arrays."""

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

    def allocator(self, pool, values=None):
        values = self.values if values is None else values
        return Allocator(Tiles(values, Frame(self.shift, SCALE, 2), self.weights), pool)

    def residuals(self, membership):
        return self.values * SCALE - membership.astype(float) @ self.components


@pytest.fixture(params=range(len(SHAPES)), ids=lambda at: "-".join(map(str, SHAPES[at].values())))
def rows(request, monkeypatch):
    shape = SHAPES[request.param]
    if "tile" in shape:
        monkeypatch.setattr(tiling, "KEPT", shape["tile"])
        monkeypatch.setattr(tiling, "TILE", shape["tile"])
        monkeypatch.setattr(tiling, "RUN", 2 * shape["tile"])
    return Rows(**shape, seed=request.param)


def assert_sums_follow(sums, rows, membership):
    left = rows.residuals(membership)
    weights = np.broadcast_to(rows.weights, len(left))
    Z = membership.astype(float)
    close = dict(rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(sums.costs, (left**2).sum(axis=1), **close)
    np.testing.assert_allclose(sums.fit, weights @ sums.costs)
    np.testing.assert_allclose(sums.gram, (weights[:, None] * Z).T @ Z)
    np.testing.assert_allclose(sums.correction, (weights[:, None] * Z).T @ left, **close)


def test_every_row_gets_its_cheapest_subset(rows):
    membership = rows.start.copy()
    with Pool(2) as pool:
        allocator = rows.allocator(pool)
        sums = allocator.sweep(rows.components, membership)
        again = allocator.sweep(rows.components, membership)
    subsets = np.array(list(product([0, 1], repeat=len(rows.components))), float)
    costs = np.array([(rows.residuals(s[np.newaxis]) ** 2).sum(axis=1) for s in subsets])
    np.testing.assert_allclose(sums.costs, costs.min(axis=0), rtol=1e-8, atol=1e-8)
    assert sums.changed == (membership != rows.start).any(axis=1).sum()
    assert again.changed == 0
    assert_sums_follow(sums, rows, membership)


def test_the_published_pass_flips_in_order(rows):
    membership = rows.start.copy()
    with Pool(2) as pool:
        sums = rows.allocator(pool).sweep(rows.components, membership, literal=True)
    expected = rows.start.astype(float)
    left = rows.residuals(expected)
    for a, component in enumerate(rows.components):
        sign = 1 - 2 * expected[:, a]
        gain = 2 * sign * (left @ component) - component @ component
        flips = gain > 1e-9 * (component @ component)
        left -= np.outer(flips * sign, component)
        expected[flips, a] = 1 - expected[flips, a]
    np.testing.assert_array_equal(membership, expected)
    assert_sums_follow(sums, rows, membership)


def test_rows_may_be_left_as_they_are(rows):
    membership = rows.start.copy()
    with Pool(1) as pool:
        sums = rows.allocator(pool).collect(rows.components, membership)
    np.testing.assert_array_equal(membership, rows.start)
    assert sums.changed == 0
    assert_sums_follow(sums, rows, membership)


@pytest.mark.parametrize("store", [np.float32, csr_array])
def test_how_rows_are_stored_does_not_matter(rows, store):
    rows.values = rows.values.astype(np.float32).astype(float)
    if store is csr_array:
        rows.shift = np.zeros_like(rows.shift)
    stored = csr_array(rows.values) if store is csr_array else rows.values.astype(store)
    found = []
    for values in (rows.values, stored):
        membership = rows.start.copy()
        with Pool(2) as pool:
            found.append(rows.allocator(pool, values).sweep(rows.components, membership).fit)
        found.append(membership)
    assert found[0] == found[2]
    np.testing.assert_array_equal(found[1], found[3])


@pytest.mark.parametrize("seed", range(3))
def test_of_many_features_neither_one_flip_nor_two_help(seed):
    rows = Rows(50, 10, 14, seed=seed, noise=1.0)
    membership = rows.start.copy()
    with Pool(1) as pool:
        sums = rows.allocator(pool).sweep(rows.components, membership)
    assert_sums_follow(sums, rows, membership)
    k = membership.shape[1]
    for a in range(k):
        for b in range(a, k):
            other = membership.copy()
            other[:, list({a, b})] ^= 1
            assert ((rows.residuals(other) ** 2).sum(axis=1) >= sums.costs - 1e-9).all()
