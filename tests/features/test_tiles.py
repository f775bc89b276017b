"""Rows in tiles: all of them, once, in working coordinates."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from hardbayes.core.pool import Pool
from hardbayes.features import tiles as tiling
from hardbayes.features.tiles import Tiles

SHIFT, SCALE = np.array([4.0, 0.0, -2.0]), 0.25


@pytest.fixture(params=[10**6, 30, 7], ids=["one tile", "tiles", "small tiles"])
def make(request, monkeypatch):
    monkeypatch.setattr(tiling, "KEPT", request.param)
    monkeypatch.setattr(tiling, "TILE", request.param)

    def make(matrix, weights=None):
        shift = np.zeros(3) if isinstance(matrix, csr_array) else SHIFT
        return Tiles(matrix, shift, SCALE, np.ones(1) if weights is None else weights)

    return make


@pytest.fixture
def X():
    return np.random.default_rng(0).integers(-8, 8, (50, 3)).astype(np.float32)


@pytest.mark.parametrize("store", [np.asarray, csr_array])
def test_every_row_is_visited_once(make, X, store):
    tiles = make(store(X))
    seen = np.zeros_like(X, dtype=float)

    def visit(tile, group, worker):
        assert tile.rows.dtype == np.float64 and not tile.rows.flags.writeable
        assert 0 <= group < len(tiles.groups) and worker < 2
        seen[tile.part] += tile.rows

    with Pool(2) as pool:
        tiles.visit(visit, pool)
    shift = 0.0 if store is csr_array else SHIFT
    np.testing.assert_array_equal(seen, (X - shift) * SCALE)


@pytest.mark.parametrize("store", [np.asarray, csr_array])
def test_raw_rows_come_with_shift_and_scale(make, X, store):
    tiles = make(store(X))
    seen = np.zeros_like(X, dtype=float)

    def visit(part, group, worker):
        values, shift, scale = tiles.raw(part)
        seen[part] += (values - shift) * scale

    with Pool(2) as pool:
        tiles.visit_raw(visit, pool)
    np.testing.assert_array_equal(seen, (X - (0.0 if store is csr_array else SHIFT)) * SCALE)


def test_the_mean_is_weighted_and_unshifted(make, X):
    weights = np.random.default_rng(1).random(50)
    with Pool(2) as pool:
        mean = make(X, weights).mean(pool)
    np.testing.assert_allclose(mean, SCALE * np.average(X, axis=0, weights=weights))


def test_a_single_row(make, X):
    np.testing.assert_array_equal(make(X).row(17), (X[17] - SHIFT) * SCALE)


def test_samples_are_rows_of_the_data(make, X):
    weights = np.arange(50.0)
    tiles = make(X, weights)
    rows, drawn_weights, where = tiles.sample(np.random.RandomState(0))
    np.testing.assert_array_equal(rows, ((X - SHIFT) * SCALE)[where])
    np.testing.assert_array_equal(drawn_weights, weights[where])
    assert tiles.is_single == (len(rows) == 50)
    small = tiles.sampled(np.random.RandomState(0))
    assert small.is_single
    if not tiles.is_single:  # the same draw
        np.testing.assert_array_equal(small.read(0).rows, rows)
        np.testing.assert_array_equal(small.weights, drawn_weights)


def test_groups_share_the_tiles(make, X):
    tiles = make(X)
    assert [tile for group in tiles.groups for tile in group] == list(range(len(tiles.slices)))
    assert tiles.slices[0].start == 0 and tiles.slices[-1].stop == 50


def test_negligible_grows_with_the_origin(X):
    near, far = (Tiles(X, np.full(3, shift), 1.0, np.ones(1)) for shift in (0.0, 1e6))
    assert near.negligible == pytest.approx(3e-24)
    assert far.negligible == pytest.approx(3e-16, rel=1e-3)
