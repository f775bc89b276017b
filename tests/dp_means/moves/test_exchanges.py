"""Exchanges: which are tried, in which order, and which are taken up together."""

from itertools import islice

import numpy as np
import pytest

from hardbayes.dp_means.moves import exchanges
from hardbayes.dp_means.moves.exchanges import (
    Before,
    _batches,
    _make,
    _neighbours,
    promising,
    propose_exchanges,
)
from hardbayes.dp_means.moves.merges import nearest_partners
from hardbayes.dp_means.moves.splits import Divisions, divide_clusters
from tests.dp_means.moves.cases import labelled, random_case

DIVERGENCES = ["squared_euclidean", "poisson"]


def divided(case, seed=0):
    rng = np.random.RandomState(seed)
    return divide_clusters(case.state, case.partition, case.passes.refine, rng, None)


def exchanged(case, divisions, n_trials):
    return propose_exchanges(case.state, case.partition, case.passes.refine, divisions, n_trials)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_exchanges_are_the_same_for_any_number_of_threads_and_any_batch(divergence, monkeypatch):
    found = []
    for n_threads, together in [(1, 1 << 16), (3, 1 << 16), (2, 1)]:
        monkeypatch.setattr(exchanges, "ROWS_TOGETHER", together)
        X, weights, labels = random_case(0)
        labels[labels == 5] = 0  # one change at a time, so that batches cannot differ
        with labelled(X, weights, labels, divergence, 30.0, None, n_threads) as case:
            case.state.apply(exchanged(case, divided(case), 1))
            found.append(case.state.numbers())
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_the_best_ranks_come_first():
    """Alone before in pairs; no cluster is united and divided at once."""
    with labelled(*random_case(0), penalty=30.0) as case:
        weights, centres = case.state.centres()
        divisions = divided(case)
        partners, costs = nearest_partners(case.partition, weights, centres)
        cheapest = int(np.argmin(costs))
        pair = tuple(sorted((cheapest, int(partners[cheapest]))))
        best = (int(np.argmax(divisions.saved)),)
        found = list(promising(partners, costs, divisions.saved, 100))
        assert found[:2] == [((), best), (pair, ())]
        assert ((), ()) not in found and len(set(found)) == len(found)
        assert not any(set(united) & set(parted) for united, parted in found)
        unions = {united for united, _ in found if united}
        assert all(a < b for a, b in unions)
        divided_ones = {parted for _, parted in found if parted}
        assert divided_ones == {(int(c),) for c in np.flatnonzero(divisions.saved > 0)}
        pairs = list(promising(partners, costs, divisions.saved, 100, True))
        assert pairs == [trial for trial in found if trial[0] and trial[1]]
        few = list(promising(partners, costs, divisions.saved, 3))
        # So many, of so many best unions and divisions at most.
        assert len(few) == 3 and few[:2] == found[:2]


def test_one_cluster_may_only_be_divided():
    X, weights, labels = random_case(0)
    with labelled(X, weights, np.zeros_like(labels), penalty=30.0) as case:
        nothing = nearest_partners(case.partition, *case.state.centres())
        found = list(promising(*nothing, divided(case).saved, 8))
        assert found == [((), (0,))]


def test_neighbours_are_the_nearest_clusters():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(80, 2))
    with labelled(X, None, np.arange(80) % 20) as case:
        centres = case.state.centres()[1]
        distances = ((centres[:, np.newaxis] - centres) ** 2).sum(axis=2)
        found = _neighbours(case.partition, centres)
        np.testing.assert_array_equal(found, np.argsort(distances, axis=1)[:, :6])
        assert _neighbours(case.partition, centres[:3]).shape == (3, 3)


def batched(case, pairs, touched=None, **options):
    k = case.state.n_clusters
    neighbours = _neighbours(case.partition, case.state.centres()[1])[:, :2]
    touched = np.zeros(k, bool) if touched is None else touched
    return list(_batches(case.state, iter(pairs), neighbours, touched))


PAIRS = [((), (0,)), ((1, 2), ()), ((3, 4), (5,))]


def test_trials_are_made_together_until_rows_are_many(monkeypatch):
    with labelled(*random_case(0)) as case:
        (whole,) = batched(case, PAIRS)
        assert [(trial.united, trial.divided) for trial in whole] == PAIRS
        for trial in whole:
            assert {*trial.united, *trial.divided} <= set(trial.around)
            assert (np.diff(trial.around) > 0).all()
        monkeypatch.setattr(exchanges, "ROWS_TOGETHER", 1)
        assert [len(batch) for batch in batched(case, PAIRS)] == [1, 1, 1]
        monkeypatch.setattr(exchanges, "ROWS_TOGETHER", 1 << 16)
        held = case.state.member_counts(weighted=False)  # rows of no weight are taken as well
        largest = max(held[trial.around].sum() for trial in whole)
        monkeypatch.setattr(case.state.rows, "most_taken", int(largest))
        assert [len(batch) for batch in batched(case, PAIRS)] == [1, 1, 1]  # as many as are taken
        monkeypatch.setattr(case.state.rows, "most_taken", 3)
        assert batched(case, PAIRS) == []


