"""What a new user may try: one clear sentence each."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hardbayes import (
    BPMeans,
    DPMeans,
    GaussianDPMeans,
    HDPMeans,
    KernelDPMeans,
    KFeatures,
    by_size,
    load,
    save,
)
from tests.conftest import quiet_fit

X = np.random.RandomState(0).standard_normal((20, 3))


@pytest.mark.parametrize("estimator", [DPMeans(), GaussianDPMeans(), BPMeans(), KFeatures()])
def test_a_frame_without_columns(estimator):
    with pytest.raises(ValueError, match=r"X is a data frame with 0 feature\(s\).*at least one"):
        estimator.fit(pd.DataFrame())


@pytest.mark.parametrize("module", ["dask.dataframe.core", "dask_expr._collection"])
def test_a_frame_of_dask(module):
    """DPMeans alone takes it, block by block; nothing takes it into memory without a word."""
    frame = type("DataFrame", (), {"columns": ["a"], "dask": {}, "__module__": module})()
    with pytest.raises(TypeError, match=r"X is a Dask data frame.*Call \.compute\(\) first"):
        GaussianDPMeans().fit(frame)


@pytest.mark.parametrize(
    ("estimator", "method", "instead"),
    [
        (DPMeans(), "partial_fit", "MiniBatchDPMeans"),
        (KernelDPMeans(), "predict_proba", r"certainty\(model, X\)"),
        (BPMeans(), "predict", "transform"),
        (KFeatures(), "partial_fit", "all rows at once"),
    ],
)
def test_a_method_of_other_libraries(estimator, method, instead):
    assert not hasattr(estimator, method)
    with pytest.raises(AttributeError, match=f"has no '{method}': .*{instead}"):
        getattr(estimator, method)


def test_hashed_words_with_signs():
    words = ["alpha beta gamma", "beta gamma delta", "phi chi alpha"] * 4
    counts = HashingVectorizer(n_features=64).fit_transform(words)
    with pytest.raises(ValueError, match=r"Got -0\.\d+ at row 0, column \d+\. Hashing.*alternate_"):
        DPMeans(divergence="kl").fit(counts)
    unsigned = HashingVectorizer(n_features=64, alternate_sign=False).fit_transform(words)
    assert DPMeans(0.5, divergence="kl", random_state=0).fit(unsigned).n_clusters_ >= 1
    with pytest.raises(
        ValueError, match=r"Got -1\.0 at row 0, column 0\. Correct it, or .*divergence\.$"
    ):
        DPMeans(divergence="kl").fit([[-1.0, 2.0]])


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (DPMeans(True), "cluster_penalty"),
        (DPMeans(1.0, max_clusters=True), "max_clusters"),
        (DPMeans(1.0, prior_weight=False), "prior_weight"),
        (GaussianDPMeans(True), "cluster_penalty"),
        (BPMeans(True), "component_penalty"),
        (KFeatures(True), "n_components"),
    ],
)
def test_a_bool_is_no_number(estimator, name):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of .* must not be a bool"):
        estimator.fit(X)
    assert DPMeans(4.0, verbose=False).fit(X).n_clusters_ >= 1


def test_more_features_than_rows():
    with pytest.warns(UserWarning, match=r"20 features explain each of 20 rows exactly") as told:
        model = KFeatures(500, n_init=2, random_state=0).fit(X)
    assert model.n_components_ <= 20
    assert told[0].filename == __file__


def test_save_of_a_pipeline(tmp_path):
    pipeline = make_pipeline(StandardScaler(), DPMeans(4.0)).fit(X)
    with pytest.raises(TypeError, match=r"Got Pipeline instead\. Save its last step, pipeline\[-1"):
        save(pipeline, tmp_path / "model")
    save(pipeline[-1], tmp_path / "model")
    with pytest.raises(TypeError, match=r"Got KMeans instead\.$"):
        save(KMeans(2).fit(X), tmp_path / "other")


@pytest.mark.parametrize(
    "estimator",
    [
        DPMeans(2.0, order="given", random_state=0),
        DPMeans(0.4, divergence="kl", random_state=0),
        GaussianDPMeans(2.0, covariance_prior=1.0, random_state=0),
        GaussianDPMeans(2.0, covariance_prior=1.0, covariance_type="diag", random_state=0),
    ],
    ids=repr,
)
def test_clusters_by_size(estimator, tmp_path):
    rows = np.abs(np.random.RandomState(1).standard_t(3.0, (150, 3))) + 0.1
    model = quiet_fit(estimator, rows)
    labels = model.labels_.copy()
    numbered = by_size(model)
    assert (np.diff(numbered.cluster_weights_) <= 0).all()
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(numbered.predict(rows), numbered.labels_)
    np.testing.assert_array_equal(
        numbered.cluster_weights_, np.bincount(numbered.labels_).astype(float)
    )
    number_of = {int(old): int(new) for old, new in zip(labels, numbered.labels_, strict=True)}
    assert len(number_of) == model.n_clusters_
    for old, new in number_of.items():
        np.testing.assert_array_equal(model.cluster_centers_[old], numbered.cluster_centers_[new])
        if hasattr(model, "covariances_"):
            np.testing.assert_array_equal(model.covariances_[old], numbered.covariances_[new])
    for novelty in (True, 0.1):
        np.testing.assert_array_equal(
            numbered.predict(rows, novelty=novelty) == -1,
            model.predict(rows, novelty=novelty) == -1,
        )
    save(numbered, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(rows), numbered.labels_)


def test_only_clusters_have_sizes():
    with pytest.raises(TypeError, match="by_size must be a fitted DPMeans, HDPMeans, Gauss"):
        by_size(BPMeans())
    with pytest.raises(ValueError, match="not fitted"):
        by_size(DPMeans())


def test_models_without_centres_have_no_sizes():
    with pytest.raises(TypeError, match=r"MixedDPMeans\. Got KernelDPMeans inst"):
        by_size(KernelDPMeans(0.9, random_state=0).fit(X))


@pytest.mark.parametrize("thing", [None, "rows.csv", {"a": [1.0]}])
def test_what_is_no_table(thing):
    name = type(thing).__name__
    with pytest.raises(ValueError, match=rf"X must be a table of rows and columns\. Got {name}\."):
        DPMeans().fit(thing)


def test_at_most_so_many_clusters_for_groups():
    assert quiet_fit(HDPMeans(0, 0, max_clusters=3, random_state=0), X).n_clusters_ == 3


def test_groups_of_a_model_without_them():
    with pytest.raises(ValueError, match="'groups' parameter of summary is for HDPMeans"):
        DPMeans(4.0, random_state=0).fit(X).summary(X, groups=np.zeros(len(X)))


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no such folder; make it first"):
        save(DPMeans(4.0).fit(X), tmp_path / "no" / "model")
