"""Splits: divisions found on samples, confirmed by all rows."""

import numpy as np
import pytest

from hardbayes.dp_means.moves import splits
from hardbayes.dp_means.moves.single_rows import refine_by_rows
from hardbayes.dp_means.moves.splits import (
    Divisions,
    _draw,
    _start,
    divide_clusters,
    n_starts,
    propose_splits,
)
from tests.dp_means.moves.cases import heaps_for, labelled, random_case
from tests.dp_means.partition_states import pose_here
from tests.reference.dp_means import same_partition


def divided(case, seed=0, known=None):
    rng = np.random.RandomState(seed)
    return divide_clusters(case.state, case.partition, case.passes.refine, rng, known)


@pytest.mark.parametrize(("k", "starts"), [(1, 12), (2, 6), (3, 4), (4, 3), (5, 3), (100, 3)])
def test_few_clusters_are_divided_in_more_ways(k, starts):
    assert n_starts(k) == starts


def test_a_division_is_worth_more_than_the_penalty():
    saved = np.array([0.0, 1.0, 1.0 + 1e-12, 1.1])
    nothing = np.zeros((4, 1))
    divisions = Divisions(saved, nothing, nothing, np.arange(4), np.ones(4), nothing)
    assert divisions.are_worth_it(1.0).tolist() == [False, False, False, True]


# --- how clusters are divided ---------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 1 << 19])
@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "poisson", "cosine"])
def test_a_division_saves_what_it_says(divergence, prior_weight, batch, monkeypatch):
    """Where all rows propose: the parts at their centres cost so much less than the cluster."""
    monkeypatch.setattr(splits, "MAX_BATCH", batch)  # also a cluster at a time
    X, weights, labels = heaps_for(divergence, 1)
    with labelled(X, weights, labels, divergence, prior_weight=prior_weight) as case:
        found, partition = divided(case), case.partition
        k = case.state.n_clusters
        assert found.saved.shape == (k,) and (found.saved > 0).any()
        np.testing.assert_array_equal(found.names, case.state.names)
        for mine, expected in zip(found[4:], case.state.centres(), strict=True):
            np.testing.assert_array_equal(mine, expected)
        rows = case.problem.rows.take().dense()
        halves = np.stack([found.left, found.right])
        costs = partition.geometry.divergence(rows, halves[:, labels])  # (2, n)
        penalty, now = partition.penalty, case.value()
        for c in np.flatnonzero(found.saved > 0):
            parted = np.where((labels == c) & (costs[1] < costs[0]), k, labels)
            saved = now + penalty - case.value(parted)
            # A row may be nearer to the other centre and yet better where it is.
            tolerance = 1e-9 if divergence != "squared_euclidean" else 0.2
            assert saved == pytest.approx(found.saved[c], rel=tolerance)


def test_clusters_that_cannot_be_divided_save_nothing():
    X = np.repeat([[0.0, 1.0], [5.0, 5.0], [9.0, 0.0]], [4, 1, 6], axis=0)
    labels = np.repeat([0, 1, 2], [4, 1, 6])
    with labelled(X, None, labels) as case:
        found = divided(case)
        np.testing.assert_array_equal(found.saved, np.zeros(3))
        np.testing.assert_allclose(found.left, case.state.centres()[1])
        assert propose_splits(case.state, case.partition, found) is None


def test_two_heaps_are_told_apart_from_any_seed():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(30, 2)), 30 + rng.normal(size=(20, 2))])
    with labelled(X, None, np.zeros(50, int)) as case:
        for seed in range(10):
            found = divided(case, seed)
            shown = case.problem.frame.from_working(np.stack([found.left[0], found.right[0]]))
            shown = shown[np.argsort(shown[:, 0])]
            np.testing.assert_allclose(shown[0], X[:30].mean(axis=0), atol=1e-9)
            np.testing.assert_allclose(shown[1], X[30:].mean(axis=0), atol=1e-9)


def test_clusters_that_have_hardly_changed_keep_their_division():
    X, weights, labels = random_case(0)
    with labelled(X, weights, labels, penalty=30.0) as case:
        known = divided(case)
        marked = known._replace(saved=np.arange(6.0) + 100)
        again = divided(case, seed=5, known=marked)
        np.testing.assert_array_equal(again.saved, marked.saved)
        np.testing.assert_array_equal(again.left, known.left)
        np.testing.assert_array_equal(again.right, known.right)
        heavier, moved = known.weights.copy(), known.centres.copy()
        heavier[1] *= 1.05  # more than two parts in a hundred
        moved[2] += 0.2 * np.sqrt(case.partition.penalty / known.weights[2])
        names = np.where(np.arange(6) == 3, -1, known.names)
        changed = marked._replace(weights=heavier, centres=moved, names=names)
        again = divided(case, seed=5, known=changed)
        fresh = np.isin(np.arange(6), [1, 2, 3])
        np.testing.assert_array_equal(again.saved[~fresh], marked.saved[~fresh])
        assert (again.saved[fresh] < 100).all()
        assert marked.saved[0] == 100  # what was known is not written into


