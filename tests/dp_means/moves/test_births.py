"""Births within a sweep, against the loop that visits rows one by one."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.arrays import GIVEN_ORDER
from hardbayes.dp_means.moves import births
from tests.dp_means.partition_states import pose_here, random_order
from tests.test_divergences import rows_for


def serial_sweep(local, partition, centres, opening, order, cap):
    """The number of each row's cluster: the oldest of the cheapest, or one that it opens."""
    opening = np.broadcast_to(opening, local.n_rows)
    weights = local.weights_at()
    own = partition.opening_centres(local.dense(), weights)
    old = local.costs(partition.direct_form(centres))
    born = local.costs(partition.direct_form(own))
    openers, labels = [], np.empty(local.n_rows, int)
    for i in order.rows(local.n_rows):
        costs = np.append(old[i], born[i, openers])
        labels[i] = np.argmin(costs)
        if weights[i] * costs.min() > opening[i] and len(costs) < cap:
            labels[i] = len(costs)
            openers.append(i)
    return labels, len(openers)


@pytest.mark.parametrize("rounds", [(256, 1 << 15, 1 << 19), (2, 5, 16)], ids=["large", "small"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "poisson", "kl"])
def test_a_sweep_is_the_serial_one(divergence, container, rounds, monkeypatch):
    names = "FIRST_ROUND", "MAX_ROUND", "ENTRIES_AT_ONCE"
    for name, value in zip(names, rounds, strict=True):
        monkeypatch.setattr(births, name, value)
    n_opened = set()
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rows_for(divergence, rng, 90, 3, zeros=False)
        if divergence == "squared_euclidean" and seed % 2:
            X = np.rint(X)  # ties
        problem = pose_here(container(X), divergence, rng.choice([0.0, 1.0, 2.0], 90))
        partition = problem.partition(0.5, float(rng.choice([0.0, 1.0])), None)
        state, local = problem.state(partition), problem.rows.take()
        centres = local.dense()[rng.choice(90, 3, replace=False)]
        state.start(centres)
        costs = local.weights_at() * local.costs(partition.direct_form(centres)).min(axis=1)
        opening = np.quantile(costs, [rng.choice([0.2, 0.7, 0.97])])
        if seed % 3 == 0:
            opening = opening * rng.uniform(0.5, 2.0, 90)
        order = random_order(rng)
        cap = int(rng.choice([3, 6, 1000]))
        summary = state.sweep(opening, order, cap)
        expected, n_births = serial_sweep(local, partition, centres, opening, order, cap)
        assert summary.n_opened == n_births
        assert summary.n_above == np.sum(costs > opening)
        n_opened.add(n_births)
        numbers = state._number_of()[problem.rows.labels()]
        np.testing.assert_array_equal(numbers, expected)
    assert len(n_opened) > 2


def test_a_bounded_number_of_rows_is_taken_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    problem = pose_here(rng.normal(size=(90, 3)))
    partition, rows = problem.partition(0.5, 0.0, None), problem.rows
    state, taken = problem.state(partition), []
    whole = rows.take
    monkeypatch.setattr(rows, "most_taken", 4)
    monkeypatch.setattr(rows, "take", lambda ids: taken.append(len(ids)) or whole(ids))
    centres = whole(np.arange(3)).dense()
    state.start(centres)
    opening = np.array([0.01])
    assert state.sweep(opening, GIVEN_ORDER, 1000).n_opened > 10
    assert max(taken) <= 4 and len(taken) > 10
    expected, _ = serial_sweep(whole(), partition, centres, opening, GIVEN_ORDER, 1000)
    np.testing.assert_array_equal(state._number_of()[rows.labels()], expected)


def test_at_the_cap_nothing_opens():
    problem = pose_here(np.array([[0.0], [10.0]]))
    state = problem.state(problem.partition(1.0, 0.0, None))
    state.start(problem.rows.take(np.array([0])).dense())
    summary = state.sweep(np.array([problem.unit]), GIVEN_ORDER, 1)
    assert (summary.n_above, summary.n_opened) == (1, 0) and state.n_clusters == 1
    np.testing.assert_array_equal(state.numbers(), [0, 0])


def test_rounds_grow(monkeypatch):
    monkeypatch.setattr(births, "FIRST_ROUND", 4)
    monkeypatch.setattr(births, "MAX_ROUND", 16)
    problem = pose_here(np.arange(100.0)[:, np.newaxis])
    state, sizes = problem.state(problem.partition(1.0, 0.0, None)), []
    whole = problem.rows.take
    state.start(np.full((1, 1), 1e3))
    monkeypatch.setattr(problem.rows, "take", lambda ids: sizes.append(len(ids)) or whole(ids))
    state.sweep(np.zeros(1), GIVEN_ORDER, 1000)
    assert sizes == [4, 8, 16, 16, 16, 16, 16, 8]
