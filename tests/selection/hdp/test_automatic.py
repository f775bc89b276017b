"""The automatic penalties of the hard HDP."""

import numpy as np
import pytest

from hardbayes import HDPMeans
from hardbayes.datasets import make_shared_gaussians
from hardbayes.geometry import geometry_for
from hardbayes.pool import Pool
from hardbayes.problems.hdp import pose_groups
from hardbayes.selection import hdp
from hardbayes.selection.hdp import (
    RATIO,
    Described,
    allowed,
    choose_penalties,
    description_length,
    effective_columns,
    smallest_of_the_shortest,
)


class Fake:
    def __init__(self, k, fit):
        self.centres = np.zeros((k, 1))
        self.terms = type("T", (), {"terms": type("U", (), {"fit": fit})()})()


def point(k, fit, length, penalty=1.0):
    return Described(penalty, Fake(k, fit), length)


def test_many_clusters_must_fit_better_than_a_continuum():
    few, slow, fast = point(8, 1.0, 5.0), point(16, 0.26, 4.0), point(16, 0.24, 3.0)
    assert allowed([few, slow], 8) == [few]
    assert allowed([few, slow, fast], 8) == [few, fast]
    assert allowed([slow], 8) == [slow]


def test_of_equally_short_descriptions_the_smallest_penalty():
    points = [point(9, 1, 10.5, 1.0), point(7, 1, 10.0, 2.0), point(5, 1, 12.0, 0.5)]
    assert smallest_of_the_shortest(points, 1.0).penalty == 1.0
    assert smallest_of_the_shortest(points, 0.1).penalty == 2.0


@pytest.fixture
def solved():
    X, groups, _ = make_shared_gaussians(20, 6, 3, 5, random_state=0)
    with Pool(1) as pool:
        problem = pose_groups(
            X, geometry_for("squared_euclidean"), None, groups.astype(np.intp), 20, pool
        )
        grouped = problem.grouped(0.1, 0.3, 0.0, None)
        state = problem.state(grouped)
        state.start(problem.whole.mean[np.newaxis])
        from hardbayes.engine.hdp.descent import GroupedDescent

        opening = problem.whole.opening_costs(grouped.partition)
        descent = GroupedDescent(
            state, grouped, opening, np.arange(len(X)), np.random.RandomState(0)
        )
        yield X, groups, problem, descent.run("split-merge", 300)


def test_the_description_is_a_mixture_of_the_clusters_in_use(solved):
    X, groups, problem, solution = solved
    k = len(solution.centres)
    rows = problem.whole.rows.take().dense()
    costs = ((rows[:, np.newaxis] - solution.centres) ** 2).sum(axis=2)
    in_use = solution.ranks >= 0
    dispersion = 2 * costs[np.arange(len(X)), solution.labels].mean() / 2
    for _ in range(hdp.DISPERSIONS):
        chances = np.exp(-costs / dispersion) * in_use[groups]
        shares = chances / chances.sum(axis=1, keepdims=True)
        dispersion = 2 * (shares * costs).sum(axis=1).mean() / 2
    chances = np.exp(-costs / dispersion) * in_use[groups]
    used = in_use.sum(axis=1)
    length = -np.log(chances.sum(axis=1) / used[groups]).sum() + len(X) * np.log(dispersion)
    for number in used:
        length += np.log(np.prod([(k - i) / (i + 1) for i in range(number)]))
    assert description_length(problem, solution, 2.0) == pytest.approx(length)


def test_columns_that_say_nothing_do_not_count(solved):
    _, _, problem, solution = solved
    assert 1.7 < effective_columns(problem, solution, np.random.RandomState(0)) <= 2.0


def test_one_penalty_follows_from_the_other():
    X, groups, _ = make_shared_gaussians(10, random_state=0)
    first = HDPMeans(global_penalty=0.4, random_state=0).fit(X, groups=groups)
    assert first.local_penalty_ == RATIO * 0.4
    second = HDPMeans(local_penalty=0.1, random_state=0).fit(X, groups=groups)
    assert second.global_penalty_ == 0.1 / RATIO


def test_rows_without_weight_do_not_count():
    X, groups, _ = make_shared_gaussians(12, 6, 3, 5, random_state=0)
    weights = np.ones(len(X))
    weights[::4] = 0.0
    model = HDPMeans(random_state=0).fit(X, groups=groups, sample_weight=weights)
    kept = weights > 0
    part = HDPMeans(random_state=0).fit(X[kept], groups=groups[kept])
    assert 0.5 < model.global_penalty_ / part.global_penalty_ < 2


def test_a_sample_of_many_rows_chooses():
    X, groups, _ = make_shared_gaussians(60, 6, 3, 100, random_state=0)
    with Pool(1) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr("hardbayes.selection.tracing.MOST_ENTRIES", 4000)
        patch.setattr("hardbayes.selection.tracing.FEWEST_ROWS", 2000)
        rng = np.random.RandomState(0)
        choice = choose_penalties(
            X, geometry_for("squared_euclidean"), None, groups.astype(np.intp), 0.0, None, rng, pool
        )
    assert choice.labels is None and 3 <= len(choice.centres) <= 12
