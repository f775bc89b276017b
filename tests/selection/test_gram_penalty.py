import numpy as np
import pytest
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from hardbayes.pool import Pool
from hardbayes.problems.gram import KernelOptions, pose_gram
from hardbayes.selection.gram_penalty import choose_clusters
from tests.conftest import make_blobs


def chosen(X, kernel="rbf", balance=True, most=1000, **parameters):
    rng = np.random.RandomState(0)
    problem = pose_gram(X, None, KernelOptions(kernel, parameters, balance), rng, Pool(1))
    return choose_clusters(problem, most, rng)


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_shapes_are_found(make):
    options = {} if make is make_moons else {"factor": 0.4}
    X, y = make(200, noise=0.05, random_state=0, **options)
    choice = chosen(X)
    assert choice.k == 2 and adjusted_rand_score(y, choice.labels) == 1.0
    assert 0.9 < choice.penalty < 1.0 and 0.9 < choice.spectral_penalty < 1.0


def test_one_distribution_is_one_cluster():
    ones = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(150, 2)) if seed % 2 else rng.uniform(size=(150, 3))
        ones += chosen(X).k == 1
    assert ones >= 9


def test_a_kernel_without_scale_goes_by_the_widest_plateau():
    X, y = make_blobs(150, 3, 4, seed=0, spread=0.3, box=0.0)
    X[np.arange(150), np.minimum(y, 2)] += np.where(y < 3, 5.0, -5.0)
    choice = chosen(X, "linear", balance=False)
    assert choice.k == 4 and adjusted_rand_score(y, choice.labels) == 1.0


def test_caps_and_the_fewest_rows():
    X, _ = make_blobs(100, 2, 4, seed=0, spread=0.3)
    assert chosen(X, most=2).k <= 2
    assert chosen(X[:1]).k == 1 and chosen(X[:2]).k >= 1
    assert chosen(np.ones((9, 2))).k == 1
    assert chosen(np.ones((9, 2)), "linear", balance=False).k == 1
