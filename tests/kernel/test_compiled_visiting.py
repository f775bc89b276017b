import numpy as np

from hardbayes.kernel.compiled import move_rows, sweep_rows
from tests.reference.graphs import kernel_objective
from tests.reference.mercer import random_kernel


def clusters_of(kernel, labels, weights, k):
    members = np.eye(k)[labels] * weights[:, np.newaxis]
    return kernel @ members, np.diag(members.T @ kernel @ members).copy(), members.sum(axis=0)


def test_moves_lower_the_objective_by_what_they_say_and_keep_sums_up_to_date():
    rng = np.random.default_rng(1)
    kernel, weights = random_kernel(rng, 12), rng.uniform(0.5, 2.0, 12)
    weights[3] = 0.0
    labels = rng.integers(0, 3, 12)
    reach, inside, volumes = clusters_of(kernel, labels, weights, 3)
    counts = np.bincount(labels, weights > 0, 3).astype(np.int64)
    heavy = weights > 0

    def value():
        block = kernel[np.ix_(heavy, heavy)]
        return kernel_objective(block, weights[heavy], labels[heavy], 0.7)

    last, moves = value(), np.zeros(1, np.int64)
    for i in range(12):  # one row at a time, so that each move is checked
        ids = np.array([i])
        move_rows(
            ids, reach[i : i + 1].copy(), kernel[np.ix_(ids, ids)].copy(), np.diag(kernel).copy(),
            weights, 0.7, 0.0, labels, inside, volumes, counts, np.empty(12), moves,
        )  # fmt: skip
        now = value()
        assert now <= last + 1e-12
        last = now
        reach, expected, sizes = clusters_of(kernel, labels, weights, 3)
        np.testing.assert_allclose(inside, expected, atol=1e-9)
        np.testing.assert_allclose(volumes, sizes, atol=1e-12)
    assert moves[0] > 0


def test_a_sweep_opens_clusters_that_later_rows_join():
    rows = np.array([0.0, 10.0, 10.5, 0.5])
    kernel = np.outer(rows, rows)
    labels, weights = np.zeros(4, np.int64), np.ones(4)
    reach, inside, volumes = clusters_of(kernel, labels, weights, 1)
    found, costs, state = np.empty(4, np.int64), np.empty(4), np.zeros(2, np.int64)
    ids = np.arange(4)
    arguments = (ids, reach, np.empty((4, 0)), kernel, np.diag(kernel).copy(), weights)
    sweep_rows(*arguments, inside, volumes, 9.0, 9, np.zeros(4, np.int64), state, found, costs)
    np.testing.assert_array_equal(found, [1, 2, 2, 1])
    np.testing.assert_allclose(costs, [0.0, 0.0, 0.25, 0.25])
    assert state.tolist() == [2, 0]
    state[:] = 0
    sweep_rows(*arguments, inside, volumes, 9.0, 1, np.zeros(4, np.int64), state, found, costs)
    assert state.tolist() == [1, 1]  # the cap prevented the second
