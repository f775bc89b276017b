"""Rows in memory: totals, centres, scores and costs follow the labels, whatever calls come."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans
from hardbayes.core import pool
from hardbayes.core.arrays import GIVEN_ORDER, Births, DirectForm
from hardbayes.dp_means import bounds, memory, small
from hardbayes.dp_means import problem as problems
from hardbayes.dp_means import totals as exact_totals
from hardbayes.dp_means.moves import PartitionProposal
from hardbayes.dp_means.state import PartitionState
from hardbayes.dp_means.totals import ExactTotals
from tests.conftest import make_blobs, quiet_fit
from tests.dp_means.partition_states import always_carry, order_of, posed, random_order
from tests.dp_means.test_protocol import block_rows, numpy_rows
from tests.test_divergences import rows_for

NEVER = np.array([np.inf])
ORDER = np.arange(3000, dtype=np.int32)


# --- whole fits ----------------------------------------------------------------------------------


def check_state(state):
    numbers = state.numbers()
    k, rows = state.n_clusters, state.rows
    assert not np.broadcast_to(rows.weights, rows.n_rows)[numbers < 0].any()
    labels = np.where(numbers < 0, k, numbers).astype(np.int32)
    totals, clusters = rows.totals(k + 1, labels), np.arange(k)
    found_weights, found_totals = state.totals()
    np.testing.assert_array_equal(found_weights, totals.weights(clusters))
    np.testing.assert_array_equal(found_totals, totals.sums(clusters))


def check_refit(state, potential):
    check_state(state)
    partition, (weights, centres) = state.partition, state.centres()
    table = state._table
    np.testing.assert_array_equal(table.exact[table.slots], centres)
    if not state.rows.layout.sparse and getattr(table, "_has_scores", True):
        theta = table.theta.transpose(0, 2, 1).reshape(-1, state.rows.n_columns)
        expected = (2 * centres).astype(table.layout.dtype)
        np.testing.assert_array_equal(theta[table.slots], expected)
    eta = partition.prior_weight
    terms = (weights + eta) * (centres**2).sum(axis=1) - eta * (partition.prior_mean**2).sum()
    assert potential.value == pytest.approx(math.fsum(terms), rel=1e-12, abs=1e-12)
    assert potential.n_clusters == len(weights)


@pytest.mark.parametrize("seed", range(60))
def test_everything_follows_the_labels(seed, monkeypatch):
    """In fits with births, deaths, moves, new layouts, shares and changes of the score type."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice([30, 200, 600])), int(rng.choice([1, 2, 5, 19]))
    means = 3 * rng.normal(size=(int(rng.integers(1, 30)), d))
    X = means[rng.integers(len(means), size=n)] + rng.choice([0.1, 1.0]) * rng.normal(size=(n, d))
    if seed % 3 == 0:
        X = np.rint(X)
    X = X.astype(rng.choice([np.float32, np.float64]))
    weights = rng.choice([0.0, 0.3, 1.0, 2.5], n) if seed % 2 else None
    apart = ((X[:60, np.newaxis] - X[:60]) ** 2).sum(axis=2)
    penalty = float(np.quantile(apart, rng.random()) * rng.choice([0.01, 1.0, 5.0]))
    monkeypatch.setattr(small, "MAX_WORK", int(rng.choice([0, 0, 3 << 16])))
    monkeypatch.setattr(pool, "WORTH_CALLING", int(rng.choice([1, 1 << 14])))
    monkeypatch.setattr(exact_totals, "WORTH_SHARING", 0)
    monkeypatch.setattr(exact_totals, "MAX_SHARED_SUMS", int(rng.choice([0, 1 << 19])))
    monkeypatch.setattr(bounds, "BOUND_COST", float(rng.choice([1, 25, 200])))
    if seed % 2:
        always_carry(monkeypatch)
    monkeypatch.setattr(memory, "DOUBTFUL", float(rng.choice([1 / 16, -1.0])))
    refit = PartitionState.refit
    n_refits = 0

    def checked(state):
        nonlocal n_refits
        n_refits += 1
        state.close_empty()
        check_state(state)
        potential = refit(state)
        check_refit(state, potential)
        return potential

    options = dict(
        search=str(rng.choice(["paper", "split-merge"])),
        max_iter=int(rng.choice([3, 7, 200])),
        max_clusters=None if rng.random() < 0.6 else int(rng.integers(1, 60)),
        prior_weight=float(rng.choice([0.0, 0.0, 0.1, 3.0])),
        init=str(rng.choice(["mean", "k-means++"])),
        random_state=seed,
    )
    Y = sparse.csr_array(X) if seed % 7 == 0 else X
    one = quiet_fit(DPMeans(penalty, n_jobs=1, **options), Y, sample_weight=weights)
    monkeypatch.setattr(PartitionState, "refit", checked)
    three = quiet_fit(DPMeans(penalty, n_jobs=3, **options), Y, sample_weight=weights)
    np.testing.assert_array_equal(one.labels_, three.labels_)
    assert one.objective_ == three.objective_
    assert n_refits > 0 or small.MAX_WORK


