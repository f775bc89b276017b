"""PenaltyPath.model: exactly k clusters, on the convex hull or off it."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans

from hardbayes import BPMeans, DPMeans, objective, penalty_path
from hardbayes.core.geometry.squared_euclidean import SquaredEuclidean
from hardbayes.datasets import make_word_histograms
from hardbayes.dp_means.exactly import merge_cheapest
from hardbayes.dp_means.objective import Partition
from tests.conftest import assert_same_bits, quiet_fit


def rows(n=240, d=3, seed=0):
    return np.random.RandomState(seed).standard_normal((n, d))


@pytest.fixture(scope="module")
def path():
    return penalty_path(rows(), estimator=DPMeans(random_state=0), n_penalties=3)


@pytest.mark.parametrize("k", [1, 2, 5, 6, 7, 13, 29, 30, 31, 100, 240])
def test_exactly_k(path, k):
    X = rows()
    model = path.model(k)
    assert model.n_clusters_ == k == len(np.unique(model.labels_))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.objective_ == pytest.approx(objective(X, model.labels_, model.cluster_penalty_))
    assert model.get_params()["max_clusters"] == k
    assert model.cluster_penalty == model.cluster_penalty_
    assert quiet_fit(clone(model).set_params(cluster_penalty=0), X).n_clusters_ == k
    if k < 240:
        best = KMeans(k, n_init=10, random_state=0).fit(X).inertia_
        assert model.inertia_ <= best * 1.005


def test_a_number_between_those_of_the_hull():
    """Five points equally far apart: only one and five clusters are best at some penalty."""
    X = np.repeat(10.0 * np.eye(5), 16, axis=0)
    path = penalty_path(X, estimator=DPMeans(random_state=0))
    assert [plateau.k for plateau in path.plateaus] == [5]
    for k in (2, 3, 4):
        model = path.model(k)
        assert model.n_clusters_ == k
        assert model.inertia_ == pytest.approx(16 * 100 * (5 - k))


def test_on_a_plateau_the_penalty_is_its_middle(path):
    plateau = path.plateaus[2]
    assert path.model(plateau.k).cluster_penalty_ == plateau.middle
    assert path.for_n_clusters(plateau.k) == plateau.middle
    known = {plateau.k for plateau in path.plateaus}
    without = next(k for k in range(2, 31) if k not in known)
    assert path.model(without).cluster_penalty_ == 0.0
    assert DPMeans(path.model(1).cluster_penalty_).fit(rows()).n_clusters_ == 1


def test_too_many(path):
    with pytest.raises(ValueError, match="There are 240 clusters, not 241: X has no more diff"):
        path.model(241)


COUNTS = make_word_histograms(90, 20, 3, random_state=0)[0]


@pytest.mark.parametrize(
    ("X", "options"),
    [
        (COUNTS, {"divergence": "kl"}),
        (sparse.csr_array(COUNTS), {"divergence": "poisson"}),
        (COUNTS, {"divergence": "cosine"}),
        (rows(80), {"search": "paper", "order": "given"}),
        (rows(80), {"method": "collapsed"}),
        (rows(80).astype(np.float32), {}),
        (rows(80), {"max_clusters": 4}),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_every_template(X, options):
    path = penalty_path(X, estimator=DPMeans(random_state=0, **options), n_penalties=3)
    for k in (1, 2, 4, 9):
        model = path.model(k)
        assert model.n_clusters_ == k
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert model.cluster_centers_.dtype == (X.dtype if X.dtype.kind == "f" else np.float64)


def test_an_automatic_prior_gives_way_and_a_given_one_does_not():
    automatic = penalty_path(COUNTS, estimator=DPMeans(divergence="kl", random_state=0))
    assert automatic.model(3).prior_weight_ == 10.0
    model = automatic.model(6)
    assert model.prior_weight == model.prior_weight_ < 10.0
    given = DPMeans(divergence="kl", prior_weight=10.0, random_state=0)
    with pytest.raises(ValueError, match="prior_weight=10 keeps rows together; set it to 0"):
        penalty_path(COUNTS, estimator=given).model(6)


def test_weights_and_a_sample(monkeypatch):
    monkeypatch.setattr("hardbayes.dp_means.choice.sample.MAX_ROWS", 100)
    rng = np.random.RandomState(0)
    X = rng.standard_normal((300, 4)).astype(np.float32)
    weights = rng.uniform(0.5, 2.0, len(X))
    path = penalty_path(X, estimator=DPMeans(random_state=0), sample_weight=weights, n_penalties=2)
    assert path.sample_indices is not None
    model = path.model(3)
    assert len(model.labels_) == len(X) and model.n_clusters_ == 3
    assert model.inertia_ == pytest.approx(
        objective(X, model.labels_, 0.0, sample_weight=weights), rel=1e-6
    )


def test_names_of_columns_and_pickles(path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rows(60), columns=["a", "b", "c"])
    named = penalty_path(frame, n_penalties=2).model(4)
    assert named.feature_names_in_.tolist() == ["a", "b", "c"] and named.n_features_in_ == 3
    assert_same_bits(pickle.loads(pickle.dumps(path)).model(7), path.model(7))


def test_features_by_their_number():
    X = rows(60, 5)
    path = penalty_path(X, estimator=BPMeans(random_state=0, n_init=2), n_penalties=3)
    for k in (1, 2, 3):
        model = path.model(k)
        assert model.n_components_ == k and model.membership_.shape == (60, k)
        assert model.max_components == k
    with pytest.raises(ValueError, match=r"The path has 1 to \d+ features, not 500\. Use KFeat"):
        path.model(500)


def test_the_cheapest_pairs_unite():
    partition = Partition(SquaredEuclidean(), 0.0, 0.0, np.zeros(1), 8)
    weights, totals = np.array([1.0, 1.0, 2.0]), np.array([[0.0], [1.0], [20.0]])
    centres = merge_cheapest(partition, weights.copy(), totals.copy(), 2)
    assert sorted(centres.ravel().tolist()) == [0.5, 10.0]
    assert merge_cheapest(partition, weights, totals, 3).shape == (3, 1)


def test_a_path_in_three_lines(path):
    lines = repr(path).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("PenaltyPath of all rows: 3 penalties from ")
    assert lines[1].strip() == "1 to 30 clusters"
    assert lines[2].strip().startswith("suggested: ")
    constant = repr(penalty_path(np.ones((4, 2)), n_penalties=2))
    assert constant.splitlines()[2].strip().startswith("suggested: 1, at ")
