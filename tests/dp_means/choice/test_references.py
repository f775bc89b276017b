"""Reference rows: the data's shape, dtype, domain and moments, without its clusters."""

import copy

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.geometry import geometry_for
from hardbayes.dp_means.choice.path import Structureless
from tests.dp_means.choice.mixtures import gaussians_apart
from tests.own_geometries import ItakuraSaito

SQUARED, KL = geometry_for("squared_euclidean"), geometry_for("kl")


def draw(X, geometry=SQUARED, number=0, seed=0, weights=None):
    weights = np.ones(X.shape[0]) if weights is None else weights
    return Structureless(X, geometry, weights).draw(number, np.random.RandomState(seed))


def counts(n, d, *, seed=0, filled=0.2):
    """Counts >= 0, at least one in every row; most are zero where few are filled."""
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 6, (n, d)) * (rng.random((n, d)) < filled) * 1.0
    X[np.arange(n), rng.integers(0, d, n)] += 1.0
    return X


# --- rows of any numbers -----------------------------------------------------------------------


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(60, 3), (3, 8), (20, 1), (1, 4)])
def test_shape_and_dtype(shape, dtype, number):
    X = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    drawn = draw(X, number=number)
    assert drawn.shape == shape and drawn.dtype == dtype
    assert np.isfinite(drawn).all()


def correlated(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 3)) @ rng.standard_normal((3, 3)) + [5.0, -100.0, 0.0]


def test_the_gaussian_has_the_mean_and_covariance_of_the_data():
    X = correlated(4000)
    drawn = draw(X, number=0)
    deviations = X.std(axis=0)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.1 * deviations.min())
    difference = np.cov(drawn.T) - np.cov(X.T)
    assert np.abs(difference / np.outer(deviations, deviations)).max() < 0.1


def test_the_box_is_spanned_by_the_data_along_its_principal_axes():
    X = correlated(4000)
    centred = X - X.mean(axis=0)
    axes = np.linalg.eigh(centred.T @ centred)[1]
    drawn, own = (draw(X, number=1) - X.mean(axis=0)) @ axes, centred @ axes
    spans = np.ptp(own, axis=0)
    assert (drawn.min(axis=0) >= own.min(axis=0) - 1e-9 * spans).all()
    assert (drawn.max(axis=0) <= own.max(axis=0) + 1e-9 * spans).all()
    np.testing.assert_allclose(np.ptp(drawn, axis=0), spans, rtol=0.02)  # filled to its walls
    for column in drawn.T:  # evenly
        parts = np.histogram(column, 10)[0]
        assert abs(parts / 400 - 1).max() < 0.25


@pytest.mark.parametrize("number", [0, 1])
def test_linear_relations_between_columns_are_kept(number):
    X = np.random.default_rng(0).standard_normal((200, 2))
    drawn = draw(np.column_stack([X, X.sum(axis=1), np.full(200, 7.0)]), number=number)
    np.testing.assert_allclose(drawn[:, 2], drawn[:, 0] + drawn[:, 1], atol=1e-9)
    np.testing.assert_allclose(drawn[:, 3], 7.0)


@pytest.mark.parametrize("number", [0, 1])
def test_clusters_are_gone(number):
    """The gap between two clusters is filled."""
    X = np.concatenate([np.full((500, 1), -10.0), np.full((500, 1), 10.0)])
    X += np.random.default_rng(0).standard_normal(X.shape)
    assert not (np.abs(X) < 3).any()
    assert (np.abs(draw(X, number=number)) < 3).mean() > 0.15