# --- scores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("far", [1e15, 1e21, 1e45])
@pytest.mark.parametrize("d", [2, 70])
def test_centres_beyond_the_range_of_scores_hide_no_other(d, far, dtype):
    rng = np.random.default_rng(d)
    for _ in range(60):
        k = int(rng.integers(17, 120))
        X = rng.normal(size=(100, d)).astype(dtype)
        centres = X[rng.integers(100, size=k)] + 0.01 * rng.normal(size=(k, d))
        distant = rng.random(k) < rng.choice([0.1, 0.5, 0.9])
        distant[0] = False
        centres[distant] = 0.0
        centres[distant, rng.integers(2, size=distant.sum())] = rng.choice(
            [-far, far], distant.sum()
        )
        with posed(X) as problem:
            state = problem.state(problem.partition(1.0, 0.0, None))
            state.start(problem.centres_in_frame(centres))
            state.choose_nearest(last=True)
            costs = ((X.astype(float)[:, np.newaxis] - centres) ** 2).sum(axis=2)
            mine = costs[np.arange(100), state.numbers()]
        np.testing.assert_allclose(mine, costs.min(axis=1), rtol=1e-9)


def test_scores_become_finer_where_they_leave_doubt():
    """Centres a hundred-thousandth of the data's width apart: float64 can tell them."""
    rng = np.random.default_rng(0)
    X = 1.0 + 1e-5 * rng.integers(0, 4, (3000, 3)) + 1e-7 * rng.normal(size=(3000, 3))
    X[:3] = np.eye(3)
    centres = 1.0 + 1e-5 * np.stack(np.meshgrid(*3 * [np.arange(4.0)]), axis=-1).reshape(-1, 3)
    with posed(X) as problem:
        rows, state = problem.rows, problem.state(problem.partition(1.0, 0.0, None))
        assert rows.layout.dtype == np.float32
        state.start(problem.centres_in_frame(centres))
        state.choose_nearest()
        state.refit()
        assert rows.layout.dtype == state._table.layout.dtype == np.float64
        state.choose_nearest()
        table = state._table
        form = DirectForm(table.exact[table.slots], table.exact_offset[table.slots], True)
        costs = rows.take().costs(form)
        chosen = costs[np.arange(3000), state.numbers()]
        np.testing.assert_array_equal(chosen, costs.min(axis=1))


