"""What both kinds of path have in common."""

import numpy as np
import pytest

from hardbayes.dp_means.stepped_path import SteppedPath
from tests.dp_means import test_falling_path, test_stepped_path


@pytest.fixture(params=["falling", "stepped"])
def begin(request):
    if request.param == "stepped":
        return test_stepped_path.begin

    def falling(pool, X, seed=0):
        return test_falling_path.begin(pool, X, rng=np.random.RandomState(seed))

    return falling


def test_a_path_with_nothing_left_to_gain_knows_how_far(pool, begin):
    X = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 9.0]], 20, axis=0)
    path = begin(pool, X)
    path.trace(10)
    assert path.n_clusters == 3
    assert path.floor is not None and path.floor < 1e-3 * path.first_penalty
    if isinstance(path, SteppedPath):
        assert path.points[-1] == (3, 0.0)
        assert path.lowest == path.floor
    ended = begin(pool, X)
    ended.trace(2)
    assert ended.n_clusters == 2 and ended.floor is None


@pytest.mark.parametrize("X", [np.ones((12, 2)), np.array([[4.0, 5.0]])])
def test_rows_that_are_all_the_same(pool, begin, X):
    path = begin(pool, X)
    assert path.next_change == 0.0
    assert path.first_penalty == path.unit
    path.trace(10)
    assert path.n_clusters == len(path.best_at(1.0).centres) == 1
    assert set(path.points) == {(1, 0.0)}
    assert len(path.points) == 1 or not isinstance(path, SteppedPath)


@pytest.mark.parametrize("seed", range(4))
def test_a_far_row_does_not_end_the_path(pool, begin, seed):
    """Without it a cluster is nearly what it was, but its best division is another."""
    X = np.random.RandomState(115).standard_t(3, size=(100, 3))  # one of them very far
    path = begin(pool, X, seed=seed)
    path.trace(6)
    assert path.n_clusters == 6
    assert path.floor is None
