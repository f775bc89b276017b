"""Merges: which clusters unite, judged from their statistics."""

import numpy as np
import pytest

from hardbayes.core.geometry import GEOMETRIES
from hardbayes.dp_means.moves import merges
from hardbayes.dp_means.moves.merges import argsmallest, nearest_partners, propose_merges
from tests.dp_means.local_optima import after_merges
from tests.dp_means.moves.cases import heaps_for, labelled, random_case


def test_the_smallest_are_those_of_a_sort():
    values = np.random.default_rng(0).normal(size=(50, 20))
    np.testing.assert_array_equal(argsmallest(values.copy(), 4), np.argsort(values, axis=1)[:, :4])


def test_the_first_of_equals_is_the_least():
    np.testing.assert_array_equal(argsmallest(np.array([[2.0, 1.0, 1.0]]), 3), [[1, 2, 0]])


@pytest.mark.parametrize("chunk", [1, 1 << 21])
@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_partner_is_the_cheapest_union(seed, chunk, monkeypatch):
    monkeypatch.setattr("hardbayes.core.arrays.CHUNK_BYTES", chunk)  # also a cluster at a time
    with labelled(*random_case(seed)) as case:
        sizes, centres = case.state.centres()
        partition = case.partition
        partners, costs = nearest_partners(partition, sizes, centres)
    k = len(sizes)
    everyone = np.arange(k)
    for a in everyone:
        others = everyone[everyone != a]
        expected = partition.union_costs(
            np.full(k - 1, sizes[a]),
            np.tile(centres[a], (k - 1, 1)),
            sizes[others],
            centres[others],
        )
        assert costs[a] == pytest.approx(expected.min(), rel=1e-12)
        assert partners[a] == others[expected.argmin()]


@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
@pytest.mark.parametrize("divergence", sorted(GEOMETRIES))
def test_a_union_with_the_partner_costs_what_is_said(divergence, prior_weight):
    X, weights, labels = heaps_for(divergence, 0)
    with labelled(X, weights, labels, divergence, prior_weight=prior_weight) as case:
        partners, costs = nearest_partners(case.partition, *case.state.centres())
        now = case.value()
        for a, (b, cost) in enumerate(zip(partners, costs, strict=True)):
            united = case.value(np.where(labels == a, b, labels))
            assert united - now + case.partition.penalty == pytest.approx(cost, rel=1e-7)


def test_no_merge_is_left_that_would_lower_the_objective():
    """With few clusters every partner is among the nearest."""
    for seed in range(4):
        X, weights, labels = random_case(seed)
        with labelled(X, weights, labels % 4, penalty=400.0) as case:
            proposal = propose_merges(case.state, case.partition)
            case.state.apply(proposal)
            now = case.value()
            for united in after_merges(case.state.numbers()):
                assert case.value(united) >= now * (1 - 1e-9)


def test_the_older_of_two_clusters_takes_the_rows():
    X = np.array([[0.0], [10.0], [0.1], [10.1], [0.2]])
    with labelled(X, None, np.arange(5), penalty=1.0) as case:
        proposal = propose_merges(case.state, case.partition)
        np.testing.assert_array_equal(proposal.united, [0, 1, 0, 1, 0])
        assert proposal.n_merges == 3 and proposal.n_splits == 0 and not len(proposal.ids)


def test_all_clusters_unite_where_each_costs_much():
    with labelled(*random_case(0), penalty=1e9) as case:
        proposal = propose_merges(case.state, case.partition)
        assert not proposal.united.any() and proposal.n_merges == 5


@pytest.mark.parametrize(("penalty", "n_merges"), [(0.5 * (1 - 1e-12), 0), (0.5 * (1 + 1e-6), 1)])
def test_a_union_must_cost_less_than_the_penalty(penalty, n_merges):
    """Two rows at a distance of one: a half is what they cost together."""
    with labelled(np.array([[0.0], [1.0]]), None, np.arange(2), penalty=penalty) as case:
        proposal = propose_merges(case.state, case.partition)
        assert (0 if proposal is None else proposal.n_merges) == n_merges


def test_one_cluster_has_none_to_unite_with():
    with labelled(np.ones((3, 1)), None, np.zeros(3, int), penalty=1e9) as case:
        assert propose_merges(case.state, case.partition) is None


def test_equal_clusters_unite_even_at_a_small_penalty():
    with labelled(np.ones((6, 2)), None, np.arange(6) % 3, penalty=1e-6) as case:
        assert propose_merges(case.state, case.partition).n_merges == 2
    assert merges.RELATIVE_TOLERANCE < 1e-6
