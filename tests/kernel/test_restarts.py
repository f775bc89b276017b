import numpy as np
import pytest

from hardbayes.core.loop import Status
from hardbayes.core.pool import Pool
from hardbayes.kernel import search as restarts
from hardbayes.kernel.clusters import KernelMatrix, hold
from hardbayes.kernel.search import KernelSearch, minimise
from tests.reference.graphs import kernel_objective
from tests.reference.mercer import best_objective, literal_kernel_dp_means, random_kernel


def rows_of(kernel, weights, penalty):
    return KernelMatrix(hold(kernel), np.diag(kernel).copy(), weights, Pool(1), penalty, 1000)


def search(name="split-merge", order="random", max_steps=300):
    return KernelSearch(name, order, 1, max_steps, True)


@pytest.mark.parametrize("seed", range(8))
def test_the_published_search_is_the_literal_one(seed):
    rng = np.random.default_rng(seed)
    kernel, weights = random_kernel(rng, 25), rng.uniform(0.5, 1.5, 25)
    end = minimise(rows_of(kernel, weights, 3.0), search("paper", "given"), None, rng)
    labels, history = literal_kernel_dp_means(kernel, weights, 3.0)
    np.testing.assert_array_equal(end.labels, labels)
    np.testing.assert_allclose(end.objective, history[-1])


def test_tiny_inputs_are_solved():
    hits = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        kernel, weights = random_kernel(rng, 7, rank=4), rng.uniform(0.5, 2.0, 7)
        penalty = float(rng.uniform(1.0, 8.0))
        end = minimise(
            rows_of(kernel, weights, penalty), search(), None, np.random.RandomState(seed)
        )
        value = kernel_objective(kernel, weights, end.labels, penalty)
        np.testing.assert_allclose(end.objective, value, atol=1e-9)
        hits += end.objective < best_objective(kernel, weights, penalty) + 1e-9
    assert hits >= 29


def test_many_rows_are_clustered_by_a_sample_first(monkeypatch):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 2)) + 9.0 * rng.integers(0, 3, (300, 1))
    points -= points.mean(axis=0)
    rows = rows_of(points @ points.T, np.ones(300), 60.0)
    whole = minimise(rows, search(), None, np.random.RandomState(0))
    monkeypatch.setattr(restarts, "MANY_ROWS", 200)
    monkeypatch.setattr(restarts, "MAX_SAMPLE", 100)
    steps = []
    part = minimise(
        rows, search(), None, np.random.RandomState(0), lambda *step: steps.append(step[0])
    )
    assert part.objective <= 1.01 * whole.objective
    assert (np.diff(part.history) < 0).all() and steps == list(range(1, len(part.history) + 1))
    short = minimise(rows, search(max_steps=1), None, np.random.RandomState(0))
    assert len(short.history) == 1 and short.status is Status.OUT_OF_STEPS


def test_a_start_that_is_given_keeps_its_clusters():
    rng = np.random.default_rng(0)
    kernel = random_kernel(rng, 30)
    given = np.arange(30) % 2
    end = minimise(rows_of(kernel, np.ones(30), 0.01), search(), given, rng)
    assert end.labels.max() == 1
