import numpy as np
import pytest
from scipy import sparse

from hardbayes.geometry import SquaredEuclidean
from hardbayes.pool import Pool
from hardbayes.problems.partition import pose
from hardbayes.validation import check_matrix


@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 31, 64, 128])
def test_direct_costs_are_numpys_to_the_bit(d):
    """So a literal NumPy loop meets the same ties."""
    rng = np.random.default_rng(d)
    X, point = rng.normal(size=(50, d)), rng.normal(size=d)
    with Pool(1) as pool:
        problem = pose(X, SquaredEuclidean(), None, pool)
        costs = problem.executor.costs_at(problem.frame.to_working(point)) / problem.frame.unit
    np.testing.assert_array_equal(costs, ((X - point) ** 2).sum(axis=1))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 15, 16, 17, 70])
def test_assignment_is_the_argmin(container, dtype, k):
    rng = np.random.default_rng(k)
    X = rng.normal(size=(300, 5)).astype(dtype)
    centres = rng.normal(size=(k, 5))
    with Pool(2) as pool:
        matrix = check_matrix(container(X), SquaredEuclidean())
        problem = pose(matrix, SquaredEuclidean(), None, pool)
        for last in (True, False):  # without and with bounds
            problem.executor.start(problem.frame.to_working(centres))
            problem.executor.assign(np.array([np.inf]), last=last)
            labels = problem.executor.cluster_numbers()
            costs = ((X.astype(np.float64)[:, None] - centres) ** 2).sum(axis=2)
            np.testing.assert_array_equal(labels, costs.argmin(axis=1))
