"""Assignments in tiles; the rule itself is tested with that of passes with bounds."""

import numpy as np
import pytest

from hardbayes.core.rows import new_batch
from hardbayes.dp_means.bounds import no_bounds
from hardbayes.dp_means.compiled.assign import assign
from hardbayes.dp_means.compiled.every_centre import assign_all, new_tile
from hardbayes.dp_means.totals import NO_ROUNDING, NO_TOTALS
from tests.dp_means.compiled.arrays import Rows, constants_of


@pytest.mark.parametrize("squared", [True, False], ids=["distances", "affine"])
@pytest.mark.parametrize("scales", [False, True])
@pytest.mark.parametrize("k", [1, 3, 40, 130])
@pytest.mark.parametrize("n", [1, 15, 16, 75])
def test_the_same_as_a_pass_row_by_row(n, k, scales, squared):
    """Of every count, of rows that fill no tile, and of rows with scales and openings of theirs."""
    rows = Rows(n=n, seed=n, scales=scales)
    view = rows.table(rows.centres(k), squared).view()
    bounds = no_bounds(rows.table(rows.centres(k), squared).layout, view)
    opening = np.random.default_rng(k).uniform(0.0, 3.0, n)
    found = []
    for kernel, beside, scratch in (
        (assign, (bounds,), new_batch(16, view)),
        (assign_all, (), new_tile(view)),
    ):
        labels, marks = np.full(n, -1, np.int32), np.zeros(n, np.uint8)
        labels[::3] = 0
        counts = kernel(
            rows.rows, rows.weights, opening, constants_of(rows, squared), view, *beside, labels,
            marks, NO_TOTALS, NO_ROUNDING, NO_ROUNDING, scratch, 0, n,
        )  # fmt: skip
        found.append((labels.tolist(), marks.tolist(), counts))
    assert found[0] == found[1]


def test_scores_beyond_their_range_decide_nothing():
    rows = Rows(n=40)
    centres = rows.centres(20)
    centres[3:] = 1e30  # their squares are infinite in float32
    view = rows.table(centres).view()
    labels, marks = np.full(40, -1, np.int32), np.zeros(40, np.uint8)
    assign_all(
        rows.rows, rows.weights, np.array([np.inf]), np.zeros(1), view, labels, marks, NO_TOTALS,
        NO_ROUNDING, NO_ROUNDING, new_tile(view), 0, 40,
    )  # fmt: skip
    np.testing.assert_array_equal(view.rank[labels], rows.costs(centres).argmin(axis=1))
