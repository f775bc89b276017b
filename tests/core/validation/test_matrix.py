"""Data matrices: what they become, and what is said of those that are refused."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans, GaussianDPMeans
from hardbayes.core.geometry import (
    Cosine,
    ExponentialFamily,
    ItakuraSaito,
    KullbackLeibler,
    Logistic,
    Mahalanobis,
    Poisson,
    SquaredEuclidean,
)
from hardbayes.core.validation import check_matrix, touches_border
from hardbayes.core.validation.matrix import first_cell, first_missing

CONTAINERS = pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_and_csr_matrices_are_used_as_they_are(dtype):
    X = np.arange(6.0, dtype=dtype).reshape(3, 2)
    assert check_matrix(X, SquaredEuclidean()) is X
    thin = sparse.csr_array(X)
    found = check_matrix(thin, SquaredEuclidean())
    assert np.shares_memory(found.data, thin.data) and found.dtype == dtype


@pytest.mark.parametrize("dtype", [np.int8, np.bool_])
@CONTAINERS
def test_other_numbers_become_float64(dtype, container):
    X = np.array([[0, 1], [1, 1]], dtype)
    found = check_matrix(container(X), SquaredEuclidean())
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found.toarray() if sparse.issparse(found) else found, X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@CONTAINERS
def test_the_first_cell_that_is_not_finite_is_named(container, bad):
    X = np.ones((4, 3))
    X[2, 1] = X[3, 0] = bad
    kind = "NaN" if np.isnan(bad) else "infinity"
    with pytest.raises(ValueError, match=f"contains {kind} at row 2, column 1. Remove that row"):
        check_matrix(container(X), SquaredEuclidean())


def test_columns_of_frames_are_named():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.nan]})
    with pytest.raises(ValueError, match=r"NaN at row 1, column 1 \('b'\)"):
        check_matrix(frame, SquaredEuclidean())
    with pytest.raises(ValueError, match=r"Got -1.0 at row 1, column 1 \('b'\)"):
        check_matrix(frame.fillna(-1.0), Poisson())


@pytest.mark.parametrize(
    ("geometry", "bad", "says"),
    [
        (Poisson(), -1.0, "Negative values in data passed to Poisson. X must hold numbers >= 0."),
        (KullbackLeibler(), -0.5, "Negative values in data passed to KullbackLeibler."),
        (ItakuraSaito(), -2.0, "X must hold numbers > 0. Got -2.0 at row 1, column 0."),
        (Logistic(), 1.5, "X must hold numbers from 0 to 1. Got 1.5 at row 1, column 0."),
    ],
)
@CONTAINERS
def test_entries_outside_the_domain(geometry, bad, says, container):
    X = np.full((3, 2), 0.5)
    check_matrix(container(X), geometry)
    X[1, 0] = bad
    with pytest.raises(ValueError, match=says):
        check_matrix(container(X), geometry)


@pytest.mark.parametrize(("geometry", "unit"), [(KullbackLeibler(), "sum"), (Cosine(), "length")])
@CONTAINERS
def test_rows_that_cannot_be_normalised(geometry, unit, container):
    X = np.array([[1.0, 2.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match=rf"Row 1 of X is empty \(its {unit} is zero\)"):
        check_matrix(container(X), geometry)
    X[1] = 5e-324
    with pytest.raises(ValueError, match=f"Row 1 of X has a {unit} beyond the range of float64"):
        check_matrix(container(X), geometry)


def test_zeros_of_sparse_rows_are_outside_where_zero_is():
    X = np.array([[1.0, 2.0, 3.0], [4.0, 0.0, 6.0]])
    with pytest.raises(ValueError, match=r"sparse matrix holds zeros\. Got 0 at row 1, column 1"):
        check_matrix(sparse.csr_array(X), ItakuraSaito())
    X[1, 1] = 5.0
    full = check_matrix(sparse.csr_array(X), ItakuraSaito())
    assert isinstance(full, np.ndarray)
    np.testing.assert_array_equal(full, X)


def test_the_number_of_columns_of_a_mahalanobis_matrix():
    with pytest.raises(ValueError, match=r"Mahalanobis is made for 3 columns\. X has 2"):
        check_matrix(np.ones((4, 2)), Mahalanobis(np.eye(3)))


def test_statistics_take_the_place_of_rows():
    family = ExponentialFamily(np.square, np.asarray, lambda rows: rows**2)
    np.testing.assert_array_equal(check_matrix([[2.0], [3.0]], family), [[4.0], [9.0]])


def test_features_are_set_and_compared():
    pd = pytest.importorskip("pandas")
    model = DPMeans(1.0)
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    check_matrix(frame, SquaredEuclidean(), model)
    assert model.n_features_in_ == 2 and list(model.feature_names_in_) == ["a", "b"]
    check_matrix(frame, SquaredEuclidean(), model, reset=False)
    with pytest.raises(ValueError, match="feature names"):
        check_matrix(frame[["b", "a"]], SquaredEuclidean(), model, reset=False)


def test_sparse_rows_are_refused_where_the_estimator_takes_dense_ones():
    with pytest.raises(TypeError, match="GaussianDPMeans takes dense rows only"):
        check_matrix(sparse.csr_array(np.eye(3)), SquaredEuclidean(), GaussianDPMeans(1.0))


@CONTAINERS
def test_first_cell(container):
    X = np.zeros((400_000, 1)) if container is np.asarray else np.zeros((50, 40))
    X[-3, -1] = X[-1, 0] = 7.0
    found = first_cell(container(X), lambda values: values == 7)
    assert found == (len(X) - 3, X.shape[1] - 1)
    assert first_cell(container(X), lambda values: values == 8) is None


def test_first_missing():
    assert first_missing(sparse.csr_array(np.ones((2, 3)))) is None
    for row in ([0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]):
        expected = 1, row.index(0)
        assert first_missing(sparse.csr_array(np.array([[1, 1, 1], row]))) == expected


@pytest.mark.parametrize(
    ("entries", "touched"), [([0.5, 0.25], False), ([0.5, 0.0], True), ([1.0, 0.5], True)]
)
@CONTAINERS
def test_borders(entries, touched, container):
    assert touches_border(container(np.array([entries])), Logistic()) == touched
