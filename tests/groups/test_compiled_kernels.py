"""The compiled rules of the hard HDP against NumPy."""

import numpy as np
import pytest

from hardbayes.groups.compiled import RELATIVE_TOLERANCE, change, mark
from hardbayes.groups.memory import Groups, Sweep, cheapest, regroup_rows, visit_rows
from tests.groups.cases import labelled, random_case


def opens_nothing(row):
    raise AssertionError(row)


@pytest.mark.parametrize("known", [False, True])
def test_rows_pay_for_clusters_that_are_new_to_their_group(known):
    X, groups, labels = random_case(0)
    with labelled(X, groups, labels, (1.0, 1.0)) as case:
        local, k = case.state.rows.take(), case.state.n_clusters
        form = case.grouped.partition.direct_form(case.state.base.centres()[1])
        costs = case.state.rows.weights[0] * local.costs(form)
        ranks = np.full((5, k), -1, np.int32)
        ranks[np.arange(5), np.arange(5) % k] = np.arange(5)
        penalty = float(np.median(costs)) / 4
        expected, used = [], ranks >= 0
        order = np.random.default_rng(0).permutation(len(X))
        found = np.empty(len(X), int)
        for i in order:
            found[i] = np.argmin(costs[i] + penalty * ~used[groups[i]])
            used[groups[i], found[i]] = True
        expected = found
        nearest = costs.argmin(axis=1).astype(np.int32) if known else np.zeros(0, np.int32)
        sweep = Sweep(order, penalty, np.array([np.inf]), 99, opens_nothing)
        visited = visit_rows(
            local, sweep, Groups(groups.astype(np.intp), 5), form,
            np.full(len(X), -1, np.int32), ranks, nearest,
        )  # fmt: skip
        np.testing.assert_array_equal(visited.labels, expected)
        np.testing.assert_array_equal(visited.ranks >= 0, used)
        assert not visited.refused


def test_each_group_solves_its_facility_location_problem():
    """With two clusters there are three subsets to use: the best is found."""
    X, groups, labels = random_case(3, k=2)
    with labelled(X, groups, labels, (1.0, 1.0)) as case:
        state, centres = case.state, case.state.base.centres()[1]
        form = case.grouped.partition.direct_form(centres)
        costs = state.rows.weights[0] * state.rows.take().costs(form)
        for penalty in (0.0, float(costs.mean()), float(costs.sum())):
            found = regroup_rows(
                state.rows.take(), form, state.by_group, state.group_starts,
                state.base.numbers(), penalty,
            )  # fmt: skip
            for g in range(5):
                own = costs[groups == g]
                best = min(own[:, 0].sum() + penalty, own[:, 1].sum() + penalty,
                           own.min(axis=1).sum() + 2 * penalty)  # fmt: skip
                chosen = found[groups == g]
                paid = own[np.arange(len(own)), chosen].sum() + penalty * len(set(chosen))
                assert paid == pytest.approx(best)


def test_large_groups_are_done_in_several_calls(monkeypatch):
    X, groups, labels = random_case(4, n=400, n_groups=2)
    with labelled(X, groups, labels, (1.0, 1.0)) as case:
        state = case.state
        form = case.grouped.partition.direct_form(state.base.centres()[1])
        given = (
            state.rows.take(), form, state.by_group, state.group_starts, state.base.numbers(), 0.01
        )  # fmt: skip
        whole = regroup_rows(*given)
        monkeypatch.setattr("hardbayes.groups.memory.ENTRIES_A_CALL", 1)
        np.testing.assert_array_equal(regroup_rows(*given), whole)


def test_the_change_that_saves_most_is_made():
    used, gains = np.array([True, True, False]), np.array([-5.0, -1.0, 4.0])
    assert change(used, gains, 10.0, 2.0) and used.tolist() == [True, True, True]
    assert change(used, np.array([-5.0, -1.0, -9.0]), 10.0, 2.0)
    assert used.tolist() == [True, False, True]
    assert not change(used, np.array([-5.0, 1.0, -9.0]), 10.0, 2.0)
    alone = np.array([True, False])
    assert not change(alone, np.array([0.0, 0.0]), 10.0, 2.0), "a group uses one cluster at least"
    assert not change(used, np.array([-5.0, 2.0 + RELATIVE_TOLERANCE, -9.0]), 10.0, 2.0), (
        "rounding is no gain"
    )


def test_rows_without_weight_use_no_cluster():
    used = np.empty(3, bool)
    labels = np.array([0, 1, 2], np.int32)
    mark(np.array([1.0, 0.0, 2.0]), np.arange(3), labels, used, 0, 3)
    assert used.tolist() == [True, False, True]


def test_new_rows_pay_for_clusters_that_their_group_does_not_use():
    X, groups, labels = random_case(5)
    with labelled(X, groups, labels, (1.0, 1.0)) as case:
        local = case.state.rows.take()
        form = case.grouped.partition.direct_form(case.state.base.centres()[1])
        costs = local.costs(form)
        in_use = np.zeros((5, costs.shape[1]), bool)
        in_use[:, 0] = True
        mixed = np.where(groups == 4, -1, groups)
        penalty = float(np.median(costs))
        local_penalties = np.where((mixed >= 0)[:, np.newaxis] & in_use[mixed], 0.0, penalty)
        found = cheapest(local, form, mixed, in_use, penalty)
        expected = np.argmin(costs + local_penalties, axis=1)
        np.testing.assert_array_equal(found[0], expected)
        at = np.arange(len(X)), expected
        np.testing.assert_array_equal(found[1], costs[at])
        np.testing.assert_array_equal(found[2], local_penalties[at])
