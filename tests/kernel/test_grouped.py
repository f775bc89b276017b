"""The hard HDP in the space of a kernel."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from hardbayes import GraphDPMeans, HDPMeans, KernelHDPMeans, load, objective, report, save
from tests.conftest import quiet_fit
from tests.groups.cases import random_case
from tests.reference.brute_force import set_partitions
from tests.reference.hdp import grouped_objective

GAMMA = 0.3


def roots(values):
    """Coordinates whose inner products are these kernel values, by eigenvectors."""
    eigenvalues, vectors = np.linalg.eigh(values)
    return vectors * np.sqrt(np.maximum(eigenvalues, 0.0))


@pytest.mark.parametrize("search", ["paper", "split-merge"])
@pytest.mark.parametrize("seed", range(4))
def test_the_linear_kernel_is_the_hard_hdp(seed, search):
    X, groups, _ = random_case(seed)
    how = {"search": search, "random_state": seed}
    linear = KernelHDPMeans(2.0, 20.0, kernel="linear", **how).fit(X, groups=groups)
    plain = HDPMeans(2.0, 20.0, **how).fit(X, groups=groups)
    np.testing.assert_array_equal(linear.labels_, plain.labels_)
    np.testing.assert_array_equal(linear.objective_history_, plain.objective_history_)
    given = KernelHDPMeans(2.0, 20.0, kernel="precomputed", **how).fit(X @ X.T, groups=groups)
    np.testing.assert_array_equal(given.labels_, plain.labels_)
    np.testing.assert_allclose(given.objective_, plain.objective_)


@pytest.mark.parametrize("seed", range(6))
def test_no_partition_of_a_few_rows_is_better(seed):
    rng = np.random.default_rng(seed)
    X, groups = rng.normal(size=(7, 2)), rng.integers(0, 3, 7)
    penalties = rng.uniform(0.02, 0.3), rng.uniform(0.1, 0.9)
    model = KernelHDPMeans(*penalties, gamma=GAMMA, balance=False, n_init=4, random_state=0)
    quiet_fit(model, X, groups=groups)
    rows = roots(rbf_kernel(X, gamma=GAMMA))
    values = [
        grouped_objective(rows, labels, groups, *penalties) for labels in set_partitions(len(X))
    ]
    np.testing.assert_allclose(model.objective_, min(values), rtol=1e-9)


def test_objective_measures_what_is_minimised():
    X, groups, _ = random_case(0)
    w = np.random.default_rng(0).uniform(0, 2, len(X))
    model = KernelHDPMeans(0.1, 3.0, gamma=GAMMA, balance=False, random_state=0)
    model.fit(X, sample_weight=w, groups=groups)
    assert model.n_clusters_ > 1
    told = {"gamma": GAMMA, "balance": False, "sample_weight": w, "groups": groups}
    value = objective(X, model.labels_, 3.0, kernel="rbf", local_penalty=0.1, **told)
    np.testing.assert_allclose(value, model.objective_, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_new_rows_join_as_training_rows_did(kernel, tmp_path):
    X, groups, _ = random_case(1)
    X = 50.0 + (X @ X.T if kernel == "precomputed" else X)
    model = KernelHDPMeans(0.1, 3.0, kernel=kernel, gamma=0.02, balance=False, random_state=0)
    model = quiet_fit(model, X, groups=groups)
    assert model.n_clusters_ > 1
    np.testing.assert_array_equal(model.predict(X, groups=groups), model.labels_)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model", KernelHDPMeans)
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert not hasattr(again, "cluster_centers_")


def test_landmarks_stand_for_many_rows():
    X, groups, _ = random_case(2, n=300)
    exact = KernelHDPMeans(0.5, 9.0, gamma=0.05, random_state=0).fit(X, groups=groups)
    few = KernelHDPMeans(0.5, 9.0, gamma=0.05, n_landmarks=80, random_state=0).fit(X, groups=groups)
    assert "80 landmarks" in few.status_ and "landmarks" not in exact.status_
    np.testing.assert_allclose(few.objective_, exact.objective_, rtol=0.01)


def test_penalties_are_found_and_told(tmp_path):
    X, moon = make_moons(160, noise=0.05, random_state=0)
    groups = np.arange(160) % 4
    model = KernelHDPMeans(random_state=0).fit(X, groups=groups)
    assert adjusted_rand_score(moon, model.labels_) == 1 and model.local_penalty_ == 0
    report(model, X, tmp_path / "page.html", groups=groups)
    assert model.summary(X, groups=groups)["size"].sum() == len(X)


def test_one_cluster_is_told():
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.warns(UserWarning, match=r"KernelHDPMeans\(n_clusters=k\)"):
        model = KernelHDPMeans(random_state=0).fit(X, groups=np.arange(60) % 2)
    assert model.n_clusters_ == 1


def test_a_given_matrix_is_not_balanced():
    with pytest.raises(ValueError, match="'balance' parameter of KernelHDPMeans must be False"):
        KernelHDPMeans(kernel="precomputed", balance=True).fit(np.eye(4))


def test_exactly_so_many_clusters():
    X, groups, _ = random_case(0)
    model = KernelHDPMeans(n_clusters=4, gamma=GAMMA, random_state=0).fit(X, groups=groups)
    assert model.n_clusters_ == 4
    assert "with the 4 clusters asked for" in model.status_


def test_graphs_share_communities():
    rng, truth = np.random.default_rng(1), np.arange(80) % 4
    alone, profiles = [], []
    for _ in range(3):
        chances = np.where(truth[:, np.newaxis] == truth, 0.25, 0.05)
        upper = np.triu(rng.random((80, 80)) < chances, 1)
        links = (upper | upper.T).astype(float)
        alone.append(GraphDPMeans(n_clusters=4, random_state=0).fit(links).labels_)
        near = links + np.eye(80)
        near /= np.sqrt(np.outer(near.sum(axis=0), near.sum(axis=0)))
        profiles.append(near / np.linalg.norm(near, axis=1, keepdims=True))
    X, which = np.vstack(profiles), np.repeat(np.arange(3), 80)
    model = KernelHDPMeans(kernel="precomputed", n_clusters=4, random_state=0)
    model.fit(X @ X.T, groups=which)
    shared = adjusted_rand_score(np.tile(truth, 3), model.labels_)
    assert shared > 0.1 + np.mean([adjusted_rand_score(truth, labels) for labels in alone])
