"""What a refit leaves: totals, centres, scores and the objective's terms all follow the labels."""

import math

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans
from hardbayes.executors import carried_bounds, data_rows, exact_totals, few_rows, memory
from hardbayes.executors.memory import MemoryExecutor
from hardbayes.geometry import SquaredEuclidean
from hardbayes.pool import Pool
from hardbayes.problems.partition import pose
from tests.conftest import quiet_fit


def check_state(executor):
    numbers = executor.cluster_numbers()
    k = executor.n_clusters
    assert not executor.weights_of(slice(None))[numbers < 0].any()
    labels = np.where(numbers < 0, k, numbers).astype(np.int32)
    weights, totals = executor.totals_of(labels, k + 1)
    found_weights, found_totals = executor.totals()
    np.testing.assert_array_equal(found_weights, weights[:k])
    np.testing.assert_array_equal(found_totals, totals[:k])


def check_refit(executor, partition, potential):
    check_state(executor)
    weights, totals = executor.totals()
    centres = partition.centres(weights, totals)
    table = executor.table
    np.testing.assert_array_equal(table.exact[table.alive], centres)
    if not executor.is_sparse and not table.deferred:
        theta = table.theta.transpose(0, 2, 1).reshape(-1, executor.n_columns)
        np.testing.assert_array_equal(theta[table.alive], (2 * centres).astype(executor.dtype))
    eta = partition.prior_weight
    terms = (weights + eta) * (centres**2).sum(axis=1) - eta * (partition.prior_mean**2).sum()
    assert potential == pytest.approx(math.fsum(terms), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_everything_follows_the_labels(seed, monkeypatch):
    """In fits with births, deaths, moves, new layouts, shares and changes of the score type."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice([30, 200, 600])), int(rng.choice([1, 2, 5, 19]))
    means = 3 * rng.normal(size=(int(rng.integers(1, 30)), d))
    X = means[rng.integers(len(means), size=n)] + rng.choice([0.1, 1.0]) * rng.normal(size=(n, d))
    if seed % 3 == 0:
        X = np.rint(X)
    X = X.astype(rng.choice([np.float32, np.float64]))
    weights = rng.choice([0.0, 0.3, 1.0, 2.5], n) if seed % 2 else None
    apart = ((X[:60, np.newaxis] - X[:60]) ** 2).sum(axis=2)
    penalty = float(np.quantile(apart, rng.random()) * rng.choice([0.01, 1.0, 5.0]))
    monkeypatch.setattr(few_rows, "MOST_WORK", int(rng.choice([0, 0, 3 << 16])))
    monkeypatch.setattr(data_rows, "WORTH_CALLING", int(rng.choice([1, 1 << 14])))
    monkeypatch.setattr(exact_totals, "WORTH_SHARING", 0)
    monkeypatch.setattr(exact_totals, "MOST_SHARED", int(rng.choice([0, 1 << 19])))
    monkeypatch.setattr(carried_bounds, "BOUND_COST", float(rng.choice([1, 25, 200])))
    monkeypatch.setattr(memory, "DOUBTFUL", float(rng.choice([1 / 16, -1.0])))
    refit = MemoryExecutor.refit
    n_refits = 0

    def checked(executor, partition):
        nonlocal n_refits
        n_refits += 1
        check_state(executor)
        potential = refit(executor, partition)
        check_refit(executor, partition, potential[0])
        return potential

    options = dict(
        search=str(rng.choice(["paper", "split-merge"])),
        max_iter=int(rng.choice([3, 7, 200])),
        max_clusters=None if rng.random() < 0.6 else int(rng.integers(1, 60)),
        prior_weight=float(rng.choice([0.0, 0.0, 0.1, 3.0])),
        init=str(rng.choice(["mean", "k-means++"])),
        random_state=seed,
    )
    Y = sparse.csr_array(X) if seed % 7 == 0 else X
    one = quiet_fit(DPMeans(penalty, n_jobs=1, **options), Y, sample_weight=weights)
    monkeypatch.setattr(MemoryExecutor, "refit", checked)
    three = quiet_fit(DPMeans(penalty, n_jobs=3, **options), Y, sample_weight=weights)
    np.testing.assert_array_equal(one.labels_, three.labels_)
    assert one.objective_ == three.objective_
    assert n_refits > 0 or few_rows.MOST_WORK


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("far", [1e15, 1e21, 1e45])
@pytest.mark.parametrize("d", [2, 70])
def test_centres_beyond_the_range_of_scores_hide_no_other(d, far, dtype):
    rng = np.random.default_rng(d)
    with Pool(1) as pool:
        for _ in range(60):
            k = int(rng.integers(17, 120))
            X = rng.normal(size=(100, d)).astype(dtype)
            centres = X[rng.integers(100, size=k)] + 0.01 * rng.normal(size=(k, d))
            distant = rng.random(k) < rng.choice([0.1, 0.5, 0.9])
            distant[0] = False
            centres[distant] = 0.0
            centres[distant, rng.integers(2, size=distant.sum())] = rng.choice(
                [-far, far], distant.sum()
            )
            problem = pose(X, SquaredEuclidean(), None, pool)
            problem.executor.start(problem.centres_in_frame(centres))
            problem.executor.assign(np.array([np.inf]), last=True)
            costs = ((X.astype(float)[:, np.newaxis] - centres) ** 2).sum(axis=2)
            mine = costs[np.arange(100), problem.executor.cluster_numbers()]
            np.testing.assert_allclose(mine, costs.min(axis=1), rtol=1e-9)


def test_scores_become_finer_where_they_leave_doubt():
    """Centres a hundred-thousandth of the data's width apart: float64 can tell them."""
    rng = np.random.default_rng(0)
    X = 1.0 + 1e-5 * rng.integers(0, 4, (3000, 3)) + 1e-7 * rng.normal(size=(3000, 3))
    X[:3] = np.eye(3)
    centres = 1.0 + 1e-5 * np.stack(np.meshgrid(*3 * [np.arange(4.0)]), axis=-1).reshape(-1, 3)
    with Pool(1) as pool:
        problem = pose(X, SquaredEuclidean(), None, pool)
        executor = problem.executor
        assert executor.dtype == np.float32
        partition = problem.partition(1.0, 0.0, None)
        executor.start(problem.centres_in_frame(centres))
        executor.assign(np.array([np.inf]))
        executor.recount()
        executor.close(executor.weights_of_clusters() == 0)
        executor.refit(partition)
        assert executor.dtype == np.float64
        executor.assign(np.array([np.inf]))
        costs = executor.all_costs()
        chosen = costs[np.arange(3000), executor.cluster_numbers()]
        np.testing.assert_array_equal(chosen, costs.min(axis=1))


def test_scores_stay_as_they_are_where_rows_are_as_near_to_two_centres():
    """Rows halfway between centres, or nearly: float64 could not tell these either."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (3000, 2)).astype(float)
    X[1500:] += 1e-15 * rng.normal(size=(1500, 2))
    centres = np.stack(np.meshgrid(*2 * [np.arange(0.0, 9.0, 2.0)]), axis=-1).reshape(-1, 2)
    with Pool(1) as pool:
        problem = pose(X, SquaredEuclidean(), None, pool)
        executor = problem.executor
        executor.start(problem.centres_in_frame(centres))
        executor.assign(np.array([np.inf]))
        executor.recount()
        executor.refit(problem.partition(1.0, 0.0, None))
        assert executor.dtype == np.float32
