"""Reference clouds without clusters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest, skew, spearmanr

from hardbayes.gaussian.choice import references
from hardbayes.gaussian.choice.path import find_path
from hardbayes.gaussian.choice.references import (
    Steps,
    copula,
    elliptical,
    histogram,
    independent,
    independent_axes,
    is_likelier,
    one_mode,
    simplex,
    whiten,
)
from tests.gaussian.choice.samples import SQUARE, blobs, sampled

RNG = np.random.RandomState


def likelier(matrix, diagonal=False):
    with sampled(matrix, diagonal=diagonal) as sample:
        return is_likelier(sample.rows, find_path(sample.rows))


# --- the decision --------------------------------------------------------------------------------


@pytest.mark.parametrize("diagonal", [False, True])
def test_clusters_are_likelier_than_references(diagonal):
    assert likelier(blobs(SQUARE)[0], diagonal)


def test_clusters_without_valleys_are_likelier():
    """Bars that cross have no valley between them, and no cloud of one mode is like them."""
    rng = np.random.default_rng(0)
    bars = rng.normal(size=(400, 2)) * [6.0, 0.3]
    bars[200:] = bars[200:, ::-1]
    assert likelier(bars)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.exponential(size=(600, 4)) @ rng.normal(size=(4, 4)),
        lambda rng: rng.laplace(size=(600, 4)) @ rng.normal(size=(4, 4)),
        lambda rng: rng.normal(size=(600, 6)) / np.sqrt(rng.chisquare(3, (600, 1)) / 3),
        lambda rng: rng.dirichlet(np.ones(6), 1500),
        lambda rng: np.exp(rng.normal(size=(600, 3))),
    ],
    ids=["exponential", "Laplace", "Student t", "simplex", "lognormal"],
)
def test_clouds_are_not(draw, diagonal):
    assert not any(likelier(draw(np.random.default_rng(seed)), diagonal) for seed in range(3))


def test_rows_that_gain_nothing_need_no_reference(monkeypatch):
    monkeypatch.setattr(references, "reference_gains", None)
    assert not likelier(np.random.default_rng(0).normal(size=(300, 2)))


# --- the clouds ----------------------------------------------------------------------------------


def clouds(matrix, weights=None):
    with sampled(matrix, weights=weights) as sample:
        rows, white = sample.rows, whiten(sample.rows)
        shares = rows.weights / rows.total
        for draw in (
            elliptical(white, shares),
            independent(white, shares),
            simplex(*white.rows.shape),
        ):
            yield rows, draw(RNG(0)) @ white.back + white.middle


def test_they_have_the_moments_of_the_rows():
    rng = np.random.default_rng(0)
    matrix = rng.gamma(2.0, size=(20_000, 3)) @ rng.normal(size=(3, 3))
    for rows, cloud in clouds(matrix[:8000]):
        assert cloud.shape == rows.rows.shape
        assert_allclose(cloud.mean(axis=0), 0.0, atol=0.05)
        assert_allclose(np.cov(cloud.T), np.cov(rows.rows.T), atol=0.1)


def test_rows_that_fill_a_plane_have_references_there():
    rng = np.random.default_rng(1)
    plane = rng.normal(size=(500, 2)) @ rng.normal(size=(2, 4))
    with sampled(plane) as sample:
        assert whiten(sample.rows).rows.shape == (500, 2)
    for _, cloud in clouds(plane):
        assert np.linalg.matrix_rank(cloud - cloud.mean(axis=0), tol=1e-6) == 2


def test_weights_are_repetition():
    rng = np.random.default_rng(2)
    matrix, weights = rng.exponential(size=(300, 2)), rng.integers(1, 5, 300)
    many = clouds(np.repeat(matrix, weights, axis=0))
    for (_, one), (_, other) in zip(clouds(matrix, weights.astype(float)), many, strict=True):
        assert_allclose(one, other, atol=1e-9)


def test_whitened_rows_have_covariance_one():
    rng = np.random.default_rng(3)
    matrix, weights = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)), rng.uniform(1, 3, 200)
    with sampled(matrix, weights=weights) as sample:
        rows = sample.rows
        white = whiten(rows)
        assert_allclose(np.cov(white.rows.T, aweights=rows.weights, ddof=0), np.eye(3), atol=1e-9)
        assert_allclose(white.rows @ white.back + white.middle, rows.jittered, atol=1e-9)


def test_independent_axes_are_found():
    rng = np.random.default_rng(4)
    sources = (rng.exponential(size=(5000, 3)) - 1.0) * [1.0, -1.0, 1.0]
    turned = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    axes = independent_axes(sources @ turned, np.full(5000, 1 / 5000))
    assert_allclose(axes @ axes.T, np.eye(3), atol=1e-9)
    assert_allclose(np.sort(np.abs(axes @ turned.T), axis=1)[:, -1], 1.0, atol=0.01)


def test_radii_and_axes_have_the_distributions_of_the_rows():
    rng = np.random.default_rng(5)
    n = 8000
    tails = rng.normal(size=(n, 3)) / np.sqrt(rng.chisquare(5, (n, 1)) / 5)
    with sampled(tails) as sample:
        white, shares = whiten(sample.rows), np.full(n, 1 / n)
        drawn = np.linalg.norm(elliptical(white, shares)(RNG(1)), axis=1)
        assert kstest(drawn, np.linalg.norm(white.rows, axis=1)).pvalue > 0.01
    with sampled(rng.exponential(size=(n, 2))) as sample:
        white = whiten(sample.rows)
        drawn = independent(white, shares)(RNG(1))
        along = drawn @ white.back
        assert_allclose(skew(along), skew(sample.rows.rows), atol=0.3)
        for mine, theirs in zip(along.T, sample.rows.rows.T, strict=True):
            assert kstest(mine, theirs).pvalue > 0.01


def test_a_copula_has_the_columns_and_rank_correlations_of_the_rows():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4000, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
    rows = np.column_stack([np.exp(scores[:, 0]), scores[:, 1] ** 3])
    drawn = copula(rows, np.full(len(rows), 1 / len(rows)))(RNG(0))
    for column, own in zip(drawn.T, rows.T, strict=True):
        assert kstest(column, own).statistic < 0.05
    assert abs(spearmanr(drawn).statistic - spearmanr(rows).statistic) < 0.05
    doubled = np.r_[np.full(2000, 2 / 6000), np.full(2000, 1 / 6000)]  # weights count as rows
    heavy = copula(rows + 9.0 * (np.arange(4000) < 2000)[:, np.newaxis], doubled)(RNG(0))
    assert heavy.mean() > 5.5


@pytest.mark.parametrize("seed", range(3))
def test_skewed_columns_are_not_likelier_along_the_columns(seed):
    assert not likelier(np.random.default_rng(seed).exponential(size=(300, 30)), diagonal=True)


def test_two_modes_become_one():
    rng = np.random.default_rng(6)
    values = np.r_[rng.normal(size=500), rng.normal(size=500) + 8.0]
    found = one_mode(histogram(values, np.full(1000, 1e-3)))
    heights = found.masses / np.diff(found.edges)
    mode = heights.argmax()
    assert_allclose(found.masses.sum(), 1.0)
    assert (np.diff(heights[: mode + 1]) > -1e-12).all() and (np.diff(heights[mode:]) < 1e-12).all()


def test_a_density_of_one_mode_stays():
    found = Steps(np.arange(5.0), np.array([0.1, 0.4, 0.3, 0.2]))
    assert_allclose(one_mode(found).masses, found.masses)
    one = Steps(np.array([2.0, 2.0]), np.ones(1))
    assert one_mode(one) is one and histogram(np.full(4, 2.0), np.full(4, 0.25)) == (
        pytest.approx([2.0, 2.0]),
        pytest.approx([1.0]),
    )


def test_histograms_are_fine_in_the_tails():
    values = np.random.default_rng(7).normal(size=1000)
    found = histogram(values, np.full(1000, 1e-3))
    assert found.edges[0] == values.min() and found.edges[-1] == values.max()
    assert_allclose(np.diff(found.edges)[3:-3], np.diff(found.edges).mean(), rtol=0.4)
    assert_allclose(found.masses.sum(), 1.0)
