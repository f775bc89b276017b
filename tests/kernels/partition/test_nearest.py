import numpy as np
import pytest
from scipy import sparse

from hardbayes.geometry import SquaredEuclidean
from hardbayes.pool import Pool
from hardbayes.problems.partition import pose


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [17, 60, 100])
def test_every_sweep_gives_sparse_rows_to_their_nearest_centre(k, dtype):
    """Also where bounds leave some blocks open and rule others out between them."""
    rng = np.random.default_rng(k)
    words = rng.random((30, 300)) < 0.1
    X = (words[rng.integers(30, size=1500)] * (rng.random((1500, 300)) < 0.5)).astype(dtype)
    X += (rng.random(X.shape) < 0.01).astype(dtype)
    some_but_not_all = 0
    with Pool(1) as pool:
        problem = pose(sparse.csr_array(X), SquaredEuclidean(), None, pool)
        executor, partition = problem.executor, problem.partition(1.0, 0.0, None)
        centres = executor.dense_rows(rng.choice(1500, k, replace=False))
        rows = executor.dense_rows(slice(None))
        executor.start(centres)
        while True:
            executor.assign(np.array([np.inf]))
            costs = np.square(rows[:, np.newaxis] - centres).sum(axis=2)
            mine = costs[np.arange(1500), executor.cluster_numbers()]
            np.testing.assert_allclose(mine, costs.min(axis=1), atol=1e-9)
            if not executor.recount():
                break
            weights, totals = executor.totals()
            executor.close(weights == 0)
            centres = partition.centres(weights[weights > 0], totals[weights > 0])
            executor.refit(partition)
            bounds = executor._bounds
            reach = bounds.upper + bounds.drift[executor.labels]
            drift = bounds.view(bounds.lower.shape[1]).group_drift
            n_open = (bounds.lower - drift <= reach[:, np.newaxis]).sum(axis=1)
            some_but_not_all += np.count_nonzero((n_open > 0) & (n_open < bounds.lower.shape[1]))
    assert some_but_not_all > 100
