"""The objective of a partition, by its definition."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.geometry import GEOMETRIES
from hardbayes.dp_means.objective import measure_labels, terms_of
from tests.dp_means.moves.cases import heaps_for
from tests.dp_means.partition_states import pose_here, value_of


def test_terms_are_the_fit_and_what_the_prior_costs():
    X, weights, _ = heaps_for("poisson", 0)
    problem = pose_here(X, "poisson", weights)
    partition = problem.partition(1.0, 2.0, None)
    centres = problem.rows.take(np.arange(3)).dense()
    found = terms_of(7.0, partition, centres)
    assert found.fit == 7.0 and found.n_clusters == 3
    assert found.prior == pytest.approx(partition.prior_costs(centres).sum())


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
@pytest.mark.parametrize("divergence", sorted(GEOMETRIES))
def test_any_labels_cost_what_the_definition_says(divergence, prior_weight, container):
    if divergence == "itakura_saito":
        container = np.asarray  # zeros are outside the domain
    for weighted in (False, True):
        X, weights, labels = heaps_for(divergence, 0)
        weights = weights if weighted else None
        problem = pose_here(container(X), divergence, weights)
        partition = problem.partition(0.5, prior_weight, None)
        state = problem.state(partition)
        terms = measure_labels(state, labels.astype(np.int32))
        found = terms.fit + terms.prior + partition.total_penalty(terms.n_clusters)
        expected = value_of(problem, partition, X, weights, labels, divergence)
        assert found == pytest.approx(expected, rel=1e-10)
        np.testing.assert_array_equal(problem.rows.labels(), np.full(60, -1))  # untouched


def test_clusters_without_weight_or_rows_cost_nothing():
    X = np.array([[0.0], [1.0], [5.0], [9.0]])
    problem = pose_here(X, weights=np.array([1.0, 1.0, 0.0, 1.0]))
    state = problem.state(problem.partition(1.0, 0.0, None))
    terms = measure_labels(state, np.array([0, 0, 1, 4], np.int32))
    assert terms.n_clusters == 2
    assert terms.fit == pytest.approx(0.5 * problem.unit)
