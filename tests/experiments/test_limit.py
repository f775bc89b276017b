"""The limit itself: probabilities are as they are said to be, and samplers choose as they must."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, poisson

from hardbayes import BPMeans, objective
from hardbayes.datasets import make_three_gaussians
from hardbayes.experiments import limit
from tests.reference.brute_force import set_partitions
from tests.reference.dp_means import literal_dp_means

X, Y = make_three_gaussians(60, random_state=0)
X = X - X.mean(axis=0)
SMALL = 10.0 ** -np.arange(2, 7)


def test_probabilities_of_partitions_sum_to_one():
    sizes = [np.bincount(labels) for labels in set_partitions(6)]
    total = sum(np.exp(limit.log_partition(each, np.log(0.7))) for each in sizes)
    np.testing.assert_allclose(total, 1.0)


def test_one_row_has_a_poisson_number_of_features():
    found = [limit.log_features(np.ones((1, k)), np.log(1.3)) for k in range(1, 6)]
    np.testing.assert_allclose(found, poisson.logpmf(range(1, 6), 1.3))


def test_integrated_densities_are_normal():
    rng = np.random.default_rng(0)
    rows, Z = rng.normal(size=(5, 2)), rng.integers(0, 2, (5, 3)).astype(float)
    covariance = 0.3 * np.eye(5) + limit.RHO * Z @ Z.T
    expected = sum(multivariate_normal(np.zeros(5), covariance).logpdf(x) for x in rows.T)
    np.testing.assert_allclose(limit.log_marginal(rows, Z, 0.3), expected)


def test_probabilities_tend_to_what_is_minimised():
    Z = np.column_stack([np.ones(60), Y == 1])
    found = limit.limits(X, Y, Z, 20.0)
    # BKJ count one cluster less than KJ, and features as they are.
    np.testing.assert_allclose(found["partition"].objective, objective(X, Y, 20.0) - 20.0)
    np.testing.assert_allclose(found["features"].objective, objective(X, Z, 20.0))
    model = BPMeans(20.0, n_init=2, random_state=0).fit(X)
    own = limit.limits(X, Y, model.membership_.astype(float), 20.0)["features"]
    np.testing.assert_allclose(own.objective, model.objective_)
    for each in found.values():
        gaps = each.gaps(SMALL)
        assert (np.diff(gaps) < 0).all() and gaps[-1] < 1e-4 * each.objective
        rates = gaps / (SMALL * np.log(1 / SMALL))
        assert np.ptp(rates[2:]) < 0.3 * rates[-1]


@pytest.mark.parametrize("penalty", [40.0, 60.0])
def test_samplers_choose_as_algorithm_1_where_the_variance_is_small(penalty):
    variance = penalty / 1300
    shares = []
    for seed in range(50):
        rng = np.random.RandomState(seed)
        labels = np.where(rng.rand(len(X)) < 0.3, rng.randint(3, size=len(X)), Y)
        hard = limit.published_sweep(X, labels, penalty)
        drawn = limit.sampled_sweep(X, labels, penalty, variance, seed)
        shares.append(limit.same_choice(hard, drawn))
    assert np.mean(shares) > 0.99 and np.mean(np.array(shares) == 1) > 0.8


def test_the_published_sweep_is_algorithm_1():
    order = np.random.RandomState(0).permutation(len(X))
    once = literal_dp_means(X[order], 20.0, init=np.zeros((1, 2)), max_iter=2)
    found = limit.published_sweep(X[order], np.zeros(len(X), int), 20.0)
    value = objective(X[order], found, 20.0)
    np.testing.assert_allclose(once.history[0], value)
