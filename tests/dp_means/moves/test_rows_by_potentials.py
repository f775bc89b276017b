"""Rows that move one by one, compared together, against the objective of every labelling."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.geometry import GEOMETRIES
from hardbayes.dp_means.moves import potentials
from hardbayes.dp_means.moves.potentials import ClusterPotentials, _choices, move_rows_by_potentials
from hardbayes.dp_means.moves.single_rows import Clusters, propose_row_moves
from tests.dp_means.partition_states import pose_here, state_at
from tests.reference.dp_means import labelling_objective, same_partition
from tests.test_divergences import rows_for

NAMES = sorted(set(GEOMETRIES) - {"squared_euclidean"})
K = 4


def random_labelling(divergence, seed):
    """(X, weights, labels, options): a labelling far from good, and some rows without weight."""
    rng = np.random.default_rng(seed)
    X = rows_for(divergence, rng, 24, 5, zeros=divergence not in ("cosine", "itakura_saito"))
    if divergence == "poisson":
        X[5] = 0.0  # a row without entries
    weights = np.where(rng.random(24) < 0.1, 0.0, rng.choice([1.0, 0.5, 2.0], 24))
    weights[:K] = 1.0
    labels = np.append(np.arange(K), rng.integers(0, K, 20))
    options = dict(
        penalty=float(rng.choice([0.05, 0.5, 3.0])), prior_weight=float(rng.choice([1.0, 10.0]))
    )
    return X, weights, labels, options | dict(max_clusters=int(rng.choice([K, K + 1, 20])))


def literal_moves(X, weights, labels, passes, divergence, penalty, prior_weight, max_clusters):
    """Give each row in turn the label at which the whole objective is lowest."""
    labels = labels.copy()

    def value(i, label):
        moved = np.where(np.arange(len(labels)) == i, label, labels)
        options = dict(divergence=divergence, prior_weight=prior_weight, weights=weights)
        return labelling_objective(X, moved, penalty, **options)

    n_moves = 0
    for _ in range(passes):
        before = n_moves
        for i in np.flatnonzero(weights > 0):
            open_now = np.unique(labels[weights > 0])
            targets = list(open_now)
            if len(open_now) < max_clusters and np.sum(labels[weights > 0] == labels[i]) > 1:
                targets.append(labels.max() + 1)
            values = np.array([value(i, label) for label in targets])
            stays = value(i, labels[i])
            if values.min() < stays * (1 - 1e-12):
                labels[i] = targets[int(np.argmin(values))]
                n_moves += 1
        if n_moves == before:
            break
    return labels, n_moves


class NotedMoves:
    """Single-row moves that keep what they did."""

    def __init__(self, move_rows):
        self.move_rows = move_rows

    def __call__(self, *arguments):
        self.done = self.move_rows(*arguments)
        return self.done


@cache
def literal_of(divergence, seed):
    """What a random labelling becomes; computed once for all ways to move rows."""
    X, weights, labels, options = random_labelling(divergence, seed)
    return literal_moves(X, weights, labels, 3, divergence, **options)


@pytest.mark.parametrize("together", [1, 1 << 17])
@pytest.mark.parametrize("container", [np.ascontiguousarray, sparse.csr_array])
@pytest.mark.parametrize("divergence", NAMES)
def test_rows_choose_as_if_they_came_one_by_one(divergence, container, together, monkeypatch):
    monkeypatch.setattr(potentials, "TOGETHER", together)
    for seed in range(2):
        X, weights, labels, options = random_labelling(divergence, seed)
        problem = pose_here(container(X), divergence, weights)
        partition = problem.partition(
            options["penalty"], options["prior_weight"], options["max_clusters"]
        )
        state = state_at(problem, partition, labels)
        move_rows = NotedMoves(move_rows_by_potentials)
        proposal = propose_row_moves(state, partition, move_rows, np.arange(len(X)), 3)
        state.apply(proposal)
        found = state.numbers()
        expected, n_expected = literal_of(divergence, seed)
        assert move_rows.done.n_moves == n_expected > 0
        assert same_partition(found[weights > 0], expected[weights > 0])


# --- single parts ---------------------------------------------------------------------------------


def four_clusters(penalty=0.5, cap=9, prior_weight=1.0, members=(3, 1, 2, 0)):
    """Potentials of four clusters, the last of them closed, and one not yet open."""
    X = rows_for("poisson", np.random.default_rng(0), 20, 3, zeros=False)
    problem = pose_here(X, "poisson")
    partition = problem.partition(penalty, prior_weight, cap)
    weights = np.array(members, float)
    centres = problem.rows.take(np.arange(4)).dense()
    return ClusterPotentials(partition, weights, centres, np.array(members))


def chosen(clusters, joined, left=0.0, own=0):
    """Where a row that brings nothing would go, and what that would gain."""
    pays = -np.array([joined], float)
    goes, gains = _choices(clusters, pays, np.array([left], float), np.array([own]))
    return int(goes[0]), float(gains[0])


def test_a_row_goes_where_it_pays_least_and_less_than_it_frees():
    clusters = four_clusters()
    unit = 0.5 / clusters.partition.penalty  # penalties in working units
    assert unit > 0
    pays = -np.array([0.0, 3.0, 2.0, 0.0, 9.0])  # a row pays minus what it adds to a potential
    assert chosen(clusters, pays, left=2.5) == (2, pytest.approx(0.5))
    assert chosen(clusters, pays, left=1.9)[0] == 0
    assert chosen(clusters, pays, left=2.0)[0] == 0  # rounding alone moves nothing


def test_the_last_row_of_a_cluster_frees_the_penalty_and_opens_none():
    clusters = four_clusters()
    penalty = clusters.partition.penalty
    pays = -np.array([penalty / 2, 9.0, 9.0, 9.0, -9.0])
    goes, gain = chosen(clusters, pays, own=1)
    assert goes == 0 and gain == pytest.approx(penalty / 2)
    pays = -np.array([9.0, 9.0, 9.0, 9.0, -9.0])
    assert chosen(clusters, pays, own=1)[0] == 1


def test_closed_clusters_take_no_rows_and_new_ones_cost_the_penalty():
    clusters = four_clusters()
    penalty = clusters.partition.penalty
    pays = -np.array([9.0, 9.0, 9.0, -99.0, 0.0])
    assert chosen(clusters, pays, left=0.9 * penalty)[0] == 0
    goes, gain = chosen(clusters, pays, left=1.5 * penalty)
    assert goes == 4 and gain == pytest.approx(0.5 * penalty)
    assert chosen(four_clusters(cap=3), pays, left=1.5 * penalty)[0] == 0  # three are open
    assert chosen(four_clusters(cap=4), pays, left=1.5 * penalty)[0] == 4


def test_moves_end_when_a_pass_moves_nothing():
    """And tells where the clusters are that rows opened."""
    X = np.array([[1.0], [1.1], [9.0], [9.2], [30.0]])
    problem = pose_here(X, "poisson")
    partition = problem.partition(0.05, 0.0, None)
    local, numbers = problem.rows.take(), np.zeros(5, np.intp)
    mean = problem.mean[np.newaxis]
    clusters = Clusters(np.array([problem.rows.weights[0] * 5]), mean, np.array([5]))
    moves = move_rows_by_potentials(local, partition, numbers, clusters, 100)
    assert moves.n_moves > 0 and len(moves.opened) == numbers.max()
    for c in np.unique(numbers):
        if c > 0:
            expected = local.dense()[numbers == c].mean(axis=0)
            np.testing.assert_allclose(moves.opened[c - 1], expected)
    again = numbers.copy()
    sizes = np.bincount(numbers) * problem.rows.weights[0]
    kept = np.flatnonzero(sizes)
    centres = np.array([local.dense()[numbers == c].mean(axis=0) for c in kept])
    compact = np.searchsorted(kept, again)
    clusters = Clusters(sizes[kept], centres, np.bincount(compact))
    moves = move_rows_by_potentials(local, partition, compact, clusters, 100)
    assert moves.n_moves == 0 and moves.gain == 0.0 and len(moves.opened) == 0
