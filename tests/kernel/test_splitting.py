import numpy as np

from hardbayes.core.pool import Pool
from hardbayes.kernel import splitting
from hardbayes.kernel.clusters import KernelMatrix, hold
from tests.reference.graphs import kernel_objective


def rows_of(points, weights=None):
    kernel = points @ points.T
    weights = np.ones(len(points)) if weights is None else weights
    return KernelMatrix(hold(kernel), np.diag(kernel).copy(), weights, Pool(1)), kernel


def test_two_groups_are_told_apart_and_what_that_saves_is_exact(monkeypatch):
    rng = np.random.default_rng(0)
    side = np.arange(40) % 3 == 0
    points = rng.normal(size=(40, 2)) + 8.0 * side[:, np.newaxis]
    weights = rng.uniform(0.5, 1.5, 40)
    part, kernel = rows_of(points, weights)
    for most_dense in (200, 5):  # LAPACK, and Lanczos iterations
        monkeypatch.setattr(splitting, "MAX_DENSE", most_dense)
        saved, second = splitting.split_in_two(part, np.random.RandomState(0))
        assert np.array_equal(second, side) or np.array_equal(second, ~side)
        one = kernel_objective(kernel, weights, np.zeros(40, int), 0.0)
        np.testing.assert_allclose(saved, one - kernel_objective(kernel, weights, second, 0.0))


def test_one_row_and_equal_rows_have_no_halves():
    assert splitting.split_in_two(rows_of(np.ones((1, 2)))[0], np.random.RandomState(0))[0] == 0.0
    saved, _ = splitting.split_in_two(rows_of(np.ones((6, 2)))[0], np.random.RandomState(0))
    assert abs(saved) < 1e-12
