"""Costs by the direct formula."""

import numpy as np
import pytest

from hardbayes.dp_means.compiled.sums import all_costs, costs
from hardbayes.dp_means.starts import costs_at
from tests.dp_means.compiled.arrays import KINDS, Rows, constants_of
from tests.dp_means.partition_states import pose_here


@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 31, 64, 128])
def test_direct_costs_are_numpys_to_the_bit(d):
    """So a literal NumPy loop meets the same ties."""
    rng = np.random.default_rng(d)
    X, point = rng.normal(size=(50, d)), rng.normal(size=d)
    problem = pose_here(X)
    partition = problem.partition(1.0, 0.0, None)
    found = costs_at(problem.rows, partition, problem.frame.to_working(point)) / problem.frame.unit
    np.testing.assert_array_equal(found, ((X - point) ** 2).sum(axis=1))


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_cost_of_each_row_at_the_centre_in_its_slot(kind, squared):
    rows = Rows(kind)
    points = rows.centres()
    labels = np.random.default_rng(0).integers(-1, 4, 30).astype(np.int32)
    out = np.full(30, -9.0)
    centres = rows.direct(points, squared)
    costs(rows.rows, constants_of(rows, squared), centres, labels, out, 3, 28)
    expected = rows.costs(points, squared)[np.arange(30), labels]
    expected = np.where(labels < 0, 0.0, expected)
    np.testing.assert_allclose(out[3:28], expected[3:28], rtol=1e-12, atol=1e-14)
    assert (out[:3] == -9).all() and (out[28:] == -9).all()


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_costs_of_some_rows_at_all_centres(kind, squared):
    rows = Rows(kind)
    points = rows.centres()
    ids = np.array([29, 0, 7, 7, 15])
    out = np.full((5, 4), -9.0)
    all_costs(rows.rows, constants_of(rows, squared), rows.direct(points, squared), ids, out, 1, 5)
    expected = rows.costs(points, squared)[ids]
    np.testing.assert_allclose(out[1:], expected[1:], rtol=1e-12, atol=1e-14)
    assert (out[0] == -9).all()
