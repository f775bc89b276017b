"""Weights, labels, centres and memberships."""

import re

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.geometry import KullbackLeibler, Poisson, SquaredEuclidean
from hardbayes.core.validation import check_centres, check_labels, check_membership, check_weights

X = np.ones((4, 2))


# --- weights -----------------------------------------------------------------------------------


def test_no_weights():
    assert check_weights(None, X) is None


@pytest.mark.parametrize("equal", [3, 0.5, [2, 2, 2, 2], np.full(4, 7.0, np.float32)])
def test_equal_weights_are_one_number(equal):
    found = check_weights(equal, X)
    assert found.shape == (1,) and found.dtype == np.float64
    assert found[0] == np.ravel(equal)[0]


@pytest.mark.parametrize("dtype", [np.int64, np.bool_, np.float32])
def test_other_weights_become_float64(dtype):
    found = check_weights(np.array([0, 1, 1, 0], dtype), X)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [0, 1, 1, 0])


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([1, 2, 3], "must have one weight for each of the 4 rows. Got shape (3,) instead."),
        ([[1], [1], [1], [1]], "Got shape (4, 1) instead."),
        (["a", "b", "c", "d"], "must hold real numbers. Got dtype <U1."),
        ([1, -1, 1, 1], "must hold finite numbers >= 0. Got -1.0 at row 1."),
        ([1, 1, np.nan, 1], "Got nan at row 2."),
        ([1, 1, 1, np.inf], "Got inf at row 3."),
        ([0, 0, 0, 0], "must hold at least one number > 0. All are zero."),
        ([1e308] * 4, "sums to infinity. Scale the weights down."),
        ([1e-30, 1, 1, 1], "spans too wide a range: from 1e-30 to a sum of 3."),
        ([1e-251] * 4, "spans too wide a range"),
    ],
)
def test_weights_that_are_refused(weights, says):
    message = r"The 'sample_weight' parameter .*" + re.escape(says)
    with pytest.raises(ValueError, match=message):
        check_weights(weights, X)


def test_lengths_as_weights_are_multiplied_by_those_passed():
    counts = np.array([[1.0, 2.0], [3.0, 3.0]])
    geometry = KullbackLeibler(length_as_weight=True)
    np.testing.assert_array_equal(check_weights(None, counts, geometry), [3.0, 6.0])
    np.testing.assert_array_equal(check_weights([2.0, 0.5], counts, geometry), [6.0, 3.0])
    np.testing.assert_array_equal(check_weights([2.0, 1.0], counts, geometry), [6.0])
    assert check_weights(None, counts, KullbackLeibler()) is None


# --- labels ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels", [["b", "a", "b"], [7, -3, 7], [2.5, 0.0, 2.5], [True, False, True]]
)
def test_labels_become_numbers(labels):
    np.testing.assert_array_equal(check_labels(labels, 3), [1, 0, 1])


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ([0, 1], "The 'z' parameter must have one label for each of the 3 rows. Got shape (2,)."),
        ([[0], [1], [2]], "Got shape (3, 1)."),
        ([0.0, np.nan, 1.0], "The 'z' parameter holds NaN at row 1. Give every row a label."),
        (np.array([1, "a", None], object), "The 'z' parameter must hold labels of one kind."),
        ([[0], [1, 2], [3]], "The 'z' parameter must be a list of labels, one a row."),
    ],
)
def test_labels_that_are_refused(labels, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        check_labels(labels, 3, "z")


# --- centres -----------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, np.ndarray.tolist])
def test_centres_become_an_array(container):
    centres = np.array([[1.0, 0.0], [2.0, 3.0]])
    found = check_centres(container(centres), SquaredEuclidean(), 2, None)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, centres)


@pytest.mark.parametrize(
    ("init", "geometry", "says"),
    [
        (np.ones((2, 3)), SquaredEuclidean(), "which has 2 columns. Got 3 columns instead."),
        (np.ones((5, 2)), SquaredEuclidean(), "at most max_clusters=4. Got 5 centres instead."),
        ([[1.0, np.nan]], SquaredEuclidean(), "It contains NaN at row 0, column 1."),
        ([[1.0, -1.0]], Poisson(), "Got -1.0 at row 0, column 1."),
    ],
)
def test_centres_that_are_refused(init, geometry, says):
    start = "The 'init' parameter must be an array of centres (k, n_features) like rows of X"
    with pytest.raises(ValueError, match=re.escape(start) + ".*" + re.escape(says)):
        check_centres(init, geometry, 2, 4)


# --- memberships -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [bool, int, float])
def test_memberships_become_booleans(dtype):
    Z = np.array([[1, 0, 1], [0, 0, 1]])
    found = check_membership(Z.astype(dtype), 3)
    assert found.dtype == np.bool_
    np.testing.assert_array_equal(found, Z == 1)
    assert check_membership(np.zeros((4, 0)), 0).shape == (4, 0)


@pytest.mark.parametrize(
    ("Z", "says"),
    [
        ([[1, 0]], "X must have one column for each of the 3 features. Got 2 columns instead."),
        ([[1, 0, 0], [0, 0.5, 1]], "X must hold memberships: zeros and ones. Got 0.5 at row 1"),
        ([[1, 0, "x"]], "at row 0, column 2 of X."),
    ],
)
def test_memberships_that_are_refused(Z, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        check_membership(Z, 3)
