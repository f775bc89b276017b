"""A state of the hard HDP at any labels, and the objective of other labels by brute force."""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np

from hardbayes.core.geometry import geometry_for
from hardbayes.core.pool import Pool
from hardbayes.dp_means.moves.potentials import move_rows_by_potentials
from hardbayes.dp_means.moves.single_rows import move_rows_compiled
from hardbayes.dp_means.passes import passes_for
from hardbayes.groups.problem import pose_groups
from tests.reference.hdp import grouped_objective


def random_case(seed, n=60, k=4, n_groups=5):
    rng = np.random.default_rng(seed)
    X = 4 * rng.standard_normal((k, 2))[rng.integers(0, k, n)] + rng.standard_normal((n, 2))
    return X, rng.integers(0, n_groups, n), rng.integers(0, k, n)


@contextmanager
def labelled(X, groups, labels, penalties, divergence="squared_euclidean", weights=None, cap=None):
    """A state whose clusters are those of the labels; `value()` is its objective."""
    with Pool(1) as pool:
        geometry = geometry_for(divergence)
        n_groups = int(groups.max()) + 1
        problem = pose_groups(X, geometry, weights, groups.astype(np.intp), n_groups, pool)
        grouped = problem.grouped(*penalties, 0.0, cap)
        state = problem.state(grouped)
        numbers = np.unique(labels, return_inverse=True)[1].astype(np.int32)
        k = int(numbers.max()) + 1
        centres = np.array(
            [np.average(problem.whole.rows.take().dense()[numbers == c], axis=0,
                        weights=None if weights is None else weights[numbers == c])
             for c in range(k)]
        )  # fmt: skip
        state.start(centres, numbers)
        state.refit()

        def value(numbers=None):
            numbers = state.base.numbers() if numbers is None else numbers
            return problem.whole.unit * grouped_objective(
                X, numbers, groups, *penalties, divergence=divergence, weights=weights
            )

        move_rows = move_rows_compiled if geometry.distance_costs else move_rows_by_potentials
        yield SimpleNamespace(
            state=state, grouped=grouped, problem=problem, value=value, groups=groups,
            move_rows=move_rows, passes=passes_for(grouped.partition),
        )  # fmt: skip


def assert_keeps_its_promise(case, proposal):
    """What a move says it changes is what it changes; the state stays consistent."""
    before = case.value()
    case.state.apply(proposal)
    case.state.refit()
    after = case.value()
    assert after - before < 0
    np.testing.assert_allclose(after - before, proposal.change, rtol=1e-7, atol=1e-12 * before)
    numbers = case.state.base.numbers()
    pairs = {(g, c) for g, c in zip(case.groups, numbers, strict=True)}
    assert case.state.n_local == len(pairs)
    assert all(case.state.ranks[g, c] >= 0 for g, c in pairs)
    ranks = case.state.ranks[case.state.ranks >= 0]
    assert len(set(ranks)) == len(ranks)