def test_scores_stay_as_they_are_where_rows_are_as_near_to_two_centres():
    """Rows halfway between centres, or nearly: float64 could not tell these either."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (3000, 2)).astype(float)
    X[1500:] += 1e-15 * rng.normal(size=(1500, 2))
    centres = np.stack(np.meshgrid(*2 * [np.arange(0.0, 9.0, 2.0)]), axis=-1).reshape(-1, 2)
    with posed(X) as problem:
        state = problem.state(problem.partition(1.0, 0.0, None))
        state.start(problem.centres_in_frame(centres))
        state.choose_nearest()
        state.refit()
        assert problem.rows.layout.dtype == np.float32


def test_scratch_memory_follows_the_type_of_scores():
    """Births after scores were found too coarse are still scored by the coarse ones."""
    rng = np.random.default_rng(0)
    X = 1.0 + 1e-5 * rng.integers(0, 4, (3000, 3)) + 1e-7 * rng.normal(size=(3000, 3))
    X[:3] = np.eye(3)
    centres = 1.0 + 1e-5 * np.stack(np.meshgrid(*3 * [np.arange(4.0)]), axis=-1).reshape(-1, 3)
    centres = np.concatenate([centres, 1.0 + rng.uniform(size=(200, 3))])  # most of these go
    with posed(X) as problem:
        rows, state = problem.rows, problem.state(problem.partition(1.0, 0.0, None))
        state.start(problem.centres_in_frame(centres))
        cost = state.costs_at(state.clusters()[0].centres[:1], np.zeros(3000, np.int32))
        summary = state.sweep(np.array([0.1 * cost.max()]), GIVEN_ORDER, 1000)
        assert summary.n_opened > 0 and rows.layout.dtype == np.float64
        state.refit()
        state.choose_nearest()
        view = state._table.view()
        batch = rows._batch(0, view)
        assert batch.x.dtype == batch.smallest.dtype == view.theta.dtype == np.float64
        assert rows._tiles[0].x.dtype == np.float64


# --- call by call ---------------------------------------------------------------------------------


def lockstep(X, divergence, weights, other, monkeypatch):
    """Two states of one problem: rows in memory, and those of another executor."""
    states = []
    for make in (problems.rows_in_memory, other):
        with monkeypatch.context() as patch:
            patch.setattr(problems, "rows_in_memory", make)
            with posed(X, divergence, weights) as problem:
                states.append(problem.state(problem.partition(0.0, 0.0, None)))
    return states


def own_costs(state):
    """What each row costs in its cluster."""
    return state.costs_at(state.centres()[1], state.numbers())


def assert_same_state(one, other):
    np.testing.assert_array_equal(one.numbers(), other.numbers())
    assert one.n_clusters == other.n_clusters
    np.testing.assert_array_equal(one.names, other.names)
    for mine, theirs in zip(one.totals(), other.totals(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert one.fit_term() == pytest.approx(other.fit_term(), rel=1e-9, abs=1e-13)
    np.testing.assert_allclose(own_costs(one), own_costs(other), rtol=1e-9, atol=1e-13)


def random_proposal(rng, state):
    """Rows that go anywhere, or clusters united; some of them new."""
    n, k = state.rows.n_rows, state.n_clusters
    if rng.random() < 0.3 and k > 2:
        older, younger = np.sort(rng.choice(k, 2, replace=False))
        united = np.arange(k)
        united[younger] = older
        return PartitionProposal(0.0, united=united)
    n_new = int(rng.integers(0, 3))
    ids = np.sort(rng.choice(n, int(rng.integers(1, 8)), replace=False))
    opened = state.rows.take(rng.integers(0, n, n_new)).dense() if n_new else None
    return PartitionProposal(0.0, ids, rng.integers(0, k + n_new, len(ids)), opened)


def uneven(opening, local):
    """Opening costs that depend on the row, from half to three halves of one number."""
    return opening * (0.5 + np.abs(np.sin(1e3 * local.dense().sum(axis=1))))


@pytest.mark.parametrize("other", [numpy_rows, block_rows], ids=["numpy", "blocks"])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "poisson"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("seed", range(5))
def test_any_sequence_of_changes_is_that_of_other_executors(
    seed, container, divergence, other, monkeypatch
):
    always_carry(monkeypatch)
    rng = np.random.default_rng(seed)
    X = rows_for(divergence, rng, 60, 3, zeros=False)
    if seed % 2:
        X = np.rint(2 * X) + (divergence == "poisson")  # ties
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], 60) if seed % 3 else None
    states = lockstep(container(X), divergence, weights, other, monkeypatch)
    first = rng.choice(60, 5, replace=False)
    for state in states:
        state.start(state.rows.take(first).dense())
    for _ in range(12):
        step = rng.choice(["sweep", "sweep", "move", "nearest", "ask"])
        if step == "sweep":
            costs = own_costs(states[0]) if states[0].numbers().min() >= 0 else np.ones(60)
            opening = np.quantile(costs, [rng.choice([0.3, 0.8, 1.0])]) + 1e-9
            paid = [opening, opening]
            if seed % 3 == 1:
                rule = partial(uneven, opening)
                paid = [state.rows.opening(rule) for state in states]
            order, cap = random_order(rng), int(rng.choice([7, 60]))
            found = [
                state.sweep(each, order, cap) for state, each in zip(states, paid, strict=True)
            ]
            assert found[0] == found[1]
        elif step == "move" and states[0].numbers().min() >= 0:
            proposal = random_proposal(rng, states[0])
            for state in states:
                state.apply(proposal)
        else:
            found = [state.choose_nearest() for state in states]
            np.testing.assert_array_equal(*found)
        potentials = [state.refit() for state in states]
        assert potentials[0].n_clusters == potentials[1].n_clusters
        assert potentials[0].value == pytest.approx(potentials[1].value, rel=1e-12)
        assert_same_state(*states)
        halves = states[0].rows.take(rng.integers(0, 60, 4)).dense()
        clusters = rng.permutation(states[0].n_clusters)[:2]
        if len(clusters) == 2:
            form = states[0].partition.direct_form(halves)
            (mine, left), (theirs, other_left) = (s.divide(clusters, form) for s in states)
            np.testing.assert_array_equal(mine.counts, theirs.counts)
            for totals, others in ((mine.totals, theirs.totals), (left, other_left)):
                for part, other_part in zip(totals[:4], others[:4], strict=True):
                    np.testing.assert_array_equal(part, other_part)
        assert_same_state(*states)


# --- single calls ---------------------------------------------------------------------------------


@pytest.fixture
def problem():
    X, _ = make_blobs(80, 3, 6, spread=0.2)
    with posed(X, weights=np.random.default_rng(0).choice([0.0, 1.0, 2.0], 80)) as problem:
        yield problem


def totals_of(rows, labels, n_slots):
    """Weights and totals by the rows alone."""
    X, weights = rows.take().dense(), np.broadcast_to(rows.weights, rows.n_rows)
    member = labels == np.arange(n_slots)[:, np.newaxis]
    return member @ weights, member @ (weights[:, np.newaxis] * X)


def assert_counted(rows, labels, n_slots):
    np.testing.assert_array_equal(rows.labels(), labels)
    totals, slots = rows.totals(n_slots), np.arange(n_slots)
    weights, sums = totals_of(rows, labels, n_slots)
    np.testing.assert_allclose(totals.weights(slots), weights, rtol=1e-14)
    np.testing.assert_allclose(totals.sums(slots), sums, atol=1e-13)


def test_labels_that_are_set(problem):
    rows = problem.rows
    np.testing.assert_array_equal(rows.labels(), np.full(80, -1))
    labels = np.random.default_rng(1).integers(0, 5, 80).astype(np.int32)
    rows.set_labels(np.arange(80), labels)
    assert_counted(rows, labels, 6)
    rows.set_labels(np.array([7, 3]), np.array([5, -1]))
    labels[[7, 3]] = 5, -1
    assert_counted(rows, labels, 6)
    np.testing.assert_array_equal(rows.labels(np.array([7, 3, 0])), labels[[7, 3, 0]])
    np.testing.assert_array_equal(rows.labels(slice(4, 9)), labels[4:9])
    rows.start()
    assert_counted(rows, np.full(80, -1), 6)


def test_rows_begin_with_given_labels_and_totals(problem):
    rows = problem.rows
    labels = np.random.default_rng(1).integers(0, 5, 80).astype(np.int32)
    totals = rows.totals(5, labels)
    np.testing.assert_array_equal(rows.labels(), np.full(80, -1))  # others are only counted
    rows.start(labels, totals)
    assert_counted(rows, labels, 7)


@pytest.mark.parametrize("counted", [True, False])
def test_slots_with_new_names(problem, counted):
    rows = problem.rows
    labels = np.random.default_rng(1).integers(0, 5, 80).astype(np.int32)
    rows.set_labels(np.arange(80), labels)
    rows.totals(5)
    if not counted:
        labels[4] = (labels[4] + 1) % 5
        rows.set_labels(np.array([4]), labels[4:5])
    rows.relabel(np.array([0, 0, 2, 3, 3]))  # united
    labels = np.array([0, 0, 2, 3, 3], np.int32)[labels]
    assert_counted(rows, labels, 5)
    rows.set_labels(np.array([0]), np.array([-1]))
    labels[0] = -1
    rows.totals(5)
    names = np.array([6, -1, 1, 4, -1])
    rows.relabel(names, 8)
    assert_counted(rows, np.append(names, -1)[labels], 8)


ANY_ORDER = {
    "set_labels, relabel": lambda rows, view: [
        rows.set_labels(np.arange(80), np.arange(80) % 6),
        rows.relabel(np.arange(6)),
    ],
    "assign, assign": lambda rows, view: [rows.assign(view, NEVER), rows.assign(view, NEVER)],
    "assign, relabel": lambda rows, view: [
        rows.assign(view, NEVER),
        rows.relabel(np.arange(view.room)),
    ],
}


@pytest.mark.parametrize("calls", ANY_ORDER)
def test_no_row_is_counted_in_a_slot_that_totals_do_not_have(problem, calls, monkeypatch):
    """The kernel would write beyond their end."""
    move = ExactTotals.move

    def checked(totals, before, after, n_changed):
        assert max(before.max(), after.max()) < len(totals.parts.touched)
        move(totals, before, after, n_changed)

    monkeypatch.setattr(ExactTotals, "move", checked)
    state = problem.state(problem.partition(1.0, 0.0, None))
    state.start(problem.rows.take(np.arange(20)).dense())
    ANY_ORDER[calls](problem.rows, state._table.view())


NO_BIRTHS = Births(GIVEN_ORDER, np.empty(0, np.int64), ORDER[:0])


def test_rows_above_their_opening_cost_are_named(problem):
    """Each by its own opening cost times nothing but its weight, in visiting order."""
    rows = problem.rows
    state = problem.state(problem.partition(1.0, 0.0, None))
    state.start(rows.take(np.arange(4)).dense())
    view = state._table.view()
    form = DirectForm(view.exact.copy(), view.exact_offset.copy(), True)
    costs = rows.weights * rows.take().costs(form)[:, state._table.slots].min(axis=1)
    opening = np.random.default_rng(0).permutation(costs)
    above = np.flatnonzero(costs > opening)
    summary = rows.assign(view, opening)
    order = random_order(np.random.default_rng(0))
    births, visited = NO_BIRTHS._replace(order=order), above[np.argsort(order.ranks(above))]
    np.testing.assert_array_equal(rows.offer(view, births, 80), visited)
    np.testing.assert_array_equal(rows.offer(view, births, 3), visited[:3])
    assert summary.n_above == len(above) and summary.n_opened == 0
    assert not summary.same_partition
    assert rows.finish(view, births) == summary
    assert rows.assign(view, opening).n_above == len(above)  # marks were wiped off
    assert rows.assign(view, NEVER) == (0, 0, 0, False)


def test_births_come_after_an_assignment_and_before_anything_else(problem):
    rows = problem.rows
    state = problem.state(problem.partition(1.0, 0.0, None))
    state.start(rows.take(np.arange(4)).dense())
    view, births = state._table.view(), NO_BIRTHS
    for early in (lambda: rows.offer(view, births, 5), lambda: rows.finish(view, births)):
        with pytest.raises(RuntimeError, match="'assign' comes first"):
            early()
    rows.assign(view, NEVER)
    with pytest.raises(RuntimeError, match="'assign' comes first"):
        rows.offer(view, births, 5)
    rows.assign(view, np.zeros(1))
    rows.set_labels(np.array([1]), np.array([0]))  # no row opens a cluster: the assignment is over
    with pytest.raises(RuntimeError, match="'assign' comes first"):
        rows.offer(view, births, 5)
    rows.assign(view, np.zeros(1))
    rows.offer(view, births, 5)
    for late in (
        lambda: rows.assign(view, NEVER),
        lambda: rows.set_labels(np.array([1]), np.array([0])),
        lambda: rows.relabel(np.arange(view.room)),
        lambda: rows.totals(view.room),
    ):
        with pytest.raises(RuntimeError, match="'finish' comes first"):
            late()
    rows.start()
    with pytest.raises(RuntimeError, match="'assign' comes first"):
        rows.finish(view, births)
    opening = np.full(80, np.inf)
    opening[np.flatnonzero(rows.weights)[-1]] = 0.0
    assert rows.assign(view, opening).n_above == 1  # marks were wiped off


def test_only_births_before_a_rows_own_visit_are_offered():
    X = np.array([[0.0], [10.0], [10.5], [11.0], [0.5]])
    with posed(X) as problem:
        rows, state = problem.rows, problem.state(problem.partition(1.0, 0.0, None))
        unit = problem.unit
        state.start(rows.take(np.array([0])).dense())
        table, opening = state._table, np.array([1.0 * unit])
        order = order_of([2, 1, 4, 0, 3])
        births = NO_BIRTHS._replace(order=order)
        assert rows.assign(table.view(), opening).n_above == 3
        assert rows.offer(table.view(), births, 5).tolist() == [2, 1, 3]
        table.open(rows.take(np.array([3])).dense())
        births = Births(order, order.ranks(ORDER[4:5]), ORDER[3:4])
        # A birth in the third visit is no choice for the first and the second.
        assert rows.offer(table.view(), births, 5).tolist() == [2, 1]
        assert rows.labels().tolist() == [0, 0, 0, 1, 0]
        summary = rows.finish(table.view(), births)
        assert rows.labels().tolist() == [0, 0, 0, 1, 0]
        assert (summary.n_above, summary.n_opened) == (3, 1)


def test_rows_that_were_above_see_all_births_and_their_openers_none():
    X = np.array([[0.0], [10.0], [10.2], [11.0], [10.9]])
    with posed(X) as problem:
        rows, state = problem.rows, problem.state(problem.partition(1.0, 0.0, None))
        state.start(rows.take(np.array([0])).dense())
        table, births = state._table, NO_BIRTHS
        rows.assign(table.view(), np.array([problem.unit]))
        assert rows.offer(table.view(), births, 2).tolist() == [1, 2]
        table.open(rows.take(np.array([1])).dense())
        births = births._replace(opened=np.array([1]), openers=ORDER[1:2])
        assert rows.offer(table.view(), births, 2).tolist() == []
        assert rows.labels().tolist() == [0, 1, 1, 1, 1]
        table.open(rows.take(np.array([3])).dense())
        births = births._replace(opened=np.array([1, 3]), openers=ORDER[3:4])
        assert rows.offer(table.view(), births, 2).tolist() == []
        assert rows.finish(table.view(), births).n_opened == 2
        assert rows.labels().tolist() == [0, 1, 1, 2, 2]


def test_costs_by_the_direct_formula_and_none_for_rows_in_no_slot(problem):
    rows, state = problem.rows, problem.state(problem.partition(1.0, 0.0, None))
    state.start(rows.take(np.arange(20)).dense())
    view, X = state._table.view(), rows.take().dense()
    labels = np.random.default_rng(0).integers(-1, 20, 80).astype(np.int32)
    expected = np.where(labels < 0, 0.0, ((X - view.exact[labels]) ** 2).sum(axis=1))
    np.testing.assert_array_equal(rows.costs(view, labels), expected)
    rows.set_labels(np.arange(80), labels)
    np.testing.assert_array_equal(rows.costs(view), expected)


def test_a_division_changes_nothing_and_is_by_the_nearer_of_two_centres(problem):
    rows = problem.rows
    labels = np.random.default_rng(1).integers(-1, 5, 80).astype(np.int32)
    rows.set_labels(np.arange(80), labels)
    X, halves = rows.take().dense(), rows.take(np.arange(4)).dense()
    halves[1] = halves[0]  # of equal costs the first wins
    form = DirectForm(halves, (halves**2).sum(axis=1), True)
    found = rows.divide(np.array([3, 1]), form)
    costs = ((X[:, np.newaxis] - halves) ** 2).sum(axis=2)
    expected = (labels == 1) & (costs[:, 3] < costs[:, 2])
    np.testing.assert_array_equal(found.counts, [0, expected.sum()])
    weights, sums = totals_of(rows, np.where(expected, 1, -1), 2)
    np.testing.assert_allclose(found.totals.weights(np.arange(2)), weights)
    np.testing.assert_allclose(found.totals.sums(np.arange(2)), sums, atol=1e-14)
    np.testing.assert_array_equal(rows.labels(), labels)
    rows.divide(np.array([3, 1]), form, np.array([-1, 7]))
    np.testing.assert_array_equal(rows.labels(), np.where(expected, 7, labels))


@pytest.mark.parametrize("part", [slice(0, 300), slice(100, 130)])
def test_candidates_of_a_part(part):
    rng = np.random.default_rng(3)
    with posed(rng.normal(size=(300, 3)), "squared_euclidean", None) as problem:
        state = problem.state(problem.partition(1.0, 0.0, None))
        state.start(problem.rows.take(np.arange(30)).dense())
        state.choose_nearest()
        state.refit()
        every = state.candidates(0.8)
        inside = every[(every >= part.start) & (every < part.stop)]
        np.testing.assert_array_equal(state.candidates(0.8, part), inside)


@pytest.mark.parametrize("divergence", ["squared_euclidean", "poisson"])
def test_candidates_by_the_definition(divergence):
    """``slack N / (N + w) cost <= N' / (N' - w) cost'`` at another cluster, or alone in its own."""
    rng, weights = np.random.default_rng(3), np.tile([0.5, 1.0, 2.0], 100)
    with posed(rows_for(divergence, rng, 300, 3), divergence, weights) as problem:
        rows, state = problem.rows, problem.state(problem.partition(1.0, 0.0, None))
        state.start(rows.take(np.arange(30)).dense())
        state.choose_nearest()
        state.refit()
        found, numbers, at = state.candidates(0.8), state.numbers(), np.arange(300)
        sizes, centres = state.centres()
        costs = rows.take().costs(state.partition.direct_form(centres))
        left = sizes[numbers] - rows.weights
        alone = left <= 1e-9 * rows.weights
        frees = sizes[numbers] / np.where(alone, 1.0, left) * costs[at, numbers]
        pays = 0.8 * sizes / (sizes + rows.weights.max()) * costs
        pays[at, numbers] = np.inf
        np.testing.assert_array_equal(found, np.flatnonzero((pays.min(axis=1) <= frees) | alone))
        assert 0 < len(found) < 300


