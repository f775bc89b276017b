"""Local search within trial divisions, against NumPy."""

import numpy as np
import pytest

from hardbayes.dp_means.moves import single_rows
from hardbayes.dp_means.moves.single_rows import refine_by_rows, refine_by_turns
from tests.dp_means.partition_states import pose_here
from tests.test_divergences import rows_for


def trial(divergence, seed, prior_weight=0.0, n=40, slots=(2, 3)):
    """Rows in two groups of slots, at random places; the last slot of each may be empty."""
    rng = np.random.default_rng(seed)
    X = rows_for(divergence, rng, n, 3, zeros=False)
    problem = pose_here(X, divergence, rng.choice([0.0, 1.0, 2.0], n))
    partition = problem.partition(0.5, prior_weight, None)
    groups = np.sort(rng.integers(0, 2, n))
    first = np.array([0, slots[0], sum(slots)])
    rows = problem.rows.take()
    grouped = rows.group(np.arange(n), groups, first)
    grouped.places[:] = first[groups] + rng.integers(0, 2, n)  # the fifth slot is empty
    return rows, partition, grouped, first


def clusters_of(rows, partition, places, slots):
    """Weights and centres by the rows alone; empty slots at the prior's mean."""
    w, X = rows.weights_at(), rows.dense()
    member = places == np.arange(slots)[:, np.newaxis]
    weights, totals = member @ w, member @ (w[:, np.newaxis] * X)
    full = np.where(weights > 0, weights, 1.0)
    totals[weights == 0] = partition.prior_mean
    eta = partition.prior_weight
    centres = (totals + eta * partition.prior_mean) / (full + eta)[:, np.newaxis]
    return weights, centres


def cost_of(rows, partition, places, slots):
    weights, centres = clusters_of(rows, partition, places, slots)
    costs = rows.weights_at() * partition.geometry.divergence(rows.dense(), centres[places])
    return costs.sum() + partition.prior_costs(centres[weights > 0]).sum()


@pytest.mark.parametrize("prior_weight", [0.0, 1.0])
@pytest.mark.parametrize("divergence", ["poisson", "cosine", "kl"])
def test_turns_are_those_of_lloyd_within_groups(divergence, prior_weight):
    for seed in range(4):
        rows, partition, grouped, first = trial(divergence, seed, prior_weight)
        places = grouped.places.copy()
        for _ in range(16):
            weights, centres = clusters_of(rows, partition, places, 5)
            costs = partition.geometry.divergence(rows.dense()[:, np.newaxis], centres)
            costs[:, weights == 0] = np.inf  # no cluster is opened
            for g in range(2):  # each group has its own slots
                costs[grouped.groups == g, : first[g]] = np.inf
                costs[grouped.groups == g, first[g + 1] :] = np.inf
            before, places = places, costs.argmin(axis=1)
            if np.array_equal(before, places):
                break
        found = refine_by_turns(grouped, partition, 0.0, 0)
        np.testing.assert_array_equal(grouped.places, places)
        for mine, expected in zip(found, clusters_of(rows, partition, places, 5), strict=True):
            np.testing.assert_allclose(mine, expected, rtol=1e-10)


@pytest.mark.parametrize("prior_weight", [0.0, 1.0])
def test_rows_move_one_by_one_to_a_local_optimum(prior_weight):
    for seed in range(4):
        rows, partition, grouped, first = trial("squared_euclidean", seed, prior_weight)
        before = cost_of(rows, partition, grouped.places, 5)
        weights, centres = refine_by_rows(grouped, partition, 0.0, 0)
        places, now = grouped.places, cost_of(rows, partition, grouped.places, 5)
        assert now < before
        expected = clusters_of(rows, partition, places, 5)
        np.testing.assert_allclose(weights, expected[0], atol=1e-12)
        used = weights > 0
        np.testing.assert_allclose(centres[used], expected[1][used], atol=1e-12)
        assert not used[4] or places.max() == 4  # nothing opens without room
        assert not (places == 4).any()
        for i in np.flatnonzero(rows.weights_at() > 0):
            g = grouped.groups[i]
            for target in range(first[g], first[g + 1]):
                if used[target]:
                    moved = np.where(np.arange(len(places)) == i, target, places)
                    assert cost_of(rows, partition, moved, 5) >= now * (1 - 1e-9)


def test_a_cluster_opens_where_there_is_room_and_it_pays():
    """By single rows; turns never open one."""
    _, partition, grouped, _ = trial("squared_euclidean", 0)
    weights, _ = refine_by_rows(grouped, partition, 1e-6, 1)
    assert weights[4] > 0 and (grouped.places == 4).any()
    _, partition, grouped, _ = trial("poisson", 0)
    weights, _ = refine_by_turns(grouped, partition, 1e-6, 1)
    assert weights[4] == 0 and not (grouped.places == 4).any()


def test_turns_end_after_so_many(monkeypatch):
    monkeypatch.setattr(single_rows, "MAX_PASSES", 1)
    rows, partition, grouped, _ = trial("poisson", 0)
    weights, centres = refine_by_turns(grouped, partition, 0.0, 0)
    expected = clusters_of(rows, partition, grouped.places, 5)  # as the rows are now
    np.testing.assert_allclose(weights, expected[0])
    np.testing.assert_allclose(centres, expected[1])
