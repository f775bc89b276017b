"""Single-row moves, against the objective of every labelling."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.dp_means.moves import single_rows
from hardbayes.dp_means.moves.single_rows import (
    Clusters,
    border_rows,
    move_rows_compiled,
    propose_row_moves,
)
from tests.dp_means.moves.cases import heaps_for, labelled, random_case
from tests.reference.dp_means import same_partition


def literal_moves(case, labels, ids, passes=1):
    """Give each row in turn the label at which the whole objective is lowest."""
    labels, weights = labels.copy(), case.problem.rows.weights
    weights = np.broadcast_to(weights, len(labels))
    n_moves = 0
    for _ in range(passes):
        before = n_moves
        for i in ids:
            if weights[i] == 0:
                continue
            open_now = np.unique(labels[weights > 0])
            targets = list(open_now)
            room = len(open_now) < case.partition.max_clusters
            if room and np.sum(labels[weights > 0] == labels[i]) > 1:
                targets.append(labels.max() + 1)
            moved = [np.where(np.arange(len(labels)) == i, t, labels) for t in targets]
            values = [case.value(other) for other in moved]
            if min(values) < case.value(labels) * (1 - 1e-12):
                labels = moved[int(np.argmin(values))]
                n_moves += 1
        if n_moves == before:
            break
    return labels, n_moves


@pytest.mark.parametrize("spare", [1, 32])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("seed", range(4))
def test_rows_go_where_the_objective_is_lowest_one_after_the_other(
    seed, container, spare, monkeypatch
):
    monkeypatch.setattr(single_rows, "SPARE", spare)  # also where slots are made again and again
    X, weights, labels = heaps_for("squared_euclidean", seed, n=30, k=4)
    options = dict(
        penalty=(0.01, 0.3, 3.0, 30.0)[seed],
        max_clusters=(None, 5, 4, None)[seed],
        prior_weight=(0.0, 0.0, 1.5, 0.3)[seed],
    )
    with labelled(container(X), weights, labels, **options) as case:
        ids = np.random.default_rng(seed).permutation(30)[:25]
        proposal = propose_row_moves(case.state, case.partition, case.passes.move_rows, ids)
        expected, n_moves = literal_moves(case, labels, ids)
        assert n_moves > 0
        case.state.apply(proposal)
        found, heavy = case.state.numbers(), weights > 0
        assert same_partition(found[heavy], expected[heavy])


def test_clusters_that_rows_open_have_the_last_numbers():
    X = np.array([[0.0], [0.2], [10.0], [10.1], [20.0]])
    with labelled(X, None, np.zeros(5, int), penalty=1.0) as case:
        weights, centres = case.state.centres()
        clusters = Clusters(weights, centres, case.state.member_counts())
        numbers, local = np.zeros(5, np.intp), case.problem.rows.take()
        moves = move_rows_compiled(local, case.partition, numbers, clusters, 1)
        assert moves.n_moves == 4 and numbers.tolist() == [1, 1, 2, 2, 0]
        assert len(moves.opened) == 2
        shown = case.problem.frame.from_working(moves.opened).ravel()
        np.testing.assert_allclose(shown, [0.1, 10.05])
        np.testing.assert_array_equal(clusters.weights, weights)  # given ones are not written into
        np.testing.assert_array_equal(clusters.centres, case.state.centres()[1])


def test_moves_in_passes_end_in_a_local_optimum():
    for seed in range(3):
        X, weights, labels = heaps_for("squared_euclidean", seed, n=30, k=4)
        with labelled(X, weights, labels, penalty=0.5) as case:
            everything = np.arange(30)
            for _ in range(5):  # rows may have to wait before they can open a cluster
                move_rows = case.passes.move_rows
                proposal = propose_row_moves(case.state, case.partition, move_rows, everything, 50)
                if proposal is None:
                    break
                case.state.apply(proposal)
            else:
                pytest.fail("moves go on for ever")
            assert literal_moves(case, case.state.numbers(), everything)[1] == 0


def test_nothing_to_move():
    X, weights, labels = random_case(0)
    with labelled(X, weights, labels) as case:
        move_rows = case.passes.move_rows
        nobody = np.zeros(0, np.intp)
        assert propose_row_moves(case.state, case.partition, move_rows, nobody) is None
    X = np.array([[0.0], [0.1], [50.0], [50.1]])
    with labelled(X, None, np.array([0, 0, 1, 1]), penalty=1.0) as case:
        move_rows, everything = case.passes.move_rows, np.arange(4)
        assert propose_row_moves(case.state, case.partition, move_rows, everything, 3) is None


def test_rows_without_weight_stay():
    X, weights, labels = random_case(0)
    with labelled(X, weights, labels, penalty=30.0) as case:
        proposal = propose_row_moves(
            case.state, case.partition, case.passes.move_rows, np.arange(80), 3
        )
        light = weights == 0
        np.testing.assert_array_equal(proposal.numbers[light], labels[light])


@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
@pytest.mark.parametrize("slack", [0.8, 0.9])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "poisson", "kl"])
def test_rows_at_the_border_by_the_definition(divergence, slack, prior_weight, monkeypatch):
    X, weights, labels = heaps_for(divergence, 3)
    with labelled(X, weights, labels, divergence, prior_weight=prior_weight) as case:
        state, partition, eta = case.state, case.partition, case.partition.prior_weight
        for _ in range(3):  # near a fixed point most rows are far from a border
            state.choose_nearest()
            state.refit()
        sizes, centres = state.centres()
        sizes = sizes + eta
        rows, w = case.problem.rows.take().dense(), case.problem.rows.weights
        costs = partition.geometry.divergence(rows[:, np.newaxis], centres)
        own, at = state.numbers(), np.arange(len(rows))
        left = sizes[own] - w
        alone = left - eta <= 1e-9 * w
        frees = sizes[own] / np.where(alone, 1.0, left) * costs[at, own]
        pays = slack * sizes / (sizes + w.max()) * costs
        pays[at, own] = np.inf
        expected = np.flatnonzero((pays.min(axis=1) <= frees) | alone)
        found = border_rows(state, partition, slack)
        np.testing.assert_array_equal(found, expected)
        assert 0 < len(found) < len(rows)
        monkeypatch.setattr(state.rows, "most_taken", 7)  # some rows at a time
        np.testing.assert_array_equal(border_rows(state, partition, slack), expected)


def test_every_row_that_gains_by_moving_is_at_a_border():
    for seed in range(5):
        with labelled(*random_case(seed), penalty=30.0) as case:
            case.state.choose_nearest()
            case.state.refit()
            labels, found = case.state.numbers(), border_rows(case.state, case.partition, 0.9)
            now = case.value(labels)
            for i in np.setdiff1d(np.arange(80), found):
                for target in range(case.state.n_clusters):
                    moved = np.where(np.arange(80) == i, target, labels)
                    assert case.value(moved) >= now * (1 - 1e-12)
