"""Groups that share Gaussians."""

import numpy as np
import pytest

from hardbayes.datasets import make_shared_gaussians


def test_shape_of_the_published_experiment():
    X, groups, y = make_shared_gaussians(random_state=0)
    assert X.shape == (1250, 2) and groups.dtype == y.dtype == np.int32
    for g in range(50):
        own = y[groups == g]
        assert len(own) == 25 and (np.bincount(own)[np.unique(own)] == 5).all()
    spread = np.concatenate([X[y == c] - X[y == c].mean(axis=0) for c in range(15)])
    assert spread.std() == pytest.approx(0.1, rel=0.05)


def test_same_seed_same_data():
    first, second = (
        make_shared_gaussians(3, random_state=1),
        make_shared_gaussians(3, random_state=1),
    )
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"n_groups": 0}, "n_groups"),
        ({"clusters_per_group": 16}, "clusters_per_group"),
        ({"deviation": 0.0}, "deviation"),
        ({"rows_per_cluster": 1.5}, "rows_per_cluster"),
    ],
)
def test_bad_parameters_are_named(options, name):
    with pytest.raises((ValueError, TypeError), match=name):
        make_shared_gaussians(**options)
