"""Working coordinates: exact shifts and scales, also near the limits of float64."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from hardbayes import BPMeans, DPMeans, penalty_for
from hardbayes.core.frame import (
    FOLD,
    Frame,
    column_range,
    frame_for,
    power_of_two_scale,
    round_shift,
)
from hardbayes.core.geometry import GEOMETRIES, geometry_for

TINY = 5e-324


@pytest.mark.parametrize("n", [1, FOLD - 1, FOLD, 5000])
@pytest.mark.parametrize("d", [1, 3, 700])
def test_column_ranges(n, d):
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    low, high = column_range(X)
    np.testing.assert_array_equal(low, X.min(axis=0))
    np.testing.assert_array_equal(high, X.max(axis=0))


def test_sparse_columns_share_one_range_with_zero():
    X = sparse.csr_array(np.array([[0.0, -2.0], [5.0, 0.0]]))
    np.testing.assert_array_equal(column_range(X), [[-2.0, -2.0], [5.0, 5.0]])
    positive = sparse.csr_array(np.array([[1.0, 2.0]]))
    np.testing.assert_array_equal(column_range(positive)[0], 0.0)


def test_only_columns_far_from_zero_are_shifted_and_exactly():
    rng = np.random.default_rng(0)
    X = np.add(rng.uniform(-1, 1, (500, 4)), [0.0, 5.0, 1e6, -1e12])
    X[:, 0] = 3.0
    low, high = column_range(X)
    shift = round_shift(low, high)
    assert shift[0] == 3.0 and shift[1] == 0.0
    assert (np.abs(X - shift).max(axis=0)[2:] <= 3).all()
    for j in (2, 3):  # no rounding: adding the shift again gives the same numbers
        np.testing.assert_array_equal((X[:, j] - shift[j]) + shift[j], X[:, j])


def test_points_there_and_back():
    frame = Frame(np.array([1.0, -8.0]), 0.25, 2)
    points = np.array([[1.0, 0.0], [5.0, -6.0]])
    np.testing.assert_array_equal(frame.to_working(points), [[0.0, 2.0], [1.0, 0.5]])
    np.testing.assert_array_equal(frame.from_working(frame.to_working(points)), points)
    assert frame.unit == 0.0625


@pytest.mark.parametrize("name", GEOMETRIES)
def test_frames_follow_what_the_geometry_allows(name):
    geometry = geometry_for(name)
    X = np.random.default_rng(0).uniform(0.5, 0.75, (50, 2)) + (0 if name == "logistic" else 100)
    frame, largest = frame_for(X, geometry)
    assert frame.shift.any() == geometry.translation_invariant
    np.testing.assert_array_equal(largest, np.abs(X - frame.shift).max(axis=0))
    assert (frame.scale == 1.0) == (geometry.degree is None)
    if geometry.degree is not None:
        assert 0.5 <= largest.max() * frame.scale < 1
    assert not frame_for(sparse.csr_array(X), geometry)[0].shift.any()


def test_the_scale_brings_numbers_below_one_or_is_infinite():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for largest in (1e-300, 0.3, 1.0, 1e19, 1.7e308):
            assert 0.5 <= largest * power_of_two_scale(largest) < 1
        assert power_of_two_scale(0.0) == 1.0
        assert power_of_two_scale(TINY) == np.inf


@pytest.mark.parametrize("divergence", ["squared_euclidean", "itakura_saito", "kl", "cosine"])
@pytest.mark.parametrize("level", [1, 1000])
def test_subnormal_rows_give_one_clear_error_and_no_warning(divergence, level):
    X = TINY * level * np.array([[1, 2], [2, 1], [3, 1], [1, 3]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"Multiply X by|[Rr]escale that row"):
            DPMeans(1.0, divergence=divergence).fit(X)


def test_subnormal_rows_elsewhere():
    X = TINY * np.array([[1, 2], [2, 1], [3, 1], [1, 3]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (BPMeans(1.0).fit, lambda X: penalty_for(X, 2)):
            with pytest.raises(ValueError, match="Multiply X by"):
                call(X)
