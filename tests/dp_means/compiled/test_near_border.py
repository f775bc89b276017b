"""Rows at the border of their cluster: scores only rule clusters out, direct costs decide."""

import numpy as np
import pytest

from hardbayes.core.rows import new_batch
from hardbayes.dp_means.compiled.single_row import mark_near_border
from tests.dp_means.compiled.arrays import KINDS, Rows, constants_of


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("far", [1.0, 1e6])
def test_marks_by_the_definition(kind, squared, far):
    """With a cluster so far away that float32 scores cannot tell the others apart, too."""
    rows, rng = Rows(kind), np.random.default_rng(2)
    points = rows.centres(40)
    points[7] *= far
    table = rows.table(points, squared)
    view, slots = table.view(), table.slots
    factors = np.full(len(view.rank), np.inf)
    factors[slots] = rng.uniform(0.85, 0.99, 40)
    sizes = np.ones(len(view.rank))
    sizes[slots] = rng.uniform(30.0, 80.0, 40)
    costs = rows.costs(points, squared)
    own = np.argsort(costs, axis=1)[np.arange(30), (rng.random(30) < 0.3).astype(int)]
    labels = slots[own].astype(np.int32)
    sizes[labels[4]] = rows.weights[4] + 0.5  # the fifth row is alone
    labels[9] = -1
    marks = np.empty(30, bool)
    batch = new_batch(1 if rows.sparse else 16, view)
    block_factors = factors.reshape(-1, view.block).min(axis=1)
    mark_near_border(
        rows.rows, rows.weights, constants_of(rows, squared), view, sizes, factors, block_factors,
        labels, 0.5, batch, marks, 0, 30,
    )  # fmt: skip
    left = sizes[labels] - rows.weights
    frees = sizes[labels] / np.where(left > 0.5, left, 1.0) * costs[np.arange(30), own]
    pays = factors[slots] * costs
    pays[np.arange(30), own] = np.inf
    expected = (pays.min(axis=1) <= frees) | (left - 0.5 <= 1e-9 * rows.weights) | (labels < 0)
    np.testing.assert_array_equal(marks, expected)
    assert marks[4] and marks[9] and not marks.all()
