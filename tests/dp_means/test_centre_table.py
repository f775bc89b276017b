"""What tables of centres have in common: slots, births, deaths, and what kernels read."""

import numpy as np
import pytest

from hardbayes.core.pool import Pool
from hardbayes.dp_means import centres as centre_table
from hardbayes.dp_means.centres import ClusterList, neighbours_together
from tests.dp_means.table_cases import KINDS, new_table, random_centres, theta_of

EVERY = [
    pytest.mark.parametrize("sparse", [False, True]),
    pytest.mark.parametrize("dtype", [np.float32, np.float64]),
    pytest.mark.parametrize("divergence", KINDS),
]


def every_table(test):
    for mark in EVERY:
        test = mark(test)
    return test


def assert_holds(table, centres):
    """The table holds clusters at these centres (k, d), in order of creation, and nothing else."""
    k = len(centres)
    theta, offset = table._partition.geometry.affine(centres)
    exact = centres if table.layout.costs == "distance" else theta
    assert table.slots.shape == (k,) and (np.diff(table.names) > 0).all()
    view = table.view()
    np.testing.assert_allclose(view.exact[table.slots], exact, rtol=1e-14)
    np.testing.assert_allclose(view.exact_offset[table.slots], offset, rtol=1e-14)
    np.testing.assert_allclose(view.offset[table.slots], (1 - view.lowered) * offset, rtol=1e-6)
    np.testing.assert_allclose(theta_of(table, view)[table.slots], theta, rtol=1e-6)
    np.testing.assert_allclose(table.theta_norm[table.slots], np.linalg.norm(theta, axis=1))
    assert view.theta_bound == pytest.approx(np.linalg.norm(theta, axis=1).max())
    assert view.offset_bound == pytest.approx(np.abs(offset).max())
    free = view.rank < 0
    assert np.count_nonzero(~free) == k and np.isinf(view.offset[free]).all()
    assert np.isfinite(theta_of(table, view)).all()  # else scores of free slots might be no numbers
    assert view.used == table.used and view.room == table.n_slots
    assert view.n_blocks == max(1, -(-table.used // table.block))


# --- order ---------------------------------------------------------------------------------------


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


def test_neighbours_on_a_line_are_cut_into_runs():
    """Along the widest column, whatever the others; the last run is the short one."""
    rng = np.random.default_rng(0)
    place = rng.permutation(20)
    centres = np.column_stack([rng.uniform(size=20), 10.0 * place])
    order = neighbours_together(centres, 8)
    for start in range(0, 20, 8):
        assert sorted(place[order[start : start + 8]]) == list(range(20))[start : start + 8]


def test_a_list_of_the_first_clusters():
    centres = random_centres(3, 2)
    listed = ClusterList.of(centres)
    assert listed.centres is centres and listed.next_rank == 3
    np.testing.assert_array_equal(listed.ranks, [0, 1, 2])


# --- slots ---------------------------------------------------------------------------------------


@every_table
@pytest.mark.parametrize("k", [1, 3, 16, 17, 70])
def test_a_table_holds_its_clusters(k, divergence, dtype, sparse):
    centres = random_centres(k, 5)
    table = new_table(centres, divergence, dtype, sparse)
    assert_holds(table, centres)
    np.testing.assert_array_equal(table.names, np.arange(k))
    assert table.theta.ctypes.data % 64 == 0  # no block touches two cache lines


@every_table
def test_births_and_deaths_keep_the_others(divergence, dtype, sparse):
    rng = np.random.default_rng(0)
    centres = random_centres(10, 4)
    table = new_table(centres, divergence, dtype, sparse)
    born = rng.uniform(0.5, 3.0, size=(200, 4))
    for number, centre in enumerate(born[:3]):
        np.testing.assert_array_equal(table.open(centre[np.newaxis]), [10 + number])
    np.testing.assert_array_equal(table.open(born[3:]), np.arange(13, 210))
    assert table.next_rank == 210
    assert_holds(table, np.vstack([centres, born]))
    table.close(table.slots[[3, 20]])
    assert_holds(table, np.delete(np.vstack([centres, born]), [3, 20], axis=0))
    np.testing.assert_array_equal(table.names, np.delete(np.arange(210), [3, 20]))
    assert table.open(born[:1]) == [210]  # a free slot is not used again
    assert table.names[-1] == 210


def test_nothing_is_opened():
    table = new_table(random_centres(3, 2))
    assert len(table.open(np.empty((0, 2)))) == 0
    assert_holds(table, random_centres(3, 2))


@every_table
def test_other_clusters_take_the_place_of_all(divergence, dtype, sparse):
    table = new_table(random_centres(40, 3), divergence, dtype, sparse)
    table.take_drift()
    centres = random_centres(20, 3, seed=1)
    table.lay_out(ClusterList(centres, np.arange(7, 27), 30))
    assert_holds(table, centres)
    np.testing.assert_array_equal(table.names, np.arange(7, 27))
    assert not table.take_drift().distance.any()


def test_a_layout_spoilt_by_births_and_deaths_is_crowded():
    table = new_table(random_centres(20, 2), dtype=np.float32)
    roomy = table.n_slots
    assert roomy >= 20 + table.block and not table.is_crowded
    table.open(random_centres(roomy - 20, 2))
    assert not table.is_crowded
    table.open(random_centres(1, 2))
    assert table.is_crowded and table.n_slots == 2 * roomy
    table = new_table(random_centres(100, 2), dtype=np.float32)
    kept = 50 - table.block
    table.close(table.slots[kept:-1])
    assert not table.is_crowded
    table.close(table.slots[-2:])
    assert table.is_crowded


def test_sparse_rows_have_room_in_the_last_block_alone():
    table = new_table(random_centres(33, 4), sparse=True, dtype=np.float32)
    assert table.n_slots == -(-33 // table.block) * table.block
    assert table.theta.shape == (1, 4, table.n_slots)


@pytest.mark.parametrize("divergence", KINDS)
def test_threads_write_the_same(divergence, monkeypatch):
    monkeypatch.setattr(centre_table, "CHUNK_BYTES", 1)  # a block at a time
    centres = random_centres(100, 7)
    with Pool(3) as pool:
        one, three = (new_table(centres, divergence, pool=pool) for pool in (Pool(1), pool))
    for name in ("exact", "offset", "exact_offset", "theta_norm", "rank"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))
    np.testing.assert_array_equal(theta_of(one), theta_of(three))
    assert_holds(one, centres)


# --- drift ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("divergence", KINDS)
def test_centres_that_open_have_not_moved(divergence):
    table = new_table(random_centres(3, 2), divergence)
    assert not table.take_drift().distance.any()
    table.open(random_centres(50, 2))
    drift = table.take_drift().distance
    assert drift.shape == (table.n_slots,) and not drift.any()


@pytest.mark.parametrize("divergence", KINDS)
def test_drift_is_how_far_centres_have_moved_since_it_was_taken(divergence):
    first, second, third = (random_centres(20, 3, seed) for seed in range(3))
    table = new_table(first, divergence)
    table._write(table.slots, second)
    table._write(table.slots[:5], third[:5])
    exact = [table._partition.affine_form(centres).exact for centres in (first, second, third)]
    expected = np.linalg.norm(exact[1] - exact[0], axis=1)
    expected[:5] += np.linalg.norm(exact[2] - exact[1], axis=1)[:5]
    drift = table.take_drift().distance
    np.testing.assert_allclose(drift[table.slots], expected)
    assert not np.delete(drift, table.slots).any()
    assert not table.take_drift().distance.any()
    np.testing.assert_allclose(drift[table.slots], expected)  # what was taken stays as it is


@pytest.mark.parametrize("divergence", KINDS)
def test_a_table_that_grows_takes_the_drift_along(divergence):
    table = new_table(random_centres(20, 3), divergence)
    table._write(table.slots, random_centres(20, 3, seed=1))
    before, slots = table._moved[table.slots].copy(), table.slots
    table.open(random_centres(200, 3))
    drift = table.take_drift().distance
    np.testing.assert_array_equal(drift[slots], before)
    assert not np.delete(drift, slots).any()
