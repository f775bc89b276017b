"""Clusters opened within a sweep: only rows visited later may choose them."""

import numpy as np
import pytest

from hardbayes.core.rows import new_batch
from hardbayes.dp_means.bounds import DistanceBounds, no_bounds
from hardbayes.dp_means.compiled.assign import ABOVE, COVERED, OPENER
from hardbayes.dp_means.compiled.births import consider, find_openings
from tests.dp_means.compiled.arrays import KINDS, Rows, constants_of
from tests.dp_means.partition_states import random_order

NEVER = np.iinfo(np.int64).max


class Births:
    """Five old centres, and twenty that were opened at some visits."""

    def __init__(self, kind, squared, seed=0):
        rng = np.random.default_rng(seed)
        self.rows = Rows(kind, seed=seed)
        points = self.rows.centres(25, seed)
        self.table = self.rows.table(points[:5], squared)
        self.table.open(points[5:])
        self.view = self.table.view()
        self.order = random_order(rng)
        self.visits = self.order.ranks(np.arange(30))
        self.opened = np.full(len(self.view.rank), NEVER)
        self.opened[5:25] = np.sort(rng.choice(self.visits, 20))
        visible = np.where(self.view.rank >= 0, self.opened, -NEVER)
        self.block_opened = visible.reshape(-1, self.view.block).max(axis=1)
        self.constants = constants_of(self.rows, squared)
        self.costs = self.rows.costs(points, squared)[:, np.argsort(self.table.slots)]
        self.labels = self.costs[:, :5].argmin(axis=1).astype(np.int32)
        self.marks = np.zeros(30, np.uint8)
        self.opening = np.array([np.quantile(self.rows.weights * self.costs[:, :5].min(1), 0.3)])
        self.bounds = no_bounds(self.table.layout, self.view)
        self.radii = self.bounds.upper

    def consider(self, ids=None, first=0, start=0, stop=None):
        ids = np.empty(0, np.int32) if ids is None else ids
        n = 30 if not len(ids) else len(ids)
        consider(
            self.rows.rows, self.rows.weights, self.opening, self.constants, self.view,
            self.bounds, self.radii, self.labels, self.marks, ids, self.order, self.opened,
            self.block_opened, self.opened.min(), first, self.view.n_blocks,
            new_batch(1 if self.rows.sparse else 16, self.view), start, n if stop is None else stop,
        )  # fmt: skip

    def expected(self, i):
        """The slot that row i should have."""
        slots = [self.labels[i], *(k for k in range(25) if self.opened[k] < self.visits[i])]
        ranks = self.view.rank
        return min(slots, key=lambda k: (self.costs[i, k], ranks[k]))


@pytest.fixture(params=[(kind, squared) for kind in KINDS for squared in (True, False)])
def births(request):
    return Births(*request.param)


def test_rows_choose_among_centres_opened_before_their_visit(births):
    expected = [births.expected(i) for i in range(30)]
    before = births.labels.copy()
    births.consider()
    np.testing.assert_array_equal(births.labels, expected)
    assert (births.labels != before).any()


def test_only_named_rows_choose(births):
    ids = np.array([4, 9, 22], np.int32)
    before, expected = births.labels.copy(), [births.expected(i) for i in ids]
    births.consider(ids)
    np.testing.assert_array_equal(births.labels[ids], expected)
    np.testing.assert_array_equal(np.delete(births.labels, ids), np.delete(before, ids))


def test_openers_do_not_choose_and_rows_are_marked_as_covered(births):
    least = births.costs[np.arange(30), births.labels]
    above = births.rows.weights * least > births.opening[0]
    births.marks[above] = ABOVE
    births.marks[::5] = OPENER
    before, marks = births.labels.copy(), births.marks.copy()
    ids = np.flatnonzero(marks).astype(np.int32)
    births.consider(ids)
    np.testing.assert_array_equal(births.labels[::5], before[::5])
    np.testing.assert_array_equal(births.labels[marks == 0], before[marks == 0])
    assert (births.marks[::5] == OPENER).all()
    now = births.rows.weights * births.costs[np.arange(30), births.labels] > births.opening[0]
    expected = np.where(marks != ABOVE, marks, np.where(now, ABOVE, COVERED))
    np.testing.assert_array_equal(births.marks, expected)
    assert (expected == COVERED).any()
    labels = births.labels.copy()
    births.consider()  # all others
    assert (births.labels != labels).any()
    np.testing.assert_array_equal(births.labels[marks > 0], labels[marks > 0])


def test_part_of_the_rows(births):
    before = births.labels.copy()
    births.consider(start=10, stop=20)
    np.testing.assert_array_equal(births.labels[:10], before[:10])
    np.testing.assert_array_equal(births.labels[20:], before[20:])
    assert (births.labels[10:20] != before[10:20]).any()


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_spare_comparisons_and_follow(kind):
    births = Births(kind, True)
    least = np.sqrt(births.costs[np.arange(30), births.labels])
    carried = DistanceBounds(30, births.table.layout, births.view, lambda: None)
    carried.upper[:] = least * (1 + 1e-6)
    births.bounds = carried.view(births.view.n_blocks)
    births.radii = np.zeros(25, np.float32)
    spared = births.labels == births.labels[0]
    births.radii[births.labels[0]] = np.inf  # as if no new centre were near
    before = births.labels.copy()
    expected = [births.expected(i) for i in range(30)]
    births.consider()
    np.testing.assert_array_equal(births.labels[spared], before[spared])
    np.testing.assert_array_equal(births.labels[~spared], np.array(expected)[~spared])
    now = np.sqrt(births.costs[np.arange(30), births.labels])
    assert (carried.upper >= now).all()
    np.testing.assert_allclose(carried.upper, now, rtol=1e-5)


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_open_clusters_one_after_the_other(kind, squared):
    rows = Rows(kind)
    ids = np.random.default_rng(0).permutation(30)[:20]
    candidates = rows.direct(rows.x[ids] * 0.9 + 0.1 * rows.x.mean(axis=0), squared)
    points = rows.x[ids] * 0.9 + 0.1 * rows.x.mean(axis=0)
    costs = rows.weights[ids, np.newaxis] * rows.costs(points, squared)[ids]
    for opening in (np.array([0.4]), np.linspace(0.05, 1.0, 20)):
        expected = []
        for p, limit in enumerate(np.broadcast_to(opening, 20)):
            if not (costs[p, expected] <= limit).any():
                expected.append(p)
        found, n_found = np.empty(20, np.int64), 0
        for start, stop in ((0, 7), (7, 8), (8, 20)):
            n_found = find_openings(
                rows.rows, rows.weights, opening, constants_of(rows, squared), candidates, ids,
                found, n_found, start, stop,
            )  # fmt: skip
        np.testing.assert_array_equal(found[:n_found], expected)
        assert 1 < n_found < 20
