"""Where fits start, against literal loops."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.dp_means.starts import costs_at, farthest_first, k_means_plus_plus
from tests.dp_means.partition_states import pose_here
from tests.reference.dp_means import initial_centers
from tests.test_divergences import rows_for

WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, 40)


def posed_rows(divergence, container=np.asarray, weights=WEIGHTS):
    X = rows_for(divergence, np.random.default_rng(1), 40, 4, zeros=False)
    return X, pose_here(container(X), divergence, weights)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl", "poisson"])
def test_costs_of_every_row_at_one_point(divergence, container):
    _, problem = posed_rows(divergence, container)
    partition, rows = problem.partition(1.0, 0.0, None), problem.rows
    point = rows.take(np.array([3])).dense()[0]
    expected = problem.geometry.divergence(rows.take().dense(), point)
    np.testing.assert_allclose(costs_at(rows, partition, point), expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
@pytest.mark.parametrize("cap", [None, 3])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl", "poisson"])
def test_the_row_farthest_above_its_opening_cost_comes_next(divergence, cap, prior_weight):
    _, problem = posed_rows(divergence)
    rows = problem.rows.take().dense()
    partition = problem.partition(0.1, prior_weight, cap)
    opening = problem.opening_costs(partition)
    found = farthest_first(problem.rows, partition, problem.mean, opening)
    name = "poisson" if divergence == "kl" else divergence  # of rows that are normalised already
    expected = initial_centers(
        rows, problem.rows.weights, partition.penalty, problem.mean, partition.prior_weight, name,
        "farthest-first", partition.max_clusters,
    )  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert len(found) == 3 if cap else len(found) > 3


def test_nothing_is_added_where_no_row_is_above():
    _, problem = posed_rows("squared_euclidean")
    partition = problem.partition(1e9, 0.0, None)
    opening = problem.opening_costs(partition)
    found = farthest_first(problem.rows, partition, problem.mean, opening)
    np.testing.assert_array_equal(found, problem.mean[np.newaxis])


def literal_plus_plus(rows, weights, opening, cap, rng):
    chance, nearest, chosen = weights, np.full(len(rows), np.inf), []
    while True:
        target = rng.random_sample() * np.cumsum(chance)[-1]
        row = next(i for i, c in enumerate(np.cumsum(chance)) if c > target)
        chosen.append(row)
        nearest = np.minimum(nearest, ((rows - rows[row]) ** 2).sum(axis=1))
        chance = np.where(weights * nearest > opening, weights * nearest, 0.0)
        if len(chosen) >= cap or not chance.any():
            return chosen


@pytest.mark.parametrize("cap", [None, 4])
@pytest.mark.parametrize("seed", range(5))
def test_rows_are_drawn_by_their_cost(seed, cap):
    _, problem = posed_rows("squared_euclidean")
    partition = problem.partition(2.0, 0.0, cap)
    opening, rows = problem.opening_costs(partition), problem.rows.take().dense()
    found = k_means_plus_plus(problem.rows, partition, opening, np.random.RandomState(seed))
    rng = np.random.RandomState(seed)
    chosen = literal_plus_plus(rows, problem.rows.weights, opening, cap or 40, rng)
    np.testing.assert_array_equal(found, rows[chosen])
    costs = problem.rows.weights * ((rows[:, np.newaxis] - found) ** 2).sum(axis=2).min(axis=1)
    assert cap or (costs <= opening).all()


def test_rows_without_weight_are_never_drawn():
    X = np.arange(6.0)[:, np.newaxis]
    problem = pose_here(X, weights=np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0]))
    partition = problem.partition(0.0, 0.0, None)
    for seed in range(20):
        rng = np.random.RandomState(seed)
        found = k_means_plus_plus(problem.rows, partition, np.zeros(1), rng)
        shown = problem.frame.from_working(found).ravel()
        assert sorted(shown) == [2.0, 3.0]


def test_with_a_prior_centres_are_those_of_clusters_of_one_row():
    _, problem = posed_rows("poisson")
    partition = problem.partition(0.5, 2.0, None)
    opening = problem.opening_costs(partition)
    found = k_means_plus_plus(problem.rows, partition, opening, np.random.RandomState(0))
    local = problem.rows.take()
    own = partition.opening_centres(local.dense(), local.weights_at())
    assert all((np.abs(own - centre).max(axis=1) < 1e-14).any() for centre in found)
