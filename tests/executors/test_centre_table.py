import numpy as np
import pytest

from hardbayes.executors.carried_bounds import CarriedBounds
from hardbayes.executors.centre_table import CentreTable, Known, neighbours_together
from hardbayes.geometry import SquaredEuclidean


def known(centres):
    return Known(centres, np.arange(len(centres)), len(centres))


@pytest.mark.parametrize("n", [1, 7, 8, 9, 40, 100])
def test_neighbours_are_a_permutation_in_full_runs(n):
    centres = np.random.default_rng(n).normal(size=(n, 3))
    order = neighbours_together(centres, 8)
    assert sorted(order) == list(range(n))


def test_neighbours_are_near():
    """Two far groups of eight never share a block of eight."""
    rng = np.random.default_rng(0)
    centres = np.concatenate([rng.normal(size=(8, 2)), 100 + rng.normal(size=(8, 2))])
    centres = centres[rng.permutation(16)]
    far = centres[neighbours_together(centres, 8), 0] > 50
    assert far[:8].all() != far[8:].all()
    assert far[:8].any() != far[8:].any()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_births_and_deaths_keep_the_others(sparse, dtype):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(10, 4))
    table = CentreTable(SquaredEuclidean(), np.dtype(dtype), known(centres), sparse)
    born = rng.normal(size=(200, 4))
    for centre in born[:3]:
        table.open(centre[np.newaxis])
    table.open(born[3:])
    table.close(table.alive[[3, 20]])
    expected = np.delete(np.vstack([centres, born]), [3, 20], axis=0)
    np.testing.assert_array_equal(table.exact[table.alive], expected)
    view = table.view()
    assert np.isinf(view.offset[view.rank < 0]).all()
    np.testing.assert_allclose(view.offset[table.alive], (expected**2).sum(axis=1), rtol=1e-6)


@pytest.mark.parametrize("n_rows", [100, 2_000_000, 50_000_000])
def test_bounds_keep_their_memory_promise(n_rows, monkeypatch):
    table = CentreTable(SquaredEuclidean(), np.dtype(np.float32), known(np.zeros((1000, 4))), False)
    taken = []
    monkeypatch.setattr(np, "full", lambda shape, *_: taken.append(np.prod(shape)) or np.empty(0))
    CarriedBounds(n_rows, table)
    assert 4 * sum(taken) <= max(48e6 - 13 * n_rows, 8 * n_rows)