def test_known_divisions_are_found_by_name():
    """Though a cluster between them is gone."""
    X, weights, labels = random_case(0)
    with labelled(X, weights, labels, penalty=30.0) as case:
        known = divided(case)._replace(saved=np.arange(6.0) + 100)
        kept = [0, 2, 3, 4, 5]
        fewer = Divisions(*(part[kept] for part in known))
        again = divided(case, seed=5, known=fewer)
        np.testing.assert_array_equal(again.saved[kept], known.saved[kept])
        assert again.saved[1] < 100


def test_a_sample_proposes_for_the_whole(monkeypatch):
    """As if it were the whole: savings are those of all rows, roughly."""
    monkeypatch.setattr(splits, "SAMPLE", 200)
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(1000, 2)), 30 + rng.normal(size=(1000, 2))])
    with labelled(X, None, np.zeros(2000, int)) as case:
        found = divided(case)
        means = [case.problem.frame.to_working(half.mean(axis=0)) for half in (X[:1000], X[1000:])]
        # The weight is that of all rows: N / 4 times the squared distance.
        saved = 2000 * case.problem.weight_unit / 4 * ((means[0] - means[1]) ** 2).sum()
        assert found.saved[0] == pytest.approx(saved, rel=0.05)
        assert found.saved[0] != pytest.approx(saved, rel=1e-9)  # of a sample indeed


# --- starts ---------------------------------------------------------------------------------------


def test_the_first_start_is_along_the_widest_direction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1.0, 20.0, 1.0]
    problem = pose_here(X)
    partition, rows = problem.partition(1.0, 0.0, None), problem.rows.take()
    centre = rows.dense().mean(axis=0, keepdims=True)
    sides = _start(
        rows, partition, np.arange(60), np.zeros(60, np.intp), centre, np.random.RandomState(0)
    )
    assert sides.shape == (12, 60)
    along = rows.dense()[:, 1] > centre[0, 1]
    assert max(np.mean(sides[0] == along), np.mean(sides[0] != along)) > 0.9
    for side in sides[1:]:  # around two rows: cut by a plane between them
        assert 0 < side.sum() < 60
        means = [rows.dense()[side == s].mean(axis=0) for s in (False, True)]
        assert ((means[0] - means[1]) ** 2).sum() > 0


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_drawn_from_their_own_cluster_by_chance(seed):
    numbers = np.array([0, 0, 0, 2, 2, 3])  # cluster 1 has no rows
    chances = np.array([[0.0, 1.0, 0.0, 5.0, 0.0, 2.0], [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]])
    drawn = _draw(chances, numbers, 4, np.random.RandomState(seed))
    assert drawn.shape == (2, 4)
    assert drawn[0, 0] == 1 and drawn[0, 2] == 3 and drawn[0, 3] == 5
    assert drawn[1, 0] in (0, 1, 2) and drawn[1, 2] in (3, 4) and drawn[1, 3] == 5
    assert (drawn >= 0).all() and (drawn < 6).all()


def test_chances_are_frequencies():
    numbers, chances = np.zeros(3, int), np.tile([1.0, 0.0, 3.0], (4000, 1))
    drawn = _draw(chances, numbers, 1, np.random.RandomState(0)).ravel()
    np.testing.assert_allclose(np.bincount(drawn, minlength=3) / 4000, [0.25, 0, 0.75], atol=0.03)


# --- proposals ------------------------------------------------------------------------------------


def test_the_best_divisions_come_first_where_there_is_little_room():
    with labelled(*random_case(0), penalty=1.0, max_clusters=8) as case:
        found = divided(case)
        best = np.argsort(-found.saved)[:2]
        proposal = propose_splits(case.state, case.partition, found)
        assert proposal.n_splits - proposal.n_merges == 2
        np.testing.assert_array_equal(proposal.opened[:2], found.right[best])
        clusters, halves, to = proposal.divided
        np.testing.assert_array_equal(clusters[:2], best)
        np.testing.assert_array_equal(to[:2], [6, 7])
        before = case.state.numbers()
        costs = case.state.rows.take().costs(halves)
        case.state.apply(proposal)
        after = case.state.numbers()
        for j, c in enumerate(best):  # each half is a cluster
            goes = costs[:, 2 * j + 1] < costs[:, 2 * j]
            halves = [set(after[(before == c) & side]) for side in (goes, ~goes)]
            assert [len(half) for half in halves] == [1, 1] and halves[0] != halves[1]


@pytest.mark.parametrize(("cap", "penalty"), [(6, 1e9), (5, 1e9), (None, 1e9)])
def test_no_gain(cap, penalty):
    with labelled(*random_case(0), penalty=penalty, max_clusters=cap) as case:
        found = divided(case)
        before = found.saved.copy()
        assert propose_splits(case.state, case.partition, found) is None
        np.testing.assert_array_equal(found.saved, before)


