"""MiniBatchDPMeans as an estimator: scikit-learn's contract, parameters, blocks, errors."""

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from hardbayes import DPMeans, MiniBatchDPMeans, row_blocks
from tests.conftest import assert_same_numbers, quiet_fit, run_check
from tests.mini_batch.streams import (
    NUMBERS,
    WINDOW,
    assert_same_stream,
    cloud,
    taken_up,
)


@parametrize_with_checks([MiniBatchDPMeans(), MiniBatchDPMeans(1.0, half_life=50.0)])
def test_scikit_learn_checks(estimator, check):
    run_check(estimator, check)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cluster_penalty", -1.0),
        ("cluster_penalty", float("inf")),
        ("cluster_penalty", None),
        ("divergence", "euclidean"),
        ("divergence", "mixed"),
        ("prior_weight", -1),
        ("max_clusters", 0),
        ("max_micro_clusters", 0),
        ("max_micro_clusters", 2.5),
        ("half_life", 0.0),
        ("half_life", "auto"),
        ("penalty_per", "cluster"),
        ("refresh", 0),
        ("refresh", None),
        ("random_state", "seed"),
        ("n_jobs", 1.5),
        ("verbose", "loud"),
    ],
)
def test_bad_parameters_are_named(name, value):
    model = MiniBatchDPMeans().set_params(**{name: value})
    message = re.escape(f"The {name!r} parameter of MiniBatchDPMeans must be ")
    for method in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=message):
            method(np.eye(5))
    assert not hasattr(model, "labels_")


def test_results_appear_when_they_are_read_and_fit_has_them_at_once():
    model = MiniBatchDPMeans(1.0, random_state=0)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(AttributeError, match="no attribute 'labels_'"):
        _ = model.labels_
    with pytest.raises(AttributeError, match="no attribute 'n_rows_seen_'"):
        _ = model.n_rows_seen_
    X = cloud(50)
    assert "labels_" in vars(model.fit(X))
    assert "labels_" not in vars(model.partial_fit(X[:20]))
    check_is_fitted(model)
    assert model.n_rows_seen_ == 70 and "labels_" not in vars(model)
    assert len(model.labels_) == 20 and "labels_" in vars(model)
    assert model.n_clusters_ == len(model.cluster_ids_) == len(model.cluster_centers_)


def test_fit_forgets_what_was_seen():
    X = cloud(3000)
    model = MiniBatchDPMeans(5.0, random_state=0).partial_fit(10 + X).fit(X)
    assert_same_stream(model, MiniBatchDPMeans(5.0, random_state=0).fit(X))
    assert model.n_rows_seen_ == 3000


@pytest.mark.parametrize(
    "blocks",
    [
        lambda X: iter([X[:10], X[10:1500], X[1500:]]),
        lambda X: [X[:1], X[1:2], X[2:]],
        lambda X: (X[start : start + 700] for start in range(0, len(X), 700)),
        lambda X: row_blocks([X[:500], X[500:500], X[500:]]),
    ],
)
def test_blocks_are_a_stream(blocks):
    X = cloud(2000)
    whole = MiniBatchDPMeans(5.0, random_state=0).fit(X)
    model = MiniBatchDPMeans(5.0, random_state=0).fit(blocks(X))
    assert_same_stream(model, whole, without=["labels_"])
    np.testing.assert_array_equal(model.labels_, whole.labels_[-len(model.labels_) :])


def test_blocks_bring_weights_with_row_blocks_only():
    X = cloud(600)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 600)
    model = MiniBatchDPMeans(5.0, random_state=0)
    whole = copy.deepcopy(model).fit(X, sample_weight=weights)
    by_block = model.fit(row_blocks([X[:100], X[100:]], weights=weights))
    assert_same_stream(by_block, whole, without=["labels_"])
    with pytest.raises(ValueError, match="'sample_weight' parameter of fit must be None"):
        model.fit(iter([X]), sample_weight=weights)
    with pytest.raises(ValueError, match="at least one block"):
        model.fit(iter([]))
    assert_same_stream(model, by_block)


def test_lists_of_numbers_are_rows():
    assert MiniBatchDPMeans(1.0).fit([[0.0, 0.0], [9.0, 9.0]]).n_clusters_ == 2


@pytest.mark.parametrize("as_sparse", [False, True])
def test_errors_count_rows_of_the_stream_and_change_nothing(as_sparse):
    X = cloud(2 * WINDOW)
    bad = X[:5].copy()
    bad[3, 1] = np.nan
    bad = sparse.csr_array(bad) if as_sparse else bad
    model = MiniBatchDPMeans(5.0, random_state=0).partial_fit(X)
    before = vars(copy.deepcopy(model))
    with pytest.raises(ValueError, match=f"NaN at row {2 * WINDOW + 3}"):
        model.partial_fit(bad)
    with pytest.raises(ValueError, match=rf"Got -1.0 at row {2 * WINDOW + 4}"):
        model.partial_fit(X[:5], sample_weight=[1, 1, 1, 1, -1])
    with pytest.raises(ValueError, match="4 features"):
        model.partial_fit(cloud(5, 4))
    with pytest.raises(ValueError, match="sums to infinity"):
        model.partial_fit(X[:5], sample_weight=np.full(5, 1e308))
    with pytest.raises(ValueError, match="do not fit float64"):
        model.partial_fit(np.full((2, 3), 1e200))
    with pytest.raises(ValueError, match="'divergence' parameter of MiniBatchDPMeans must stay"):
        model.set_params(divergence="kl").partial_fit(np.abs(X))
    model.set_params(divergence="squared_euclidean")
    assert vars(model).keys() == before.keys()
    assert model.n_rows_seen_ == 2 * WINDOW
    assert_same_stream(model, taken_up(X, []))


