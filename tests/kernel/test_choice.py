import numpy as np
import pytest
from sklearn.datasets import load_iris, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from hardbayes.core.pool import Pool
from hardbayes.kernel.choice import _gap_below_one, choose_clusters
from hardbayes.kernel.problem import KernelOptions, make_problem
from tests.conftest import make_blobs


def chosen(X, kernel="rbf", balance=True, most=1000, **parameters):
    rng = np.random.RandomState(0)
    problem = make_problem(X, None, KernelOptions(kernel, parameters, balance), rng, Pool(1))
    return choose_clusters(problem, most, rng)


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_shapes_are_found(make):
    options = {} if make is make_moons else {"factor": 0.4}
    X, y = make(200, noise=0.05, random_state=0, **options)
    choice = chosen(X)
    assert choice.k == 2 and adjusted_rand_score(y, choice.labels) == 1.0
    assert 0.9 < choice.penalty < 1.0 and 0.9 < choice.spectral_penalty < 1.0


def samples():
    """Rows of one distribution each: round, skewed, with tails, and on a line."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        yield rng.normal(size=(150, 2))
        yield rng.uniform(size=(150, 3))
        yield rng.uniform(size=(200, 1))
        yield rng.exponential(size=(150, 10))
        yield rng.standard_t(4, size=(150, 10))


def test_one_distribution_is_one_cluster():
    assert sum(chosen(X).k == 1 for X in samples()) >= 14  # of 15


def test_groups_of_clusters_are_told_apart_too():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [0, 7], [60, 0], [60, 7], [0, 90]])
    X = np.repeat(centres, 60, axis=0) + rng.normal(size=(300, 2))
    assert chosen(X).k == 5


def test_gaps():
    """Eigenvalues 1 - cut: what they say, by what uniform rows take."""

    def number(*cuts, smaller=0.5):
        return _gap_below_one(1.0 - 1e-3 * np.array([0.0, *cuts]), 1e-3, smaller)

    assert number(0.1, 0.9, 1.0, 1.2)[0] == 2
    assert number(0.0, 0.1, 1.0, 1.2)[0] == 3  # the last clear rise, not the largest
    assert number(0.1, 0.15, 0.4, 0.6)[0] == 3  # none is clear: the largest
    assert number(0.5, 2.0, 9.0)[0] == 1  # not much easier to cut than uniform rows
    assert number(0.9, 9.0, 9.0)[0] == 2  # but than three pieces
    assert number(1.1, 9.0, 9.0)[0] == number(0.9, 9.0, 9.0, smaller=0.06)[0] == 1
    assert number(0.2, 9.0, 9.0, smaller=0.01)[0] == 1  # outliers are cut off easily
    assert number(0.01, 9.0, 9.0, smaller=0.01)[0] == 2
    k, penalty = number(0.1, 0.9, 1.0)
    assert k == 2 and 1e-4 < 1.0 - penalty < 9e-4
    assert number(0.1) == (2, pytest.approx(1.0 - 1e-4 * 2**0.5))


def test_a_kernel_without_scale_goes_by_the_widest_plateau():
    X, y = make_blobs(150, 3, 4, seed=0, spread=0.3, box=0.0)
    X[np.arange(150), np.minimum(y, 2)] += np.where(y < 3, 5.0, -5.0)
    choice = chosen(X, "linear", balance=False)
    assert choice.k == 4 and adjusted_rand_score(y, choice.labels) == 1.0


def test_a_kernel_so_narrow_that_uniform_rows_fall_apart():
    choice = chosen(load_iris().data, gamma=2.0)
    assert np.isfinite([choice.penalty, choice.spectral_penalty]).all()


def test_caps_and_the_fewest_rows():
    X, _ = make_blobs(100, 2, 4, seed=0, spread=0.3)
    assert chosen(X, most=2).k <= 2
    assert chosen(X[:1]).k == 1 and chosen(X[:2]).k >= 1
    assert chosen(np.ones((9, 2))).k == 1
    assert chosen(np.ones((9, 2)), "linear", balance=False).k == 1
