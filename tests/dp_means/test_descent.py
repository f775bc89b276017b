"""A fit of a partition: its stages, and how it ends."""

from dataclasses import replace

import numpy as np
import pytest

from hardbayes.core.arrays import GIVEN_ORDER
from hardbayes.core.loop import Status, say_nothing
from hardbayes.dp_means import descent as descent_file
from hardbayes.dp_means import small
from hardbayes.dp_means.descent import STAGES, THOROUGH, Descent, SearchBudget, Solution
from hardbayes.dp_means.objective import Terms, measure_labels
from hardbayes.dp_means.passes import passes_for
from tests.conftest import make_blobs
from tests.dp_means.partition_states import pose_here, random_order
from tests.test_divergences import rows_for


def new_descent(problem, penalty=0.3, prior_weight=0.0, cap=None, report=say_nothing, **options):
    partition = problem.partition(penalty, prior_weight, cap)
    return Descent(
        problem.state(partition), partition, passes_for(partition),
        problem.opening_costs(partition), GIVEN_ORDER,
        np.random.RandomState(0), report, **options,
    )  # fmt: skip


def blobs(n=80, k=9, spread=0.3, weights=None):
    return pose_here(make_blobs(n, 3, k, spread=spread)[0], weights=weights)


def start(problem):
    return problem.mean[np.newaxis]


@pytest.mark.usefixtures("both_sweeps")
@pytest.mark.parametrize("search", STAGES)
@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
@pytest.mark.parametrize("cap", [None, 4])
def test_a_solution_is_what_its_labels_cost(search, cap, prior_weight):
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], 80)
    problem, reports = blobs(weights=weights), []
    report = lambda *numbers: reports.append(numbers)  # noqa: E731
    descent = new_descent(problem, 1.0, prior_weight, cap, report)
    solution = descent.run(start(problem), search, 300)
    partition = descent.partition
    expected = measure_labels(problem.state(partition), solution.labels)
    assert solution.terms.n_clusters == expected.n_clusters == len(solution.centres)
    assert solution.terms.fit == pytest.approx(expected.fit, rel=1e-10)
    assert solution.terms.prior == pytest.approx(expected.prior, rel=1e-10, abs=1e-14)
    assert solution.cost == solution.terms.fit + solution.terms.prior
    total = solution.cost + partition.penalty * expected.n_clusters
    assert solution.total(partition) == pytest.approx(total)
    values = solution.trace + partition.penalty * solution.cluster_counts
    assert values[-1] == pytest.approx(total)
    assert (np.diff(values) <= 1e-9 * values[0]).all()
    assert [k for _, k, _ in reports] == solution.cluster_counts.tolist()
    assert [step for step, *_ in reports] == list(range(1, len(reports) + 1))
    assert solution.status is (Status.CAPPED if cap else Status.CONVERGED)
    rows, heavy = problem.rows.take().dense(), problem.rows.weights > 0
    costs = ((rows[:, np.newaxis] - solution.centres) ** 2).sum(axis=2)
    mine = costs[np.arange(80), solution.labels]
    assert (mine <= costs.min(axis=1) + 1e-12).all() or search == "collapsed"
    assert (mine[~heavy] <= costs.min(axis=1)[~heavy] + 1e-12).all()


@pytest.mark.usefixtures("both_sweeps")
@pytest.mark.parametrize("search", STAGES)
@pytest.mark.parametrize("max_steps", [1, 2, 5])
def test_a_fit_out_of_steps_has_labels_that_agree_with_its_centres(search, max_steps):
    problem = blobs(spread=0.5)
    descent = new_descent(problem, 0.5)
    solution = descent.run(start(problem), search, max_steps)
    if solution.status is Status.OUT_OF_STEPS:
        costs = problem.rows.take().costs(descent.partition.direct_form(solution.centres))
        np.testing.assert_array_equal(solution.labels, costs.argmin(axis=1))
        assert solution.terms.fit == pytest.approx(
            float((np.broadcast_to(problem.rows.weights, 80) * costs.min(axis=1)).sum())
        )
    assert len(solution.trace) == len(solution.cluster_counts) <= max_steps
    assert solution.cluster_counts[-1] == len(solution.centres) == solution.labels.max() + 1
    assert solution.trace[-1] == pytest.approx(solution.cost)


