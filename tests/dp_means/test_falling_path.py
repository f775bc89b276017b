"""FallingPath: each fit goes on from the last, and what it notes is what its labels cost."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans, objective
from hardbayes.core.arrays import VisitOrder
from hardbayes.core.geometry import geometry_for
from hardbayes.dp_means.choice.path import most_clusters, path_plateaus, trace_on
from hardbayes.dp_means.passes import passes_for
from hardbayes.dp_means.path import FallingPath
from hardbayes.dp_means.problem import pose
from tests.dp_means.choice.mixtures import gaussians_apart
from tests.dp_means.local_optima import after_merges
from tests.reference.dp_means import same_partition


def histograms(seed=0, n=60):
    rng = np.random.default_rng(seed)
    return rng.gamma(np.array([[9.0, 2, 2, 1], [2, 9, 2, 1], [1, 2, 2, 9]])[rng.integers(0, 3, n)])


# name: (rows, divergence, prior weight, weighted)
CASES = {
    "plain": (gaussians_apart(4, n=80, seed=0)[0], "squared_euclidean", 0.0, False),
    "scaled": (1e-40 * gaussians_apart(4, n=80, seed=0)[0], "squared_euclidean", 0.0, False),
    "weighted": (gaussians_apart(4, n=80, seed=1)[0], "squared_euclidean", 0.0, True),
    "prior": (gaussians_apart(4, n=80, seed=2)[0], "squared_euclidean", 2.0, True),
    "sparse": (sparse.csr_array(gaussians_apart(4, n=80)[0]), "squared_euclidean", 0.0, False),
    "kl": (histograms(), "kl", 0.0, False),
    "kl prior": (histograms(1), "kl", 5.0, True),
}


def begin(pool, X, divergence="squared_euclidean", prior_weight=0.0, weights=None, **options):
    problem = pose(X, geometry_for(divergence), weights, pool)
    rng = options.get("rng", np.random.RandomState(0))
    partition = problem.partition(0.0, prior_weight, None)
    return FallingPath(
        problem.state(partition), partition, passes_for(partition),
        problem.opening_costs, problem.mean,
        VisitOrder.draw(options.get("order", "random"), rng), 300, rng, problem.unit,
    )  # fmt: skip


def total(path, solution, penalty):
    """The objective of a solution of a path at a penalty."""
    return solution.total(replace(path.partition, penalty=penalty))


@pytest.fixture(params=CASES)
def case(request, pool):
    """(path at its one cluster, the objective of labels without penalties in working units)."""
    X, divergence, prior_weight, weighted = CASES[request.param]
    weights = np.random.default_rng(3).uniform(0.5, 4.0, X.shape[0]) if weighted else None
    path = begin(pool, X, divergence, prior_weight, weights)

    def fit(labels, prior_weight=prior_weight):
        options = dict(divergence=divergence, prior_weight=prior_weight, sample_weight=weights)
        return objective(X, labels, 0.0, **options) * path.unit

    return path, fit


def test_begins_with_one_cluster_at_the_mean(case):
    path, fit = case
    assert path.n_clusters == len(path.solutions) == 1
    np.testing.assert_allclose(path.solutions[0].centres[0], path.mean, atol=1e-12)
    assert not path.solutions[0].labels.any()
    assert path.points == [(1, pytest.approx(fit(path.solutions[0].labels)))]
    assert 0 < path.next_change < np.inf


def test_points_are_the_solutions_and_their_cheapest_unions(case):
    path, fit = case
    path.trace(6)
    expected = []
    for solution in path.solutions:
        k = solution.labels.max() + 1
        expected.append((k, fit(solution.labels)))
        if k > 1:
            expected.append((k - 1, min(fit(labels) for labels in after_merges(solution.labels))))
    assert sorted(k for k, _ in path.points) == sorted(k for k, _ in expected)
    found, expected = (np.array(sorted(points)) for points in (path.points, expected))
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_numbers_come_one_by_one(case):
    path, _ = case
    path.trace(6)
    numbers = [solution.terms.n_clusters for solution in path.solutions]
    assert set(range(1, max(numbers) + 1)) == set(numbers)
    assert max(numbers) <= 6


def test_a_cap_on_each_fit(case):
    path, _ = case
    for cap in (2, 2, 3):
        path.go_down_to(path.next_change * 1e-3, cap)
        assert path.n_clusters <= cap


def test_the_best_of_all_solutions_is_taken(case):
    path, fit = case
    path.trace(6)
    fits = {(len(s.centres), fit(s.labels)) for s in path.solutions}
    last = 0
    for penalty in np.geomspace(4 * path.first_penalty, 1e-3 * path.first_penalty, 60):
        best = path.best_at(penalty)
        least = min(value + penalty * k for k, value in fits)
        assert fit(best.labels) + penalty * len(best.centres) == pytest.approx(least)
        assert len(best.centres) >= last
        last = len(best.centres)


def test_one_cluster_is_best_above_the_first_penalty(case):
    """Of all that is known to be possible: three clusters may pay where two do not."""
    path, _ = case
    path.trace(6)
    one, more = path.points[0][1], [(k, fit) for k, fit in path.points if k > 1]
    for k, fit in more:
        assert one <= fit + path.first_penalty * (1 + 1e-9) * (k - 1)
    assert any(one > fit + path.first_penalty * (1 - 1e-6) * (k - 1) for k, fit in more)


def test_the_best_of_at_most_so_many_clusters(case):
    path, _ = case
    path.trace(6)
    for cap in range(1, 7):
        best = path.best_at(0.0, cap)
        assert best.terms.n_clusters <= cap
        values = [total(path, s, 0.0) for s in path.solutions if s.terms.n_clusters <= cap]
        assert total(path, best, 0.0) == min(values)


def test_something_changes_below_the_next_change(case):
    path, fit = case
    path.trace(3)
    before = path.solutions[-1]
    penalty = path.next_change * (1 - 1e-3)
    path.go_down_to(penalty, 20)
    after = path.solutions[-1]
    assert not same_partition(after.labels, before.labels)
    costs = [fit(solution.labels) + penalty * len(solution.centres) for solution in (before, after)]
    assert costs[1] < costs[0]


def test_the_way_back_finds_nothing_worse(case):
    """It adds solutions at the same penalties, and the best of all can only be lower."""
    path, fit = case
    path.trace(6)
    down = list(path.solutions)
    penalties = np.geomspace(path.first_penalty, path.lowest, 5)
    before = [total(path, path.best_at(penalty), penalty) for penalty in penalties]
    path.go_back()
    assert len(path.solutions) == 2 * len(down) - 2
    for penalty, value in zip(penalties, before, strict=True):
        best = path.best_at(penalty)
        assert total(path, best, penalty) <= value
        assert total(path, best, penalty) == pytest.approx(
            fit(best.labels) + penalty * len(best.centres), rel=1e-9
        )


def test_penalties_below_the_path_are_solved_at_in_turn(pool):
    X, _ = gaussians_apart(5, n=100, seed=0)
    path = begin(pool, X)
    path.trace(3)
    n_before, penalties = (
        len(path.solutions),
        np.geomspace(path.first_penalty, path.lowest / 300, 8),
    )
    trace_on(path, penalties)
    assert len(path.solutions) > n_before
    assert path.lowest == penalties[-1]
    for penalty, solution in zip(
        penalties[::-1], path.solutions[: n_before - 1 : -1], strict=False
    ):
        fitted = DPMeans(penalty / path.unit, random_state=0).fit(X)
        assert total(path, solution, penalty) <= fitted.objective_ * path.unit * 1.025


def test_reaches_many_clusters(pool):
    X, _ = gaussians_apart(4, n=80, seed=0)
    path = begin(pool, X, order="given")
    path.trace(10)
    assert path.n_clusters == 10
    assert [s for s in path.solutions if len(s.centres) == 4]


def test_how_many_clusters_are_sensible(pool):
    def most(n):
        return most_clusters(pose(np.zeros((n, 1)), geometry_for("squared_euclidean"), None, pool))

    assert most(10_000) == 160
    assert most(800) == 100
    assert most(60) == 16
    assert most(20) == 16
    assert most(3) == 3


@pytest.mark.parametrize("cap", [13, 14, 17, 20])
def test_a_cap_is_not_passed_over(pool, cap):
    path = begin(pool, np.random.default_rng(0).standard_normal((300, 2)))
    path.trace(30, cap)
    assert cap in [solution.terms.n_clusters for solution in path.solutions]
    assert path.n_clusters == 30


def test_fit_terms_without_the_prior(case):
    """Of each solution, and of its cheapest union; divisions are possible, whatever they give."""
    path, fit = case
    path.trace(6)
    if not path.partition.prior_weight:
        assert path.fits == []
        return
    found = iter(path.fits)
    for solution in path.solutions:
        k = solution.terms.n_clusters
        own = fit(solution.labels, 0.0)
        assert next(found) == (k, pytest.approx(own, rel=1e-6))
        if k > 1:
            united = min(fit(labels, 0.0) for labels in after_merges(solution.labels))
            assert next(found) == (k - 1, pytest.approx(united, rel=1e-6))
        last = own
        for more in range(1, k + 1):
            number, divided = next(found)
            assert number == k + more and -1e-9 <= divided <= last * (1 + 1e-6)
            last = divided
    assert next(found, None) is None


def test_a_prior_alone_gives_no_plateau(pool):
    """Where it ends a path, clusters apart have a wide range of prices, a cloud hardly any."""
    apart, _ = gaussians_apart(6, n=120, seed=2)
    cloud = np.random.default_rng(0).uniform(size=(150, 2))
    widths = []
    for X, eta in ((apart, 0.0), (apart, 5.0), (cloud, 10.0)):
        path = begin(pool, X, prior_weight=eta)
        path.trace(15)
        assert (path.floor == 0.0) == (eta > 0)
        found = {p.k: p.width for p in path_plateaus(path)}
        widths.append(found[path.n_clusters if eta else 6])
    assert widths[1] == pytest.approx(widths[0], rel=0.01)  # as if there were no prior
    assert widths[2] < 0.5


def test_the_same_seed_gives_the_same_path(pool):
    X, _ = gaussians_apart(3, n=70, seed=5)
    paths = [begin(pool, X, rng=np.random.RandomState(4)) for _ in range(2)]
    for path in paths:
        path.trace(8)
    assert paths[0].points == paths[1].points
    for one, other in zip(*(path.solutions for path in paths), strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)
