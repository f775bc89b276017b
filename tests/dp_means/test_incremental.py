"""A partition by steps: what it keeps is what its labels say, and no single row gains by moving."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import objective
from hardbayes.core.arrays import DirectForm
from hardbayes.dp_means import incremental as incremental_file
from tests.dp_means.choice.mixtures import gaussians_apart
from tests.dp_means.local_optima import after_merges, after_single_moves, squared_fit
from tests.dp_means.partition_states import pose_here

DATA = {
    "plain": lambda X: (X, None),
    "float32": lambda X: (X.astype(np.float32), None),
    "weighted": lambda X: (X, np.random.default_rng(1).uniform(0.2, 5.0, len(X))),
    "some without weight": lambda X: (X, np.random.default_rng(2).integers(0, 3, len(X)) * 1.0),
    "sparse": lambda X: (sparse.csr_array(np.where(np.abs(X) > 1.0, X, 0.0)), None),
    "repeated": lambda X: (np.repeat(X[::3], 3, axis=0), None),
}


N_STARTS, UNCHANGED = 3, 0.02


def begin(problem, labels, n_slots):
    """Return a partition that stands at these labels."""
    rows, k = problem.rows, int(labels.max()) + 1
    totals, numbers = rows.totals(k, labels), np.arange(k)
    weights, sums = totals.weights(numbers), totals.sums(numbers)
    centres = sums / weights[:, np.newaxis]
    rng = np.random.RandomState(0)
    form = DirectForm(centres, np.zeros(k), True)
    return rows.take().incremental(form, labels, weights, n_slots, rng)


@pytest.fixture(params=DATA)
def case(request):
    """(a partition at one cluster, what labels cost in working units, weights (n,))."""
    rows = np.random.default_rng(0).standard_t(3, (60, 3)) * 2
    X, weights = DATA[request.param](rows)
    problem = pose_here(X, weights=weights)
    labels = np.zeros(60, np.int32)
    partition = begin(problem, labels, 12)

    def fit(labels):
        return objective(X, labels, 0.0, sample_weight=weights) * problem.unit

    quick = squared_fit(X, weights)
    fit.quick = lambda labels: quick(labels) * problem.unit
    return partition, fit, np.ones(60) if weights is None else weights


def compact(partition):
    return np.unique(partition.labels, return_inverse=True)[1]


def go_to(partition, n_clusters):
    while partition.n_clusters < n_clusters:
        partition.divide(N_STARTS, UNCHANGED)
        assert partition.split(int(partition.savings.argmax()))
        partition.move_rows(0)


def assert_consistent(partition, fit, weights):
    """Sizes, members, centres and the number of clusters are those of the labels."""
    clusters = partition._clusters
    assert partition.n_clusters == len(np.unique(partition.labels))
    sizes = np.bincount(partition.labels, weights, len(clusters.sizes))
    np.testing.assert_allclose(clusters.sizes * (weights.sum() / clusters.sizes.sum()), sizes)
    members = np.bincount(partition.labels[weights > 0], minlength=len(clusters.sizes))
    np.testing.assert_array_equal(clusters.members, members)
    assert partition.fit() == pytest.approx(fit(compact(partition)), rel=1e-9)
    ring, at = [], clusters.older[-1]
    while at < len(clusters.sizes):
        ring.append(at)
        assert clusters.newer[clusters.older[at]] == at
        at = clusters.older[at]
    assert sorted(ring) == np.unique(partition.labels).tolist()
    assert (np.diff(clusters.changed[ring]) <= 0).all()


def test_everything_follows_the_labels(case):
    partition, fit, weights = case
    rng = np.random.default_rng(0)
    assert_consistent(partition, fit, weights)
    for _ in range(25):
        if partition.n_clusters < 3 or (partition.n_clusters < 12 and rng.random() < 0.6):
            partition.divide(N_STARTS, UNCHANGED)
            partition.split(int(partition.savings.argmax()))
        else:
            pairs = partition.cheapest_unions(3)
            partition.unite(*pairs[rng.integers(len(pairs))])
        assert_consistent(partition, fit, weights)
        partition.move_rows(0)
        assert_consistent(partition, fit, weights)


def test_no_row_gains_by_moving_once_moves_have_converged(case):
    """Whatever steps came before: a row is compared with what changed only, and misses nothing."""
    partition, fit, weights = case

    def assert_converged():
        labels = compact(partition)
        before = fit.quick(labels)
        assert before == pytest.approx(fit(labels), rel=1e-9)
        alone = np.bincount(labels[weights > 0])[labels] == 1
        for moved in after_single_moves(labels, partition.n_clusters):
            row = int(np.flatnonzero(moved != labels)[0])
            if weights[row] and not alone[row]:
                assert fit.quick(moved) >= before * (1 - 1e-9)

    go_to(partition, 7)
    assert_converged()
    partition.unite(*partition.cheapest_unions(1)[0])
    partition.move_rows(0)
    assert_converged()
    go_to(partition, 8)
    assert_converged()


def test_rows_without_weight_are_where_they_are_nearest():
    X = np.random.default_rng(0).standard_normal((80, 2))
    weights = np.where(np.arange(80) < 50, 1.0, 0.0)
    problem = pose_here(X, weights=weights)
    labels = np.zeros(80, np.int32)
    partition = begin(problem, labels, 6)
    go_to(partition, 6)
    labels = compact(partition)
    centres = np.array([X[(labels == c) & (weights > 0)].mean(axis=0) for c in range(6)])
    nearest = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(labels[50:], nearest[50:])


def test_moves_never_raise_the_objective(case):
    partition, _, _ = case
    for _ in range(8):
        partition.divide(N_STARTS, UNCHANGED)
        partition.split(int(partition.savings.argmax()))
        before = partition.fit()
        partition.move_rows(0)
        assert partition.fit() <= before * (1 + 1e-12)


def test_a_division_saves_what_it_says(case):
    """On rows few enough to be all taken; the nearer of two centres may be better still."""
    partition, fit, _ = case
    for _ in range(5):
        partition.divide(N_STARTS, UNCHANGED)
        c = int(partition.savings.argmax())
        promised, before = partition.savings[c], fit(compact(partition))
        assert partition.split(c)
        assert before - fit(compact(partition)) >= promised * (1 - 1e-9)
        assert partition.savings[c] == 0.0  # of the parts nothing is known yet
        partition.move_rows(0)


def test_clusters_that_have_not_changed_keep_their_division(case):
    partition, _, _ = case
    go_to(partition, 5)
    partition.divide(N_STARTS, UNCHANGED)
    before = partition.savings.copy()
    partition.divide(N_STARTS, UNCHANGED)
    np.testing.assert_array_equal(partition.savings, before)  # though others are drawn
    partition.divide(N_STARTS, 0.0)
    np.testing.assert_array_equal(partition.savings, before)


def test_the_cheapest_union_is_the_cheapest(case):
    partition, fit, _ = case
    go_to(partition, 6)
    labels = compact(partition)
    least = min(fit(united) for united in after_merges(labels))
    a, b = partition.cheapest_unions(1)[0]
    partition.unite(a, b)
    assert fit(compact(partition)) == pytest.approx(least, rel=1e-9)
    costs = []
    saved = partition.save()
    for pair in partition.cheapest_unions(4):
        partition.unite(*pair)
        costs.append(fit(compact(partition)))
        partition.restore(saved)
    assert costs == sorted(costs)
    assert len(costs) == 4


def test_what_was_saved_comes_back(case):
    """And goes on as if nothing had happened."""
    partition, fit, weights = case
    go_to(partition, 5)
    saved, labels, rng = partition.save(), partition.labels.copy(), partition._rng.get_state()
    go_to(partition, 8)
    ahead = partition.labels.copy()
    partition.unite(*partition.cheapest_unions(2)[1])
    partition.move_rows(0)
    partition.restore(saved)
    np.testing.assert_array_equal(partition.labels, labels)
    assert_consistent(partition, fit, weights)
    partition._rng.set_state(rng)
    go_to(partition, 8)
    np.testing.assert_array_equal(partition.labels, ahead)


def test_many_short_calls_are_one_long_one(case, monkeypatch):
    """Ctrl-C is noticed between calls."""
    partition, _, _ = case
    saved, rng = partition.save(), partition._rng.get_state()
    go_to(partition, 9)
    labels = partition.labels.copy()
    partition.restore(saved)
    partition._rng.set_state(rng)
    calls = []
    whole = incremental_file.move_rows_changed
    monkeypatch.setattr(
        incremental_file, "move_rows_changed", lambda *a: calls.append(1) or whole(*a)
    )
    monkeypatch.setattr(incremental_file, "ENTRIES_A_CALL", 1)
    go_to(partition, 9)
    assert len(calls) > 100
    np.testing.assert_array_equal(partition.labels, labels)


def test_begins_with_any_clusters():
    X, member = gaussians_apart(4, n=80, seed=0)
    problem = pose_here(X)
    labels = member.astype(np.int32)
    labels[:5] = (labels[:5] + 1) % 4
    partition = begin(problem, labels, 4)
    assert_consistent(partition, lambda z: objective(X, z, 0.0) * problem.unit, np.ones(80))
    partition.move_rows(0)
    np.testing.assert_array_equal(partition.labels, member)
    assert labels[0] != member[0]  # the array given is not touched


def test_sweeps_of_moves_end_early_where_few_rows_change():
    X = np.random.default_rng(0).uniform(size=(3000, 2))
    problem = pose_here(X)
    labels = np.random.default_rng(1).integers(0, 9, 3000).astype(np.int32)
    fits = []
    for max_changes in (3000, 100, 0):
        partition = begin(problem, labels, 9)
        partition.move_rows(max_changes)
        fits.append(partition.fit())
    assert fits[0] > fits[1] > fits[2]


def test_a_large_cluster_is_divided_on_some_of_its_rows(monkeypatch):
    X, member = gaussians_apart(2, n=400, seed=0)
    monkeypatch.setattr(incremental_file, "MAX_DIVIDED_ROWS", 50)
    problem = pose_here(X)
    partition = begin(problem, np.zeros(400, np.int32), 2)
    before = partition.fit()
    partition.divide(N_STARTS, UNCHANGED)
    promised = partition.savings[0]
    assert partition.split(0)
    assert before - partition.fit() == pytest.approx(promised, rel=0.2)
    assert len(np.unique(np.column_stack([partition.labels, member]), axis=0)) == 2
