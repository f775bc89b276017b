"""Clusters with covariances on the contract of centre-free models."""

import numpy as np
import pytest

from hardbayes.core import centre_free_descent
from hardbayes.core.centre_free import labelled
from hardbayes.core.centre_free_descent import Descent
from hardbayes.core.pool import Pool
from hardbayes.gaussian import clusters as gaussian_model
from hardbayes.gaussian.clusters import GaussianRows
from hardbayes.gaussian.problem import GaussianPartition
from tests.gaussian.test_estimator import literal_objective
from tests.reference.brute_force import set_partitions

RATE, PENALTY = 2.0, 0.5


@pytest.fixture(params=[False, True], ids=["full", "diag"])
def diagonal(request):
    return request.param


@pytest.fixture
def make(diagonal):
    with Pool(2) as pool:

        def make(n, seed=0, penalty=PENALTY, max_clusters=100, spread=1.0, weights=None):
            rng = np.random.default_rng(seed)
            rows = 0.3 * rng.normal(size=(n, 2)) + spread * rng.integers(0, 3, (n, 1))
            weights = rng.integers(0, 3, n).astype(float) if weights is None else weights
            partition = GaussianPartition(penalty, RATE, max_clusters)
            return GaussianRows(rows, weights, diagonal, pool, partition, rng.permutation(n))

        yield make


def literal(model, labels):
    kind = "diag" if model.diagonal else "full"
    prior = np.eye(model.d)
    return literal_objective(model.rows, labels, model.weights, prior, RATE, model.penalty, kind)


EVERY = {
    "choose": centre_free_descent.choose,
    "sweep": lambda current: centre_free_descent.sweep(current)[0],
    "move_rows": centre_free_descent.move_rows,
    "merge": centre_free_descent.merge,
    "split": lambda current: centre_free_descent.split(
        current, centre_free_descent.Splits(np.random.RandomState(0))
    ),
    "exchange": lambda current: centre_free_descent.exchange(
        current, centre_free_descent.Splits(np.random.RandomState(0))
    ),
}


@pytest.mark.parametrize("name", EVERY)
def test_the_change_of_every_move_is_exact(make, name):
    met = 0
    for seed in range(6):
        model = make(40, seed, penalty=0.02 if name in ("split", "sweep") else PENALTY)
        k = 1 if name == "split" else 4
        current = labelled(model, np.random.default_rng(seed).integers(0, k, 40))
        found = EVERY[name](current)
        if found is None:
            continue
        met += 1
        expected = literal(model, found.outcome.labels) - literal(model, current.labels)
        np.testing.assert_allclose(found.change, expected, rtol=1e-6, atol=1e-9)
        assert found.change < 0
    assert met


def test_the_optimum_of_tiny_problems(make):
    hits = 0
    for seed in range(8):
        model = make(6, seed, weights=np.ones(6))
        best = min(literal(model, labels) for labels in set_partitions(6))
        starts = (np.zeros(6, int), np.arange(6), np.arange(6) % 3)
        ends = [Descent(labelled(model, start), np.random.RandomState(0)) for start in starts]
        hits += min(end.run("split-merge", 99).objective for end in ends) < best + 1e-9
    assert hits >= 7  # of 8


def test_large_clusters_are_divided_on_a_sample_of_their_rows(make, monkeypatch):
    monkeypatch.setattr(gaussian_model, "TRIAL_ROWS", 150)
    model = make(200, weights=np.full(200, 0.05), spread=2.0)
    current = labelled(model, np.zeros(200, int))
    split = model.split(current.members, current.statistics, [0], np.random.RandomState(0))[0]
    second = model.second_half(current.members[0], split)
    exact = literal(model, current.labels) - literal(model, second.astype(int)) + model.penalty
    assert 0 < split.saved != exact
    np.testing.assert_allclose(split.saved, exact, rtol=0.3)


def test_a_division_of_few_rows_saves_what_it_says(make):
    model = make(40, penalty=0.05)
    current = labelled(model, np.zeros(40, int))
    split = model.split(current.members, current.statistics, [0], np.random.RandomState(0))[0]
    second = model.second_half(current.members[0], split)
    exact = literal(model, current.labels) - literal(model, second.astype(int)) + model.penalty
    # Rows may have one step more to go when rounds are over: that only saves more.
    assert 0 < split.saved <= exact + 1e-9


def test_a_birth_costs_the_penalty(make):
    """A row far from a cluster opens one; the cap keeps it out, and that is told."""
    for cap, expected in [(100, (1, False)), (1, (0, True))]:
        model = make(20, penalty=3.0, max_clusters=cap, spread=0.0, weights=np.ones(20))
        model.rows[7] = 50.0
        clusters = model.statistics(np.where(np.arange(20) == 7, 1, 0), 2).pick([0])
        labels, capped = model.sweep(clusters)
        assert (labels[7], capped) == expected
        assert np.count_nonzero(labels) == labels[7]


def test_nearest_and_work(make):
    model = make(40)
    clusters = model.statistics(np.arange(40) % 3, 3)
    labels, distances = model.assign(clusters)
    np.testing.assert_array_equal(model.choose(clusters), labels)
    assert (distances >= 0).all()
    assert model.work(3) == 40 * clusters.scatters.size