@pytest.mark.parametrize("cap", [5, 6])
def test_without_room_there_are_no_more_clusters(cap):
    with labelled(*random_case(0), penalty=1.0, max_clusters=cap) as case:
        proposal = propose_splits(case.state, case.partition, divided(case))
        assert proposal.n_splits == proposal.n_merges == len(proposal.opened) > 0
        assert propose_splits(case.state, case.partition, divided(case), False) is None


def test_what_all_rows_save_replaces_what_a_sample_promised():
    X, weights, labels = random_case(0)
    with labelled(X, weights, labels, penalty=30.0) as case:
        found = divided(case)
        promised = found._replace(saved=found.saved + 1e6, names=found.names.copy())
        promised.right[2] = promised.left[2]  # all rows go to the first part
        proposal = propose_splits(case.state, case.partition, promised)
        assert promised.saved[2] == 0.0 and (promised.saved < 1e6).all()
        split = promised.names == -1  # to be divided again, both parts
        worth = promised.saved > case.partition.penalty
        np.testing.assert_array_equal(split, worth)
        assert proposal.n_splits == worth.sum() > 0
        penalties = worth.sum() * case.partition.penalty
        assert proposal.change == pytest.approx(penalties - promised.saved[worth].sum())


def test_divisions_that_all_rows_refuse_are_not_proposed():
    X, weights, labels = random_case(0)
    with labelled(X, weights, labels, penalty=30.0) as case:
        found = divided(case)
        found.saved[:] = 1e9
        found.right[:] = found.left
        names = found.names.copy()
        assert propose_splits(case.state, case.partition, found) is None
        assert not found.saved.any()
        np.testing.assert_array_equal(found.names, names)


def test_rows_without_weight_do_not_make_a_part():
    X = np.array([[0.0], [1.0], [50.0]])
    with labelled(X, np.array([1.0, 1.0, 0.0]), np.zeros(3, int), penalty=1e-9) as case:
        centre = case.state.centres()[1]
        halves = case.problem.frame.to_working(np.array([[0.5], [50.0]]))
        found = Divisions(
            np.array([1e9]), halves[:1], halves[1:], case.state.names, np.ones(1), centre
        )
        assert propose_splits(case.state, case.partition, found) is None


def test_a_trial_is_refined_as_the_descent_says():
    calls = []

    def refine(grouped, partition, penalty, room):
        calls.append((penalty, room))
        return refine_by_rows(grouped, partition, penalty, room)

    with labelled(*random_case(0)) as case:
        divide_clusters(case.state, case.partition, refine, np.random.RandomState(0), None)
    assert set(calls) == {(0.0, 0)}  # no cluster opens within a division


# --- at the cap -----------------------------------------------------------------------------------


def test_at_the_cap_a_split_comes_with_a_cheaper_union():
    """Clusters 0 and 1 halve one heap, cluster 2 holds two: there is no room, but an exchange."""
    places = np.repeat([0.0, 0.0, 50.0, 90.0], 10)
    X = places[:, np.newaxis] + np.tile(np.linspace(-1, 1, 10), 4)[:, np.newaxis]
    labels = np.repeat([0, 1, 2, 2], 10)
    with labelled(X, None, labels, penalty=0.0, max_clusters=3) as case:
        proposal = propose_splits(case.state, case.partition, divided(case))
        assert (proposal.n_splits, proposal.n_merges) == (1, 1)
        assert proposal.united.tolist() == [0, 0, 2]
        before = case.value()
        case.state.apply(proposal)
        assert case.value() - before == pytest.approx(proposal.change)
        assert case.state.n_clusters == 3
        assert same_partition(case.state.numbers(), np.repeat([0, 0, 1, 2], 10))


def test_at_the_cap_no_union_costs_more_than_the_split_saves():
    X = np.repeat([[0.0], [10.0], [30.0], [60.0]], 5, axis=0)
    X[:5, 0] += np.linspace(-1, 1, 5)
    with labelled(X, None, np.repeat(np.arange(4), 5), penalty=0.0, max_clusters=4) as case:
        divisions = divided(case)
        assert divisions.are_worth_it(0.0).any()
        assert propose_splits(case.state, case.partition, divisions) is None


@pytest.mark.parametrize("room", [0, 1, 2])
def test_no_cluster_takes_part_twice(room):
    for seed in range(8):
        X, weights, labels = random_case(seed)
        with labelled(X, weights, labels, penalty=1e-6, max_clusters=6 + room) as case:
            divisions = divided(case, seed)
            chosen, paid, unions = splits._affordable(case.state, case.partition, divisions, True)
            clusters = [*chosen.tolist(), *unions[unions >= 0].tolist()]
            assert len(set(clusters)) == len(clusters)
            made = unions[:, 0] >= 0
            assert np.count_nonzero(~made) == min(room, len(chosen))
            assert (paid[~made] == case.partition.penalty).all()
            assert (divisions.saved[chosen] > paid).all()