def test_a_round_ends_when_its_budget_is_spent(monkeypatch):
    with labelled(*random_case(0)) as case:
        monkeypatch.setattr(exchanges, "ENTRIES", 0)
        monkeypatch.setattr(exchanges, "PART_OF_A_SWEEP", 0.0)
        assert batched(case, PAIRS) == []
        members = case.state.member_counts()
        around = [batch.around for batch in _one_by_one(case, monkeypatch)]
        first = members[around[0]].sum() * len(around[0])
        monkeypatch.setattr(exchanges, "ENTRIES", int(first * case.state.rows.n_columns))
        assert sum(map(len, batched(case, PAIRS))) == 1


def _one_by_one(case, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(exchanges, "ENTRIES", 1 << 30)
        return batched(case, PAIRS)[0]


def test_clusters_of_a_trial_taken_up_take_no_part_in_others():
    with labelled(*random_case(0)) as case:
        touched = np.zeros(6, bool)
        touched[2] = True
        (batch,) = batched(case, PAIRS, touched)
        assert [(trial.united, trial.divided) for trial in batch] == [PAIRS[0], PAIRS[2]]
        assert not any(2 in trial.around for trial in batch)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_a_trial_gains_what_the_objective_falls(divergence):
    with labelled(*random_case(1), divergence, 30.0) as case:
        state, partition = case.state, case.partition
        weights, centres = state.centres()
        origin = centres.mean(axis=0)
        worth = partition.potentials(weights, centres) - partition.penalty
        before = Before(partition.explained(weights, centres, origin), origin, worth)
        divisions, labels, now = divided(case), state.numbers(), case.value()
        partners = nearest_partners(partition, weights, centres)
        pairs = islice(promising(*partners, divisions.saved, 6), 6)
        (trials,) = _batches(
            state, pairs, _neighbours(partition, centres), np.zeros(len(weights), bool)
        )
        outcomes = _make(state, partition, case.passes.refine, divisions, trials, before, 9)
        n_gained = 0
        for trial, outcome in zip(trials, outcomes, strict=True):
            after = labels.copy()
            np.testing.assert_array_equal(outcome.ids, state.rows_in(trial.around))
            places = np.append(trial.around, 99)
            after[outcome.ids] = places[outcome.places]
            change = case.value(after) - now
            heavy = case.problem.rows.weights > 0
            n_after = len(np.unique(after[heavy]))
            assert outcome.more == n_after - 6
            assert (outcome.new_centre is not None) == (after[heavy] == 99).any()
            if outcome.gain:
                assert -change == pytest.approx(outcome.gain)
                n_gained += 1
            else:
                assert change > -1e-6 * now
        assert n_gained > 0
        np.testing.assert_array_equal(state.numbers(), labels)


def test_trials_taken_up_have_no_cluster_in_common():
    with labelled(*random_case(2), penalty=30.0) as case:
        before = case.state.numbers()
        proposal = exchanged(case, divided(case), 8)
        assert len(np.unique(proposal.ids)) == len(proposal.ids)
        n_new = 0 if proposal.opened is None else len(proposal.opened)
        assert proposal.numbers.max() < 6 + n_new
        stays = np.setdiff1d(np.arange(80), proposal.ids)
        assert not set(before[stays]) & set(before[proposal.ids])


def test_no_exchange_without_trials_or_gain():
    with labelled(*random_case(0), penalty=30.0) as case:
        nothing = divided(case)
        nothing.saved[:] = 0.0
        assert exchanged(case, nothing, 8) is not None  # unions alone
    X = np.array([[0.0], [0.1], [50.0], [50.1]])
    with labelled(X, None, np.array([0, 0, 1, 1]), penalty=1.0) as case:
        assert exchanged(case, divided(case), 8) is None  # nothing is better than this
    with labelled(np.ones((4, 1)), None, np.zeros(4, int), penalty=1.0) as case:
        assert exchanged(case, divided(case), 8) is None


@pytest.mark.parametrize("cap", [6, 7])
def test_the_cap_is_kept_by_all_trials_together(cap):
    for seed in range(6):
        with labelled(*random_case(seed), penalty=0.01, max_clusters=cap) as case:
            proposal = exchanged(case, divided(case), 8)
            if proposal is not None:
                case.state.apply(proposal)
                assert case.state.n_clusters <= cap


def test_rows_without_weight_that_would_be_alone_stay():
    """Single-row moves may leave nothing but such rows in the new cluster of a trial."""
    X = np.array([[0.0], [0.1], [0.2], [9.0], [0.15]])
    weights = np.array([1.0, 1.0, 1.0, 0.0, 1.0])
    with labelled(X, weights, np.array([0, 1, 0, 0, 1]), penalty=1.0) as case:
        halves = case.problem.frame.to_working(np.array([[0.1], [9.0]]))
        left, right = (np.repeat(half[np.newaxis], 2, axis=0) for half in halves)
        centres = case.state.centres()[1]
        divisions = Divisions(np.ones(2), left, right, case.state.names, np.ones(2), centres)
        proposal = exchanged(case, divisions, 8)
        assert proposal is not None
        case.state.apply(proposal)
        assert case.state.n_clusters == 1 and case.state.numbers().max() == 0
