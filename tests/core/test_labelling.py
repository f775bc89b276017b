"""Partitions and what follows from their labels."""

import numpy as np
import pytest

from hardbayes.core.centre_free import CentreFreeModel, labelled, propose, unlabelled
from tests.core.association import MODELS, AssociationModel, KernelModel


@pytest.fixture(params=MODELS)
def model(request):
    return request.param(np.random.default_rng(0))


def literal(model, labels):
    """The objective: -links / degree of each cluster, and the penalty."""
    total = 0.0
    for c in np.unique(labels[model.weights > 0]):
        z = (labels == c).astype(float)
        total += model.penalty - z @ model.links @ z / (z @ model.weights)
    return total


def test_the_contract_has_at_most_twelve_methods():
    methods = [name for name, value in vars(CentreFreeModel).items() if callable(value)]
    assert len([name for name in methods if not name.startswith("_")]) <= 12


def test_objective_costs_and_members(model):
    labels = np.array([1, 0, 1, 2, 0, 2, 2])
    found = labelled(model, labels)
    assert found.k == 3
    np.testing.assert_allclose(found.objective, literal(model, labels), rtol=1e-12)
    np.testing.assert_allclose(found.costs.sum() + 3 * model.penalty, found.objective)
    assert [ids.tolist() for ids in found.members] == [[1, 4], [0, 2], [3, 5, 6]]


def test_empty_clusters_are_dropped_in_their_order(model):
    found = labelled(model, np.array([5, 0, 5, 2, 0, 2, 2]))
    np.testing.assert_array_equal(found.labels, [2, 0, 2, 1, 0, 1, 1])
    assert found.k == 3 and len(found.members) == 3


@pytest.mark.parametrize("kind", [AssociationModel, KernelModel])
def test_rows_without_weight_make_no_cluster(kind):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 2))
    weights = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    links = weights[:, None] * (rows @ rows.T) * weights
    model = kind(links, weights, 1.0)
    found = labelled(model, np.array([2, 2, 0, 0, 1, 0]))
    assert found.k == 2
    np.testing.assert_array_equal(found.labels[:4], [1, 1, 0, 0])
    assert found.labels[4] in (0, 1)
    moved = labelled(model, np.array([1, 1, 0, 0, 0, 1]))
    assert found.keys == moved.keys  # what has no weight does not identify a cluster


def test_a_proposal_tells_the_exact_change_and_changes_nothing(model):
    current = labelled(model, np.array([0, 0, 0, 0, 1, 1, 1]))
    labels, other = current.labels.copy(), np.array([0, 0, 1, 1, 2, 2, 2])
    found = propose(current, other, 4, n_splits=1)
    np.testing.assert_allclose(found.change, literal(model, other) - literal(model, labels))
    assert found[2:] == (4, 1, 0) and found.outcome.k == 3
    np.testing.assert_array_equal(current.labels, labels)


def test_any_partition_is_better_than_none(model):
    start = unlabelled(model, model.statistics(np.zeros(7, int), 1))
    assert start.objective == np.inf and start.k == 0 and (start.labels == -1).all()
    assert propose(start, np.zeros(7, int), 7).change == -np.inf
