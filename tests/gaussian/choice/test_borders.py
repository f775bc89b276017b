"""Borders between neighbouring clusters."""

import numpy as np
import pytest

from hardbayes.gaussian.choice.borders import VALLEY, Border, Borders
from tests.gaussian.choice.samples import SQUARE, blobs, sampled

MATRIX, TRUE = blobs(SQUARE)


@pytest.fixture(params=[False, True], ids=["full", "diag"])
def borders(request):
    """Four clusters, the first of which is cut in two."""
    with sampled(MATRIX, diagonal=request.param) as sample:
        rows, labels = sample.rows, TRUE[sample.ids].copy()
        labels[(labels == 0) & (rows.rows[:, 0] > np.median(rows.rows[labels == 0, 0]))] = 4
        yield rows, labels, Borders(rows, labels, 5, sample.dip_rows)


def test_valleys_and_likelihoods_tell_two_from_halves(borders):
    _, _, found = borders
    halves, *others = found.between([(0, 4), (0, 2), (1, 4), (1, 3)])
    assert halves.p_value > 0.3 and halves.gain < 0.0
    assert all(border.p_value < 1e-3 and border.gain > 0.4 for border in others)
    assert not halves.separates and all(border.separates for border in others)
    assert found.weakest() == (0, 4)


def test_neighbours(borders):
    pairs = borders[2].pairs()
    assert {(0, 4), (1, 3), (2, 3)} <= set(pairs)
    assert all(a < b for a, b in pairs) and len(set(pairs)) == len(pairs)


def test_a_merge_has_the_moments_of_the_union(borders):
    rows, labels, found = borders
    found.between(found.pairs())
    found.merge(0, 4)
    merged = np.where(labels == 4, 0, labels)
    expected = rows.statistics(merged, 4)
    for mine, theirs in zip(found.clusters.pick(np.arange(4)), expected, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)
    np.testing.assert_array_equal(found.names, [0, 1, 2, 3, 0])
    assert all(4 not in pair for pair in found.pairs())
    fresh = Borders(rows, merged, 4, rows)
    pairs = [pair for pair in found.pairs() if pair in fresh.pairs()]
    for mine, theirs in zip(found.between(pairs), fresh.between(pairs), strict=True):
        np.testing.assert_allclose(mine.gain, theirs.gain, rtol=1e-6)
    assert found.weakest() is None


def test_a_valley_decides():
    assert Border(-0.1, VALLEY).separates and not Border(5.0, 1.01 * VALLEY).separates


def test_few_rows_are_judged_by_the_moments_of_others():
    """In many columns the rows of one cloud look like two to their own moments."""
    rng = np.random.default_rng(0)
    with sampled(rng.normal(size=(60, 12))) as sample:
        rows = sample.rows
        direction = rng.normal(size=12)
        labels = (rows.rows @ direction > 0).astype(np.int64)
        assert Borders(rows, labels, 2, rows).between([(0, 1)])[0].p_value > 0.2


def test_clusters_that_are_alike_judge_each_pair():
    """25 rows in 10 columns say little of a covariance; six clusters that share it say more."""
    rng = np.random.default_rng(1)
    true = np.repeat(np.arange(6), 25)
    matrix = rng.normal(size=(150, 10)) + 2.5 * rng.normal(size=(6, 10))[true]
    with sampled(matrix) as sample:
        rows, labels = sample.rows, true[sample.ids]
        two = rows.part(np.flatnonzero(labels < 2))
        alone = Borders(two, labels[labels < 2], 2, two)
        among = Borders(rows, labels, 6, rows)
        p_values = [borders.between([(0, 1)])[0].p_value for borders in (among, alone)]
        assert p_values[0] < 1e-3 * p_values[1]


def test_two_rows_say_nothing():
    with sampled(np.array([[0.0], [0.1], [5.0], [5.1]])) as sample:
        labels = np.array([0, 0, 1, 1])
        found = Borders(sample.rows, labels, 2, sample.rows)
        assert found.between(found.pairs())[0].p_value == 1.0
