"""How shortly a solution of the hard HDP describes the rows."""

import numpy as np
import pytest

from hardbayes.core.geometry import geometry_for
from hardbayes.core.pool import Pool
from hardbayes.datasets import make_shared_gaussians
from hardbayes.groups import choice
from hardbayes.groups.choice import description_length, effective_columns, effective_rows
from hardbayes.groups.descent import GroupedDescent
from hardbayes.groups.problem import pose_groups


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
    for _ in range(choice.DISPERSIONS):
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


def test_rows_of_equal_weight_all_count(solved):
    X, _, problem, _ = solved
    assert effective_rows(problem) == pytest.approx(len(X))
