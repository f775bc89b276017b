"""Projection of wide rows: distances between clusters are kept, what is left out is measured."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans, objective
from hardbayes.core.geometry import geometry_for
from hardbayes.dp_means.choice.sample import (
    DIRECTIONS,
    WIDE,
    Sample,
    draw,
    narrow,
    narrow_vectors,
    view,
)
from tests.conftest import quiet_fit
from tests.reference.dp_means import same_partition


def wide(n, d, rank, seed=0):
    """Rows of low rank, off the origin."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + rng.standard_normal(d)


def squared_distances(rows):
    return ((rows[:, np.newaxis] - rows[np.newaxis]) ** 2).sum(axis=2)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [40, 300])
def test_rows_of_low_rank_keep_their_distances(n, weighted, container):
    X = wide(n, WIDE + 50, 10)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, n) if weighted else np.ones(n)
    rows, left_out = narrow(container(X), weights, np.random.RandomState(0))
    assert rows.shape == (n, min(n, DIRECTIONS)) and isinstance(rows, np.ndarray)
    np.testing.assert_allclose(squared_distances(rows[:40]), squared_distances(X[:40]), atol=1e-6)
    assert left_out == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, WIDE])
def test_few_columns_stay(d, dtype):
    sample = Sample(np.ones((5, d), dtype), np.ones(5), geometry_for("squared_euclidean"), 0.0)
    seen = view(sample, np.random.RandomState(0))
    assert seen.rows is sample.rows and seen.left_out == 0.0


@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_left_out_is_what_one_more_cluster_saves_there(weighted):
    """For noise in all columns, and clusters that are independent of it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 2000))
    X[:, :5] += 100.0 * rng.standard_normal((500, 5))
    weights = rng.uniform(0.5, 4.0, 500) if weighted else np.ones(500)
    rows, left_out = narrow(X, weights, np.random.RandomState(0))
    label = rng.integers(0, 50, 500)

    def saved(data):
        fits = [objective(data, some, 0.0, sample_weight=weights) for some in (0 * label, label)]
        return fits[0] - fits[1]

    assert saved(X) - saved(rows) == pytest.approx(49 * left_out, rel=0.05)


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse", "scaled"])
def test_the_automatic_penalty_of_wide_rows(kind):
    rng = np.random.default_rng(0)
    member = rng.permutation(np.repeat(np.arange(4), 50))
    X = 12.0 * np.eye(4, WIDE + 100)[member] + rng.standard_normal((200, WIDE + 100)) / 4
    scale = 1e150 if kind == "scaled" else 1.0
    rows = {"float32": X.astype(np.float32), "sparse": sparse.csr_array(X)}.get(kind, X * scale)
    model = DPMeans(random_state=0).fit(rows)
    assert same_partition(model.labels_, member)
    # The penalty is one for all columns: the fit there has the same clusters from any start.
    fresh = DPMeans(model.cluster_penalty_, random_state=1).fit(rows)
    assert same_partition(fresh.labels_, member)


def test_one_wide_cloud_is_one_cluster():
    X = np.random.default_rng(0).standard_normal((150, WIDE + 100))
    assert quiet_fit(DPMeans(random_state=0), X).n_clusters_ == 1


def test_vectors_keep_their_angles():
    X = wide(200, WIDE + 50, 10)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rows = narrow_vectors(X, np.ones(200), np.random.RandomState(0))
    np.testing.assert_allclose(rows @ rows.T, X @ X.T, atol=1e-8)
    heavy = narrow_vectors(sparse.csr_array(X), np.arange(1.0, 201.0), np.random.RandomState(0))
    np.testing.assert_allclose(heavy @ heavy.T, X @ X.T, atol=1e-8)


@pytest.mark.parametrize("name", ["squared_euclidean", "cosine", "kl", "poisson"])
@pytest.mark.parametrize("d", [20, WIDE + 50])
def test_views_of_wide_rows(name, d):
    geometry = geometry_for(name)
    X = np.random.default_rng(0).gamma(2.0, size=(40, d))
    sample = draw(X, None, geometry, 3.0, np.random.RandomState(0)).sample
    seen = view(sample, np.random.RandomState(0))
    if d <= WIDE or name == "poisson":
        assert seen.rows is sample.rows
    else:
        assert seen.rows.shape == (40, 40)
    if d > WIDE and name in ("cosine", "kl"):
        np.testing.assert_allclose(np.linalg.norm(seen.rows, axis=1), 1.0)
        assert seen.geometry.distance_costs and seen.prior_weight == 0.0
    else:
        assert seen.geometry is geometry and seen.prior_weight == 3.0
