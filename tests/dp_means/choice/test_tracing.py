"""The rows that a path is traced on: few enough, and as heavy as all."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans, penalty_path
from hardbayes.core.validation import check_weights
from hardbayes.dp_means.choice.sample import MAX_ROWS, sample_rows
from tests.dp_means.choice.mixtures import gaussians_apart

MANY = MAX_ROWS + 5000


def sampled(X, sample_weight=None, seed=0):
    return sample_rows(X, check_weights(sample_weight, X), np.random.RandomState(seed))


def test_few_rows_are_all_taken():
    X, w = np.random.default_rng(0).standard_normal((500, 3)), np.arange(500.0)
    rows, weights, ids = sampled(X, w)
    assert rows is X and ids is None
    np.testing.assert_array_equal(weights, w)
    assert sampled(X)[1] is None


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kind", ["none", "equal", "two", "different", "some zero"])
def test_a_sample_weighs_as_much_as_all_rows(kind, container):
    rng = np.random.default_rng(0)
    X = container(rng.standard_normal((MANY, 2)))
    w = {
        "none": None,
        "equal": np.ones(MANY),
        "two": np.full(MANY, 2.0),
        "different": rng.uniform(0.5, 2.0, MANY),
        "some zero": rng.integers(0, 3, MANY),
    }[kind]
    rows, weights, ids = sampled(X, w)
    assert len(ids) <= MAX_ROWS
    assert (np.diff(ids) > 0).all() and ids[0] >= 0 and ids[-1] < MANY
    assert (rows != X[ids]).sum() == 0
    heavy = np.broadcast_to(weights, len(ids))
    assert heavy.sum() == pytest.approx(MANY if w is None else w.sum())
    given = np.ones(MANY) if w is None else w
    np.testing.assert_allclose(heavy / heavy.max(), given[ids] / given[ids].max())


def test_many_columns_make_the_sample_smaller():
    X = np.zeros((MANY, 40), np.float32)
    assert len(sampled(X)[2]) < len(sampled(X[:, :2])[2])
    thin = sparse.csr_array((np.ones(MANY), (np.arange(MANY), np.zeros(MANY, int))), (MANY, 4000))
    assert len(sampled(thin)[2]) > len(sampled(X)[2])


def test_the_seed_decides():
    X = np.zeros((MANY, 2))
    np.testing.assert_array_equal(sampled(X, seed=3)[2], sampled(X, seed=3)[2])
    assert not np.array_equal(sampled(X, seed=3)[2], sampled(X, seed=4)[2])


@pytest.fixture(scope="module")
def heavy_few():
    """Many rows of which 120, those of five clusters, have weight."""
    rng = np.random.default_rng(0)
    few, _ = gaussians_apart(5, n=120, seed=1)
    X = np.concatenate([few, rng.uniform(-500, 500, (4 * MANY, 2))])
    w = np.concatenate([np.ones(120), np.zeros(4 * MANY)])
    order = rng.permutation(len(X))
    return X[order], w[order]


def test_rows_without_weight_leave_no_room_out(heavy_few):
    """Rows of no weight are as good as absent: where few have weight, all of these are traced."""
    X, w = heavy_few
    _, _, ids = sampled(X, w)
    assert w[ids].sum() == 120


def test_rows_without_weight_do_not_hide_the_others(heavy_few):
    X, w = heavy_few
    assert DPMeans(random_state=0).fit(X[w > 0]).n_clusters_ == 5
    assert DPMeans(random_state=0).fit(X, sample_weight=w).n_clusters_ == 5


# --- through the public functions ----------------------------------------------------------------


@pytest.fixture(scope="module")
def many():
    return gaussians_apart(6, n=20_000, seed=3)


def test_a_path_of_many_rows_is_traced_on_a_sample(many):
    X, member = many
    path = penalty_path(X, estimator=DPMeans(max_clusters=20, random_state=0))
    ids = path.sample_indices
    assert ids.ndim == 1 and len(np.unique(ids)) == len(ids) < len(X)
    assert all(model.labels_.shape == ids.shape for model in path.models)
    assert all(model.cluster_weights_.sum() == pytest.approx(len(X)) for model in path.models)
    at = path.n_clusters.tolist().index(6)
    assert len(np.unique(np.column_stack([path.models[at].labels_, member[ids]]), axis=0)) == 6
    model = DPMeans(path.suggest(), random_state=1).fit(X)
    assert model.n_clusters_ == 6
    assert len(np.unique(np.column_stack([model.labels_, member]), axis=0)) == 6
    # The plateau of the sample is that of all rows, for what a cluster saves is.
    plateau = next(p for p in path.plateaus if p.k == 6)
    for penalty in (plateau.low * 1.3, plateau.high / 1.3):
        assert DPMeans(penalty, random_state=1).fit(X).n_clusters_ == 6


def test_few_rows_have_no_sample():
    assert penalty_path(gaussians_apart(3)[0], n_penalties=2).sample_indices is None


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_equal_weights_of_many_rows(many, weight):
    X, _ = many
    options = dict(estimator=DPMeans(random_state=0), penalties=[weight * 3e6, weight * 8000.0])
    path = penalty_path(X, sample_weight=np.full(len(X), weight), **options)
    assert path.n_clusters.tolist() == [1, 6]
    assert path.models[1].cluster_weights_.sum() == pytest.approx(weight * len(X))


def test_the_automatic_penalty_of_many_rows_of_equal_weight(many):
    X, _ = many
    estimator = DPMeans(max_clusters=10, random_state=0)
    model = estimator.fit(X, sample_weight=np.ones(len(X)))
    assert model.n_clusters_ == 6
    assert model.labels_.shape == (len(X),)
