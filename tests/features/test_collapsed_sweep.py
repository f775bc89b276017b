"""A collapsed sweep against least squares with the whole matrix at every step."""

import numpy as np
import pytest

from hardbayes.features import memory
from hardbayes.features import tiles as tiling
from hardbayes.features.memory import CollapsedSweep
from hardbayes.features.rows import Allocation
from hardbayes.features.tiles import Tiles
from tests.reference.features import feature_objective, least_squares, literal_collapsed_sweep


def make(n=14, d=3, k=2, *, seed, noise=0.3):
    rng = np.random.default_rng(seed)
    Z = np.vstack([np.eye(k), rng.random((n - k, k)) < 0.5]).astype(np.uint8)
    X = Z @ rng.standard_normal((k, d)) + noise * rng.standard_normal((n, d))
    weights = rng.integers(1, 4, n).astype(float)
    start = np.vstack([np.eye(k), rng.random((n - k, k)) < 0.5]).astype(np.uint8)
    return X, weights, Allocation(least_squares(X, start, weights)[0], start)


def sweep(X, weights, allocation, penalty, cap):
    Z = allocation.membership.astype(float)
    tiles = Tiles(X, np.zeros(X.shape[1]), 1.0, weights)
    return CollapsedSweep(tiles, allocation, (Z.T * weights) @ Z, penalty, cap).run()


@pytest.mark.parametrize("penalty", [0.2, 2.0])
@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_literal_sweep(seed, penalty):
    X, weights, start = make(seed=seed)
    before = start.copy()
    found, changed = sweep(X, weights, start, penalty, 4)
    Z, n_changed = literal_collapsed_sweep(X, start.membership.astype(float), penalty, 4, weights)
    ours = feature_objective(X, found.membership, penalty, weights)
    assert ours == pytest.approx(feature_objective(X, Z, penalty, weights))
    assert (changed > 0) == (n_changed > 0)
    np.testing.assert_array_equal(start.membership, before.membership)
    np.testing.assert_array_equal(start.components, before.components)
    expected = least_squares(X, found.membership, weights)[0]
    np.testing.assert_allclose(found.components, expected, atol=1e-9)


def test_tiles_and_windows_do_not_matter(monkeypatch):
    X, weights, start = make(60, 4, 3, seed=9)
    whole, changed = sweep(X, weights, start, 1.0, 6)
    monkeypatch.setattr(memory, "WINDOW", 5)
    monkeypatch.setattr(tiling, "KEPT", 100)
    monkeypatch.setattr(tiling, "TILE", 50)
    parts, again = sweep(X, weights, start, 1.0, 6)
    np.testing.assert_array_equal(whole.membership, parts.membership)
    assert changed == again > 0


def test_a_feature_is_opened_up_to_the_cap():
    X = np.array([[1.0, 0.0]] * 4 + [[1.0, 9.0], [8.0, 0.0]])
    start = Allocation(X.mean(axis=0, keepdims=True), np.ones((6, 1), np.uint8))
    weights = np.ones(6)
    for cap in (1, 2, 3):
        found, _ = sweep(X, weights, start, 0.5, cap)
        assert len(found.components) == cap


def test_a_feature_of_one_row_is_closed():
    X = np.array([[1.0, 0.0], [1.0, 0.1], [1.0, -0.1]])
    Z = np.array([[1, 0], [1, 1], [1, 0]], np.uint8)
    start = Allocation(least_squares(X, Z)[0], Z)
    found, _ = sweep(X, np.ones(3), start, 1.0, 4)
    np.testing.assert_array_equal(found.membership, np.ones((3, 1)))
    kept, changed = sweep(X, np.ones(3), start, 1e-3, 2)
    assert len(kept.components) == 2
    assert changed == 0
