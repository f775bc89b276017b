"""Algorithm 1 row by row; `tests/dp_means/test_small.py` has sweeps against a literal loop."""

import numpy as np
import pytest

from hardbayes.core.arrays import no_totals
from hardbayes.dp_means.compiled import sweeping
from hardbayes.dp_means.compiled.sweeping import Trace, sweep
from hardbayes.dp_means.totals import Rounding
from tests.dp_means.compiled.arrays import KINDS, Rows

SLOTS = 70


def run(rows, points, penalty, cap=100, max_changes=0, steps=50, most_work=10**9, slots=SLOTS):
    """Sweep from these centres; return what the kernel says, labels, centres and trace."""
    k = len(points)
    exact = np.zeros((slots, rows.d))
    exact[:k] = points
    rank = np.full(slots, -1)
    rank[:k] = np.arange(k)
    centres = rows.direct(exact)._replace(rank=rank)
    totals = no_totals(slots, rows.d)
    rounding = Rounding(rows.weights, rows.n, np.abs(rows.x).max(axis=0))
    before, labels = np.full(rows.n, -1, np.int32), np.empty(rows.n, np.int32)
    trace = Trace(*np.zeros((2, steps + 1), np.int64), *np.zeros((2, steps + 1)))
    trace.clusters[0] = -1
    found = sweep(
        rows.rows, rows.weights, penalty, np.zeros(1), centres, k, k, cap,
        np.arange(rows.n, dtype=np.int32), totals, rounding.rows, rounding.weights, before, labels,
        trace, np.empty((2, slots), np.int64), np.empty(slots, np.int64), np.zeros(rows.d),
        max_changes, most_work,
    )  # fmt: skip
    return found, labels, before, centres, totals, trace


@pytest.mark.parametrize("kind", KINDS)
def test_sweeps_are_those_of_lloyd_where_nothing_opens(kind):
    rows = Rows(kind)
    points = rows.centres(4)
    (steps, used, changing, refused), labels, before, centres, _, trace = run(rows, points, 1e9)
    names, last = np.arange(4), None
    for step in range(1, steps + 1):
        expected = names[rows.costs(points).argmin(axis=1)]
        n_changed = 30 if last is None else np.sum(expected != last)
        assert trace.changes[step] == n_changed
        last = expected
        sizes = np.array([rows.weights[expected == c].sum() for c in names])
        names = names[sizes > 0]
        sums = np.array([rows.weights[expected == c] @ rows.x[expected == c] for c in names])
        points = sums / sizes[sizes > 0][:, np.newaxis]
        assert trace.clusters[step] == len(names)
        value = trace.potential[step] + trace.remainder[step]
        assert value == pytest.approx((sums**2 / sizes[sizes > 0][:, np.newaxis]).sum())
    np.testing.assert_array_equal(labels, last)
    np.testing.assert_array_equal(before, last)
    np.testing.assert_allclose(centres.exact[names], points, rtol=1e-12)
    assert used == 4 and not changing and not refused and steps > 2
    np.testing.assert_array_equal(np.flatnonzero(centres.rank >= 0), names)


def test_sweeps_stop_for_each_reason():
    rows = Rows()
    points = rows.centres(4)
    whole = run(rows, points, 1e9)[0][0]
    assert run(rows, points, 1e9, steps=2)[0][0] == 2
    assert run(rows, points, 1e9, most_work=1)[0][0] == 1  # done elsewhere from here on
    assert run(rows, points, 1e9, max_changes=30)[0][:3] == (1, 4, True)
    assert run(rows, points, 1e9, slots=33)[0][0] == 0  # rows might open more than there is room
    assert run(rows, points, 1e9, slots=34)[0][0] == whole


@pytest.mark.parametrize("cap", [4, 6, 100])
def test_rows_above_the_penalty_open_clusters_up_to_the_cap(cap):
    rows = Rows()
    points = rows.centres(4)
    penalty = 0.3
    (_, used, _, refused), labels, *_ = run(rows, points, penalty, cap, steps=1)
    opened, expected = list(points), np.empty(30, int)
    turned_away = False
    for i in range(30):
        costs = ((rows.x[i] - opened) ** 2).sum(axis=1)
        expected[i] = costs.argmin()
        if rows.weights[i] * costs.min() > penalty:
            if len(opened) < cap:
                expected[i] = len(opened)
                opened.append(rows.x[i])
            else:
                turned_away = True
    np.testing.assert_array_equal(labels, expected)
    assert used == len(opened)
    n_left = len(np.unique(expected[rows.weights > 0]))
    assert refused == (turned_away and n_left >= cap)


@pytest.mark.parametrize("seed", range(20))
def test_whether_two_labellings_are_one_partition(seed):
    from hardbayes.dp_means.bounds import is_same_partition

    rng = np.random.default_rng(seed)
    before = rng.integers(0, 3, 8).astype(np.int32)
    after = np.array([2, 0, 1], np.int32)[before]
    if seed % 2:
        after[rng.integers(8)] = rng.integers(0, 3)
    weights = rng.integers(0, 2, 8).astype(float) if seed % 3 else np.ones(1)
    found = sweeping.same_partition(weights, before, after, np.empty((2, 5), np.int64))
    assert found == is_same_partition(before, after, weights)
