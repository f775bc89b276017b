"""Divisions of clusters in two, part by part."""

import numpy as np
import pytest

from hardbayes.core.pool import Pool
from hardbayes.dp_means.compiled import incremental
from hardbayes.dp_means.compiled.incremental import draw, gather
from hardbayes.dp_means.incremental import IncrementalPartition
from hardbayes.dp_means.local_rows import LocalRows
from tests.dp_means.compiled.arrays import KINDS, Rows

SLOTS, K = 6, 3


def partition_at(rows, labels, seed=0):
    local = LocalRows(
        rows.rows, (rows.n, rows.d), rows.weights, np.zeros(1), np.dtype(np.float32), Pool(1)
    )
    member = labels == np.arange(K)[:, np.newaxis]
    sizes = member @ rows.weights
    means = member @ (rows.weights[:, np.newaxis] * rows.x) / sizes[:, np.newaxis]
    rng = np.random.RandomState(seed)
    return IncrementalPartition(local, labels.astype(np.int32), sizes, means, SLOTS, rng)


def example(kind="dense"):
    rows = Rows(kind)
    rows.weights[:6] = 1.0
    labels = np.random.default_rng(0).integers(0, K, 30)
    labels[:6] = np.arange(6) % K
    return rows, labels, partition_at(rows, labels)


def test_every_so_many_rows_of_a_cluster():
    labels, ids = np.array([1, 0, 1, 1, 0, 1, 1], np.int32), np.full(7, -1)
    assert gather(labels, 1, 1, ids) == 5 and ids[:5].tolist() == [0, 2, 3, 5, 6]
    assert gather(labels, 1, 2, ids) == 3 and ids[:3].tolist() == [0, 3, 6]
    assert gather(labels, 7, 1, ids) == 0


def test_rows_are_drawn_by_weight_times_chance():
    weights, ids = np.array([1.0, 0.0, 2.0, 1.0]), np.array([3, 1, 2])
    chances = np.array([1.0, 9.0, 0.5])  # 1, 0 and 1 of two
    assert [draw(weights, ids, chances, 3, number) for number in (0.0, 0.49, 0.51, 0.99)] == [
        0, 0, 2, 2,
    ]  # fmt: skip
    assert draw(weights, ids, np.zeros(3), 3, 0.3) == 2  # the last where nothing has a chance


@pytest.mark.parametrize("kind", KINDS)
def test_halves_are_the_means_of_two_parts(kind):
    rows, labels, partition = example(kind)
    partition.divide(5, 0.0)
    divisions = partition._divisions
    for c in range(K):
        own = (labels == c) & (rows.weights > 0)
        halves = divisions.halves[c]
        assert divisions.saved[c] > 0
        x, w = rows.x[own], rows.weights[own]
        # Single-row moves have ended: the parts are found again from any of their splits in two.
        whole = w @ ((x - w @ x / w.sum()) ** 2).sum(axis=1)
        second = ((x - halves[1]) ** 2).sum(axis=1) < ((x - halves[0]) ** 2).sum(axis=1)
        parts = [
            w[s] @ ((x[s] - w[s] @ x[s] / w[s].sum()) ** 2).sum(axis=1) for s in (second, ~second)
        ]
        assert whole - sum(parts) >= divisions.saved[c] * (1 - 1e-9)
        np.testing.assert_allclose(divisions.sizes[c], w.sum())
        np.testing.assert_allclose(divisions.centres[c], w @ x / w.sum())
    assert not divisions.saved[K:].any() and (divisions.when[K:] == -1).all()


class SameDraws:
    """The first draws of one stream, however many are drawn."""

    def random_sample(self, shape):
        draws = np.random.RandomState(0).random_sample((SLOTS, 12, 2))
        return draws[:, : shape[1]].copy()


def test_more_starts_are_never_worse():
    rows, labels, _ = example()
    saved = []
    for n_starts in (1, 4, 12):
        partition = partition_at(rows, labels)
        partition._rng = SameDraws()
        partition.divide(n_starts, 0.0)
        saved.append(partition.savings.copy())
    assert (saved[0] <= saved[1]).all() and (saved[1] <= saved[2]).all()
    assert (saved[0] < saved[2]).any()


def test_the_nearer_half_takes_each_row():
    rows, labels, partition = example()
    partition.divide(3, 0.02)
    halves = partition._divisions.halves[1].copy()
    assert partition.split(1)
    own = labels == 1
    costs = rows.costs(halves)
    expected = np.where(own & (costs[:, 1] < costs[:, 0]), K, labels)
    np.testing.assert_array_equal(partition.labels, expected)
    clusters = partition._clusters
    assert clusters.members[K] == np.sum((expected == K) & (rows.weights > 0))
    assert clusters.changed[1] == clusters.changed[K] == clusters.clock[0] == 1
    assert clusters.older[SLOTS] == K  # the ring begins with the new one


def test_a_division_with_all_rows_on_one_side_is_none():
    _, labels, partition = example()
    partition.divide(3, 0.02)
    partition._divisions.halves[1, 1] = 1e9
    assert not partition.split(1)
    np.testing.assert_array_equal(partition.labels, labels)
    assert partition.n_clusters == K and partition.savings[1] == 0.0


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ({}, False),
        ({"when": -1}, True),
        ({"changed": 5}, False),  # but by nothing
        ({"changed": 5, "sizes": 1.5}, True),
        ({"changed": 5, "centres": 1.0}, True),
        ({"changed": 0, "sizes": 1.5, "centres": 1.0}, False),
    ],
)
def test_when_a_cluster_is_divided_again(change, again):
    _, _, partition = example()
    partition.divide(3, 0.02)
    partition._divisions.saved[0] = 100.0
    partition._clusters.changed[0] = change.get("changed", 0)
    partition._divisions.when[0] = change.get("when", 0)
    partition._divisions.sizes[0] *= change.get("sizes", 1.0)
    partition._divisions.centres[0] += 10 * change.get("centres", 0.0)
    partition.divide(3, 0.02)
    assert (partition.savings[0] < 100.0) == again


def test_calls_end_when_entries_are_used_up(monkeypatch):
    rows, labels, partition = example()
    partition.divide(3, 0.0)
    calls = []
    whole = incremental.divide

    def counted(*arguments):
        calls.append(whole(*arguments))
        return calls[-1]

    monkeypatch.setattr("hardbayes.dp_means.incremental.divide", counted)
    monkeypatch.setattr("hardbayes.dp_means.incremental.ENTRIES_A_CALL", 0)
    other = partition_at(rows, labels)
    other.divide(3, 0.0)
    assert calls == [1, 2, SLOTS]
    np.testing.assert_array_equal(other.savings, partition.savings)
