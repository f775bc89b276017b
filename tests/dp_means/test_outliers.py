"""predict(X, novelty=share): outliers by the spread of each cluster's own rows."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans, GaussianDPMeans, load, penalty_path, save
from hardbayes.datasets import make_word_histograms
from tests.conftest import quiet_fit
from tests.persistence.test_saved_0_1_0 import FOLDER


def heaps(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    places = np.array([[0.0, 0.0], [40.0, 0.0], [0.0, 40.0]])
    y = rng.integers(3, size=n)
    return places[y] + rng.standard_normal((n, 2)) * (1.0 + y[:, np.newaxis]), y


ESTIMATORS = {
    "automatic": lambda: DPMeans(random_state=0),
    "given": lambda: DPMeans(400.0, random_state=0),
    "prior": lambda: DPMeans(400.0, prior_weight=3.0, random_state=0),
    "paper": lambda: DPMeans(400.0, search="paper", random_state=0),
    "gaussian": lambda: GaussianDPMeans(8.0, covariance_prior=30.0, random_state=0),
    "diagonal": lambda: GaussianDPMeans(
        8.0, covariance_type="diag", covariance_prior=30.0, random_state=0
    ),
}


@pytest.fixture(scope="module", params=ESTIMATORS)
def fitted(request):
    X, _ = heaps()
    return X, ESTIMATORS[request.param]().fit(X)


def test_about_the_share_of_the_training_rows(fitted):
    X, model = fitted
    for share in (0.1, 0.05, 0.01):
        called = model.predict(X, novelty=share) == -1
        assert called.mean() == pytest.approx(share, rel=0.35)
        for c in np.flatnonzero(model.cluster_weights_ > 400):
            assert called[model.labels_ == c].mean() == pytest.approx(share, rel=0.5)


def test_others_keep_their_cluster_and_smaller_shares_call_fewer(fitted):
    X, model = fitted
    labels = model.predict(X)
    before = np.ones(len(X), bool)
    for share in (0.5, 0.1, 0.01, 1e-4):
        found = model.predict(X, novelty=share)
        np.testing.assert_array_equal(found[found >= 0], labels[found >= 0])
        assert not ((found == -1) & ~before).any()
        before = found == -1


def test_a_row_far_outside_is_a_stranger_whatever_the_penalty():
    """All rows within 5.4 of their centre, one 27 away; the automatic penalty sees nothing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    model = DPMeans(1e6).fit(X)
    assert np.sqrt(-model.score_samples(X).min()) < 5.4
    far = [[27.0, 0.0, 0.0]]
    assert model.predict(far, novelty=True).tolist() == [0]
    for share in (0.1, 0.01, 1e-4, 1e-6):
        assert model.predict(far, novelty=share).tolist() == [-1]


def test_a_share_for_other_divergences_and_sparse_rows():
    counts, _ = make_word_histograms(400, 30, 3, random_state=0)
    model = DPMeans(divergence="kl", random_state=0).fit(counts)
    dense = model.predict(counts, novelty=0.05)
    assert (dense == -1).mean() == pytest.approx(0.05, rel=0.2)
    np.testing.assert_array_equal(model.predict(sparse.csr_array(counts), novelty=0.05), dense)
    X, _ = heaps(300)
    model = DPMeans(400.0, random_state=0).fit(X + 1e4)  # sparse rows have no shift
    np.testing.assert_array_equal(
        model.predict(sparse.csr_array(X + 1e4), novelty=0.05), model.predict(X + 1e4, novelty=0.05)
    )


def test_equal_rows_are_no_outliers():
    X = np.repeat([[0.1, 0.3], [7.0, 7.0]], 20, axis=0)
    model = quiet_fit(DPMeans(1.0), X)
    assert (model.predict(X, novelty=0.5) >= 0).all()
    assert model.predict([[0.2, 0.3]], novelty=0.01).tolist() == [-1]


def test_scale_and_weights_do_not_matter():
    X, _ = heaps()
    model = DPMeans(400.0, random_state=0).fit(X)
    scaled = DPMeans(400.0 * 2.0**40, random_state=0).fit(
        X * 2.0**20, sample_weight=np.full(1500, 1)
    )
    np.testing.assert_array_equal(
        model.predict(X, novelty=0.03), scaled.predict(X * 2.0**20, novelty=0.03)
    )
    heavy = DPMeans(400.0 * 8, random_state=0).fit(X, sample_weight=np.full(1500, 8.0))
    np.testing.assert_array_equal(model.predict(X, novelty=0.03), heavy.predict(X, novelty=0.03))


@pytest.mark.parametrize("novelty", [0, 1, 1.0, 0.0, -0.1, 2.0, np.nan, "0.01", None], ids=repr)
def test_what_is_no_share(novelty):
    model = DPMeans(4.0).fit([[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"'novelty' parameter must be True, False or a share"):
        model.predict([[0.0]], novelty=novelty)


def test_a_numpy_bool_is_a_bool():
    model = DPMeans(4.0).fit([[0.0], [1.0]])
    assert model.predict([[9.0]], novelty=np.True_).tolist() == [-1]
    assert model.predict([[9.0]], novelty=np.False_).tolist() == [0]


def test_models_of_a_path_have_it():
    X, _ = heaps(400)
    path = penalty_path(X, estimator=DPMeans(random_state=0), n_penalties=3)
    for model in (*path.models, path.model(3)):
        assert (model.predict(X, novelty=0.1) == -1).mean() == pytest.approx(0.1, abs=0.04)


def test_saved_and_loaded(fitted, tmp_path):
    X, model = fitted
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").predict(X, novelty=0.02), model.predict(X, novelty=0.02)
    )


@pytest.mark.parametrize("name", ["dp_means", "gaussian"])
def test_a_file_of_0_1_0_has_no_such_numbers(name, tmp_path):
    model = load(FOLDER / f"{name}.hardbayes")
    rows = model.cluster_centers_
    with pytest.raises(ValueError, match=r"a file of hardbayes 0\.1\.0.*Fit it again, or use nov"):
        model.predict(rows, novelty=0.01)
    assert model.predict(rows, novelty=True).shape == (model.n_clusters_,)
    save(model, tmp_path / "again")  # and a file made of it has none either
    with pytest.raises(ValueError, match="Fit it again"):
        load(tmp_path / "again").predict(rows, novelty=0.01)