def test_rows_that_moved_since_are_candidates(problem):
    """Though they are far from any border now."""
    rows, state = problem.rows, problem.state(problem.partition(1.0, 0.0, None))
    state.start(rows.take(np.arange(6)).dense())
    state.choose_nearest()
    moved = np.array([3, 50, 77])
    numbers = (state.numbers(moved) + 1) % state.n_clusters
    state.apply(PartitionProposal(0.0, moved, numbers.astype(np.intp)))
    before = state.numbers()
    assert set(moved) <= set(state.candidates(0.8))
    np.testing.assert_array_equal(state.numbers(), before)


def test_some_rows_or_all(problem):
    rows = problem.rows
    assert rows.take() is rows.take() and rows.take().n_rows == 80
    ids = np.array([5, 2, 70])
    np.testing.assert_array_equal(rows.take(ids).dense(), rows.take().dense()[ids])
    np.testing.assert_array_equal(rows.take(ids).weights_at(), rows.weights[ids])


def test_the_radius_is_the_distance_from_the_anchor_rounded_up():
    rng = np.random.default_rng(0)
    with posed(rows_for("poisson", rng, 60, 3), "poisson") as problem:
        rows = problem.rows
        exact = np.linalg.norm(rows.take().dense() - rows.layout.anchor, axis=1)
        radius = rows._radius()
        assert radius.dtype == np.float32 and (radius >= exact).all()
        np.testing.assert_allclose(radius, exact, rtol=2e-6)
