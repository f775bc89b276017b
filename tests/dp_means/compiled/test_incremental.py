"""A partition that gains or loses one cluster at a time, kernel by kernel.

`tests/local/test_incremental.py` has whole paths of steps against brute force.
"""

import numpy as np
import pytest

from hardbayes.dp_means.compiled.incremental import (
    MANY_PASSES,
    IncrementalClusters,
    move_rows_changed,
    union_costs,
)
from hardbayes.dp_means.incremental import unite
from tests.dp_means.compiled.arrays import KINDS, Rows

SLOTS, K = 6, 4


def clusters_of(rows, labels):
    """Clusters at these labels, in slots 0 to 3 of six."""
    member = labels == np.arange(SLOTS)[:, np.newaxis]
    sizes = member @ rows.weights
    means = member @ (rows.weights[:, np.newaxis] * rows.x)
    means /= np.where(sizes > 0, sizes, 1.0)[:, np.newaxis]
    older, newer = np.arange(1, SLOTS + 2), np.arange(-1, SLOTS)
    older[SLOTS], newer[0] = 0, SLOTS
    older[K - 1], newer[SLOTS] = SLOTS, K - 1
    return IncrementalClusters(
        labels.astype(np.int32), sizes, (member & (rows.weights > 0)).sum(axis=1),
        rows.direct(means), np.zeros(SLOTS, np.int64), older, newer, np.zeros((SLOTS, SLOTS)),
        np.full((SLOTS, SLOTS), -1), np.full(rows.n, -1), np.full(rows.n, -np.inf),
        np.zeros(1, np.int64),
    )  # fmt: skip


def example(kind="dense", seed=0):
    rows = Rows(kind, seed=seed)
    labels = np.random.default_rng(seed).integers(0, K, 30)
    rows.weights[:8] = 1.0
    labels[:8] = np.arange(8) % K
    return rows, clusters_of(rows, labels)


def ring(clusters):
    found, at = [], clusters.older[SLOTS]
    while at != SLOTS:
        assert clusters.newer[clusters.older[at]] == at
        found.append(int(at))
        at = clusters.older[at]
    return found


def fit(rows, labels):
    total = 0.0
    for c in np.unique(labels):
        own = labels == c
        w, x = rows.weights[own], rows.x[own]
        if w.sum() > 0:
            total += w @ ((x - w @ x / w.sum()) ** 2).sum(axis=1)
    return total


def test_the_cheapest_union_with_a_later_cluster():
    rows, clusters = example()
    partners, costs = np.zeros(SLOTS, np.int64), np.zeros(SLOTS)
    for _ in range(2):  # the second time distances are remembered
        union_costs(clusters, partners, costs)
        now = fit(rows, clusters.labels)
        for a in range(K - 1):
            rises = [
                fit(rows, np.where(clusters.labels == b, a, clusters.labels)) - now
                for b in range(a + 1, K)
            ]
            assert costs[a] == pytest.approx(min(rises))
            assert partners[a] == a + 1 + int(np.argmin(rises))
        np.testing.assert_array_equal(partners[K - 1 :], np.arange(K - 1, SLOTS))
        assert np.isinf(costs[K - 1 :]).all()


def test_distances_are_measured_again_where_a_cluster_changed():
    rows, clusters = example()
    partners, costs = np.zeros(SLOTS, np.int64), np.zeros(SLOTS)
    union_costs(clusters, partners, costs)
    unite(clusters, 1, 2)
    union_costs(clusters, partners, costs)
    now, labels = fit(rows, clusters.labels), clusters.labels
    for a, b in ((0, 1), (0, 3), (1, 3)):
        rise = fit(rows, np.where(labels == b, a, labels)) - now
        if partners[a] == b:
            assert costs[a] == pytest.approx(rise)
        else:
            assert costs[a] <= rise * (1 + 1e-9)
    assert np.isinf(costs[2])


def test_two_clusters_become_one():
    rows, clusters = example()
    labels, members = clusters.labels.copy(), clusters.members.copy()
    assert ring(clusters) == [0, 1, 2, 3]
    unite(clusters, 1, 3)
    expected = np.where(labels == 3, 1, labels)
    np.testing.assert_array_equal(clusters.labels, expected)
    other = clusters_of(rows, expected)
    np.testing.assert_allclose(clusters.sizes, other.sizes)
    np.testing.assert_array_equal(clusters.members, other.members)
    np.testing.assert_allclose(clusters.table.exact[:3], other.table.exact[:3], rtol=1e-13)
    offset = clusters.table.exact_offset[1]
    assert offset == pytest.approx((clusters.table.exact[1] ** 2).sum())
    assert members[1] + members[3] == clusters.members[1] and clusters.members[3] == 0
    assert ring(clusters) == [1, 0, 2]  # the one that changed last comes first
    assert clusters.clock[0] == 1 and clusters.changed.tolist() == [0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("entries", [0, 1 << 24])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_move_until_none_gains(kind, entries):
    for seed in range(4):
        rows, clusters = example(kind, seed)
        before = fit(rows, clusters.labels)
        progress, n_calls = np.zeros(3, np.int64), 0
        args = rows.rows, rows.weights, np.zeros(1), clusters, 0, progress, entries
        while not move_rows_changed(*args):
            n_calls += 1
            assert n_calls < 10_000
        assert (n_calls > 10) == (entries == 0)
        labels = clusters.labels
        now = fit(rows, labels)
        assert now < before
        other = clusters_of(rows, labels)
        np.testing.assert_allclose(clusters.sizes, other.sizes)
        np.testing.assert_array_equal(clusters.members, other.members)
        np.testing.assert_allclose(clusters.table.exact, other.table.exact, atol=1e-12)
        assert sorted(ring(clusters)) == list(range(K))
        assert (np.diff(clusters.changed[ring(clusters)]) <= 0).all()
        for i in range(30):
            if rows.weights[i] and clusters.members[labels[i]] > 1:
                for c in range(K):
                    moved = np.where(np.arange(30) == i, c, labels)
                    assert fit(rows, moved) >= now * (1 - 1e-9)
        light = rows.weights == 0
        nearest = rows.costs(clusters.table.exact[:K]).argmin(axis=1)
        np.testing.assert_array_equal(labels[light], nearest[light])


def test_a_pass_with_few_moves_is_enough():
    rows, clusters = example()
    progress = np.zeros(3, np.int64)
    assert move_rows_changed(rows.rows, rows.weights, np.zeros(1), clusters, 30, progress, 1 << 24)
    assert 0 < progress[1] <= 30


def test_after_many_passes_more_rows_may_still_move():
    """Rows at a tie may change places for ever by rounding."""
    for passes, most in ((0, 2), (MANY_PASSES, 5), (2 * MANY_PASSES, 11)):
        rows, clusters = example()
        progress = np.array([30, most, passes])  # a pass that has moved so many rows ends
        args = rows.rows, rows.weights, np.zeros(1), clusters, 2
        assert move_rows_changed(*args, progress.copy(), 0)
        progress[1] += 1
        assert not move_rows_changed(*args, progress, 0)
        assert progress[2] == passes + 1


def test_rows_are_not_compared_where_nothing_has_changed():
    rows, clusters = example()
    args = rows.rows, rows.weights, np.zeros(1), clusters, 0
    while not move_rows_changed(*args, np.zeros(3, np.int64), 1 << 24):
        pass
    compared = clusters.compared.copy()
    clusters.table.exact[:] = np.nan  # nothing reads the centres
    assert move_rows_changed(*args, np.zeros(3, np.int64), 1 << 24)
    np.testing.assert_array_equal(clusters.compared, compared)
