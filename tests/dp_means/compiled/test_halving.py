"""Halves of clusters that are given by their totals, against NumPy and all ways to divide."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from hardbayes.dp_means.compiled.halving import halve, refine, survey
from hardbayes.dp_means.trials import halves_for
from tests.dp_means.partition_states import pose_here
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
        self.second, self.costs = np.ones(N, bool), np.full(N, -1.0)
        self.data = self.local.rows, self.local.weights, self.local.constants, self.ids
        self.whole = survey(*self.data, self.space, self.costs, START, STOP)

    def halve(self, seed):
        """Halve in one way."""
        draws = np.random.RandomState(seed).random_sample(2)
        return halve(
            *self.data, self.costs, draws, self.whole, self.space, self.second, START, STOP
        )

    def refine(self):
        return refine(*self.data, self.whole, self.space, self.second, START, STOP)

    def grouped(self):
        """The rows of the cluster as the only group."""
        rows = self.ids[START:STOP]
        return self.local.group(rows, np.zeros(len(rows), np.intp), np.arange(2))

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


def test_the_whole_and_what_rows_free_where_they_leave_it(example):
    rows = example.ids[START:STOP]
    partition = example.partition
    prior = partition.prior_weight * partition.geometry.potential(partition.prior_mean)
    assert example.whole == pytest.approx(example.potential(rows) + 2.0 * prior, rel=1e-9)
    for p in range(len(rows)):
        weight, left = example.local.weights_at(rows[[p]])[0], np.delete(rows, p)
        kept = (example.potential(rows) - example.potential(left)) / weight
        expected = max(example.local.constants_at(rows[[p]])[0] - kept, 0.0)
        assert example.costs[START + p] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert (example.costs[:START] == -1.0).all() and (example.costs[STOP:] == -1.0).all()


def test_halves_save_what_they_say(example):
    for seed in range(4):
        for step in (lambda: example.halve(seed), example.refine):  # noqa: B023
            saved = step()
            second = example.second[START:STOP]
            if 0 < second.sum() < len(second):
                assert saved == pytest.approx(example.saves(second), rel=1e-9)
            else:
                assert saved == 0.0


def test_single_row_moves_never_save_less(example):
    for seed in range(8):
        saved = example.halve(seed)
        if saved > 0.0:
            assert example.refine() >= saved * (1 - 1e-12)


def test_the_rows_of_other_clusters_are_left_alone(example):
    example.halve(3)
    example.refine()
    assert example.second[:START].all() and example.second[STOP:].all()


def test_with_many_ways_it_is_the_best_division(example):
    m = STOP - START
    sides = [np.array((False, *rest)) for rest in itertools.product((False, True), repeat=m - 1)]
    best = max((side for side in sides if side.any()), key=example.saves)
    saved, second = example.grouped().halve(example.form, 200, np.random.RandomState(0))
    assert saved[0] == pytest.approx(max(example.saves(best), 0.0), rel=1e-9)
    np.testing.assert_array_equal(second, best)


def test_the_first_row_stays_in_the_first_half(example):
    for seed in range(8):
        saved, second = example.grouped().halve(example.form, 1, np.random.RandomState(seed))
        assert not second[0]
        assert second.any() == (saved[0] > 0.0)


def test_nothing_is_left_behind(example):
    before = [part.copy() for part in example.space.parts[1:6]]
    steps = lambda: (example.halve(3), example.second.copy(), example.refine())  # noqa: E731
    first, second, refined = steps()
    for part, kept in zip(example.space.parts[1:6], before, strict=True):
        np.testing.assert_array_equal(part, kept)
    again = steps()
    assert (first, refined) == (again[0], again[2])
    np.testing.assert_array_equal(second, again[1])


def test_equal_rows_are_not_divided():
    example = Example("kl", 0.0, equal=True)
    saved, _ = example.grouped().halve(example.form, 5, np.random.RandomState(0))
    assert saved[0] == pytest.approx(0.0, abs=1e-12)
