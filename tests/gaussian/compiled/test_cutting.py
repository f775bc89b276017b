"""Cuts of clusters along a line, against all cuts."""

import numpy as np
import pytest

from hardbayes.gaussian.compiled.moves import best_cuts


def likelihood(values, weights, floor):
    n = weights.sum()
    mean = weights @ values / n
    return -0.5 * n * np.log(weights @ (values - mean) ** 2 / n + floor) + n * np.log(n)


@pytest.mark.parametrize("seed", range(4))
def test_best_of_all_cuts(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, 40)
    values = np.round(rng.normal(size=40) + 2.0 * rng.integers(0, 2, 40), 1)
    weights, floor, least = rng.integers(1, 3, 40).astype(float), np.full(2, 0.01), np.full(2, 5.0)
    order = np.lexsort((values, labels))
    places = np.r_[0, np.cumsum(np.bincount(labels))]
    cuts, gains = np.empty((2, 2)), np.empty((2, 2))
    best_cuts(values, weights, order, places, least, floor, cuts, gains)
    for c in range(2):
        x, w = values[labels == c], weights[labels == c]
        distinct = np.unique(x)
        likely, narrow = {}, {}
        for cut in (distinct[1:] + distinct[:-1]) / 2:
            left = x < cut
            if min(w[left].sum(), w[~left].sum()) < 5.0:
                continue
            halves = [(x[s], w[s]) for s in (left, ~left)]
            likely[cut] = sum(likelihood(*half, 0.01) for half in halves) - likelihood(x, w, 0.01)
            narrow[cut] = sum(v @ (y - v @ y / v.sum()) ** 2 for y, v in halves)
        best, two_means = max(likely, key=likely.get), min(narrow, key=narrow.get)
        np.testing.assert_allclose(cuts[:, c], [best, two_means])
        np.testing.assert_allclose(gains[:, c], [likely[best], likely[two_means]])


def test_equal_values_have_no_cut():
    cuts, gains = np.empty((2, 1)), np.empty((2, 1))
    args = (np.arange(6), np.array([0, 6]), np.ones(1), np.ones(1), cuts, gains)
    best_cuts(np.ones(6), np.ones(6), *args)
    assert np.isneginf(gains).all()
