"""Each move of the hard HDP changes the objective by exactly what it says."""

import numpy as np
import pytest

from hardbayes.dp_means.moves.single_rows import propose_row_moves
from hardbayes.dp_means.moves.splits import divide_clusters
from hardbayes.groups.descent import GroupedDescent
from hardbayes.groups.moves import (
    _choose,
    _rename,
    propose_exchange,
    propose_global_moves,
    propose_local_cluster_moves,
    propose_merges,
    propose_regrouping,
    propose_splits,
)
from tests.groups.cases import assert_keeps_its_promise, labelled, random_case

PENALTIES = (2.0, 6.0)
SEEDS = range(4)
DIVERGENCES = ["squared_euclidean", "itakura_saito"]


def case_for(seed, divergence="squared_euclidean"):
    X, groups, labels = random_case(seed)
    if divergence != "squared_euclidean":
        X = np.exp(X / 4)
    penalties = PENALTIES if divergence == "squared_euclidean" else (0.3, 0.6)
    return labelled(X, groups, labels, penalties, divergence)


def divided(case):
    rng = np.random.RandomState(0)
    base, partition = case.state.base, case.grouped.partition
    return divide_clusters(base, partition, case.passes.refine, rng, None)


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_move_with_local_penalties(seed, divergence):
    with case_for(seed, divergence) as case:
        ids = case.state.weighted
        local_penalties = case.state.local_penalties(case.grouped.local_penalty, ids)
        proposal = propose_row_moves(
            case.state.base, case.grouped.partition, case.move_rows, ids, 4, local_penalties
        )
        assert_keeps_its_promise(case, proposal)


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("seed", SEEDS)
def test_local_clusters_move_as_a_whole(seed, divergence):
    with case_for(seed, divergence) as case:
        before = case.state.base.numbers()
        proposal = propose_local_cluster_moves(case.state, case.grouped, case.move_rows, 4)
        assert_keeps_its_promise(case, proposal)
        after = case.state.base.numbers()
        pairs = np.unique(np.c_[case.groups, before, after], axis=0)
        assert len(pairs) == len(np.unique(np.c_[case.groups, before], axis=0))


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("seed", SEEDS)
def test_groups_open_and_close_local_clusters(seed, divergence):
    with case_for(seed, divergence) as case:
        proposal = propose_regrouping(case.state, case.grouped)
        assert_keeps_its_promise(case, proposal)
        again = propose_regrouping(case.state, case.grouped)
        assert again is None or again.change > proposal.change


@pytest.mark.parametrize("seed", SEEDS)
def test_merges_count_the_groups_that_use_both(seed):
    X, groups, _ = random_case(seed)
    with labelled(X, groups, np.arange(len(X)) % 12, (3.0, 1.0)) as case:
        assert_keeps_its_promise(case, propose_merges(case.state, case.grouped))
    # Clusters that no group shares are not worth a union that a shared pair is.
    X = np.array([[0.0], [1.0], [50.0], [51.0]])
    labels = np.arange(4)
    with labelled(X, np.array([0, 0, 1, 1]), labels, (0.4, 0.2)) as case:
        assert propose_merges(case.state, case.grouped).n_merges == 2
    with labelled(X, np.array([0, 1, 2, 3]), labels, (0.4, 0.2)) as case:
        assert propose_merges(case.state, case.grouped) is None


@pytest.mark.parametrize("seed", SEEDS)
def test_splits_count_the_groups_that_use_both_parts(seed):
    X, groups, labels = random_case(seed)
    with labelled(X, groups, np.zeros_like(labels), PENALTIES) as case:
        proposal = propose_splits(case.state, case.grouped, divided(case))
        assert_keeps_its_promise(case, proposal)


def test_a_split_may_leave_every_group_whole():
    """Each group has its own place: at a high local penalty none uses both parts."""
    rng = np.random.default_rng(0)
    groups = np.arange(40) % 2
    X = 3.0 * groups[:, np.newaxis] + rng.standard_normal((40, 1))
    with labelled(X, groups, np.zeros(40, int), (50.0, 20.0)) as case:
        proposal = propose_splits(case.state, case.grouped, divided(case))
        assert_keeps_its_promise(case, proposal)
        assert case.state.n_local == 2 and case.state.n_clusters == 2


def test_the_rows_of_a_pair_stay_together_unless_it_pays():
    first, second = np.array([0.0, 3.0, 1.0, 1.0]), np.array([3.0, 0.0, 2.0, 5.0])
    pairs = np.array([0, 0, 1, 1])
    assert _choose(first, second, pairs, 1.0).tolist() == [False, True, False, False]
    assert _choose(first, second, pairs, 4.0).tolist() == [False] * 4
    assert _choose(second, first, np.array([1, 1, 0, 0]), 4.0).tolist() == [
        False,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_moves_of_partitions_apply_to_local_clusters(seed):
    with case_for(seed) as case:
        order = np.arange(case.state.rows.n_rows)
        descent = GroupedDescent(
            case.state, case.grouped, case.problem.whole.opening_costs(case.grouped.partition),
            order, np.random.RandomState(0),
        )  # fmt: skip
        proposal = propose_global_moves(case.state, case.grouped, descent._solve)
        assert_keeps_its_promise(case, proposal)


@pytest.mark.parametrize("seed", SEEDS)
def test_exchanges_leave_the_state_alone_until_applied(seed):
    X, groups, labels = random_case(seed)
    with labelled(X, groups, labels, PENALTIES) as case:
        before = case.state.base.numbers()
        proposal = propose_exchange(case.state, case.grouped, lambda trial: None, divided(case), 8)
        np.testing.assert_array_equal(case.state.base.numbers(), before)
        assert_keeps_its_promise(case, proposal)


def test_clusters_keep_the_numbers_of_most_of_their_rows():
    before = np.array([0, 0, 0, 1, 1, 2], np.int32)
    after = np.array([3, 3, 3, 0, 0, 0], np.int32)
    assert _rename(after, before, 3).tolist() == [0, 0, 0, 1, 1, 1]
    parted = np.array([0, 0, 1, 2, 2, 2], np.int32)
    assert _rename(parted, before, 3).tolist() == [0, 0, 3, 1, 1, 1]
