"""Points: shapes, seeds, gaps and arguments of the generators."""

import numpy as np
import pytest

from hardbayes.datasets import make_blobs_apart, make_three_gaussians


def test_three_gaussians_shapes_and_balance():
    X, y = make_three_gaussians(random_state=0)
    assert X.shape == (300, 2)
    assert X.dtype == np.float64
    assert y.dtype == np.int32
    np.testing.assert_array_equal(np.bincount(y), [100, 100, 100])


def test_three_gaussians_come_in_random_order():
    _, y = make_three_gaussians(random_state=0)
    assert np.count_nonzero(np.diff(y)) > 100


def test_three_gaussians_are_three_clusters():
    X, y = make_three_gaussians(3000, random_state=0)
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    deviations = np.array([X[y == k].std(axis=0).max() for k in range(3)])
    gaps = np.linalg.norm(means[:, None] - means, axis=2)[np.triu_indices(3, 1)]
    assert gaps.min() > 2 * deviations.max()


@pytest.mark.parametrize("make", [make_three_gaussians, make_blobs_apart])
def test_seed_decides(make):
    first, y_first = make(random_state=3)
    again, y_again = make(random_state=3)
    other, _ = make(random_state=4)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(y_first, y_again)
    assert not np.array_equal(first, other)


def test_random_state_instance_advances():
    rng = np.random.RandomState(0)
    first, _ = make_three_gaussians(random_state=rng)
    second, _ = make_three_gaussians(random_state=rng)
    assert not np.array_equal(first, second)


def test_global_random_state_is_left_alone():
    before = np.random.get_state()[1].copy()
    make_blobs_apart(random_state=0)
    np.testing.assert_array_equal(before, np.random.get_state()[1])


@pytest.mark.parametrize("n_features", [1, 2, 7, 300])
@pytest.mark.parametrize("n_clusters", [1, 2, 23])
def test_blobs_keep_their_distances(n_features, n_clusters):
    separation, radius = 6.0, 0.5
    X, y = make_blobs_apart(
        120, n_features, n_clusters, separation=separation, radius=radius, random_state=1
    )
    assert X.shape == (120, n_features)
    sizes = np.bincount(y, minlength=n_clusters)
    assert sizes.size == n_clusters
    assert sizes.max() - sizes.min() <= 1
    distances = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    same = y[:, None] == y
    assert distances[same].max() <= 2 * radius + 1e-9
    if n_clusters > 1:
        assert distances[~same].min() >= (separation - 2) * radius - 1e-9


def test_one_row_for_each_cluster():
    _, y = make_blobs_apart(6, 2, 6, random_state=0)
    assert sorted(y) == list(range(6))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_samples": 0}, ValueError, "'n_samples' parameter of make_blobs_apart .* Got 0"),
        ({"n_samples": 2.5}, TypeError, "'n_samples' parameter .* Got 2.5"),
        ({"n_features": True}, TypeError, "'n_features' parameter .* Got True"),
        ({"n_samples": 3, "n_clusters": 4}, ValueError, "at most n_samples=3"),
        ({"separation": 2.0}, ValueError, "'separation' parameter .* above 2"),
        ({"separation": float("nan")}, ValueError, "'separation' parameter .* Got nan"),
        ({"radius": -1.0}, ValueError, "'radius' parameter .* above 0"),
        ({"radius": "1"}, TypeError, "'radius' parameter .* Got '1'"),
    ],
)
def test_blobs_refuse_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        make_blobs_apart(**arguments)


def test_three_gaussians_refuse_two_rows():
    with pytest.raises(ValueError, match="at least 3"):
        make_three_gaussians(2)
