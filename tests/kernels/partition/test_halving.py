"""Halves of clusters that are given by their totals, against NumPy and all ways to divide."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from hardbayes.kernels.partition.halving import halve
from hardbayes.local.cluster_totals import halves_for
from tests.partition_states import pose_here
from tests.test_divergences import rows_for

N, D = 24, 5
START, STOP = 3, 12  # the cluster, among rows of others


class Example:
    """Rows ``ids[START:STOP]`` are a cluster."""

    def __init__(self, divergence, prior_weight, is_sparse=False, equal=False):
        rng = np.random.default_rng(0)
        X = rows_for(divergence, rng, N, D)
        if equal:
            X[:] = X[0]
        weights = rng.choice([0.5, 1.0, 2.0], N)
        problem = pose_here(sparse.csr_array(X) if is_sparse else X, divergence, weights)
        self.partition = problem.partition(1.0, prior_weight, None)
        self.local = problem.rows.take()
        self.ids = np.random.default_rng(1).permutation(N)
        self.form = self.partition.moving_form(self.partition.prior_mean[np.newaxis])
        self.space = halves_for(self.form, N)
        self.second = np.ones(N, bool)

    def halve(self, n_ways, seed=0):
        draws = np.random.RandomState(seed).random_sample((n_ways, 2))
        local = self.local
        return halve(
            local.rows, local.weights, local.constants, self.ids, draws, self.space, self.second,
            START, STOP,
        )  # fmt: skip

    def potential(self, members):
        """What these rows and the prior keep of it, beyond the prior alone."""
        weights = self.local.weights_at(members)
        partition, geometry = self.partition, self.partition.geometry
        size, prior = weights.sum() + partition.prior_weight, partition.prior_weight
        total = weights @ self.local.dense(members) + prior * partition.prior_mean
        return size * geometry.potential(geometry.inside(total / size)) - prior * (
            geometry.potential(partition.prior_mean) if prior else 0.0
        )

    def saves(self, second):
        """What a division of the cluster saves."""
        rows = self.ids[START:STOP]
        parts = self.potential(rows[second]) + self.potential(rows[~second])
        return parts - self.potential(rows)


@pytest.fixture(
    params=[
        (divergence, prior, is_sparse)
        for divergence in ("cosine", "kl", "logistic", "poisson")
        for prior, is_sparse in ((0.0, True), (2.0, False))
    ],
    ids=str,
)
def example(request):
    return Example(*request.param)


def test_a_half_saves_what_it_says_and_the_first_row_stays(example):
    for seed in range(4):
        saved = example.halve(1, seed)
        second = example.second[START:STOP]
        if second.any():
            assert saved == pytest.approx(example.saves(second), rel=1e-9)
        else:
            assert saved == 0.0
        assert not second[0]


def test_the_rows_of_other_clusters_are_left_alone(example):
    example.halve(3)
    assert example.second[:START].all() and example.second[STOP:].all()


def test_with_many_ways_it_is_the_best_division(example):
    m = STOP - START
    sides = [np.array((False, *rest)) for rest in itertools.product((False, True), repeat=m - 1)]
    best = max((side for side in sides if side.any()), key=example.saves)
    saved = example.halve(40)
    assert saved == pytest.approx(max(example.saves(best), 0.0), rel=1e-9)
    np.testing.assert_array_equal(example.second[START:STOP], best)


def test_nothing_is_left_behind(example):
    before = [part.copy() for part in example.space.parts[1:6]]
    first, second = example.halve(3), example.second.copy()
    for part, kept in zip(example.space.parts[1:6], before, strict=True):
        np.testing.assert_array_equal(part, kept)
    assert example.halve(3) == first
    np.testing.assert_array_equal(example.second, second)


def test_more_ways_are_never_worse(example):
    draws = [example.halve(n_ways) for n_ways in (1, 3, 9)]
    assert draws == sorted(draws)


def test_equal_rows_are_not_divided():
    example = Example("kl", 0.0, equal=True)
    assert example.halve(5) == pytest.approx(0.0, abs=1e-12)
