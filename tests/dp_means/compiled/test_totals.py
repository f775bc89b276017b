"""Totals that are exact under adding and taking away."""

import numpy as np
import pytest

from hardbayes.core.arrays import no_totals
from hardbayes.core.compiling import kernel
from hardbayes.dp_means.compiled import sums as totals_file
from hardbayes.dp_means.compiled.sums import add_share, first_entry, move
from hardbayes.dp_means.totals import Rounding
from tests.core.alone import alone
from tests.dp_means.compiled.arrays import KINDS, Rows

kinds = pytest.mark.parametrize("kind", KINDS)


@kernel
def move_row(rows, i, weight, source, target, totals, rounding, weight_rounding, first, last):
    totals_file.move_row(
        rows, i, weight, source, target, totals, rounding, weight_rounding, first, last
    )


def rounded(values, constants):
    """The coarse and the fine part of numbers."""
    coarse = (values + constants[0]) - constants[0]
    return coarse, ((values - coarse) + constants[1]) - constants[1]


def rounding_of(rows):
    return Rounding(rows.weights, rows.n, np.abs(rows.x).max(axis=0))


def expected(rows, labels, slots):
    """Coarse and fine sums, weights likewise."""
    rounding = rounding_of(rows)
    member = (labels == np.arange(slots)[:, np.newaxis]).astype(float)
    sums = [member @ part for part in rounded(rows.weights[:, np.newaxis] * rows.x, rounding.rows)]
    return [*sums, *(member @ part for part in rounded(rows.weights, rounding.weights))]


@kinds
@pytest.mark.parametrize(("first", "last"), [(0, 5), (0, 2), (2, 5)])
def test_one_row_moves_in_some_columns(kind, first, last):
    rows = Rows(kind)
    rounding, totals = rounding_of(rows), no_totals(3, 5)
    options = rounding.rows, rounding.weights, first, last
    for i, source, target in ((4, -1, 1), (7, -1, 1), (4, 1, 2), (7, 1, -1)):
        move_row(rows.rows, i, rows.weights[i], source, target, totals, *options)
    labels = np.full(30, -1)
    labels[4] = 2
    sums = expected(rows, labels, 3)
    columns = slice(first, last)
    for part, value in zip(totals[:2], sums[:2], strict=True):
        np.testing.assert_array_equal(part[:, columns], value[:, columns])
        assert not np.delete(part, np.arange(first, last), axis=1).any()
    if first == 0:  # the owner of the first column moves the weights
        np.testing.assert_array_equal(totals.weight_coarse, sums[2])
        np.testing.assert_array_equal(totals.weight_fine, sums[3])
        np.testing.assert_array_equal(totals.touched, [False, True, True])
    else:
        assert not totals.weight_coarse.any() and not totals.touched.any()


@kinds
def test_rows_whose_labels_differ_move(kind):
    rows, rng = Rows(kind), np.random.default_rng(0)
    rounding, totals = rounding_of(rows), no_totals(4, 5)
    before = np.full(30, -1, np.int32)
    for _ in range(5):
        after = rng.integers(-1, 4, 30).astype(np.int32)
        for start, stop in ((0, 11), (11, 30)):
            move(
                rows.rows, rows.weights, before, after, totals, rounding.rows, rounding.weights,
                0, 5, start, stop,
            )  # fmt: skip
        before = after
        for part, value in zip(totals[:4], expected(rows, after, 4), strict=True):
            np.testing.assert_array_equal(part, value)
    totals.touched[:] = False
    move(
        rows.rows, rows.weights, before, after, totals, rounding.rows, rounding.weights, 0, 5, 0, 30
    )
    assert not totals.touched.any()


def test_shares_are_added_and_emptied():
    rng = np.random.default_rng(0)
    totals, share = no_totals(3, 2), no_totals(3, 2)
    for part in (*totals[:4], *share[:4]):
        part[:] = rng.integers(1, 9, part.shape)
    share.touched[:] = [True, False, True]
    before, added = ([part.copy() for part in t[:4]] for t in (totals, share))
    add_share(totals, share)
    for part, old, more in zip(totals[:4], before, added, strict=True):
        np.testing.assert_array_equal(part[[0, 2]], (old + more)[[0, 2]])
        np.testing.assert_array_equal(part[1], old[1])
    assert all(not part[[0, 2]].any() for part in share)
    np.testing.assert_array_equal(share.coarse[1], added[0][1])  # not touched: left alone
    np.testing.assert_array_equal(totals.touched, [True, False, True])


@pytest.mark.parametrize("column", range(12))
def test_the_first_entry_that_is_not_left_of_a_column(column):
    columns = np.array([0, 9, 1, 4, 5, 9, 3], np.int32)
    assert alone(first_entry)(columns, 2, 6, column) == 2 + np.searchsorted([1, 4, 5, 9], column)