def test_a_fit_goes_on_from_where_the_last_one_ended():
    problem = blobs()
    first = new_descent(problem, 2.0)
    coarse = first.run(start(problem), "split-merge", 300)
    second = Descent(
        first.state, problem.partition(0.3, 0.0, None), first.passes,
        np.array([0.3 * problem.unit]), first.order, first.rng, say_nothing,
    )  # fmt: skip
    fine = second.run(None, "split-merge", 300)
    assert fine.terms.n_clusters > coarse.terms.n_clusters
    assert fine.n_splits > 0


# --- stages ---------------------------------------------------------------------------------------


def test_which_stages_a_search_has():
    assert STAGES["paper"] == ("sweep",) and STAGES["collapsed"] == ("collapse", "sweep")
    assert STAGES["split-merge"] == (
        "sweep", "merge_early", "split", "sweep_to_convergence", "move_rows", "merge", "exchange",
        "split_then_merge",
    )  # fmt: skip
    assert all(callable(getattr(Descent, name)) for names in STAGES.values() for name in names)


def test_a_sweep_tells_whether_the_partition_changed(as_if_many):
    problem = blobs(spread=0.05)
    descent = new_descent(problem, 0.5)
    descent.state.start(start(problem))
    assert descent.sweep() and not descent.converged
    while descent.sweep():
        assert len(descent.points) < 50
    assert descent.converged and not descent.is_capped
    before = descent.state.numbers()
    assert not descent.sweep()
    np.testing.assert_array_equal(descent.state.numbers(), before)


def test_sweeps_need_not_converge_after_moves(as_if_many, monkeypatch):
    problem = blobs(400, 12, 0.5)
    descent = new_descent(problem, 1e9)
    descent.state.start(problem.rows.take(np.arange(12)).dense())
    monkeypatch.setattr(descent_file, "UNCONVERGED", 1.0)
    descent.must_converge = False
    assert not descent.sweep()
    assert not descent.converged  # it did change
    assert descent.sweep_to_convergence() and descent.max_changes == 0
    assert descent.sweep()
    while descent.sweep():
        pass
    assert not descent.sweep_to_convergence()


def test_halfway_other_stages_have_their_turn(as_if_many):
    problem = blobs(400, 12, 0.5)
    descent = new_descent(problem, 1e9)
    descent.state.start(problem.rows.take(np.arange(12)).dense())
    descent.halfway = 2
    assert descent.sweep()
    assert not descent.sweep() and not descent.converged
    assert descent.sweep()


@pytest.mark.parametrize("most_work", [0, 3 << 16])
def test_many_sweeps_are_those_of_one_call(most_work, monkeypatch):
    monkeypatch.setattr(small, "MAX_WORK", most_work)
    problem = blobs()
    descent = new_descent(problem, 0.5)
    solution = descent.run(start(problem), "split-merge", 300)
    expected = new_descent(problem, 0.5)
    monkeypatch.setattr(small, "MAX_WORK", 0)
    other = expected.run(start(problem), "split-merge", 300)
    np.testing.assert_array_equal(solution.labels, other.labels)
    np.testing.assert_array_equal(solution.trace, other.trace)


@pytest.mark.parametrize("stage", ["merge", "split", "move_rows", "exchange", "collapse"])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "poisson"])
def test_a_stage_lowers_the_objective_or_changes_nothing(stage, divergence, as_if_many):
    n_changed = 0
    for seed in range(4):
        X = rows_for(divergence, np.random.default_rng(seed), 80, 3, zeros=False)
        problem = pose_here(X, divergence)
        descent = new_descent(problem, (0.5, 1.0, 2.0, 8.0)[seed], prior_weight=1.0)
        state, partition = descent.state, descent.partition
        state.start(problem.rows.take(np.arange(6)).dense())
        descent.sweep()
        if stage == "exchange":
            descent.split()

        def value(state=state, partition=partition):
            terms = measure_labels(state, state.numbers())
            return terms.fit + terms.prior + partition.total_penalty(terms.n_clusters)

        before, labels, n_points = value(), state.numbers(), len(descent.points)
        counts = descent.n_splits, descent.n_merges
        changed = getattr(descent, stage)()
        n_changed += changed
        if changed:
            assert value() < before
            assert len(descent.points) == n_points + 1
        else:
            np.testing.assert_array_equal(state.numbers(), labels)
            assert (descent.n_splits, descent.n_merges) == counts
        if stage == "merge":
            assert (descent.n_merges > counts[1]) == changed and descent.n_splits == counts[0]
        if stage == "split":
            assert (descent.n_splits > counts[0]) == changed and descent.n_merges == counts[1]
            assert descent.divisions is not None
    assert n_changed > 0


