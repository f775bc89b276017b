"""Bounds carried between sweeps spare work, and change nothing."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans, penalty_for
from hardbayes.core.arrays import GIVEN_ORDER, DirectForm, Drift
from hardbayes.core.geometry import GEOMETRIES, Mahalanobis
from hardbayes.dp_means import bounds as bounds_file
from hardbayes.dp_means.bounds import (
    BOUNDS,
    CostBounds,
    DistanceBounds,
    Labelling,
    cell_of,
    has_little_room,
    no_bounds,
)
from hardbayes.dp_means.compiled.centres import carries
from hardbayes.dp_means.memory import MemoryRows
from tests.conftest import quiet_fit
from tests.core.alone import alone
from tests.dp_means.partition_states import always_carry, posed, random_order
from tests.dp_means.table_cases import new_table, random_centres
from tests.test_divergences import rows_for

NAMES = sorted(GEOMETRIES)
MATRIX = np.diag([1.0, 4.0, 0.1, 2.0, 1.0, 0.5, 1.0, 3.0]) + 0.05
NEVER = np.array([np.inf])


def clustered(divergence, n, seed):
    """Rows around thirty centres, in the divergence's domain."""
    rng = np.random.default_rng(seed)
    name = divergence if isinstance(divergence, str) else "squared_euclidean"
    centres = rows_for(name, rng, 30, 8, zeros=False)
    members = rng.integers(0, 30, n)
    X = 0.7 * centres[members] + 0.3 * rows_for(name, rng, n, 8, zeros=False)
    return np.ascontiguousarray(X)


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Carry bounds even where scoring these few columns would be as cheap."""
    always_carry(monkeypatch)


# --- whole fits ----------------------------------------------------------------------------------


def fitted(monkeypatch, carried, X, **options):
    assign = MemoryRows.assign

    def without(self, *arguments):
        self._labelling.bounds = None
        return assign(self, *arguments)

    with monkeypatch.context() as patch:
        if not carried:
            patch.setattr(MemoryRows, "assign", without)
        return quiet_fit(DPMeans(search="paper", random_state=0, **options), X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("divergence", [*NAMES, Mahalanobis(MATRIX)], ids=[*NAMES, "mahalanobis"])
def test_every_sweep_is_the_same_without_them(divergence, container, dtype, monkeypatch):
    for seed, n_clusters in enumerate([12, 60]):
        X = clustered(divergence, 800, seed).astype(dtype)
        penalty = penalty_for(X, n_clusters, divergence=divergence)
        for cap in (None, n_clusters):
            options = dict(cluster_penalty=penalty, divergence=divergence, max_clusters=cap)
            carried, fresh = (
                fitted(monkeypatch, carried, container(X), **options) for carried in (True, False)
            )
            np.testing.assert_array_equal(carried.labels_, fresh.labels_)
            np.testing.assert_array_equal(carried.objective_history_, fresh.objective_history_)


@pytest.mark.parametrize("divergence", NAMES)
def test_most_rows_of_a_late_sweep_keep_their_cluster_without_a_score(divergence, monkeypatch):
    X = clustered(divergence, 3000, seed=2)
    with posed(X, divergence) as problem:
        rows, state = problem.rows, problem.state(problem.partition(1.0, 0.0, None))
        state.start(rows.take(np.arange(30)).dense())
        for _ in range(200):
            if not state.sweep(NEVER, GIVEN_ORDER, 30).n_changed:
                break
            state.refit()
        before = state.numbers()
        monkeypatch.setattr(rows._labelling.bounds, "move", lambda centres, drift: None)
        table = state._table
        table.theta[:] = 0.0  # from here on scores mislead
        table.offset[:] = np.where(table.rank >= 0, 0.0, np.inf)
        table.exact_offset[:] = 1e-9 * np.arange(len(table.rank))
        table.exact[:] = 0.0
        state.sweep(NEVER, GIVEN_ORDER, 30)
        assert np.mean(before == state.numbers()) > 0.8


# --- what the bounds say, against brute force -----------------------------------------------------


def true_costs(rows, centres):
    """Costs (n, slots) of all rows at all slots by the direct formula; inf in free slots."""
    exact = DirectForm(centres.exact.copy(), centres.exact_offset.copy(), centres.squared)
    costs = rows.take().costs(exact)
    costs[:, centres.rank < 0] = np.inf
    return np.sqrt(costs) if centres.squared else costs


def assert_bounds_hold(rows, centres):
    """Upper bounds on the own centre's cost, lower bounds on those of all others in a group."""
    bounds, labels = rows._labelling.bounds, rows.labels()
    costs = true_costs(rows, centres)
    own = costs[np.arange(len(labels)), labels]
    size = 1e-12 * (1 + np.abs(np.where(np.isfinite(costs), costs, 0)).max())
    assert (bounds.upper >= own - size).all()
    others = costs.copy()
    others[np.arange(len(labels)), labels] = np.inf
    for group in range(-(-len(centres.rank) // bounds.width)):
        least = others[:, group * bounds.width : (group + 1) * bounds.width].min(axis=1)
        assert (bounds.lower[:, group] <= least + size).all()


@pytest.mark.parametrize("state_bytes", [48e6, 0.0], ids=["groups", "one group"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "poisson", "cosine"])
def test_bounds_never_exclude_the_cheapest_centre(divergence, container, state_bytes, monkeypatch):
    """Whatever happens between sweeps: births, deaths, refits, moves, new layouts."""
    monkeypatch.setattr(bounds_file, "STATE_BYTES", state_bytes)
    monkeypatch.setattr(bounds_file, "BOUND_COST", 1)
    n_carried = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = container(clustered(divergence, 150, seed))
        with posed(X, divergence, rng.choice([0.0, 1.0, 2.0], 150), n_threads=2) as problem:
            rows, state = problem.rows, problem.state(problem.partition(1.0, 0.0, None))
            state.start(rows.take(rng.choice(150, 40, replace=False)).dense())
            for step in range(12):
                before = rows._labelling.bounds
                if step % 4 == 3:
                    state.close(rng.random(state.n_clusters) < 0.05)
                    state.choose_nearest()
                    n_opened = 0
                else:
                    costs = true_costs(rows, state._table.view()).min(axis=1)
                    costs = costs**2 if problem.geometry.distance_costs else costs
                    opening = np.quantile(costs, [rng.choice([0.5, 0.9, 0.99])])
                    cap = int(rng.choice([45, 1000]))
                    n_opened = state.sweep(opening, random_order(rng), cap).n_opened
                view = state._table.view()
                costs = true_costs(rows, view)
                if not n_opened:  # else rows may have chosen before a cheaper centre was opened
                    mine = costs[np.arange(150), rows.labels()]
                    np.testing.assert_array_equal(mine, costs.min(axis=1))
                if rows._labelling.bounds is not None:
                    assert_bounds_hold(rows, view)
                    n_carried += rows._labelling.bounds is before
                state.refit()
    expects_none = divergence != "squared_euclidean" and container is sparse.csr_array
    assert n_carried == 0 if expects_none else n_carried > 5


@pytest.mark.parametrize("divergence", ["poisson", "kl", "cosine"])
def test_rows_come_back_to_a_centre_that_is_alone_in_its_group(divergence):
    """Nine centres in 100 columns: the last has a group of bounds for itself."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.gamma(0.5, size=(600, 100)) + 0.05
        options = dict(init=X[rng.choice(600, 9, replace=False)], prior_weight=0.0)
        model = DPMeans(1e6, divergence=divergence, search="paper", **options).fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)


# --- when bounds are dropped ----------------------------------------------------------------------


def carrying(problem):
    """A state whose rows carry bounds."""
    state = problem.state(problem.partition(1.0, 0.0, None))
    state.start(problem.rows.take(np.arange(30)).dense())
    state.sweep(NEVER, GIVEN_ORDER, 30)
    assert problem.rows._labelling.bounds is not None
    return state


KEEPING = {
    "labels": lambda rows, view: rows.labels(),
    "totals": lambda rows, view: rows.totals(64),
    "totals of others": lambda rows, view: rows.totals(2, np.zeros(rows.n_rows, np.int32)),
    "costs": lambda rows, view: rows.costs(view),
    "divide": lambda rows, view: rows.divide(
        np.array([0, 3]), DirectForm(np.zeros((4, 8)), np.zeros(4), view.squared)
    ),
    "take": lambda rows, view: rows.take(np.array([3, 1])),
    "assign": lambda rows, view: rows.assign(view, NEVER, no_drift(view)),
    "candidates": lambda rows, view: rows.candidates(view, np.ones(view.room), 0.0, 0.8),
}
DROPPING = {
    "set_labels": lambda rows, view: rows.set_labels(np.array([2, 5]), np.array([0, 1])),
    "relabel": lambda rows, view: rows.relabel(np.arange(view.room)),
    "relabel to other places": lambda rows, view: rows.relabel(
        np.arange(view.room)[::-1].copy(), view.room
    ),
}


def no_drift(view):
    return Drift(*(np.zeros(view.room) for _ in range(3)))


@pytest.mark.parametrize("divergence", ["squared_euclidean", "poisson"])
@pytest.mark.parametrize("call", KEEPING)
def test_calls_that_keep_the_bounds(call, divergence):
    with posed(clustered(divergence, 200, 0), divergence) as problem:
        rows = problem.rows
        view, bounds = carrying(problem)._table.view(), rows._labelling.bounds
        KEEPING[call](rows, view)
        assert rows._labelling.bounds is bounds
        assert_bounds_hold(rows, view)


@pytest.mark.parametrize("call", DROPPING)
def test_labels_changed_otherwise_than_by_an_assignment_drop_the_bounds(call, monkeypatch):
    """In one place: nothing but `Labelling.drop_bounds` does."""
    with posed(clustered("squared_euclidean", 200, 0)) as problem:
        rows, view = problem.rows, carrying(problem)._table.view()
        DROPPING[call](rows, view)
        assert rows._labelling.bounds is None
        view = carrying(problem)._table.view()
        bounds, calls = rows._labelling.bounds, []
        monkeypatch.setattr(Labelling, "drop_bounds", lambda self: calls.append(self))
        DROPPING[call](rows, view)
        assert rows._labelling.bounds is bounds and len(calls) == 1


def test_a_start_drops_the_bounds():
    with posed(clustered("squared_euclidean", 200, 0)) as problem:
        carrying(problem)
        problem.rows.start()
        assert problem.rows._labelling.bounds is None


def test_an_assignment_that_none_follows_makes_no_bounds():
    with posed(clustered("squared_euclidean", 200, 0)) as problem:
        view = carrying(problem)._table.view()
        problem.rows.assign(view, NEVER)
        assert problem.rows._labelling.bounds is None


def test_bounds_for_other_slots_are_made_anew():
    with posed(clustered("squared_euclidean", 200, 0)) as problem:
        state = carrying(problem)
        bounds = problem.rows._labelling.bounds
        state._table.open(random_centres(100, 8))
        state.sweep(NEVER, GIVEN_ORDER, 1000)
        assert problem.rows._labelling.bounds is not bounds
        assert_bounds_hold(problem.rows, state._table.view())


def test_bounds_that_spare_little_are_given_up_until_less_changes(monkeypatch):
    monkeypatch.undo()
    X = np.random.default_rng(0).normal(size=(2000, 12))

    def sweeps(state):
        state.start(rows.take(np.arange(60)).dense())
        for _ in range(30):
            changed.append(state.sweep(NEVER, GIVEN_ORDER, 60).n_changed)
            state.refit()
            carried.append(rows._labelling.bounds is not None)
        return state.numbers()

    with posed(X) as problem:
        rows, state = problem.rows, problem.state(problem.partition(1.0, 0.0, None))
        carried, changed = [], []
        expected = sweeps(state)
        first = carried.index(True)
        view = state._table.view()
        few = DistanceBounds.max_changes(2000, rows.layout, view)
        assert changed[first - 1] <= few < changed[first - 2]
        assert not carried[first + 1]  # fresh ones, which then left most rows to scores
        again = carried.index(True, first + 1)
        assert changed[again - 1] <= changed[first + 1] * bounds_file.FEWER_CHANGES
        always_carry(monkeypatch)
        np.testing.assert_array_equal(sweeps(state), expected)
        assert all(carried[31:])


def test_bounds_wait_for_fewer_changes_the_more_they_leave_open(monkeypatch):
    monkeypatch.undo()
    table = new_table(random_centres(100, 12), dtype=np.float32)
    view = table.view()
    bounds = DistanceBounds(1000, table.layout, view, lambda: None)
    groups = 1000 * -(-view.n_blocks // bounds.span)
    share = bounds.affordable_share(1000, table.layout, view)
    shares = (0.0, share, 1.1 * share, 2 * share, 0.9, 1.0)
    found = [bounds.needed_fall(table.layout, view, int(part * groups)) for part in shares]
    assert found[:3] == [1, 1, 1] and 1 > found[3] >= found[4] > found[5] > 0


def test_bounds_may_leave_more_open_where_scores_take_longer(monkeypatch):
    monkeypatch.undo()

    def share(k, d, n_rows=10_000, dtype=np.float32):
        table = new_table(random_centres(k, d), dtype=dtype)
        return DistanceBounds.affordable_share(n_rows, table.layout, table.view())

    assert share(1, 128) == share(3, 2) == 0  # never worth it
    assert 0 < share(40, 3) < share(40, 9) < share(40, 64) < share(400, 64) < 1
    assert share(40, 9) < share(40, 9, dtype=np.float64)


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_bounds_survive_few_births_and_not_many(share):
    """After many births few bounds would still be tight."""
    with posed(clustered("squared_euclidean", 400, 0)) as problem:
        state = carrying(problem)
        state.refit()
        bounds = problem.rows._labelling.bounds
        costs = true_costs(problem.rows, state._table.view()).min(axis=1) ** 2
        n_opened = state.sweep(np.quantile(costs, [1 - share]), GIVEN_ORDER, 1000).n_opened
        assert n_opened > 0
        if share < 1 / 8 and problem.rows._labelling.bounds is not None:
            assert problem.rows._labelling.bounds is bounds
            assert_bounds_hold(problem.rows, state._table.view())
        if share > 1 / 8:
            assert problem.rows._labelling.bounds is None


# --- single parts ---------------------------------------------------------------------------------


def test_half_the_way_to_the_next_centre():
    X = clustered("squared_euclidean", 3000, seed=2)
    with posed(X) as problem:
        rows, state = problem.rows, problem.state(problem.partition(1.0, 0.0, None))
        centres = rows.take(np.arange(30)).dense()
        state.start(centres)
        state.choose_nearest()
        bounds, table = rows._labelling.bounds, state._table
        bounds.move(table.view(), table.take_drift())
        distances = np.sqrt(((centres[:, np.newaxis] - centres) ** 2).sum(axis=2))
        np.fill_diagonal(distances, np.inf)
        nearest = distances.min(axis=1)
        half = bounds.half[table.slots]
        assert (half <= nearest / 2).all()
        np.testing.assert_allclose(half, nearest / 2, rtol=1e-5)
        assert not np.delete(bounds.half, table.slots).any()
        state.start(np.tile(centres, (40, 1)))  # so many are not compared with each other
        state.choose_nearest()
        bounds, table = rows._labelling.bounds, state._table
        bounds.move(table.view(), table.take_drift())
        assert not bounds.half.any()


@pytest.mark.parametrize("n_rows", [100, 2_000_000, 50_000_000])
def test_bounds_keep_their_memory_promise(n_rows, monkeypatch):
    table = new_table(np.zeros((1000, 4)), dtype=np.float32)
    view = table.view()
    taken = []
    monkeypatch.setattr(np, "full", lambda shape, *_: taken.append(np.prod(shape)) or np.empty(0))
    DistanceBounds(n_rows, table.layout, view, lambda: None)
    assert 4 * sum(taken) <= max(48e6 - 13 * n_rows, 8 * n_rows)


@pytest.mark.parametrize("n_rows", [10**6, 1_920_000, 1_920_001, 10**8])
def test_little_room(n_rows):
    assert has_little_room(n_rows) == (n_rows * 25 > 48e6)


def test_which_bounds_go_with_which_costs():
    assert {"distance": DistanceBounds, "affine": CostBounds} == BOUNDS


def test_cells_are_large_where_columns_are_few():
    dense, thin = (new_table(np.ones((1, 2)), sparse=sparse).layout for sparse in (False, True))
    assert cell_of(dense, 1) == 5 and cell_of(dense, 100) == 1
    assert cell_of(thin, 1) == 1


@pytest.mark.parametrize("sparse", [False, True])
def test_no_bounds_leave_every_centre_to_be_scored(sparse):
    table = new_table(random_centres(70, 2), dtype=np.float32, sparse=sparse)
    view = table.view()
    found = no_bounds(table.layout, view)
    assert not alone(carries)(found)
    assert found.span >= view.n_blocks and found.span % found.cell == 0
    assert len(found.group_drift) == 1


def test_when_bounds_on_costs_are_worth_it(monkeypatch):
    monkeypatch.undo()
    options = dict(divergence="poisson", anchor=np.ones(8))
    costs = {k: new_table(random_centres(k, 8), **options) for k in (1, 20, 200)}
    found = [CostBounds.affordable_share(1000, t.layout, t.view()) for t in costs.values()]
    assert found[0] == found[1] == 0 < found[2]
    for change in (dict(anchor=None), dict(sparse=True)):
        layout = costs[200].layout._replace(**change)
        assert CostBounds.affordable_share(1000, layout, costs[200].view()) == 0


def test_radii_are_half_the_way_to_the_nearest_new_centre():
    centres = random_centres(20, 3)
    table = new_table(centres, dtype=np.float32)
    bounds = DistanceBounds(5, table.layout, table.view(), lambda: None)
    born = random_centres(3, 3, seed=1)
    table.open(born)
    radii = bounds.radii(table.view())
    everywhere = np.vstack([table.exact[:20], born])
    apart = np.sqrt(((everywhere[:, np.newaxis] - born) ** 2).sum(axis=2))
    apart[np.arange(20, 23), np.arange(3)] = np.inf
    assert (radii <= apart.min(axis=1) / 2).all()
    np.testing.assert_allclose(radii, apart.min(axis=1) / 2, rtol=1e-5)
    table.open(random_centres(bounds_file.CENTRES_AT_A_TIME, 3, seed=2))
    assert not bounds.radii(table.view()).any()  # so many are compared with by every row


def test_free_groups_do_not_lower_the_least_shift():
    table = new_table(random_centres(20, 3), "poisson", anchor=np.ones(3))
    view = table.view()
    bounds = CostBounds(5, table.layout, view, lambda: np.ones(5, np.float32))
    table.close(table.slots[:5])
    shift = np.arange(table.n_slots) + 1.0
    bounds.move(table.view(), Drift(np.zeros(table.n_slots), shift, shift))
    taken = np.flatnonzero(table.rank >= 0)
    found = bounds.view(view.n_blocks)
    starts = np.arange(0, table.n_slots, bounds.width)[: len(found.group_shift)]
    expected = [shift[taken[(taken >= s) & (taken < s + bounds.width)]].min() for s in starts]
    np.testing.assert_array_equal(found.group_shift, expected)
    bounds.hold_now()
    found = bounds.view(view.n_blocks)
    assert not found.group_shift.any() and not found.shift.any() and not found.drift.any()
