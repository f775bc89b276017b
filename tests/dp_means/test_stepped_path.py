"""SteppedPath: for each number of clusters the best of what steps down and back have found."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans, objective
from hardbayes.core.geometry import geometry_for
from hardbayes.dp_means import stepped_path
from hardbayes.dp_means.choice.path import begin_path, path_plateaus, trace_on
from hardbayes.dp_means.path import FallingPath
from hardbayes.dp_means.problem import pose
from hardbayes.dp_means.stepped_path import SteppedPath
from tests.dp_means.choice.mixtures import gaussians_apart
from tests.dp_means.local_optima import after_single_moves, squared_fit
from tests.dp_means.test_falling_path import total
from tests.reference.brute_force import set_partitions

CASES = {
    "plain": (gaussians_apart(4, n=80, seed=0)[0], False),
    "scaled": (1e-40 * gaussians_apart(4, n=80, seed=0)[0], False),
    "weighted": (gaussians_apart(4, n=80, seed=1)[0], True),
    "sparse": (sparse.csr_array(gaussians_apart(4, n=80)[0]), False),
    "cloud": (np.random.default_rng(0).standard_normal((80, 3)), False),
}


def begin(pool, X, weights=None, seed=0, divergence="squared_euclidean", prior_weight=0.0):
    problem = pose(X, geometry_for(divergence), weights, pool)
    return begin_path(problem, prior_weight, None, np.random.RandomState(seed))


@pytest.fixture(params=CASES)
def case(request, pool):
    """(path at its one cluster, the objective of labels without penalties in working units)."""
    X, weighted = CASES[request.param]
    weights = np.random.default_rng(3).uniform(0.5, 4.0, X.shape[0]) if weighted else None
    path = begin(pool, X, weights)

    def fit(labels):
        return objective(X, labels, 0.0, sample_weight=weights) * path.unit

    quick = squared_fit(X, weights)
    fit.quick = lambda labels: quick(labels) * path.unit
    return path, fit


def solution_of(path, k):
    return path._solution(path._steps[k])


def test_which_paths_go_by_steps(pool):
    X = np.random.default_rng(0).gamma(2.0, size=(30, 3))
    assert isinstance(begin(pool, X), SteppedPath)
    assert isinstance(begin(pool, X, divergence="kl", prior_weight=1.0), SteppedPath)
    assert isinstance(begin(pool, X, divergence="itakura_saito"), FallingPath)
    assert isinstance(begin(pool, X, prior_weight=1.0), FallingPath)


def test_begins_with_one_cluster_at_the_mean(case):
    path, fit = case
    assert path.n_clusters == 1
    best = path.best_at(1.0)
    np.testing.assert_allclose(best.centres[0], path.mean, atol=1e-12)
    assert path.points == [(1, pytest.approx(fit(best.labels)))]
    assert 0 < path.next_change < np.inf


@pytest.mark.parametrize("thorough", [False, True])
def test_every_number_has_its_point(case, thorough):
    path, fit = case
    path.trace(9, thorough=thorough)
    assert path.n_clusters == 9
    assert sorted(k for k, _ in path.points) == list(range(1, len(path.points) + 1))
    values = [value for _, value in sorted(path.points)]
    assert (np.diff(values) < 0).all()
    for k, value in path.points[:9]:
        solution = solution_of(path, k)
        assert np.unique(solution.labels).tolist() == list(range(k))
        assert solution.terms.fit == pytest.approx(value, rel=1e-9)
        assert fit(solution.labels) == pytest.approx(value, rel=1e-9)
        assert solution.n_splits - solution.n_merges == k - 1


def test_the_best_of_all_solutions_is_taken(case):
    path, fit = case
    path.trace(9)
    last = 0
    for penalty in np.geomspace(4 * path.first_penalty, 1e-3 * path.first_penalty, 60):
        best = path.best_at(penalty)
        least = min(value + penalty * k for k, value in path.points[:9])
        assert fit(best.labels) + penalty * len(best.centres) == pytest.approx(least)
        assert len(best.centres) >= last
        last = len(best.centres)


def test_the_best_of_at_most_so_many_clusters(case):
    path, _ = case
    path.trace(6)
    for cap in range(1, 7):
        assert path.best_at(0.0, cap).terms.n_clusters == cap


def test_one_cluster_is_best_above_the_first_penalty(case):
    path, _ = case
    path.trace(6)
    one, more = path.points[0][1], path.points[1:]
    for k, fit in more:
        assert one <= fit + path.first_penalty * (1 + 1e-9) * (k - 1)
    assert any(one > fit + path.first_penalty * (1 - 1e-6) * (k - 1) for k, fit in more)


def test_no_single_row_helps(case):
    path, fit = case
    path.trace(7)
    for k in range(2, 8):
        labels = solution_of(path, k).labels
        sizes, before = np.bincount(labels), fit.quick(labels)
        assert before == pytest.approx(fit(labels), rel=1e-9)
        for moved in after_single_moves(labels, k):
            if sizes[labels[moved != labels][0]] > 1:
                assert fit.quick(moved) >= before * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_few_rows_are_solved_to_the_optimum(pool, seed):
    X = np.random.default_rng(seed).standard_normal((8, 2))
    path = begin(pool, X, seed=seed)
    path.trace(8, thorough=True)
    least, fit = np.full(9, np.inf), squared_fit(X)
    for labels in set_partitions(8):
        k = labels.max() + 1
        least[k] = min(least[k], fit(labels) * path.unit)
    np.testing.assert_allclose([fit for _, fit in path.points], least[1:], atol=1e-12)
    assert path.points[-1] == (8, 0.0)


def test_exchanges_only_help(pool):
    """Where clusters overlap they find what divisions and unions alone do not."""
    better = []
    for seed in range(3):
        X = np.random.default_rng(seed).standard_normal((150, 3))
        paths = [begin(pool, X, seed=seed) for _ in range(2)]
        for path, thorough in zip(paths, (False, True), strict=True):
            path.trace(15, thorough=thorough)
        plain, tried = (np.array([fit for _, fit in path.points]) for path in paths)
        better.append(1 - tried / plain)
    assert np.mean(better) > 1e-3
    assert np.min(better) > -0.01


def test_the_way_back_helps(pool, monkeypatch):
    """On the way down alone, what was divided badly at first stays so."""
    X = np.random.default_rng(0).standard_normal((200, 2))
    path = begin(pool, X)
    path.trace(12)
    with monkeypatch.context() as patch:
        patch.setattr(SteppedPath, "_one_fewer", lambda self, a, b: self._current.unite(a, b))
        down = begin(pool, X)
        down.trace(12)
    both = np.array([path.points, down.points])[:, :, 1]
    assert (both[0] <= both[1] * (1 + 1e-9)).all()
    assert (both[0] < both[1] * (1 - 1e-3)).any()


def test_rows_without_weight_make_no_clusters(pool):
    X = np.arange(10.0)[:, None] ** 2
    path = begin(pool, X, np.r_[np.ones(4), np.zeros(6)])
    path.trace(10)
    assert path.n_clusters == 4
    assert path.best_at(0.0).labels.shape == (10,)


def test_penalties_below_the_path_are_solved_at_in_turn(pool):
    X, _ = gaussians_apart(5, n=100, seed=0)
    path = begin(pool, X)
    path.trace(3)
    penalties = np.geomspace(path.first_penalty, path.lowest / 300, 8)
    trace_on(path, penalties)
    assert len(path.solutions) == np.count_nonzero(
        penalties < path.points[1][1] - path.points[2][1]
    )
    assert path.lowest == penalties[-1]
    for penalty in penalties:
        fitted = DPMeans(penalty / path.unit, random_state=0).fit(X)
        assert total(path, path.best_at(penalty), penalty) <= fitted.objective_ * path.unit * 1.025


def test_the_lowest_penalty_is_where_the_last_number_begins_to_be_best(case):
    path, _ = case
    path.trace(8)
    assert len(path.best_at(path.lowest * 0.999).centres) == 8
    assert len(path.best_at(path.lowest * 1.001).centres) < 8


def test_moves_of_many_rows_converge_when_a_solution_is_used(pool, monkeypatch):
    monkeypatch.setattr(stepped_path, "ALWAYS_CONVERGED", 100)
    monkeypatch.setattr(stepped_path, "UNCONVERGED", 20)
    X = np.random.default_rng(0).uniform(size=(2000, 2))
    path = begin(pool, X)
    path.trace(12)
    better = 0
    for k, value in path.points[:12]:
        solution = path.best_at(0.0, k)
        costs = (X[:, None] - np.array([X[solution.labels == c].mean(0) for c in range(k)])) ** 2
        costs = costs.sum(axis=2)
        np.testing.assert_array_equal(costs.argmin(axis=1), solution.labels)
        assert solution.terms.fit <= value * (1 + 1e-9)
        better += solution.terms.fit < value * (1 - 1e-9)
    assert better > 3


def test_the_rows_may_be_used_in_between(pool):
    """What a path keeps is its own."""
    X, _ = gaussians_apart(4, n=80, seed=0)
    path = begin(pool, X)
    path.trace(6)
    before = [path.best_at(0.0, k).terms.fit for k in range(1, 7)]
    trace_on(path, np.array([path.lowest / 5]))
    assert [path._solution(path._steps[k]).terms.fit for k in range(1, 7)] == before


def test_the_last_number_has_no_plateau_for_want_of_others(pool):
    """It is told from what follows it, which the path has seen on its way back."""
    X = np.random.RandomState(1015).standard_normal((200, 10))
    path = begin(pool, X, seed=15)
    path.trace(25)
    found = path_plateaus(path)
    assert max(p.k for p in found) <= 25
    assert max(p.width for p in found if p.k > 15) < 0.4


def test_plateaus_of_clusters_apart(pool):
    X, _ = gaussians_apart(6, n=120, seed=2)
    path = begin(pool, X)
    path.trace(15)
    found = {p.k: p.width for p in path_plateaus(path)}
    assert max(found, key=found.get) == 6


@pytest.mark.parametrize("n_clusters", [0, 1])
def test_a_path_of_one_cluster_knows_what_the_first_division_saves(pool, n_clusters):
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    path = begin(pool, X)
    path.trace(n_clusters)
    assert path.n_clusters == 1
    assert path.first_penalty == pytest.approx(12.5 * path.unit)


def test_the_same_seed_gives_the_same_path(pool):
    X, _ = gaussians_apart(3, n=70, seed=5)
    paths = [begin(pool, X, seed=4) for _ in range(2)]
    for path in paths:
        path.trace(8, thorough=True)
    assert paths[0].points == paths[1].points
    for k in range(1, 9):
        np.testing.assert_array_equal(*(solution_of(path, k).labels for path in paths))