def test_after_a_move_small_data_is_visited_at_once(monkeypatch):
    problem = blobs()
    descent = new_descent(problem, 0.5)
    descent.state.start(problem.rows.take(np.arange(20)).dense())
    descent.state.choose_nearest()
    calls = []
    whole = descent._row_moves
    monkeypatch.setattr(descent, "_row_moves", lambda ids: calls.append(len(ids)) or whole(ids))
    assert descent.merge()
    assert calls == [80] and descent.max_changes == 0
    large = new_descent(blobs(400), 50.0)
    large.passes = replace(large.passes, max_costs_all_rows=100)
    large.state.start(large.state.rows.take(np.arange(20)).dense())
    large.state.choose_nearest()
    monkeypatch.setattr(large, "_row_moves", lambda ids: pytest.fail("too many costs"))
    assert large.merge()
    assert large.max_changes == 4  # one row in a hundred may still change


def test_exchanges_are_made_so_often_and_no_more():
    problem = blobs()
    descent = new_descent(problem, 0.5, budget=SearchBudget(2, 8, 100))
    descent.state.start(start(problem))
    descent.sweep()
    descent.split()
    for _ in range(2):
        descent.exchange()
    assert descent.exchanges_left == 0
    assert not descent.exchange()
    assert THOROUGH.rounds == 30


def test_only_so_many_rows_move_where_moves_are_not_compiled(monkeypatch):
    X = rows_for("itakura_saito", np.random.default_rng(0), 80, 3, zeros=False)
    problem = pose_here(X, "itakura_saito")
    descent = new_descent(problem, 0.5, budget=SearchBudget(2, 8, 7))
    descent.state.start(problem.rows.take(np.arange(6)).dense())
    descent.sweep()
    taken = []
    monkeypatch.setattr(descent, "_row_moves", lambda ids: taken.append(len(ids)))
    descent.move_rows()
    assert taken == [7]
    descent.budget = THOROUGH
    descent.move_rows()
    assert taken[1] > 7


@pytest.mark.parametrize("most_taken", [80, 30, 7])
def test_collapsed_sweeps_visit_all_rows_in_order(most_taken, monkeypatch):
    """A bounded number at a time."""
    problem = blobs()
    descent = new_descent(problem, 0.5)
    descent.order = random_order(np.random.default_rng(0))
    descent.state.start(start(problem))
    monkeypatch.setattr(problem.rows, "most_taken", most_taken)
    seen = []
    whole = descent_file.propose_row_moves

    def noted(state, partition, move_rows, ids, *rest):
        seen.extend(ids.tolist())
        return whole(state, partition, move_rows, ids, *rest)

    monkeypatch.setattr(descent_file, "propose_row_moves", noted)
    assert descent.collapse()
    assert seen == descent.order.rows(80).tolist()
    assert descent.state.n_clusters > 1


def test_a_fit_at_the_cap_says_so():
    for search in STAGES:
        solution = new_descent(blobs(), 1e-3, cap=3).run(start(blobs()), search, 300)
        assert solution.status is Status.CAPPED or search == "collapsed"
        assert solution.terms.n_clusters == 3


def test_a_solution_without_its_trace():
    solution = Solution(
        np.zeros(2, np.int32), np.zeros((1, 1)), Terms(3.0, 0.5, 2), np.array([9.0, 3.5]),
        np.array([1, 2]), Status.CONVERGED, 4, 5,
    )  # fmt: skip
    end = solution.at_its_end()
    assert end.trace.tolist() == [3.5] and end.cluster_counts.tolist() == [2]
    assert end.terms == solution.terms and end.n_splits == 4
    assert solution.cost == 3.5


@pytest.mark.parametrize(("penalty", "cap", "expected"), [(1.0, None, 0), (0.0, 4, 1), (1e9, 4, 0)])
def test_clusters_split_then_merge_at_the_cap_alone(penalty, cap, expected, monkeypatch):
    made = []
    monkeypatch.setattr(descent_file, "propose_split_then_merge", lambda *_: made.append(1))
    problem = blobs()
    new_descent(problem, penalty, cap=cap).run(start(problem), "split-merge", 300)
    assert len(made) == expected
    made.clear()
    new_descent(problem, penalty, 2.0, cap).run(start(problem), "split-merge", 300)
    few = new_descent(problem, penalty, cap=cap, budget=SearchBudget(2, 8, 100))
    few.run(start(problem), "split-merge", 300)
    assert made == []  # with a prior, or where a path adds its own budget
