"""Splits in two by classification EM."""

import numpy as np
import pytest

from hardbayes.gaussian.compiled.moves import divide
from tests.gaussian.test_gaussians import gaussians


def halves(rows, weights, cut, *, diagonal, max_rows=1000, rounds=(4, 8)):
    """Divide all rows, as one cluster, from a cut of the first column."""
    n, d = rows.shape
    h = 1 if diagonal else d
    order, places = np.arange(n), np.array([0, n])
    cuts = np.full((1, 2, 1), cut)
    found = (np.zeros((1, 2, 2)), np.zeros((1, 2, 2, d)), np.zeros((1, 2, 2, h, d)))
    good = np.zeros((1, 2), bool)
    sides = np.full(n, 9, np.uint8)
    divide(
        rows, weights, order, places, rows[:, :1].T.copy(), cuts, np.zeros((1, 1), np.int64),
        np.ones(1, np.int64), max_rows, d + 1.0, np.full(d, 1e-6), np.array(rounds),
        np.array([weights.sum()]), sides, *found, good, np.zeros((5, h, d)), 0, 1,
    )  # fmt: skip
    return sides, *(array[0] for array in found), good[0]


def two(n=80):
    """A narrow cluster inside the long side of a wide one."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(n, 2)) * [3.0, 1.0]
    narrow = 0.2 * rng.normal(size=(n, 2)) + [6.0, 0.0]
    return np.vstack([wide, narrow]), np.repeat([0, 1], n)


@pytest.mark.parametrize("diagonal", [False, True])
def test_moments_are_those_of_the_sides(diagonal):
    rows, _ = two()
    weights = np.random.default_rng(1).integers(1, 3, len(rows)).astype(float)
    sides, sizes, means, scatters, good = halves(rows, weights, 4.0, diagonal=diagonal)
    assert good.all()
    expected = gaussians(rows, sides.astype(int), weights, diagonal)
    np.testing.assert_allclose(sizes[1], expected.weights)
    np.testing.assert_allclose(means[1], expected.means)
    lower = expected.scatters if diagonal else np.tril(expected.scatters)
    np.testing.assert_allclose(scatters[1], lower, atol=1e-9)


def test_two_covariances_find_the_narrow_cluster():
    rows, y = two()
    sides = halves(rows, np.ones(len(rows)), 3.0, diagonal=False)[0]
    assert (sides == y).mean() > 0.97
    common = halves(rows, np.ones(len(rows)), 3.0, diagonal=False, rounds=(30, 0))[0]
    assert (common == y).mean() < (sides == y).mean()


def test_a_side_without_rows_is_no_division():
    rows, _ = two()
    assert not halves(rows, np.ones(len(rows)), 99.0, diagonal=False)[-1].any()


def test_of_many_rows_some_stand_for_all():
    rows, _ = two()
    order = np.random.default_rng(2).permutation(len(rows))
    found = halves(rows[order], np.ones(len(rows)), 4.0, diagonal=False, max_rows=50)
    assert (found[0] == 9).sum() >= len(rows) - 50
    np.testing.assert_allclose(found[1].sum(axis=1), len(rows))
