"""Fitted clusters of a graph: to arrays and back, and what files must not hold."""

import numpy as np
import pytest

from hardbayes.core import schema
from hardbayes.graph.fitted import MODEL, FittedGraph, measure
from tests.graph.test_problem import posed
from tests.reference.graphs import cuts, random_adjacency


@pytest.fixture
def fitted():
    adjacency = random_adjacency(np.random.default_rng(0), 10, loops=True)
    return adjacency, np.arange(10) % 3


@pytest.mark.parametrize("ratio", [False, True])
def test_measure(fitted, ratio):
    adjacency, labels = fitted
    model, found = measure(posed(1e-30 * adjacency, ratio), labels, -0.5)
    expected = cuts(adjacency, labels, "ratio" if ratio else "normalized")
    np.testing.assert_allclose(found, expected * (1e-30 if ratio else 1.0))
    member = np.eye(3)[labels]
    np.testing.assert_allclose(model.inside, 1e-30 * np.diag(member.T @ adjacency @ member))
    np.testing.assert_allclose(model.degrees, 1e-30 * member.T @ adjacency.sum(axis=1))


def test_arrays(fitted):
    adjacency, labels = fitted
    model, _ = measure(posed(adjacency), labels, -0.5)
    again = FittedGraph.from_arrays(-0.5, model.to_arrays())
    assert again.ratio is False and again.penalty == -0.5
    for name in ("labels", "inside", "degrees", "sizes"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels", np.zeros(10, np.int64)),
        ("labels", np.full(10, -1)),
        ("sizes", np.ones(3)),
        ("inside", np.full(3, np.nan)),
        ("degrees", np.ones(4)),
        ("ratio", 1.5),
        ("more", 1.0),
    ],
)
def test_malformed_arrays_are_refused(fitted, name, value):
    adjacency, labels = fitted
    arrays = measure(posed(adjacency), labels, -0.5)[0].to_arrays() | {f"working_{name}": value}
    with pytest.raises(ValueError, match="saved model"):
        read(arrays)
    with pytest.raises(ValueError, match="incomplete"):
        read({})


def read(arrays):
    """Check arrays from a file and return the model."""
    schema.check(arrays, MODEL)
    return FittedGraph.from_arrays(-0.5, arrays)
