"""The state of the hard HDP: local clusters follow from labels and groups."""

import numpy as np
import pytest

from tests.groups.cases import labelled, random_case


def test_local_clusters_are_weighted_rows():
    X, groups, labels = random_case(0)
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    with labelled(X, groups, labels, (1.0, 1.0), weights=weights) as case:
        state = case.state
        local = state.local_clusters()
        numbers = state.base.numbers()
        assert (local.of_rows < 0).tolist() == (weights == 0).tolist()
        dense, heavy = state.rows.take().dense(), state.rows.weights
        for at in range(local.rows.n_rows):
            own = local.of_rows == at
            assert set(groups[own]) == {local.groups.numbers[at]}
            assert set(numbers[own]) == {local.numbers[at]}
            mean = np.average(dense[own], axis=0, weights=heavy[own])
            np.testing.assert_allclose(local.rows.take().dense()[at], mean)
            np.testing.assert_allclose(local.rows.weights[at], heavy[own].sum())
        assert (np.diff(local.groups.numbers) >= 0).all()


def test_lone_rows_are_the_only_ones_of_their_group():
    X, groups, labels = random_case(1)
    with labelled(X, groups, labels, (1.0, 1.0)) as case:
        numbers = case.state.base.numbers()
        lone = [
            i for i in range(len(X))
            if np.sum((groups == groups[i]) & (numbers == numbers[i])) == 1
        ]  # fmt: skip
        assert case.state.lone_rows().tolist() == lone


@pytest.mark.parametrize("seed", range(3))
def test_a_proposal_of_any_labels_has_the_exact_change(seed):
    X, groups, labels = random_case(seed)
    others = np.random.default_rng(seed).integers(0, 6, len(X)).astype(np.int32)
    with labelled(X, groups, labels, (1.0, 2.0)) as case:
        before, proposal = case.value(), case.state.proposal(case.grouped, others)
        case.state.apply(proposal)
        np.testing.assert_allclose(case.value() - before, proposal.change, rtol=1e-9)


def test_a_trial_has_labels_of_its_own():
    X, groups, labels = random_case(2)
    with labelled(X, groups, labels, (1.0, 2.0)) as case:
        before = case.state.base.numbers()
        zeros = np.zeros(len(X), np.int32)
        trial = case.state.trial(case.state.clusters_of(zeros)[1], zeros)
        assert trial.n_clusters == 1 and trial.n_local == 5
        np.testing.assert_array_equal(case.state.base.numbers(), before)
