"""Splits then merges: more clusters for a while, and a proposal where that ends lower."""

from types import SimpleNamespace

import numpy as np
import pytest

from hardbayes.dp_means.moves import exchanges
from hardbayes.dp_means.moves.exchanges import _lengths, _transfers, propose_split_then_merge
from tests.dp_means.moves.cases import labelled, random_case


def badly_divided(k=6, n=20):
    """Heaps in a row; the first two share a cluster, and the last is halved."""
    rng = np.random.default_rng(0)
    member = np.repeat(np.arange(k), n)
    X = 100.0 * member[:, np.newaxis] + rng.normal(size=(k * n, 2))
    labels = np.where(member == k - 1, np.where(np.arange(k * n) % 2, 0, k - 1), member)
    labels = np.where(member == 0, 1, labels)
    return X, None, labels


def propose(case, seed=0):
    return propose_split_then_merge(case.state, case.partition, np.random.RandomState(seed))


def test_splits_then_merges_find_the_heaps():
    X, weights, labels = badly_divided()
    with labelled(X, weights, labels, max_clusters=6) as case:
        while (proposal := propose(case)) is not None:
            assert proposal.n_splits == proposal.n_merges
            case.state.apply(proposal)
            case.state.refit()
        numbers = case.state.numbers()
    assert case.state.n_clusters == 6
    assert len(np.unique(np.stack([np.repeat(np.arange(6), 20), numbers]), axis=1).T) == 6


def test_a_transfer_shifts_a_border(monkeypatch):
    """Half of a cluster belongs to its neighbour; single rows and longer tries do not see it."""
    monkeypatch.setattr(exchanges, "_split_then_merge", lambda *_: None)
    X = np.repeat([0.0, 10.0, 13.0], 8)[:, np.newaxis] + np.linspace(0, 0.1, 24)[:, np.newaxis]
    with labelled(X, None, np.repeat([0, 0, 1], 8), max_clusters=2) as case:
        proposal = propose(case)
        assert proposal is not None
        case.state.apply(proposal)
        np.testing.assert_array_equal(case.state.numbers()[8:], case.state.numbers()[8])


def test_halves_that_differ_by_rounding_have_no_negative_weights():
    """The mean of the first cluster lies beyond one of its halves, by rounding."""
    halves = np.array([[[1.0], [1.0 + 2**-52]], [[4.0], [6.0]]])
    centres, savings = np.array([[1.0 + 2**-51], [5.0]]), np.array([1e-30, 2.0])
    moving = SimpleNamespace(centres=centres, halves=halves, savings=savings)
    found = _transfers(moving, np.array([1.0, 1.0]))
    assert sorted(found) == [(c, side, 1 - c) for c in range(2) for side in range(2)]


@pytest.mark.parametrize("seed", range(6))
def test_the_proposal_keeps_the_contract_and_the_number(seed):
    X, weights, labels = random_case(seed)
    with labelled(X, weights, labels, max_clusters=6) as case:
        before = case.value()
        proposal = propose(case, seed)
        assert proposal is not None and proposal.change < 0
        case.state.apply(proposal)
        case.state.refit()
        assert case.state.n_clusters == 6
        assert case.value() - before == pytest.approx(proposal.change, rel=1e-9)


def test_nothing_is_proposed_where_nothing_is_gained():
    X = np.repeat(10.0 * np.eye(4), 5, axis=0)
    with labelled(X, None, np.repeat(np.arange(4), 5), max_clusters=4) as case:
        assert propose(case) is None
    with labelled(X, None, np.zeros(20, int), max_clusters=1) as case:
        assert propose(case) is None


@pytest.mark.parametrize("limit", ["MAX_ROWS", "MAX_CLUSTERS", "MAX_ENTRIES"])
def test_large_data_are_left_as_they_are(limit, monkeypatch):
    monkeypatch.setattr(exchanges, limit, 5)
    with labelled(*badly_divided(), max_clusters=6) as case:
        assert propose(case) is None


@pytest.mark.parametrize(
    ("k", "lengths"),
    [(2, [1, 2] * 4), (10, [5, 10, 5, 10, 5]), (40, [20]), (100, [40]), (1000, [40])],
)
def test_how_many_clusters_more_there_may_be(k, lengths):
    assert _lengths(k) == lengths
