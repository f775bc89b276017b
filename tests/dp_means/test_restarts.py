"""Several starts, of which the best is kept."""

import numpy as np
import pytest

from hardbayes.dp_means import starts as restarts
from hardbayes.dp_means.starts import (
    Starts,
    farthest_first,
    first_centres,
    k_means_plus_plus,
    minimise,
)
from tests.conftest import make_blobs
from tests.dp_means.partition_states import pose_here


@pytest.mark.parametrize(
    ("init", "order", "search", "random"),
    [
        ("mean", "given", "paper", False),
        ("mean", "given", "collapsed", False),
        ("farthest-first", "given", "paper", False),
        (np.zeros((1, 2)), "given", "paper", False),
        ("mean", "random", "paper", True),
        ("k-means++", "given", "paper", True),
        ("mean", "given", "split-merge", True),
        (np.zeros((1, 2)), "given", "split-merge", True),
    ],
)
def test_when_one_start_differs_from_the_next(init, order, search, random):
    assert Starts(init, order, 3, search, 9).random == random


def test_where_to_start():
    problem = pose_here(make_blobs(60, 2, 5)[0])
    partition = problem.partition(0.1, 0.0, None)
    opening, rows, mean = problem.opening_costs(partition), problem.rows, problem.mean
    given = np.ones((3, 2))

    def found(init):
        return first_centres(rows, partition, opening, lambda: mean, init, np.random.RandomState(1))

    assert found(given) is given
    np.testing.assert_array_equal(found("mean"), mean[np.newaxis])
    expected = farthest_first(rows, partition, mean, opening)
    np.testing.assert_array_equal(found("farthest-first"), expected)
    expected = k_means_plus_plus(rows, partition, opening, np.random.RandomState(1))
    np.testing.assert_array_equal(found("k-means++"), expected)


def run(problem, number, search="paper", order="random", seed=0, report=lambda *_: None, **options):
    partition = problem.partition(0.05, 0.0, None)
    starts = Starts("mean", order, number, search, options.get("max_steps", 300))
    rng = np.random.RandomState(seed)
    opening = problem.opening_costs(partition)
    solution = minimise(
        problem.state(partition), partition, opening, lambda: problem.mean, starts, rng, report
    )
    return solution, partition


def test_the_best_of_several_starts_is_kept_the_first_of_equals(monkeypatch):
    problem, runs = pose_here(make_blobs(80, 2, 12, spread=0.2)[0]), []

    class Noted(restarts.Descent):
        def run(self, *arguments):
            runs.append(super().run(*arguments))
            return runs[-1]

    monkeypatch.setattr(restarts, "Descent", Noted)
    solution, partition = run(problem, 6)
    values = [s.total(partition) for s in runs]
    assert len(runs) == 6 and len(set(values)) > 1
    assert solution is runs[int(np.argmin(values))]


def test_starts_that_do_not_differ_are_made_once():
    problem, reports = pose_here(make_blobs(40, 2, 4)[0]), []
    run(problem, 5, order="given", report=lambda *numbers: reports.append(numbers))
    assert {start for start, *_ in reports} == {0}


def test_every_step_of_every_start_is_reported():
    problem, reports = pose_here(make_blobs(40, 2, 4)[0]), []
    run(problem, 3, report=lambda *numbers: reports.append(numbers))
    assert {start for start, *_ in reports} == {0, 1, 2}
    for start in range(3):
        steps = [step for s, step, *_ in reports if s == start]
        assert steps == list(range(1, len(steps) + 1))
    assert reports[-1][3] == 0  # the last sweep moved no row
