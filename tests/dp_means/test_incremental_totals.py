"""A partition by steps, by totals: what it keeps is what its labels say; moves lower it."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import objective
from hardbayes.core import pool as tiling
from hardbayes.core.geometry import geometry_for
from hardbayes.core.pool import Pool
from hardbayes.dp_means import incremental_totals
from hardbayes.dp_means.problem import pose
from tests.dp_means.partition_states import pose_here
from tests.test_divergences import rows_for

DIVERGENCES = ["cosine", "kl", "logistic", "poisson"]
N, N_SLOTS = 80, 9


class Case:
    """A partition at one cluster, and what labels cost in working units."""

    def __init__(self, divergence, prior_weight, weighted, is_sparse):
        rng = np.random.default_rng(0)
        X = rows_for(divergence, rng, N, 6, zeros=prior_weight > 0)
        weights = rng.choice([0.0, 1.0, 2.5], N) if weighted else None
        problem = pose_here(sparse.csr_array(X) if is_sparse else X, divergence, weights)
        partition = problem.partition(1.0, prior_weight, None)
        weight = problem.rows.totals(1, np.zeros(N, np.int32)).weights(np.zeros(1, np.intp))
        form = partition.moving_form(partition.centres(weight, weight[:, None] * problem.mean))
        labels, stream = np.zeros(N, np.int32), np.random.RandomState(0)
        self.steps = problem.rows.take().incremental(form, labels, weight, N_SLOTS, stream)
        self.weights = np.ones(N) if weights is None else weights
        options = dict(divergence=divergence, sample_weight=weights)
        self.cost = lambda labels, eta=prior_weight: (
            objective(X, labels, 0.0, prior_weight=eta, **options) * problem.unit
        )

    def check(self):
        labels = self.steps.labels
        assert len(np.unique(labels[self.weights > 0])) == self.steps.n_clusters
        assert self.steps.fit() == pytest.approx(self.cost(labels), rel=1e-9)
        assert self.steps.free_fit() == pytest.approx(self.cost(labels, 0.0), rel=1e-8)

    def go_to(self, n_clusters):
        while self.steps.n_clusters < n_clusters:
            self.steps.divide(3, 0.0)
            assert self.steps.split(int(self.steps.savings.argmax()))


@pytest.fixture(
    params=[
        (name, prior, weighted, is_sparse)
        for name in DIVERGENCES
        for prior, weighted, is_sparse in ((0.0, False, False), (2.0, True, True))
    ],
    ids=str,
)
def case(request):
    return Case(*request.param)


def test_costs_are_those_of_the_labels_after_every_step(case):
    case.check()
    for k in range(2, N_SLOTS + 1):
        case.go_to(k)
        case.check()
        before = case.steps.fit()
        case.steps.move_rows(0)
        case.check()
        assert case.steps.fit() <= before * (1 + 1e-12)
    while case.steps.n_clusters > 1:
        a, b = case.steps.cheapest_unions(1)[0]
        case.steps.unite(a, b)
        case.check()
        case.steps.move_rows(1)


def test_a_division_saves_what_it_promises(case):
    case.go_to(4)
    case.steps.divide(3, 0.0)
    c = int(case.steps.savings.argmax())
    promised, before = case.steps.savings[c], case.steps.fit()
    assert promised > 0 and case.steps.split(c)
    assert before - case.steps.fit() == pytest.approx(promised, rel=1e-7)


def test_the_cheapest_union_is_the_cheapest(case):
    case.go_to(5)
    labels, before = case.steps.labels.copy(), case.steps.fit()
    pairs = [(a, b) for b in np.unique(labels) for a in np.unique(labels) if a < b]
    costs = {pair: case.cost(np.where(labels == pair[1], pair[0], labels)) for pair in pairs}
    found = case.steps.cheapest_unions(3)
    assert costs[found[0]] == pytest.approx(min(costs.values()), rel=1e-9)
    case.steps.unite(*found[0])
    assert case.steps.fit() == pytest.approx(costs[found[0]], rel=1e-9)
    assert case.steps.fit() > before


def test_moves_end_where_no_row_gains_by_moving(case):
    case.go_to(6)
    case.steps.move_rows(0)
    labels, cost = case.steps.labels.copy(), case.steps.fit()
    best = cost
    for i in np.flatnonzero(case.weights > 0):
        for k in np.unique(labels[case.weights > 0]):
            moved = labels.copy()
            moved[i] = k
            if len(np.unique(moved[case.weights > 0])) == 6:
                best = min(best, case.cost(moved))
    assert best > cost * (1 - 1e-9)


def test_back_to_what_was_saved(case):
    case.go_to(4)
    saved, labels, fit = case.steps.save(), case.steps.labels.copy(), case.steps.fit()
    case.steps.unite(*case.steps.cheapest_unions(1)[0])
    case.steps.move_rows(0)
    case.steps.restore(saved)
    np.testing.assert_array_equal(case.steps.labels, labels)
    assert case.steps.fit() == fit and case.steps.n_clusters == 4
    case.check()


@pytest.mark.parametrize("small_rows", [0, 400], ids=["many rows", "few rows"])
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_any_number_of_threads_gives_the_same_bits(divergence, small_rows, monkeypatch):
    monkeypatch.setattr(tiling, "WORTH_CALLING", 1)
    monkeypatch.setattr(incremental_totals, "SMALL_ROWS", small_rows)
    rng = np.random.default_rng(1)
    n, k = 400, 9
    X = sparse.csr_array(rows_for(divergence, rng, n, 6))
    weights, labels = rng.choice([1.0, 2.5], n), rng.integers(0, k, n).astype(np.int32)
    found = []
    for n_threads in (1, 2, 3):
        with Pool(n_threads) as pool:
            problem = pose(X, geometry_for(divergence), weights, pool)
            partition = problem.partition(1.0, 2.0, None)
            totals = problem.rows.totals(k, labels)
            sizes = totals.weights(np.arange(k))
            form = partition.moving_form(partition.centres(sizes, totals.sums(np.arange(k))))
            steps = problem.rows.take().incremental(form, labels, sizes, k, None)
            before = steps.fit()
            steps.move_rows(0)
            found.append((steps.labels, steps.fit()))
            assert (steps.labels != labels).sum() > n // 4 and steps.fit() < before
    for others, fit in found[1:]:
        np.testing.assert_array_equal(others, found[0][0])
        assert fit == found[0][1]
