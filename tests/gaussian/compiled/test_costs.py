"""Compiled distances from clusters with covariances against NumPy."""

import numpy as np
import pytest

from hardbayes.gaussian.compiled import statistics

GAP = np.empty(3)


@pytest.fixture(params=["full", "diag"])
def drawn(request):
    """Rows, means, roots as the kernels take them, and distances by definition."""
    rng = np.random.default_rng(0)
    rows, means = rng.normal(size=(20, 3)), rng.normal(size=(4, 3))
    full = np.tril(rng.normal(size=(4, 3, 3)))
    if request.param == "diag":
        full = np.array([np.diag(np.diag(root)) for root in full])
    apart = ((full @ (rows[:, None, :] - means)[..., None]) ** 2).sum(axis=(2, 3))
    roots = np.array([[np.diag(root)] for root in full]) if request.param == "diag" else full
    return rows, means, roots, apart


def test_all_distances_of_the_rows_asked_for(drawn):
    rows, means, roots, apart = drawn
    out = np.full((20, 4), -1.0)
    statistics.all_distances(rows, means, roots, out, GAP, 5, 12)
    np.testing.assert_allclose(out[5:12], apart[5:12], rtol=1e-12)
    assert (out[:5] == -1).all() and (out[12:] == -1).all()


@pytest.mark.parametrize("offsets", [[0.0, 0.0, 0.0, 0.0], [3.0, -1.0, 0.0, 0.5]])
def test_nearest(drawn, offsets):
    rows, means, roots, apart = drawn
    labels, distances = np.empty(20, np.int64), np.empty(20)
    statistics.nearest(rows, means, roots, np.array(offsets), labels, distances, GAP, 0, 20)
    np.testing.assert_array_equal(labels, (apart + offsets).argmin(axis=1))
    np.testing.assert_allclose(distances, (apart + offsets).min(axis=1), rtol=1e-12)


def test_the_first_of_equals_wins(drawn):
    rows, means, roots, _ = drawn
    labels, distances = np.empty(20, np.int64), np.empty(20)
    twice = [np.concatenate([each, each]) for each in (means, roots)]
    statistics.nearest(rows, *twice, np.zeros(8), labels, distances, GAP, 0, 20)
    assert labels.max() < 4


@pytest.mark.parametrize("diagonal", [False, True])
def test_transform(diagonal):
    rng = np.random.default_rng(1)
    rows, middle = rng.normal(size=(9, 3)), rng.normal(size=3)
    matrix = rng.normal(size=(1, 3)) if diagonal else np.triu(rng.normal(size=(3, 3)))
    whole, alone = np.empty((9, 3)), np.empty((1, 3))
    statistics.transform(rows, middle, matrix, whole, 0, 9)
    expected = (rows - middle) * matrix if diagonal else (rows - middle) @ matrix
    np.testing.assert_allclose(whole, expected, rtol=1e-12, atol=1e-14)
    statistics.transform(rows[4:5].copy(), middle, matrix, alone, 0, 1)
    np.testing.assert_array_equal(alone[0], whole[4])  # whatever rows are beside it