def test_columns_keep_their_names_and_output_can_be_a_frame():
    frame = pd.DataFrame(cloud(300), columns=["a", "b", "c"])
    model = MiniBatchDPMeans(5.0, random_state=0).partial_fit(frame).partial_fit(frame)
    assert list(model.feature_names_in_) == ["a", "b", "c"] and model.n_features_in_ == 3
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(frame[["b", "a", "c"]])
    shown = model.set_output(transform="pandas").transform(frame)
    assert list(shown.columns) == list(model.get_feature_names_out())
    assert shown.shape == (300, model.n_clusters_)


def test_new_rows_go_where_the_centres_say():
    X = cloud(4000)
    model = taken_up(X, [100])
    distances = model.transform(X)
    np.testing.assert_array_equal(model.predict(X), distances.argmin(axis=1))
    np.testing.assert_allclose(model.score_samples(X), -(distances.min(axis=1) ** 2))
    assert model.score(X) == pytest.approx(model.score_samples(X).sum())
    assert (model.predict([[50.0, 50.0, 50.0]], novelty=True) == -1).all()
    assert (model.predict(X, novelty=0.01) == -1).mean() < 0.05
    assert len(model.summary(X)["cluster"]) == model.n_clusters_


def test_copies_go_their_own_way():
    X = cloud(2500)
    model = taken_up(X[:1500], [])
    twin, fresh = pickle.loads(pickle.dumps(model)), clone(model)
    shallow = copy.copy(model)
    assert not hasattr(fresh, "labels_") and fresh.get_params() == model.get_params()
    told = list(shallow.partial_fit(X[:10] + 99.0).events_)
    assert "labels_" not in vars(model)
    assert_same_stream(model.partial_fit(X[1500:]), twin.partial_fit(X[1500:]))
    assert model.events_ != told


def test_reading_results_changes_no_number():
    X = cloud(4000)
    sizes = [700, *[600] * 5]
    read = MiniBatchDPMeans(5.0, random_state=0)
    for start in range(0, 4000, 500):
        assert len(read.partial_fit(X[start : start + 500]).labels_) == 500
    unread = taken_up(X, sizes)
    by_name = ("labels_", "cluster_ids_", "cluster_centers_", "cluster_weights_")
    assert_same_numbers(read, unread, [name for name in NUMBERS if name not in by_name])
    for name in ("cluster_centers_", "cluster_weights_"):
        told, found = (np.sort(getattr(model, name), axis=0) for model in (read, unread))
        np.testing.assert_array_equal(told, found)


def test_clusters_are_in_the_order_of_their_numbers():
    X = cloud(4000, k=10)
    model = taken_up(X, [600] * 6)
    assert (np.diff(model.cluster_ids_) > 0).all() and model.n_clusters_ > 3
    np.testing.assert_array_equal(
        np.bincount(model.predict(X), minlength=model.n_clusters_) > 0, model.cluster_weights_ > 0
    )
    nearest = ((model.micro_centers_[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    sums = np.bincount(nearest.argmin(axis=1), model.micro_weights_)
    np.testing.assert_allclose(sums, model.cluster_weights_, rtol=0.02)


def test_in_a_pipeline():
    X = cloud(400)
    model = MiniBatchDPMeans(5.0, random_state=0)
    labels = make_pipeline(StandardScaler(), model).fit_predict(X)
    alone = model.fit_predict(StandardScaler().fit_transform(X))
    np.testing.assert_array_equal(labels, alone)


def test_at_most_so_many_clusters():
    assert quiet_fit(MiniBatchDPMeans(0, max_clusters=4), cloud(500)).n_clusters_ == 4


def test_only_rows_without_weight_are_no_clusters():
    model = MiniBatchDPMeans(1.0).partial_fit(cloud(3), sample_weight=np.zeros(3))
    with pytest.raises(NotFittedError, match="weight zero"):
        _ = model.labels_
    assert len(model.partial_fit(cloud(4)).labels_) == 4
    with pytest.raises(NotFittedError, match="weight zero"):
        MiniBatchDPMeans(1.0).fit(cloud(3), sample_weight=np.zeros(3))


def test_one_more_pass_ends_no_higher():
    X = cloud(6000, spread=0.6)
    model = MiniBatchDPMeans(20.0, random_state=0, max_micro_clusters=200).fit(X)
    batch = DPMeans(model.cluster_penalty_, init=model.cluster_centers_, random_state=0).fit(X)
    assert batch.objective_ <= model.objective_


def test_progress_is_reported_where_asked(capsys):
    MiniBatchDPMeans(5.0, verbose=1).fit(cloud(2000))
    told = capsys.readouterr().err
    assert "[MiniBatchDPMeans] 2,000 rows, " in told and "micro-clusters" in told
