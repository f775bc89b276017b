"""Starts, perturbations and the canonical form, with rows in NumPy."""

import numpy as np
import pytest

from hardbayes.core.loop import Status
from hardbayes.features import starts as restarts
from hardbayes.features.descent import FeatureSearch
from hardbayes.features.problem import FeatureAllocation
from hardbayes.features.rows import Allocation
from hardbayes.features.starts import (
    best_of,
    marked_if_capped,
    minimise_features,
    seeded_start,
    solve,
)
from tests.reference.feature_rows import NumpyFeatureRows
from tests.reference.features import brute_force_features, feature_objective

RNG = np.random.RandomState


def make(n=24, seed=0):
    rng = np.random.default_rng(seed)
    Z = np.column_stack([np.ones(n), rng.random((n, 2)) < 0.4])
    return Z @ (3 * rng.standard_normal((3, 4))) + 0.1 * rng.standard_normal((n, 4)), Z


def search(penalty=2.0, cap=4, *, literal=False):
    return FeatureSearch(FeatureAllocation(penalty, cap), literal, False, 60)


def test_tiny_rows_reach_the_true_optimum():
    for seed in range(4):
        X = np.random.default_rng(seed).standard_normal((5, 2))
        found = minimise_features(NumpyFeatureRows(X), search(0.3, 3), 12, RNG(0))
        best = brute_force_features(X, 3, 0.3)
        assert search(0.3, 3).objective(found) == pytest.approx(best, rel=1e-6)


def test_the_result_is_in_canonical_form_and_reported():
    X, Z = make()
    reports = []
    found = minimise_features(
        NumpyFeatureRows(X), search(), 3, RNG(0), report=lambda *what: reports.append(what)
    )
    membership = found.allocation.membership
    assert membership.shape == Z.shape
    assert membership.all(axis=0).sum() == 1
    assert np.sort(membership.mean(axis=0))[1] <= 0.5
    what, k, objective = reports[0]
    assert what == "best of 3, 24 rows"
    assert (k, objective) == pytest.approx((3, feature_objective(X, membership, 2.0)))
    assert np.diff([search().structure.total(*point) for point in found.trace]).max() <= 1e-9


def test_many_rows_start_from_a_sample():
    X, Z = make(90)
    reports = []
    found = minimise_features(
        NumpyFeatureRows(X, most=30), search(), 2, RNG(0), report=lambda *what: reports.append(what)
    )
    assert [what for what, *_ in reports if what != "perturbed"] == [
        "best of 2, 30 rows",
        "best of 1, 90 rows",
    ]
    assert found.allocation.membership.shape == Z.shape


def test_a_literal_search_uses_all_rows_and_the_published_seeding():
    class Rows(NumpyFeatureRows):
        def seed(self, with_base, penalty, most, rng):
            seeds.append((with_base, most))
            return super().seed(with_base, penalty, most, rng)

    seeds = []
    rows = Rows(make(90)[0], most=30)
    minimise_features(rows, search(literal=True), 4, RNG(0))
    assert seeds == [(True, 4)] * 4
    seeds.clear()
    for at in range(4):
        seeded_start(search(), at, rows, RNG(0))
    assert seeds == [(True, 4), (False, 4), (True, 1), (False, 1)]


def test_given_starts_come_first_and_the_best_is_kept():
    X, Z = make()
    given = Allocation(np.zeros((3, 4)), Z.astype(np.uint8))
    rows = NumpyFeatureRows(X)
    solutions = solve(rows, search(), [lambda *_: given, lambda rows, rng: given], RNG(0))
    assert len(solutions) == 2
    assert best_of(search(), solutions) is solutions[0]
    found = minimise_features(rows, search(), 1, RNG(0), [given])
    assert search().objective(found) <= search().objective(solutions[0]) + 1e-9


def test_perturbations_end_after_failures_in_a_row(monkeypatch):
    sizes = []

    def counted(rows, search, starts, rng):
        sizes.append(len(starts))
        return solve(rows, search, starts, rng)

    monkeypatch.setattr(restarts, "solve", counted)
    minimise_features(NumpyFeatureRows(make()[0]), search(), 12, RNG(0))
    assert sizes[0] == 12
    assert sizes[-2:] == [8, 3]  # eleven failures in a row, in rounds of eight
    assert set(sizes[1:-1]) == {8}


@pytest.mark.parametrize(("cap", "status"), [(2, Status.CAPPED), (3, Status.CONVERGED)])
def test_a_cap_that_prevents_a_feature_is_marked(cap, status):
    rows = NumpyFeatureRows(make()[0])
    solution = minimise_features(rows, search(cap=cap), 2, RNG(0))
    assert solution.status is Status.CONVERGED
    assert marked_if_capped(rows, search(cap=cap), solution, RNG(0)).status is status
