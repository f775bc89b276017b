"""Stepper: what it keeps is what its labels say, and rows that have settled gain by no move."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import objective
from hardbayes.executors import stepper as stepper_file
from hardbayes.geometry import geometry_for
from hardbayes.pool import Pool
from hardbayes.problems.partition import pose
from tests.local_optima import after_merges, after_single_moves
from tests.selection.mixtures import gaussians_apart

DATA = {
    "plain": lambda X: (X, None),
    "float32": lambda X: (X.astype(np.float32), None),
    "weighted": lambda X: (X, np.random.default_rng(1).uniform(0.2, 5.0, len(X))),
    "some without weight": lambda X: (X, np.random.default_rng(2).integers(0, 3, len(X)) * 1.0),
    "sparse": lambda X: (sparse.csr_array(np.where(np.abs(X) > 1.0, X, 0.0)), None),
    "repeated": lambda X: (np.repeat(X[::3], 3, axis=0), None),
}


@pytest.fixture(params=DATA)
def case(request):
    """(a stepper at one cluster, what labels cost in working units, weights (n,))."""
    rows = np.random.default_rng(0).standard_t(3, (60, 3)) * 2
    X, weights = DATA[request.param](rows)
    with Pool(1) as pool:
        problem = pose(X, geometry_for("squared_euclidean"), weights, pool)
    labels = np.zeros(60, np.int32)
    stepper = problem.executor.stepper(labels, 12, np.random.RandomState(0))

    def fit(labels):
        return objective(X, labels, 0.0, sample_weight=weights) * problem.unit

    return stepper, fit, np.ones(60) if weights is None else weights


def compact(stepper):
    return np.unique(stepper.labels, return_inverse=True)[1]


def go_to(stepper, n_clusters):
    while stepper.n_clusters < n_clusters:
        stepper.divide()
        assert stepper.split(int(stepper.savings.argmax()))
        stepper.settle(0)


def assert_consistent(stepper, fit, weights):
    """Sizes, members, centres and the number of clusters are those of the labels."""
    clusters = stepper._clusters
    assert stepper.n_clusters == len(np.unique(stepper.labels))
    sizes = np.bincount(stepper.labels, weights, len(clusters.sizes))
    np.testing.assert_allclose(clusters.sizes * (weights.sum() / clusters.sizes.sum()), sizes)
    members = np.bincount(stepper.labels[weights > 0], minlength=len(clusters.sizes))
    np.testing.assert_array_equal(clusters.members, members)
    assert stepper.fit() == pytest.approx(fit(compact(stepper)), rel=1e-9)
    ring, at = [], clusters.older[-1]
    while at < len(clusters.sizes):
        ring.append(at)
        assert clusters.newer[clusters.older[at]] == at
        at = clusters.older[at]
    assert sorted(ring) == np.unique(stepper.labels).tolist()
    assert (np.diff(clusters.changed[ring]) <= 0).all()


def test_everything_follows_the_labels(case):
    stepper, fit, weights = case
    rng = np.random.default_rng(0)
    assert_consistent(stepper, fit, weights)
    for _ in range(25):
        if stepper.n_clusters < 3 or (stepper.n_clusters < 12 and rng.random() < 0.6):
            stepper.divide()
            stepper.split(int(stepper.savings.argmax()))
        else:
            pairs = stepper.cheapest_unions(3)
            stepper.unite(*pairs[rng.integers(len(pairs))])
        assert_consistent(stepper, fit, weights)
        stepper.settle(0)
        assert_consistent(stepper, fit, weights)


def test_no_row_gains_by_moving_once_all_have_settled(case):
    """Whatever steps came before: a row looks at what changed only, and must miss nothing."""
    stepper, fit, weights = case

    def assert_settled():
        labels = compact(stepper)
        before = fit(labels)
        alone = np.bincount(labels[weights > 0])[labels] == 1
        for moved in after_single_moves(labels, stepper.n_clusters):
            row = int(np.flatnonzero(moved != labels)[0])
            if weights[row] and not alone[row]:
                assert fit(moved) >= before * (1 - 1e-9)

    go_to(stepper, 7)
    assert_settled()
    stepper.unite(*stepper.cheapest_unions(1)[0])
    stepper.settle(0)
    assert_settled()
    go_to(stepper, 8)
    assert_settled()


def test_rows_without_weight_are_where_they_are_nearest():
    X = np.random.default_rng(0).standard_normal((80, 2))
    weights = np.where(np.arange(80) < 50, 1.0, 0.0)
    with Pool(1) as pool:
        problem = pose(X, geometry_for("squared_euclidean"), weights, pool)
    labels = np.zeros(80, np.int32)
    stepper = problem.executor.stepper(labels, 6, np.random.RandomState(0))
    go_to(stepper, 6)
    labels = compact(stepper)
    centres = np.array([X[(labels == c) & (weights > 0)].mean(axis=0) for c in range(6)])
    nearest = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(labels[50:], nearest[50:])


def test_settling_never_raises_the_objective(case):
    stepper, _, _ = case
    for _ in range(8):
        stepper.divide()
        stepper.split(int(stepper.savings.argmax()))
        before = stepper.fit()
        stepper.settle(0)
        assert stepper.fit() <= before * (1 + 1e-12)


def test_a_division_saves_what_it_says(case):
    """On rows few enough to be all taken; the nearer of two centres may be better still."""
    stepper, fit, _ = case
    for _ in range(5):
        stepper.divide()
        c = int(stepper.savings.argmax())
        promised, before = stepper.savings[c], fit(compact(stepper))
        assert stepper.split(c)
        assert before - fit(compact(stepper)) >= promised * (1 - 1e-9)
        assert stepper.savings[c] == 0.0  # of the parts nothing is known yet
        stepper.settle(0)


def test_clusters_that_have_not_changed_keep_their_division(case):
    stepper, _, _ = case
    go_to(stepper, 5)
    stepper.divide()
    before = stepper.savings.copy()
    stepper.divide()
    np.testing.assert_array_equal(stepper.savings, before)  # though others are drawn
    stepper.divide(hardly=0.0)
    np.testing.assert_array_equal(stepper.savings, before)


def test_the_cheapest_union_is_the_cheapest(case):
    stepper, fit, _ = case
    go_to(stepper, 6)
    labels = compact(stepper)
    least = min(fit(united) for united in after_merges(labels))
    a, b = stepper.cheapest_unions(1)[0]
    stepper.unite(a, b)
    assert fit(compact(stepper)) == pytest.approx(least, rel=1e-9)
    costs = []
    saved = stepper.save()
    for pair in stepper.cheapest_unions(4):
        stepper.unite(*pair)
        costs.append(fit(compact(stepper)))
        stepper.restore(saved)
    assert costs == sorted(costs)
    assert len(costs) == 4


def test_what_was_saved_comes_back(case):
    """And goes on as if nothing had happened."""
    stepper, fit, weights = case
    go_to(stepper, 5)
    saved, labels, rng = stepper.save(), stepper.labels.copy(), stepper._rng.get_state()
    go_to(stepper, 8)
    ahead = stepper.labels.copy()
    stepper.unite(*stepper.cheapest_unions(2)[1])
    stepper.settle(0)
    stepper.restore(saved)
    np.testing.assert_array_equal(stepper.labels, labels)
    assert_consistent(stepper, fit, weights)
    stepper._rng.set_state(rng)
    go_to(stepper, 8)
    np.testing.assert_array_equal(stepper.labels, ahead)


def test_many_short_calls_are_one_long_one(case, monkeypatch):
    """Ctrl-C is looked for between calls."""
    stepper, _, _ = case
    saved, rng = stepper.save(), stepper._rng.get_state()
    go_to(stepper, 9)
    labels = stepper.labels.copy()
    stepper.restore(saved)
    stepper._rng.set_state(rng)
    calls = []
    whole = stepper_file.settle
    monkeypatch.setattr(stepper_file, "settle", lambda *a: calls.append(1) or whole(*a))
    monkeypatch.setattr(stepper_file, "ENTRIES_A_CALL", 1)
    go_to(stepper, 9)
    assert len(calls) > 100
    np.testing.assert_array_equal(stepper.labels, labels)


def test_begins_with_any_clusters():
    X, member = gaussians_apart(4, n=80, seed=0)
    with Pool(1) as pool:
        problem = pose(X, geometry_for("squared_euclidean"), None, pool)
    labels = member.astype(np.int32)
    labels[:5] = (labels[:5] + 1) % 4
    stepper = problem.executor.stepper(labels, 4, np.random.RandomState(0))
    assert_consistent(stepper, lambda z: objective(X, z, 0.0) * problem.unit, np.ones(80))
    stepper.settle(0)
    np.testing.assert_array_equal(stepper.labels, member)
    assert labels[0] != member[0]  # the array given is not touched


def test_patience_ends_settling_early():
    X = np.random.default_rng(0).uniform(size=(3000, 2))
    with Pool(1) as pool:
        problem = pose(X, geometry_for("squared_euclidean"), None, pool)
    labels = np.random.default_rng(1).integers(0, 9, 3000).astype(np.int32)
    fits = []
    for patience in (3000, 100, 0):
        stepper = problem.executor.stepper(labels, 9, np.random.RandomState(0))
        stepper.settle(patience)
        fits.append(stepper.fit())
    assert fits[0] > fits[1] > fits[2]


def test_a_large_cluster_is_divided_on_some_of_its_rows(monkeypatch):
    X, member = gaussians_apart(2, n=400, seed=0)
    monkeypatch.setattr(stepper_file, "MOST_DIVIDED", 50)
    with Pool(1) as pool:
        problem = pose(X, geometry_for("squared_euclidean"), None, pool)
    stepper = problem.executor.stepper(np.zeros(400, np.int32), 2, np.random.RandomState(0))
    before = stepper.fit()
    stepper.divide()
    promised = stepper.savings[0]
    assert stepper.split(0)
    assert before - stepper.fit() == pytest.approx(promised, rel=0.2)
    assert len(np.unique(np.column_stack([stepper.labels, member]), axis=0)) == 2
