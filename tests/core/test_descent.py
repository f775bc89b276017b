"""The centre-free descent on models of sixty lines: a kernel and two cuts of graphs."""

import numpy as np
import pytest

from hardbayes.core.centre_free import labelled, propose, unlabelled
from hardbayes.core.centre_free_descent import Descent
from hardbayes.core.loop import Proposal, Status
from tests.core.association import MODELS, KernelModel, kernel_means, normalised_cut
from tests.core.test_labelling import literal
from tests.reference.brute_force import set_partitions


def descended(model, start, max_steps=300, **options):
    descent = Descent(labelled(model, start), np.random.RandomState(0), **options)
    return descent.run("split-merge", max_steps)


@pytest.mark.parametrize("make", MODELS)
def test_tiny_problems_are_solved_and_the_objective_never_rises(make):
    hits = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        model = make(rng, 6)
        best = min(literal(model, labels) for labels in set_partitions(6))
        for start in (np.zeros(6, int), np.arange(6), rng.integers(0, 3, 6)):
            end = descended(model, start)
            assert (np.diff(end.history) < 0).all()
            assert end.status is Status.CONVERGED
            np.testing.assert_allclose(end.objective, literal(model, end.labels), rtol=1e-9)
            hits += end.objective < best + 1e-9
    assert hits >= 27  # of 30


def test_a_start_is_the_first_step():
    model = normalised_cut(np.random.default_rng(1), 8)
    start = np.arange(8) % 3
    end = descended(model, start, max_steps=1)
    assert end.status is Status.OUT_OF_STEPS
    np.testing.assert_allclose(end.history, [literal(model, start)])
    np.testing.assert_array_equal(end.labels, start)


def test_a_step_that_gains_too_little_is_the_last():
    model = normalised_cut(np.random.default_rng(1), 12)
    start = labelled(model, np.arange(12) % 3)
    whole = Descent(start, np.random.RandomState(0)).run("split-merge", 300)
    gains = -np.diff(whole.history) / np.abs(whole.history[1:])
    for least in gains[:-1]:
        end = Descent(start, np.random.RandomState(0)).run("split-merge", 300, least_gain=least)
        n_steps = 2 + int(np.argmax(gains <= least))
        assert end.status is Status.CONVERGED and n_steps < len(whole.history)
        np.testing.assert_array_equal(end.history, whole.history[:n_steps])
    assert len(gains) > 1


def test_a_start_from_clusters_alone_begins_with_a_choice():
    model = kernel_means(np.random.default_rng(2), 8)
    clusters = model.statistics(np.arange(8) % 2, 2)
    descent = Descent(unlabelled(model, clusters), np.random.RandomState(0))
    assert descent.choose() and len(descent.history) == 1
    np.testing.assert_array_equal(descent.current.labels, model.choose(clusters))


def test_only_a_first_or_a_lower_proposal_is_applied():
    model = normalised_cut(np.random.default_rng(3), 8)
    start = labelled(model, np.arange(8) % 2)
    seen = []
    descent = Descent(start, np.random.RandomState(0), lambda *step: seen.append(step))
    assert not descent.apply(None)
    assert descent.apply(Proposal(-np.inf, start, 8))
    assert not descent.apply(propose(start, start.labels, 0))  # equal is not lower
    worse = max(
        (propose(start, np.random.default_rng(s).integers(0, 4, 8), 1) for s in range(9)),
        key=lambda proposal: proposal.change,
    )
    assert worse.change > 0 and not descent.apply(worse)
    assert descent.current is start and seen == [(1, 2, 8)]
    assert descent.merge() or descent.split() or descent.move_rows()
    assert len(descent.history) == len(seen) == 2 and descent.history[1] < descent.history[0]


def test_splits_above_the_cap_are_told_on_request():
    links = np.kron(np.eye(3), 1.0 - np.eye(3)) + 0.01
    model = normalised_cut(np.random.default_rng(0))
    model.links, model.weights, model.penalty = links, links.sum(axis=0), 0.4
    for cap, asked, status in [
        (2, True, Status.CAPPED),
        (2, False, Status.CONVERGED),
        (3, True, Status.CONVERGED),
    ]:
        model.max_clusters = cap
        descent = Descent(labelled(model, np.zeros(9, int)), np.random.RandomState(0))
        assert descent.run("split-merge", 100, asked).status is status
        assert descent.current.k == cap


def test_exchanges_are_limited():
    model = kernel_means(np.random.default_rng(5), 9)
    start = labelled(model, np.arange(9) % 4)
    descent = Descent(start, np.random.RandomState(0), exchanges=1)
    descent.exchange()
    assert descent.exchanges == 0 and not descent.exchange()
    few = Descent(labelled(model, np.arange(9) % 2), np.random.RandomState(0), exchanges=1)
    assert not few.exchange() and few.exchanges == 1  # two clusters have no third


def test_a_linear_kernel_is_dp_means():
    """Up to the trace, the objective is sum |x - mu|^2 + penalty k."""
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(20, 2)) + 8 * np.repeat(np.eye(2), 10, axis=0)
    end = descended(KernelModel(rows @ rows.T, np.ones(20), 60.0), np.zeros(20, int))
    inertia = sum(
        ((rows[end.labels == c] - rows[end.labels == c].mean(axis=0)) ** 2).sum() for c in (0, 1)
    )
    assert end.labels.max() == 1
    np.testing.assert_allclose(end.objective + np.square(rows).sum(), inertia + 120.0)
