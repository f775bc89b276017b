"""Bounds carried between sweeps spare work, and change nothing."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans, penalty_for
from hardbayes.executors import carried_bounds
from hardbayes.executors.memory import MemoryExecutor
from hardbayes.geometry import GEOMETRIES, Mahalanobis, geometry_for
from hardbayes.pool import Pool
from hardbayes.problems.partition import pose
from tests.conftest import quiet_fit
from tests.test_divergences import rows_for

NAMES = sorted(GEOMETRIES)
MATRIX = np.diag([1.0, 4.0, 0.1, 2.0, 1.0, 0.5, 1.0, 3.0]) + 0.05


def clustered(divergence, n, seed):
    """Rows around thirty centres, in the divergence's domain."""
    rng = np.random.default_rng(seed)
    name = divergence if isinstance(divergence, str) else "squared_euclidean"
    centres = rows_for(name, rng, 30, 8, zeros=False)
    members = rng.integers(0, 30, n)
    X = 0.7 * centres[members] + 0.3 * rows_for(name, rng, n, 8, zeros=False)
    return np.ascontiguousarray(X)


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Carry bounds even where scoring these few columns would be as cheap."""
    monkeypatch.setattr(carried_bounds, "COST_BOUNDS", 0)


def fitted(monkeypatch, carried, X, **options):
    assign = MemoryExecutor.assign

    def without(self, prices, **options):
        self.forget_bounds()
        return assign(self, prices, **options)

    with monkeypatch.context() as patch:
        if not carried:
            patch.setattr(MemoryExecutor, "assign", without)
        return quiet_fit(DPMeans(search="paper", random_state=0, **options), X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("divergence", [*NAMES, Mahalanobis(MATRIX)], ids=[*NAMES, "mahalanobis"])
def test_every_sweep_is_the_same_without_them(divergence, container, dtype, monkeypatch):
    for seed, n_clusters in enumerate([12, 60]):
        X = clustered(divergence, 800, seed).astype(dtype)
        penalty = penalty_for(X, n_clusters, divergence=divergence)
        for cap in (None, n_clusters):
            options = dict(cluster_penalty=penalty, divergence=divergence, max_clusters=cap)
            carried, fresh = (
                fitted(monkeypatch, carried, container(X), **options) for carried in (True, False)
            )
            np.testing.assert_array_equal(carried.labels_, fresh.labels_)
            np.testing.assert_array_equal(carried.objective_history_, fresh.objective_history_)


@pytest.mark.parametrize("divergence", NAMES)
def test_most_rows_of_a_late_sweep_are_settled_without_a_look(divergence, monkeypatch):
    X = clustered(divergence, 3000, seed=2)
    with Pool(1) as pool:
        problem = pose(X, geometry_for(divergence), None, pool)
        executor, partition = problem.executor, problem.partition(1.0, 0.0, None)
        executor.start(executor.dense_rows(np.arange(30)))
        never = np.array([np.inf])
        for _ in range(200):
            executor.assign(never)
            if not executor.recount():
                break
            executor.refit(partition)
        before = executor.cluster_numbers()
        monkeypatch.setattr(executor._bounds, "look_around", lambda table: None)
        executor.table.theta[:] = 0.0  # from here on a look misleads
        executor.table.offset[:] = np.where(executor.table.rank >= 0, 0.0, np.inf)
        executor.table.exact_offset[:] = 1e-9 * np.arange(len(executor.table.rank))
        executor.table.exact[:] = 0.0
        executor.assign(never)
        assert np.mean(before == executor.cluster_numbers()) > 0.8


def test_half_the_way_to_the_next_centre():
    X = clustered("squared_euclidean", 3000, seed=2)
    with Pool(1) as pool:
        executor = pose(X, geometry_for("squared_euclidean"), None, pool).executor
        centres = executor.dense_rows(np.arange(30))
        executor.start(centres)
        executor.assign(np.array([np.inf]))
        bounds, table = executor._bounds, executor.table
        bounds.look_around(table)
        distances = np.sqrt(((centres[:, np.newaxis] - centres) ** 2).sum(axis=2))
        np.fill_diagonal(distances, np.inf)
        nearest = distances.min(axis=1)
        half = bounds.half[table.alive]
        assert (half <= nearest / 2).all()
        np.testing.assert_allclose(half, nearest / 2, rtol=1e-5)
        assert not np.delete(bounds.half, table.alive).any()
        executor.start(np.tile(centres, (40, 1)))  # so many are not compared with each other
        executor.assign(np.array([np.inf]))
        executor._bounds.look_around(executor.table)
        assert not executor._bounds.half.any()