@pytest.mark.parametrize("number", [0, 1])
def test_weights_are_equivalent_to_repetition(number):
    """Half of the rows have nine times the weight."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 2))
    X[2000:, 0] += 9.0
    weights = np.repeat([1.0, 9.0], 2000)
    drawn = draw(X, number=number, weights=weights)
    repeated = draw(np.repeat(X, weights.astype(int), axis=0), number=number)
    middle = 8.1 if number == 0 else repeated.mean(axis=0)[0]
    assert drawn.mean(axis=0)[0] == pytest.approx(middle, abs=0.3)
    np.testing.assert_allclose(drawn.std(axis=0), repeated.std(axis=0), rtol=0.1)


# --- rows of numbers >= 0 ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_positive_rows_keep_their_columns_means_and_variances(dtype):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.gamma([2.0, 5.0, 1.0], size=(6000, 3)), np.full(6000, 3.0)])
    drawn = draw(X.astype(dtype), ItakuraSaito())
    assert drawn.dtype == dtype and drawn.shape == X.shape
    assert (drawn > 0).all()
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), rtol=0.1)
    np.testing.assert_allclose(drawn.var(axis=0), X.var(axis=0), rtol=0.2, atol=1e-9)
    np.testing.assert_allclose(drawn[:, 3], 3.0, rtol=1e-6)
    assert np.abs(np.corrcoef(drawn[:, :3].T) - np.eye(3)).max() < 0.1


def test_weights_of_positive_rows_are_equivalent_to_repetition():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.gamma(2.0, size=(2000, 2)), rng.gamma(50.0, size=(2000, 2))])
    weights = np.repeat([1.0, 9.0], 2000)
    drawn, repeated = (
        draw(X, KL, weights=weights),
        draw(np.repeat(X, [1] * 2000 + [9] * 2000, 0), KL),
    )
    np.testing.assert_allclose(drawn.mean(axis=0), repeated.mean(axis=0), rtol=0.05)
    np.testing.assert_allclose(drawn.std(axis=0), repeated.std(axis=0), rtol=0.1)


@pytest.mark.parametrize("geometry", [KL, ItakuraSaito()])
def test_draws_are_in_the_domain_for_skewed_rows(geometry):
    X = np.random.default_rng(0).lognormal(0.0, 5.0, (2000, 2))
    drawn = draw(X, geometry)
    assert not geometry.outside(drawn).any()
    assert (drawn.sum(axis=1) > 0).all()


# --- sparse rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize("geometry", [SQUARED, KL])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_keep_their_entries(geometry, dtype):
    X = sparse.csr_array(counts(80, 12).astype(dtype))
    before = copy.deepcopy((X.data, X.indices, X.indptr))
    drawn = draw(X, geometry)
    assert sparse.issparse(drawn) and drawn.format == "csr"
    assert drawn.shape == X.shape and drawn.dtype == dtype
    assert (np.diff(drawn.indptr) <= np.diff(X.indptr)).all()  # equal columns add up
    assert drawn.nnz > 0.97 * X.nnz  # few are left
    assert drawn.has_canonical_format
    for old, new in zip(before, (X.data, X.indices, X.indptr), strict=True):
        np.testing.assert_array_equal(old, new)
    assert not any(np.shares_memory(a, b) for a in (drawn.data, drawn.indices) for b in before)
    drawn.data[:] = -1.0
    np.testing.assert_array_equal(X.data, before[0])


def test_sparse_columns_keep_their_number_of_entries():
    X = counts(200, 15)
    ones = sparse.csr_array((X > 0) * 1.0)
    drawn = draw(ones)
    np.testing.assert_array_equal(drawn.sum(axis=0), ones.sum(axis=0))
    assert (drawn.toarray() != ones.toarray()).any()


def test_entries_take_their_columns_along_whatever_the_length_of_their_rows():
    """Column 0 has entries of five times a row's others, in every row."""
    X = np.ones((300, 40)) * (np.random.default_rng(0).random((300, 40)) < 0.3)
    X[:, 0] = 5.0
    X *= np.random.default_rng(1).uniform(0.1, 10.0, (300, 1))
    drawn = draw(sparse.csr_array(X)).toarray()
    is_filled = drawn[:, 0] > 0
    assert is_filled.mean() > 0.9
    least = np.where(drawn > 0, drawn, np.inf).min(axis=1)
    ratios = drawn[is_filled, 0] / least[is_filled]
    assert (np.abs(ratios / 5.0 - 1.0) < 1e-9).mean() > 0.9  # others are sums of a few
    np.testing.assert_allclose(least, np.where(X > 0, X, np.inf).min(axis=1), rtol=1e-9)


def test_words_of_heavy_rows_are_drawn_more_often():
    X = np.zeros((600, 4))
    X[:300, :2] = X[300:, 2:] = 1.0
    weights = np.repeat([1.0, 3.0], 300)
    drawn = draw(sparse.csr_array(X), weights=weights).toarray()
    assert drawn[:, 2:].sum() / drawn.sum() == pytest.approx(0.75, abs=0.05)


def test_correlations_of_words_are_removed():
    rng = np.random.default_rng(0)
    member = np.repeat([0, 1], 150)
    X = rng.poisson(np.where(member[:, None] == np.repeat([0, 1], 6), 3.0, 0.02))
    X[:, 0] += 1
    drawn = draw(sparse.csr_array(X * 1.0), KL).toarray()
    together = [np.corrcoef(rows[:, 1:6].sum(axis=1), rows[:, 6:].sum(axis=1))[0, 1] for rows in
                (X, drawn)]  # fmt: skip
    assert together[0] < -0.8 and together[1] > -0.5


@pytest.mark.parametrize("geometry", [KL])
def test_dense_rows_that_are_mostly_zeros_are_drawn_like_sparse_ones(geometry):
    X = counts(80, 12)
    drawn = draw(X, geometry)
    assert isinstance(drawn, np.ndarray)
    np.testing.assert_array_equal(drawn, draw(sparse.csr_array(X), geometry).toarray())


# --- all -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("geometry", [SQUARED, KL])
@pytest.mark.parametrize("filled", [0.2, 0.9])
@pytest.mark.parametrize("number", [0, 1])
def test_dense_input_is_not_modified(geometry, filled, number):
    X = counts(50, 6, filled=filled)
    X.flags.writeable = False
    before = X.copy()
    drawn = draw(X, geometry, number)
    np.testing.assert_array_equal(X, before)
    assert not np.shares_memory(drawn, X)


@pytest.mark.parametrize("X", [gaussians_apart(2)[0], sparse.csr_array(counts(30, 5))])
def test_the_seed_decides(X):
    first, second, other = (draw(X, seed=seed) for seed in (1, 1, 2))
    if sparse.issparse(X):
        first, second, other = (rows.toarray() for rows in (first, second, other))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
