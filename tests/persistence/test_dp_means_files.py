"""Real estimators: a loaded model gives the same bits as the saved one."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from hardbayes import DPMeans, load, save
from tests.conftest import SEARCHES, assert_same_bits, quiet_fit

PARAMS = [
    *({"cluster_penalty": 4.0, "search": search} for search in SEARCHES),
    {"cluster_penalty": 4.0},
    {"cluster_penalty": 4.0, "order": "given", "max_clusters": 3, "n_init": 2},
    {"cluster_penalty": 4.0, "init": "farthest-first"},
    {"cluster_penalty": 4.0, "init": np.array([[0.0, 0.0], [10.0, 10.0]])},
    {"cluster_penalty": np.float32(4.0), "max_iter": np.int64(50)},
    {},
]


def assert_same_answers(model, back, X):
    assert_same_bits(model, back)
    for method in ("predict", "transform", "score_samples"):
        ours, theirs = getattr(model, method)(X), getattr(back, method)(X)
        assert ours.dtype == theirs.dtype, method
        assert ours.tobytes() == theirs.tobytes(), method
    assert model.score(X) == back.score(X)
    novel = model.predict(X, novelty=True)
    np.testing.assert_array_equal(novel, back.predict(X, novelty=True))
    assert model.status_ == back.status_
    assert model.n_features_in_ == back.n_features_in_
    np.testing.assert_array_equal(model.get_feature_names_out(), back.get_feature_names_out())
    for name, value in vars(model).items():
        if name.endswith("_"):
            assert type(getattr(back, name)) is type(value), name


def round_trip(model, folder):
    save(model, folder / "model.hb")
    return load(folder / "model.hb")


@pytest.mark.parametrize("params", PARAMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense(blobs, params, dtype, tmp_path):
    X = blobs[0].astype(dtype)
    model = quiet_fit(DPMeans(**params, random_state=0), X)
    back = round_trip(model, tmp_path)
    assert_same_answers(model, back, X)
    assert back.cluster_centers_.dtype == dtype
    for name, value in model.get_params().items():
        np.testing.assert_array_equal(back.get_params()[name], value)


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array])
def test_sparse(container, tmp_path):
    rows = np.random.default_rng(0).random((60, 8))
    X = container(np.where(rows > 0.7, rows, 0.0))
    model = DPMeans(0.5, random_state=0).fit(X)
    assert_same_answers(model, round_trip(model, tmp_path), X)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_kl(as_sparse, tmp_path):
    rng = np.random.default_rng(1)
    counts = np.concatenate(
        [rng.poisson(rate, (40, 6)) for rate in ([9, 9, 1, 1, 0.1, 0.1], [0.1, 1, 1, 9, 9, 9])]
    )
    counts[:, 0] += 1  # no row without any count
    X = sp.csr_array(counts.astype(float)) if as_sparse else counts.astype(float)
    model = DPMeans(0.3, divergence="kl", random_state=0).fit(X)
    back = round_trip(model, tmp_path)
    assert back.prior_weight_ == model.prior_weight_ > 0
    assert_same_answers(model, back, X)


def test_weights_and_refit(blobs, tmp_path):
    X, _ = blobs
    weight = np.random.default_rng(0).random(len(X))
    model = DPMeans(4.0, random_state=3).fit(X, sample_weight=weight)
    back = round_trip(model, tmp_path)
    assert_same_answers(model, back, X)
    back.fit(X, sample_weight=weight)
    assert_same_bits(model, back)


def test_feature_names(blobs, tmp_path):
    X = pd.DataFrame(blobs[0], columns=["größe", "=cmd()"])
    model = DPMeans(4.0, random_state=0).fit(X)
    back = round_trip(model, tmp_path)
    assert back.feature_names_in_.dtype == model.feature_names_in_.dtype == object
    np.testing.assert_array_equal(back.feature_names_in_, model.feature_names_in_)
    assert_same_answers(model, back, X)
    with pytest.raises(ValueError, match="feature names"):
        back.predict(X.rename(columns={"größe": "size"}))


def test_unfitted(blobs, tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.warns(UserWarning, match="This DPMeans is not fitted: the file holds its param"):
        back = round_trip(DPMeans(4.0, random_state=0), tmp_path)
    assert back.get_params() == DPMeans(4.0, random_state=0).get_params()
    with pytest.raises(NotFittedError):
        back.predict(blobs[0])
    assert_same_bits(back.fit(blobs[0]), DPMeans(4.0, random_state=0).fit(blobs[0]))


def test_random_state_objects_become_none(blobs, tmp_path):
    model = DPMeans(4.0, random_state=np.random.RandomState(0)).fit(blobs[0])
    back = round_trip(model, tmp_path)
    assert back.random_state is None
    assert_same_answers(model, back, blobs[0])


def state_of_a_small_fit():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0]])
    return DPMeans(4.0, random_state=0).fit(X)._get_state()


def assert_refused(wrong, tmp_path, monkeypatch):
    monkeypatch.setattr(DPMeans, "_get_state", lambda self: wrong)
    save(DPMeans(4.0), tmp_path / "m")
    with pytest.raises(ValueError, match="do not describe a DPMeans"):
        load(tmp_path / "m")


@pytest.mark.parametrize(
    "change",
    [
        {"cluster_centers_": np.zeros((3, 7))},
        {"cluster_centers_": np.zeros(4)},
        {"cluster_centers_": "text"},
        {"working_centres": None},
        {"labels_": np.array([10**6], dtype=np.int32)},
        {"labels_": np.array([-1], dtype=np.int32)},
        {"labels_": "zero"},
        {"n_clusters_": -1},
        {"n_features_in_": 10**9},
        {"cluster_weights_": np.ones(1)},
        {"cluster_penalty_": float("nan")},
        {"predict": 3},
        {"cluster_penalty": 9.0},
    ],
)
def test_inconsistent_state_in_a_whole_file(change, tmp_path, monkeypatch):
    assert_refused({**state_of_a_small_fit(), **change}, tmp_path, monkeypatch)


FITTED = """labels_ n_clusters_ cluster_weights_ cluster_penalty_ prior_weight_
inertia_ objective_ objective_history_ n_iter_ n_splits_ n_merges_ converged_ status_
n_features_in_"""


@pytest.mark.parametrize("missing", FITTED.split())
def test_missing_state_in_a_whole_file(missing, tmp_path, monkeypatch):
    wrong = state_of_a_small_fit()
    del wrong[missing]
    assert_refused(wrong, tmp_path, monkeypatch)
