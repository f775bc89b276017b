"""Micro-clusters: exact weights, means and scatters, and unions that lose nothing."""

from fractions import Fraction

import numpy as np
import pytest

from hardbayes.core.frame import Frame
from hardbayes.core.geometry import geometry_for
from hardbayes.dp_means.objective import Partition
from hardbayes.mini_batch.summary import Summary, product_error, reduce, without_faded
from hardbayes.mini_batch.windows import MicroStep
from tests.mini_batch.streams import DIVERGENCES, rows_for
from tests.reference.micro_clusters import Micro, shrink, take_window

SQUARED = geometry_for("squared_euclidean")


def frame_of(d):
    return Frame(np.zeros(d), 1.0, 2)


def fractions(rows):
    return [[Fraction(float(x)) for x in row] for row in rows]


def absorbed(X, weights, opening, pool, geometry=SQUARED, size=64):
    """Return the summary of rows that came in windows of this size."""
    step, summary = MicroStep(geometry, pool), Summary.of_nothing(X.shape[1])
    frame = Frame(np.zeros(X.shape[1]), 1.0, geometry.degree or 0)
    for start in range(0, len(X), size):
        part = slice(start, start + size)
        summary = step.absorb(X[part], weights[part], frame, summary, opening, 0.0)[0]
    return summary


def partition_of(summary, geometry=SQUARED):
    mean = summary.sums.sum(axis=0) / summary.weights.sum()
    return Partition(geometry, 0.0, 0.0, mean, 0)


@pytest.mark.parametrize("seed", range(3))
def test_windows_are_taken_up_as_the_literal_reference_does(seed, pool):
    # Small integers and weights that are powers of two: every cost and every sum is exact.
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, (160, 2)).astype(float)
    weights = rng.choice([0.5, 1.0, 2.0], 160)
    step, summary, micros = MicroStep(SQUARED, pool), Summary.of_nothing(2), []
    for start in range(0, 160, 32):
        part = slice(start, start + 32)
        summary, told = step.absorb(X[part], weights[part], frame_of(2), summary, 20.0, 0.0)
        take_window(micros, fractions(X[part]), [Fraction(w) for w in weights[part]], 20)
        assert len(summary) == len(micros)
        np.testing.assert_array_equal(summary.weights, [float(m.weight) for m in micros])
        means = [[float(x) for x in micro.mean] for micro in micros]
        np.testing.assert_allclose(summary.means(SQUARED), means, rtol=1e-15)
        np.testing.assert_allclose(summary.scatter, [float(m.scatter) for m in micros], atol=1e-12)
        assert told.weights.sum() == weights[part].sum()
        last = [float(x) for x in micros[told.numbers[-1]].rows[-1]]
        np.testing.assert_array_equal(last, X[part][-1])


def test_one_union_at_a_time_is_what_the_literal_reference_does(pool):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 3))
    summary = absorbed(X, np.ones(30), 0.0, pool)
    micros = [Micro() for _ in X]
    for micro, row in zip(micros, fractions(X), strict=True):
        micro.add(row, Fraction(1))
    for most in range(29, 0, -1):
        summary, _, _ = reduce(summary, partition_of(summary), most, pool)
        shrink(micros, most)
        np.testing.assert_allclose(
            np.sort(summary.scatter), np.sort([float(m.scatter) for m in micros]), atol=1e-13
        )
    assert summary.scatter[0] == pytest.approx(((X - X.mean(axis=0)) ** 2).sum())


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_scatter_is_the_cost_of_the_rows_at_the_means(divergence, pool):
    geometry = geometry_for(divergence)
    X = geometry.statistic(rows_for(divergence, 300))
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    step, summary = MicroStep(geometry, pool), Summary.of_nothing(X.shape[1])
    numbers, frame = np.zeros(0, np.intp), Frame(np.zeros(X.shape[1]), 1.0, geometry.degree or 0)
    for start in range(0, 300, 60):
        part = slice(start, start + 60)
        summary, told = step.absorb(X[part], weights[part], frame, summary, 0.1, 0.0)
        numbers = np.concatenate([numbers, told.numbers])
    summary, into, dearest = reduce(summary, partition_of(summary, geometry), 9, pool)
    numbers, means = into[numbers], summary.means(geometry)
    rows = X if geometry.row_unit is None else X / geometry.row_sizes(X)[:, np.newaxis]
    assert len(summary) == 9 and dearest > 0
    for m in range(9):
        mine = numbers == m
        mean = np.average(rows[mine], axis=0, weights=weights[mine])
        np.testing.assert_allclose(means[m], mean, rtol=1e-12, atol=1e-14)
        cost = weights[mine] @ geometry.divergence(rows[mine], np.tile(means[m], (mine.sum(), 1)))
        assert summary.scatter[m] == pytest.approx(cost, rel=1e-9, abs=1e-9)


def test_what_is_far_from_zero_keeps_its_scatter(pool):
    X = 1e8 + np.random.default_rng(0).standard_normal((2000, 2))
    summary = absorbed(X - 1e8, np.ones(2000), 1e9, pool)
    direct = ((X - X.mean(axis=0)) ** 2).sum()
    step, far = MicroStep(SQUARED, pool), Summary.of_nothing(2)
    far, _ = step.absorb(X, np.ones(1), Frame(np.full(2, 1e8), 1.0, 2), far, 1e9, 0.0)
    assert len(summary) == len(far) == 1
    assert far.scatter[0] == pytest.approx(direct, rel=1e-12)
    assert summary.scatter[0] == pytest.approx(direct, rel=1e-6)


def test_another_frame_shows_the_same_rows(pool):
    X = np.random.default_rng(0).integers(-50, 50, (200, 2)).astype(float)
    summary = absorbed(X, np.ones(200), 400.0, pool)
    own, other = Frame(np.zeros(2), 1.0, 2), Frame(np.array([3.0, -7.0]), 0.25, 2)
    moved = summary.in_frame(own, other)
    np.testing.assert_array_equal(moved.sums / moved.weights[:, None],
                                  0.25 * (summary.sums - summary.weights[:, None] * other.shift)
                                  / summary.weights[:, None])  # fmt: skip
    np.testing.assert_array_equal(moved.scatter, summary.scatter / 16)
    back = moved.in_frame(other, own)
    for mine, theirs in zip(back.totals[:4], summary.totals[:4], strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_products_lose_nothing():
    a, b = np.random.default_rng(0).standard_normal((2, 100))
    rest = product_error(a, b, a * b)
    for x, y, product, error in zip(a, b, a * b, rest, strict=True):
        assert Fraction(x) * Fraction(y) == Fraction(product) + Fraction(error)


def test_what_has_faded_goes_to_its_nearest(pool):
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    weights = np.array([1.0, 2.0**-90, 1.0, 2.0**-90])
    kept, into = without_faded(absorbed(X, weights, 0.0, pool), SQUARED)
    assert kept.sums.ravel().tolist() == [0.0, 9.0] and into.tolist() == [0, 0, 1, 1]
    nothing = absorbed(X, weights, 0.0, pool).scaled(0.0)
    kept, into = without_faded(nothing, SQUARED)
    assert len(kept) == 0 and into.tolist() == [-1] * 4
