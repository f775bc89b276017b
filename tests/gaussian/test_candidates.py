"""Where splits of clusters with covariances start, and which merges are considered."""

import numpy as np
import pytest

from hardbayes.gaussian import clusters as candidates
from hardbayes.gaussian import problem
from hardbayes.gaussian.clusters import starting_sides
from hardbayes.gaussian.problem import GaussianPartition, neighbouring_merges
from tests.gaussian.test_gaussians import gaussians


def cluster(n=40, d=4, diagonal=False):
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(n, d)) * [5.0, 3.0, 1.0, 0.5][:d], np.ones(n)
    return rows, weights, gaussians(rows, np.zeros(n, int), weights, diagonal)


@pytest.mark.parametrize("diagonal", [False, True])
def test_starting_sides(diagonal):
    rows, weights, one = cluster(diagonal=diagonal)
    found = [
        starting_sides(rows, weights, one.means[0], one.scatters[0], np.random.RandomState(0))
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*found)
    sides = found[0]
    n_axes, n_pairs, n_balls = 3, candidates.N_PAIRS, len(candidates.BALLS)
    assert sides.shape == (n_axes + n_pairs + n_balls + 1, 40) and sides.dtype == np.uint8
    assert (sides.min(axis=1) == 0).all() and (sides.max(axis=1) == 1).all()
    # The widest axis is the first column, about the mean; either end may be the first side.
    first = rows[:, 0] > rows[:, 0].mean()
    agreement = np.mean(sides[0] == first)
    assert agreement == 1.0 if diagonal else agreement > 0.9
    sizes = sides[n_axes + n_pairs : -1].sum(axis=1)
    np.testing.assert_array_equal(sizes, [1 + int(share * 40) for share in candidates.BALLS])
    farthest = np.argmax(((rows - one.means[0]) ** 2).sum(axis=1))
    np.testing.assert_array_equal(np.flatnonzero(sides[-1]), [farthest])


def test_one_row_of_weight_cannot_be_divided():
    rows, weights, one = cluster()
    weights[1:] = 0.0
    rng = np.random.RandomState(0)
    sides = starting_sides(rows, weights, one.means[0], one.scatters[0], rng)
    assert sides.shape == (0, 40)
    assert rng.randint(1 << 30) == np.random.RandomState(0).randint(1 << 30)  # nothing was drawn


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("k", [2, 4, 12])
def test_unions_of_neighbours(k, diagonal):
    rng = np.random.default_rng(1)
    labels = np.tile(np.arange(k), 5)
    rows = rng.normal(size=(5 * k, 2)) + 3 * rng.normal(size=(k, 2))[labels]
    clusters = gaussians(rows, labels, np.ones(5 * k), diagonal)
    partition = GaussianPartition(0.5, 2.0, 99)
    scatters = np.array([np.diag(s[0]) if diagonal else s for s in clusters.scatters])
    roots = np.linalg.inv(np.linalg.cholesky(np.eye(2) + scatters))
    if diagonal:
        roots = np.array([[np.diag(r)] for r in roots])
    lefts, rights, costs = neighbouring_merges(clusters, partition, roots)
    assert (lefts < rights).all() and len(set(zip(lefts, rights, strict=True))) == len(lefts)
    assert (np.diff(costs) >= 0).all()
    expected = partition.merge_costs(clusters.pick(lefts), clusters.pick(rights))
    np.testing.assert_allclose(costs, expected, rtol=1e-12)
    assert len(lefts) >= k * min(problem.N_NEIGHBOURS, k - 1) / 2
    # Each cluster meets those whose means are nearest in its own metric.
    for c in range(k):
        gaps = (clusters.means - clusters.means[c]) @ np.linalg.cholesky(
            np.linalg.inv(np.eye(2) + scatters[c])
        )
        near = np.argsort((gaps**2).sum(axis=1))[1 : 1 + problem.N_NEIGHBOURS]
        met = set(rights[lefts == c]) | set(lefts[rights == c])
        assert set(near) <= met
