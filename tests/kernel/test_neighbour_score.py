"""What borders cut, by what halves cut: against brute force, and what it does not depend on."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import euclidean_distances

from hardbayes.kernel.neighbour_score import NeighbourScore


def score_of(X, weights=None):
    squares = euclidean_distances(X, squared=True)
    return NeighbourScore(squares, np.ones(len(X)) if weights is None else weights)


def two(n=120, gap=6.0, d=2, seed=0):
    y = np.arange(n) % 2
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[:, 0] += gap * y
    return X, y


def test_borders_are_sums_of_links():
    X, y = two(gap=3.0)
    score = score_of(X)
    links = score.links.toarray()
    np.testing.assert_allclose(links, links.T)
    out = [links[y == c][:, y != c].sum() / links[y == c].sum() for c in (0, 1)]
    apart = score.of(y)
    assert 0 < apart.ratio <= apart.border
    # One cluster of a pair alone has no border, and so have both where links between do not count.
    assert score.within(np.flatnonzero(y == 0), np.zeros(60, np.int64)).border == 0.0
    assert max(out) > 0


def test_clear_clusters_rate_lower_than_halves_of_one():
    near, far, one = (score_of(two(gap=gap)[0]).of(two()[1]) for gap in (3.0, 6.0, 0.0))
    assert far.border < near.border < one.border
    X = np.random.default_rng(0).normal(size=(200, 2))
    halves = score_of(X).of((X[:, 0] > 0).astype(np.int64))
    assert halves.border > 0.6


def test_units_order_and_repetition_do_not_matter():
    X, y = two(gap=4.0)
    plain = score_of(X).of(y)
    for other in (1e6 * X + 3e6, X @ [[0.6, -0.8], [0.8, 0.6]]):
        assert score_of(other).of(y).border == pytest.approx(plain.border, rel=1e-3)
    order = np.random.default_rng(1).permutation(len(X))
    assert score_of(X[order]).of(y[order]).border == pytest.approx(plain.border, rel=1e-2)
    assert score_of(X).of(1 - y).ratio == pytest.approx(plain.ratio)
    heavy = score_of(X, np.full(len(X), 7.0)).of(y)
    assert heavy.border == pytest.approx(plain.border)


def test_a_line_is_recognised():
    along = np.random.default_rng(0).normal(size=(60, 1))
    assert score_of(along).on_a_line and score_of(along * [1.0, -3.0, 0.5]).on_a_line
    assert not score_of(np.random.default_rng(0).normal(size=(60, 2))).on_a_line
    for few in (1, 2, 5):
        assert score_of(np.ones((few, 2))).on_a_line
