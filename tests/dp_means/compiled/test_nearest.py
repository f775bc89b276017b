"""Each row goes to its cheapest centre, with bounds and without."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.arrays import GIVEN_ORDER, no_totals
from hardbayes.core.geometry import SquaredEuclidean
from hardbayes.core.rows import new_batch
from hardbayes.core.validation import check_matrix
from hardbayes.dp_means.bounds import DistanceBounds, no_bounds
from hardbayes.dp_means.compiled.assign import ABOVE, assign
from hardbayes.dp_means.compiled.every_centre import assign_all, new_tile
from hardbayes.dp_means.totals import NO_ROUNDING, NO_TOTALS, Rounding
from tests.dp_means.compiled.arrays import KINDS, Rows, constants_of
from tests.dp_means.partition_states import always_carry, pose_here, posed

NEVER = np.array([np.inf])


# --- whole passes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 15, 16, 17, 70])
def test_assignment_is_the_argmin(container, dtype, k):
    rng = np.random.default_rng(k)
    X = rng.normal(size=(300, 5)).astype(dtype)
    centres = rng.normal(size=(k, 5))
    with posed(check_matrix(container(X), SquaredEuclidean()), n_threads=2) as problem:
        state = problem.state(problem.partition(1.0, 0.0, None))
        for last in (True, False):  # without and with bounds
            state.start(problem.frame.to_working(centres))
            state.choose_nearest(last)
            costs = ((X.astype(np.float64)[:, None] - centres) ** 2).sum(axis=2)
            np.testing.assert_array_equal(state.numbers(), costs.argmin(axis=1))


def heavy_tailed(kind, rng):
    """Rows (600, 6) and centres (40, 6) for which one bound on the error of all scores is wide."""
    X = rng.lognormal(0.0, 1.0, (600, 6))
    if kind == "a row far away":
        X[17] = 1e7
    centres = X[rng.choice(600, 40, replace=False)] + rng.normal(0.0, 0.01, (40, 6))
    if kind == "a centre far away":
        centres[5] = 1e7
    elif kind == "heavy tails":
        X, centres = X**4, centres**4
    elif kind == "far from zero":
        X, centres = X + 1e4, centres + 1e4
        X[3], centres[9] = -1e5, -1e5
    return X, centres


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kind", ["a row far away", "a centre far away", "heavy tails", "far from zero"]
)
def test_outliers_do_not_mislead_scores(kind, dtype):
    """Labels are those of costs in float64; finer scores are needed only far from zero."""
    X, centres = heavy_tailed(kind, np.random.default_rng(0))
    X = X.astype(dtype)
    with posed(check_matrix(X, SquaredEuclidean())) as problem:
        state = problem.state(problem.partition(1.0, 0.0, None))
        working = problem.rows.take().dense()
        at = problem.frame.to_working(centres)
        expected = ((working[:, None] - at) ** 2).sum(axis=2).argmin(axis=1)
        for _ in range(2):
            state.start(at)
            state.choose_nearest()
            np.testing.assert_array_equal(state.numbers(), expected)
        finer = kind == "far from zero"
        assert problem.rows.layout.dtype == (np.float64 if finer else np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [17, 60, 100])
def test_every_sweep_gives_sparse_rows_to_their_nearest_centre(k, dtype, monkeypatch):
    """Also where bounds leave some blocks open and rule others out between them."""
    always_carry(monkeypatch)
    rng = np.random.default_rng(k)
    words = rng.random((30, 300)) < 0.1
    X = (words[rng.integers(30, size=1500)] * (rng.random((1500, 300)) < 0.5)).astype(dtype)
    X += (rng.random(X.shape) < 0.01).astype(dtype)
    some_but_not_all = 0
    problem = pose_here(sparse.csr_array(X))
    rows, state = problem.rows, problem.state(problem.partition(1.0, 0.0, None))
    centres, dense = rows.take(rng.choice(1500, k, replace=False)).dense(), rows.take().dense()
    squares = (dense**2).sum(axis=1)[:, np.newaxis]
    state.start(centres)
    while True:
        swept = state.sweep(NEVER, GIVEN_ORDER, k)
        costs = squares + (centres**2).sum(axis=1) - 2 * dense @ centres.T
        mine = costs[np.arange(1500), state.numbers()]
        np.testing.assert_allclose(mine, costs.min(axis=1), atol=1e-9)
        if not swept.n_changed:
            break
        state.refit()
        centres = state.centres()[1]
        bounds, drift = rows._labelling.bounds, state._table._moved
        reach = bounds.upper + drift[rows.labels()]
        groups = np.maximum.reduceat(drift, np.arange(0, len(drift), bounds.width))
        n_open = (bounds.lower - groups <= reach[:, np.newaxis]).sum(axis=1)
        some_but_not_all += np.count_nonzero((n_open > 0) & (n_open < bounds.lower.shape[1]))
    assert some_but_not_all > 100


# --- the kernel -----------------------------------------------------------------------------------


class Pass:
    """Rows, a table of centres, and all that the kernel takes."""

    def __init__(self, kind="dense", squared=True, k=40, seed=0):
        self.in_tiles = kind == "tiles"
        self.rows = Rows("dense" if self.in_tiles else kind, n=60, seed=seed)
        self.points = self.rows.centres(k, seed)
        self.table = self.rows.table(self.points, squared)
        self.view = self.table.view()
        self.costs = np.full((60, len(self.view.rank)), np.inf)
        self.costs[:, self.table.slots] = self.rows.costs(self.points, squared)
        self.constants = constants_of(self.rows, squared)
        self.opening = NEVER
        self.labels = np.full(60, -1, np.int32)
        self.marks = np.zeros(60, np.uint8)
        self.bounds = no_bounds(self.table.layout, self.view)
        self.totals, self.rounding = NO_TOTALS, (NO_ROUNDING, NO_ROUNDING)

    def run(self, start=0, stop=60):
        if self.in_tiles:
            return assign_all(
                self.rows.rows, self.rows.weights, self.opening, self.constants, self.view,
                self.labels, self.marks, self.totals, *self.rounding, new_tile(self.view), start,
                stop,
            )  # fmt: skip
        batch = new_batch(1 if self.rows.sparse else 16, self.view)
        return assign(
            self.rows.rows, self.rows.weights, self.opening, self.constants, self.view,
            self.bounds, self.labels, self.marks, self.totals, *self.rounding, batch, start, stop,
        )  # fmt: skip


PASSES = (*KINDS, "tiles")  # the last without bounds, by `every_centre.assign_all`


@pytest.fixture(params=[(kind, squared) for kind in PASSES for squared in (True, False)])
def a_pass(request):
    return Pass(*request.param)


def test_labels_marks_and_counts(a_pass):
    least = a_pass.rows.weights * a_pass.costs.min(axis=1)
    a_pass.opening = np.quantile(least, [0.6])
    n_above, n_changed, _, n_scored = a_pass.run()
    np.testing.assert_array_equal(a_pass.labels, a_pass.costs.argmin(axis=1))
    np.testing.assert_array_equal(a_pass.marks == ABOVE, least > a_pass.opening)
    assert n_above == np.sum(least > a_pass.opening) and n_changed == n_scored == 60
    a_pass.marks[:] = 0
    a_pass.labels[:7] = -1
    assert a_pass.run()[:2] == (n_above, 7)


def test_each_row_has_its_own_opening_cost(a_pass):
    least = a_pass.rows.weights * a_pass.costs.min(axis=1)
    a_pass.opening = np.random.default_rng(0).permutation(least)
    a_pass.run()
    np.testing.assert_array_equal(a_pass.marks == ABOVE, least > a_pass.opening)


def test_a_part_of_the_rows(a_pass):
    a_pass.run(11, 53)
    expected = a_pass.costs.argmin(axis=1)
    expected[:11] = expected[53:] = -1
    np.testing.assert_array_equal(a_pass.labels, expected)


def test_free_slots_are_no_choice(a_pass):
    a_pass.table.close(a_pass.table.slots[::2])
    a_pass.view = a_pass.table.view()
    a_pass.run()
    costs = np.where(a_pass.view.rank >= 0, a_pass.costs, np.inf)
    np.testing.assert_array_equal(a_pass.labels, costs.argmin(axis=1))


def test_totals_follow_but_for_rows_above(a_pass):
    least = a_pass.rows.weights * a_pass.costs.min(axis=1)
    a_pass.opening = np.quantile(least, [0.6])
    rounding = Rounding(a_pass.rows.weights, 60, np.abs(a_pass.rows.x).max(axis=0))
    a_pass.totals, a_pass.rounding = no_totals(len(a_pass.view.rank), 5), (
        rounding.rows, rounding.weights,
    )  # fmt: skip
    a_pass.run()
    counted = a_pass.marks != ABOVE
    member = (a_pass.labels == np.arange(len(a_pass.view.rank))[:, np.newaxis]) & counted
    weights, slots = a_pass.rows.weights, np.arange(len(a_pass.view.rank))
    np.testing.assert_allclose(a_pass.totals.weights(slots), member @ weights)
    expected = member @ (weights[:, np.newaxis] * a_pass.rows.x)
    np.testing.assert_allclose(a_pass.totals.sums(slots), expected, atol=1e-12)


@pytest.mark.parametrize("kind", PASSES)
def test_of_equal_centres_the_oldest_wins(kind):
    """Whatever their slots."""
    a_pass = Pass(kind, k=40)
    points = np.repeat(a_pass.points[:10], 4, axis=0)[np.random.default_rng(0).permutation(40)]
    a_pass.table = a_pass.rows.table(points)
    a_pass.view = a_pass.table.view()
    a_pass.run()
    costs = a_pass.rows.costs(points)  # in order of creation
    np.testing.assert_array_equal(a_pass.view.rank[a_pass.labels], costs.argmin(axis=1))


@pytest.mark.parametrize("kind", ["dense", "tiles"])
def test_scores_too_coarse_for_the_centres_are_counted(kind):
    a_pass = Pass(kind)
    points = 1.0 + 1e-7 * np.random.default_rng(0).normal(size=(40, 5))
    a_pass.table = a_pass.rows.table(points)
    a_pass.view = a_pass.table.view()
    n_doubtful = a_pass.run()[2]
    assert n_doubtful > 30
    np.testing.assert_array_equal(
        a_pass.view.rank[a_pass.labels], a_pass.rows.costs(points).argmin(axis=1)
    )
    assert Pass(kind).run()[2] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_set_and_then_spare_the_scores(kind):
    a_pass = Pass(kind)
    carried = DistanceBounds(60, a_pass.table.layout, a_pass.view, lambda: None)
    a_pass.bounds = carried.view(a_pass.view.n_blocks)
    a_pass.run()
    at, expected = np.arange(60), a_pass.costs.argmin(axis=1)
    np.testing.assert_array_equal(a_pass.labels, expected)
    distances = np.sqrt(a_pass.costs)
    assert (carried.upper >= distances[at, expected]).all()
    distances[at, expected] = np.inf
    for g in range(carried.lower.shape[1]):
        own = distances[:, g * carried.width : (g + 1) * carried.width]
        assert (carried.lower[:, g] <= own.min(axis=1)).all()
    a_pass.table.theta[:] = 0.0  # from here on scores mislead
    assert a_pass.run()[1] == 0
    np.testing.assert_array_equal(a_pass.labels, expected)


def test_bounds_widen_with_the_drift():
    a_pass = Pass()
    carried = DistanceBounds(60, a_pass.table.layout, a_pass.view, lambda: None)
    a_pass.bounds = carried.view(a_pass.view.n_blocks)
    a_pass.run()
    upper, lower = carried.upper.copy(), carried.lower.copy()
    carried.drift[a_pass.labels[0]] = 1e-4
    a_pass.bounds = carried.view(a_pass.view.n_blocks)
    a_pass.table.theta[:] = 0.0
    a_pass.run()
    mine = a_pass.labels == a_pass.labels[0]
    assert (carried.upper[~mine] <= upper[~mine] * (1 + 1e-5) + 1e-30).all()
    group = int(a_pass.labels[0]) // carried.width
    kept = carried.lower[:, group] < lower[:, group] - 0.9e-4
    assert kept.mean() > 0.5


def test_a_row_halfway_within_its_cell_needs_no_score():
    """Nearer to its centre than halfway to any other."""
    a_pass = Pass()
    carried = DistanceBounds(60, a_pass.table.layout, a_pass.view, lambda: None)
    a_pass.labels[:] = a_pass.costs.argmin(axis=1)
    carried.upper[:] = np.sqrt(a_pass.costs.min(axis=1)) * (1 + 1e-6)
    carried.half[:] = np.inf  # lower bounds say nothing
    a_pass.bounds = carried.view(a_pass.view.n_blocks)
    a_pass.table.theta[:] = 0.0
    expected = a_pass.labels.copy()
    assert a_pass.run()[1] == 0
    np.testing.assert_array_equal(a_pass.labels, expected)
