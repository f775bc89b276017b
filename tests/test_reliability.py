"""What must hold when things go wrong: bad input, odd scales, interrupts, threads, memory."""

import copy
import json
import pickle
import random
import re
import sys
import threading
import warnings

import numpy as np
import pytest
import threadpoolctl
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from hardbayes import DPMeans, objective, penalty_for
from tests.conftest import (
    SEARCHES,
    assert_all_finite,
    assert_same_bits,
    make_blobs,
    quiet_fit,
    run_check,
)
from tests.reference.certificates import assert_certificate

# How a refusal of numbers beyond float64 may be worded: it names the trouble or the cure.
REFUSAL = r"(?i)scale|divide|multiply|too small|too large|fit float64|overflow"


# --- the scikit-learn contract ---------------------------------------------------------------


@parametrize_with_checks(
    [
        DPMeans(**options, search=search)
        for search in SEARCHES
        for options in ({}, {"order": "given"})
    ]
)
def test_scikit_learn_checks(estimator, check):
    run_check(estimator, check)


BAD_PARAMETERS = [
    ("cluster_penalty", -1.0),
    ("cluster_penalty", float("nan")),
    ("cluster_penalty", float("inf")),
    ("cluster_penalty", "automatic"),
    ("cluster_penalty", None),
    ("cluster_penalty", [1.0]),
    ("divergence", "euclidean"),
    ("divergence", None),
    ("divergence", 3),
    ("prior_weight", -0.5),
    ("prior_weight", float("nan")),
    ("prior_weight", float("inf")),
    ("prior_weight", "none"),
    ("prior_weight", None),
    ("search", "thorough"),
    ("search", "split_merge"),
    ("search", None),
    ("init", "random"),
    ("init", None),
    ("init", 3),
    ("order", "shuffled"),
    ("order", None),
    ("max_clusters", 0),
    ("max_clusters", -3),
    ("max_clusters", 2.5),
    ("max_clusters", "all"),
    ("n_init", 0),
    ("n_init", 1.5),
    ("n_init", "auto"),
    ("n_init", None),
    ("max_iter", 0),
    ("max_iter", -1),
    ("max_iter", 10.0),
    ("max_iter", None),
    ("random_state", "seed"),
    ("random_state", -1),
    ("random_state", 1.5),
    ("n_jobs", "all"),
    ("n_jobs", 1.5),
    ("verbose", "loud"),
    ("verbose", -1),
]


@pytest.mark.parametrize(("name", "value"), BAD_PARAMETERS)
def test_bad_parameters_are_named(name, value):
    model = DPMeans().set_params(**{name: value})
    message = re.escape(f"The {name!r} parameter of DPMeans must be ")
    with pytest.raises(ValueError, match=message):
        model.fit(np.eye(5))
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize(
    "values",
    [
        dict(cluster_penalty=np.float32(1.5), max_clusters=np.int64(3), n_init=np.int32(2)),
        dict(cluster_penalty=1, prior_weight=0, verbose=False),
        dict(cluster_penalty=0, random_state=np.random.RandomState(0)),
        dict(max_iter=1_000_000, n_jobs=-1),
    ],
)
def test_good_parameters_of_other_types(values):
    quiet_fit(DPMeans(**values), np.random.default_rng(0).standard_normal((20, 2)))


def test_parameters_are_not_touched(search):
    X = make_blobs(200, 3, 5, spread=0.2)[0]
    start = X[:4].copy()
    model = DPMeans("auto", init=start, max_clusters=9, random_state=3, search=search)
    before = {k: id(v) for k, v in model.get_params().items()}
    quiet_fit(model, X)
    assert {k: id(v) for k, v in model.get_params().items()} == before
    np.testing.assert_array_equal(start, X[:4])
    assert not np.shares_memory(model.cluster_centers_, start)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
def test_inputs_are_not_touched(order, dtype, divergence, search):
    X = np.asarray(np.abs(make_blobs(300, 4, 5)[0]) + 0.1, dtype=dtype, order=order)
    w = np.random.default_rng(0).uniform(0, 2, 300)
    before, w_before = X.copy(), w.copy()
    model = DPMeans(0.3, divergence=divergence, init="k-means++", random_state=0, search=search)
    model.fit(X, sample_weight=w)
    model.predict(X), model.transform(X), model.score(X), model.score_samples(X)
    objective(X, model.labels_, 0.3, divergence=divergence, sample_weight=w)
    penalty_for(X, 3, divergence=divergence)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(w, w_before)


@pytest.mark.parametrize("penalty", [0.3, "auto"])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
def test_sparse_inputs_are_not_touched(penalty, kind, divergence, search):
    rows = np.random.default_rng(0).random((60, 5))
    rows[rows < 0.5] = 0.0
    X = kind(rows[rows.any(axis=1)])
    before = copy.deepcopy((X.data, X.indices, X.indptr))
    model = quiet_fit(DPMeans(penalty, divergence=divergence, search=search, random_state=0), X)
    model.predict(X), model.transform(X), model.score(X), model.score_samples(X)
    objective(X, model.labels_, 0.3, divergence=divergence)
    penalty_for(X, 3, divergence=divergence)
    for old, new in zip(before, (X.data, X.indices, X.indptr), strict=True):
        assert old.dtype == new.dtype
        np.testing.assert_array_equal(old, new)


def messy_csr(dtype=np.float64, index=np.int32):
    """Unsorted columns and duplicate entries (which add up), and the same rows dense."""
    rng = np.random.default_rng(0)
    n, d, each = 300, 12, 6
    indices = rng.integers(0, d, n * each).astype(index)
    data = rng.gamma(0.7, size=n * each).astype(dtype)
    indptr = np.arange(0, n * each + 1, each).astype(index)
    S = sparse.csr_matrix((data, indices, indptr), shape=(n, d), copy=True)
    S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
    S.has_sorted_indices = False
    S.has_canonical_format = False
    dense = np.zeros((n, d), dtype)
    np.add.at(dense, (np.repeat(np.arange(n), each), indices), data)
    return S, dense


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
def test_unsorted_and_duplicate_sparse_entries(index, divergence, given):
    S, dense = messy_csr(index=index)
    before = copy.deepcopy((S.data, S.indices, S.indptr))
    penalty = 4.0 if divergence == "squared_euclidean" else 1.0
    options = dict(divergence=divergence, prior_weight=1.0)
    model = given(penalty, **options).fit(S)
    expected = given(penalty, **options).fit(dense)
    assert expected.n_clusters_ > 1
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(S), model.labels_)
    for old, new in zip(before, (S.data, S.indices, S.indptr), strict=True):
        assert old.dtype == new.dtype
        np.testing.assert_array_equal(old, new)


def test_verbose_zero_prints_nothing(capfd, search):
    X = make_blobs(500, 3, 5, spread=0.2)[0]
    model = DPMeans(0.3, random_state=0, n_init=3, search=search).fit(X)
    model.predict(X), model.transform(X), model.score(X)
    DPMeans(0.3, divergence="kl", search=search).fit(sparse.csr_matrix(np.abs(X)))
    captured = capfd.readouterr()
    assert captured.out == "" and captured.err == ""


def test_verbose_prints_something(capfd, search):
    X = make_blobs(500, 3, 5, spread=0.2)[0]
    DPMeans(0.3, random_state=0, verbose=1, search=search).fit(X)
    captured = capfd.readouterr()
    assert captured.out + captured.err != ""


def test_pickle_clone_and_copy(search):
    X = make_blobs(300, 3, 5, spread=0.2, dtype=np.float32)[0]
    model = DPMeans(0.3, init=X[:3], random_state=0, search=search).fit(X)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(model, protocol=protocol))
        assert_same_bits(again, model)
        np.testing.assert_array_equal(again.predict(X), model.labels_)
    assert_same_bits(copy.deepcopy(model), model)
    unfitted = clone(model)
    with pytest.raises(NotFittedError):
        check_is_fitted(unfitted)
    with pytest.raises(NotFittedError):
        unfitted.predict(X)
    assert_same_bits(unfitted.fit(X), model)
    assert "DPMeans" in repr(model) and model._repr_html_()


def test_pipeline():
    X = make_blobs(300, 3, 5, spread=0.1)[0]
    pipe = make_pipeline(StandardScaler(), DPMeans(0.8, random_state=0))
    pipe.set_output(transform="pandas").fit(X)
    np.testing.assert_array_equal(pipe.predict(X), pipe[-1].labels_)
    out = pipe.transform(X)
    assert list(out.columns) == list(pipe.get_feature_names_out())


# --- bad numbers -----------------------------------------------------------------------------


def names(row, column):
    """A message that names this row and this column."""
    return rf"(?is)\brow\W+{row}\b.*\bcolumn\W+{column}\b"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_bad_numbers_are_named(bad, dtype, container):
    X = np.random.default_rng(0).standard_normal((50_000, 3)).astype(dtype)
    model = DPMeans(5.0, random_state=0).fit(container(X[:2000]))
    fitted = copy.deepcopy(model)
    X[49_990, 2] = X[49_995, 0] = bad
    word = "NaN" if np.isnan(bad) else "inf"
    for call in (
        DPMeans(5.0).fit,
        model.fit,
        model.predict,
        model.transform,
        model.score_samples,
        model.score,
    ):
        with pytest.raises(ValueError, match=names(49_990, 2)) as caught:
            call(container(X))
        assert word.lower() in str(caught.value).lower()
    assert_same_bits(model, fitted)  # a refit that failed leaves the old model


@pytest.mark.parametrize("where", [(0, 1), (3, 0), (7, 2)])
def test_bad_numbers_in_a_few_rows(where):
    X = np.random.default_rng(0).standard_normal((8, 3))
    X[where] = np.nan
    for container in (np.asarray, sparse.csr_matrix, sparse.csc_matrix, np.ndarray.tolist):
        with pytest.raises(ValueError, match=names(*where)):
            DPMeans(1.0).fit(container(X))
    with pytest.raises(ValueError, match=names(*where)):
        objective(X, np.zeros(8, int), 1.0)
    with pytest.raises(ValueError, match=names(*where)):
        penalty_for(X, 2)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_bad_numbers_name_the_data_frame_column(library):
    frames = pytest.importorskip(library)
    X = np.random.default_rng(0).standard_normal((40, 2))
    good = frames.DataFrame({"width": X[:, 0], "height": X[:, 1]})
    model = DPMeans(1.0, random_state=0).fit(good)
    X[17, 1] = np.nan
    bad = frames.DataFrame({"width": X[:, 0], "height": X[:, 1]})
    for call in (DPMeans(1.0).fit, model.predict):
        with pytest.raises(ValueError, match=r"(?is)\brow\W+17\b.*height"):
            call(bad)


def test_pandas_missing_values():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": pd.array([1, None, 3], dtype="Int64")})
    with pytest.raises(ValueError, match=r"(?is)\brow\W+1\b.*\bb\b"):
        DPMeans(1.0).fit(frame)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_text_columns_are_named(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"size": [1.0, 2.0, 3.0], "city": ["Bonn", "Oslo", "Lima"]})
    with pytest.raises((ValueError, TypeError), match="city"):
        DPMeans(1.0).fit(frame)


def test_object_columns_are_named():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "tag": pd.Series([1, {}, "x"], dtype=object)})
    with pytest.raises((ValueError, TypeError), match="tag"):
        DPMeans(1.0).fit(frame)


def test_dates_are_named():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": [1.0, 2.0], "day": pd.to_datetime(["2020-01-01", "2020-02-01"])})
    with pytest.raises((ValueError, TypeError), match="day"):
        DPMeans(1.0).fit(frame)


def test_text_and_complex_arrays():
    with pytest.raises(ValueError, match="string"):
        DPMeans(1.0).fit(np.array([["a", "b"], ["c", "d"]]))
    with pytest.raises(ValueError, match=r"(?i)complex"):
        DPMeans(1.0).fit(np.ones((4, 2)) + 1j)
    with pytest.raises(ValueError, match=r"(?i)complex"):
        DPMeans(1.0).fit(sparse.csr_matrix(np.ones((4, 2)) + 1j))


@pytest.mark.parametrize(
    "X",
    [
        np.ones(5),
        np.ones((2, 3, 4)),
        np.empty((0, 3)),
        np.empty((3, 0)),
        3.0,
        None,
        [[1.0], [1.0, 2]],
    ],
)
def test_wrong_shapes(X):
    with pytest.raises((ValueError, TypeError)):
        DPMeans(1.0).fit(X)


def test_wrong_number_of_columns():
    model = DPMeans(1.0, random_state=0).fit(np.eye(4))
    for call in (model.predict, model.transform, model.score, model.score_samples):
        with pytest.raises(ValueError, match="features"):
            call(np.eye(5))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kl_names_a_negative_entry(container, dtype):
    X = np.random.default_rng(0).gamma(1.0, size=(20_000, 5)).astype(dtype)
    model = DPMeans(1.0, divergence="kl", random_state=0).fit(container(X[:100]))
    X[19_777, 3] = -0.5
    for call in (DPMeans(1.0, divergence="kl").fit, model.predict):
        with pytest.raises(ValueError, match=names(19_777, 3)) as caught:
            call(container(X))
        assert "negative" in str(caught.value).lower() or "-0.5" in str(caught.value)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_kl_names_an_empty_row(container):
    X = np.random.default_rng(0).gamma(1.0, size=(500, 5))
    model = DPMeans(1.0, divergence="kl", random_state=0).fit(container(X))
    X[433] = 0.0
    for call in (DPMeans(1.0, divergence="kl").fit, model.predict):
        with pytest.raises(ValueError, match=r"(?i)\brow\W+433\b"):
            call(container(X))


# --- weights and starts ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "weights",
    [
        np.zeros(10),
        np.full(10, -1.0),
        np.r_[np.ones(9), -1e-9],
        np.r_[np.ones(9), np.nan],
        np.r_[np.ones(9), np.inf],
        np.ones(9),
        np.ones(11),
        np.ones((10, 1)),
        ["a"] * 10,
        0.0,
        -1.0,
        np.ones(10) + 1j,
    ],
)
def test_bad_weights(weights):
    X = np.random.default_rng(0).standard_normal((10, 2))
    model = DPMeans(1.0)
    with pytest.raises((ValueError, TypeError)):
        model.fit(X, sample_weight=weights)
    assert not hasattr(model, "labels_")
    with pytest.raises((ValueError, TypeError)):
        objective(X, np.arange(10), 1.0, sample_weight=weights)


def test_weights_of_very_different_size(given):
    X = make_blobs(200, 3, 4, spread=0.1)[0]
    for scale in (1e-200, 1e-12, 1e12, 1e200):
        w = np.full(200, scale)
        model = given(1.0 * scale).fit(X, sample_weight=w)
        np.testing.assert_array_equal(model.labels_, given(1.0).fit(X).labels_)
        assert_all_finite(model)


@pytest.mark.parametrize("weights", [np.full(50, 1e308), np.r_[1e308, np.full(49, 1e-308)]])
def test_extreme_weights(weights, given):
    """A valid model or a clear refusal, never an infinite attribute."""
    X = make_blobs(50, 3, 4, spread=0.1)[0]
    try:
        model = quiet_fit(given(1.0), X, weights)
    except ValueError as error:
        assert "weight" in str(error)  # noqa: PT017
    else:
        assert_all_finite(model)


@pytest.mark.parametrize(
    "init",
    [
        np.ones(3),
        np.ones((2, 4)),
        np.ones((2, 2)),
        np.empty((0, 3)),
        np.full((2, 3), np.nan),
        np.full((2, 3), np.inf),
        np.ones((2, 3, 1)),
    ],
)
def test_bad_initial_centres(init):
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(ValueError, match="init"):
        DPMeans(1.0, init=init).fit(X)


def test_more_initial_centres_than_the_cap():
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(ValueError, match="max_clusters"):
        DPMeans(1.0, init=X[:5], max_clusters=4).fit(X)


def test_initial_centres_of_other_types(given):
    X = make_blobs(100, 3, 4, spread=0.1)[0]
    expected = given(1.0, init=X[:3]).fit(X)
    for init in (X[:3].tolist(), np.asfortranarray(X[:3]), X[:6:2][[0, 1, 2]] * 0 + X[:3]):
        assert_same_bits(given(1.0, init=init).fit(X), expected)
    narrow = given(1.0, init=X[:3]).fit(X.astype(np.float32))
    assert narrow.cluster_centers_.dtype == np.float32


def test_more_initial_centres_than_rows(search):
    X = np.random.default_rng(0).standard_normal((3, 2))
    start = np.random.default_rng(1).standard_normal((10, 2))
    model = DPMeans(1.0, init=start, search=search).fit(X)
    assert model.n_clusters_ <= 3
    assert_certificate(model, X)


def test_kl_initial_centres_must_be_distributions():
    X = np.random.default_rng(0).gamma(1.0, size=(20, 3))
    with pytest.raises(ValueError, match="init"):
        DPMeans(1.0, divergence="kl", init=-np.ones((2, 3))).fit(X)


@pytest.mark.parametrize("labels", [np.zeros(9, int), np.zeros((10, 1), int), np.full(10, np.nan)])
def test_objective_refuses_bad_labels(labels):
    with pytest.raises(ValueError, match=r"(?i)label"):
        objective(np.ones((10, 2)), labels, 1.0)


@pytest.mark.parametrize("n_clusters", [0, -1, 1.5, "two"])
def test_penalty_for_refuses_bad_counts(n_clusters):
    with pytest.raises(ValueError, match="n_clusters"):
        penalty_for(np.random.default_rng(0).standard_normal((10, 2)), n_clusters)


# --- scales ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e19, 1e-25])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_float32_scales_beyond_its_squares(scale, container, given):
    """Squares leave float32, the objective does not leave float64."""
    X, _ = make_blobs(300, 4, 6, spread=0.1)
    X = (X * scale).astype(np.float32)
    penalty = 0.3 * float(scale) ** 2
    expected = given(penalty).fit(X.astype(np.float64))
    assert expected.n_clusters_ > 3
    model = given(penalty).fit(container(X))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-5)
    np.testing.assert_array_equal(model.predict(container(X)), expected.labels_)
    assert_all_finite(model)
    assert np.isfinite(model.score_samples(container(X))).all()
    distances = model.transform(container(X))
    assert np.isfinite(distances).all()
    own = distances[np.arange(300), model.labels_].astype(np.float64)
    np.testing.assert_allclose(own, np.sqrt(-expected.score_samples(X.astype(float))), rtol=1e-3)


@pytest.mark.parametrize("init", ["mean", "farthest-first", "k-means++"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("spread", [1e-2, 1e-12])
@pytest.mark.parametrize("scale", [1e160, 1e-170, 1e300])
def test_float64_scales_beyond_its_squares(scale, spread, container, init, search):
    """Squares leave float64: the partition is right, or the error says what is wrong."""
    X, _ = make_blobs(120, 3, 3, spread=spread, seed=4)
    model = DPMeans(0.0, max_clusters=3, init=init, random_state=0, search=search)
    plain = quiet_fit(clone(model), container(X))
    try:
        quiet_fit(model, container(X * scale))
    except ValueError as error:
        assert re.search(REFUSAL, str(error)), error  # noqa: PT017
    else:
        if search == "paper":
            np.testing.assert_array_equal(model.labels_, plain.labels_)
        np.testing.assert_array_equal(model.predict(container(X * scale)), model.labels_)
        assert_all_finite(model)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("penalty", [1.0, "auto", 1e300])
def test_one_enormous_entry(container, penalty, search):
    X, _ = make_blobs(200, 4, 5, spread=0.1)
    X[77, 2] = 1e308
    model = DPMeans(penalty, random_state=0, search=search)
    try:
        quiet_fit(model, container(X))
    except ValueError as error:
        assert re.search(REFUSAL, str(error)), error  # noqa: PT017
        assert not hasattr(model, "labels_")
    else:
        assert_all_finite(model)
        assert (model.labels_ == model.labels_[77]).sum() == 1
        np.testing.assert_array_equal(model.predict(container(X)), model.labels_)


def test_predict_far_outside_the_training_scale(given):
    """A finite row always has a nearest centre."""
    for dtype, sizes in ((np.float32, (1e19, 1e30)), (np.float64, (1e100, 1e155, 1e200, 1e307))):
        X = np.array([[0.0, 0.0], [0.1, 0.0], [10.0, 0.0], [10.1, 0.0]], dtype=dtype)
        model = given(1.0).fit(X)
        for size in sizes:
            probe = np.array([[size, 0.0], [-size, 0.0]], dtype=dtype)
            try:
                labels = model.predict(probe)
            except ValueError as error:
                assert re.search(REFUSAL, str(error)), error  # noqa: PT017
            else:
                assert set(labels) <= {0, 1}
            try:
                novel = model.predict(probe, novelty=True)
            except ValueError:
                continue
            np.testing.assert_array_equal(novel, [-1, -1])


def test_sparse_rows_whose_scores_overflow(given):
    """They say nothing: to the direct formula both centres are as far, and the older is taken."""
    X = np.array([[0.9, 0.0], [0.9, 0.0], [0.0, 0.9], [0.0, 0.9]], np.float32)
    model = given(0.1).fit(sparse.csr_array(X))
    far = np.array([[0.0, 3e38], [3e38, 0.0]], np.float32)
    np.testing.assert_array_equal(model.predict(sparse.csr_array(far)), [0, 0])
    np.testing.assert_array_equal(model.predict(far), [0, 0])


def test_subnormal_rows(given):
    X = np.array([[5e-324], [0.0], [5e-324], [1.5e-323]])
    try:
        model = quiet_fit(given(0.0, max_clusters=3), X)
    except ValueError as error:
        assert re.search(REFUSAL, str(error)), error  # noqa: PT017
    else:
        assert_all_finite(model)
        np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_kl_extreme_scales(given):
    """KL forgets the size of a row; sums of rows may overflow or vanish."""
    X = np.random.default_rng(0).gamma(1.0, size=(100, 4))
    expected = given(0.3, divergence="kl").fit(X)
    for scale in (2.0**-1000, 2.0**1000, 1e307):
        try:
            model = given(0.3, divergence="kl").fit(X * scale)
        except ValueError as error:
            assert re.search(REFUSAL, str(error)), error  # noqa: PT017
        else:
            np.testing.assert_array_equal(model.labels_, expected.labels_)
            assert_all_finite(model)


# --- warnings --------------------------------------------------------------------------------


def test_too_small_a_penalty_stops_at_the_cap_with_a_warning(search):
    X = np.random.default_rng(0).standard_normal((2000, 3))
    model = DPMeans(1e-9, max_clusters=50, random_state=0, search=search)
    with pytest.warns(UserWarning, match="max_clusters"):
        model.fit(X)
    assert model.n_clusters_ == 50
    assert "max_clusters" in model.status_
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_max_iter_warns(search):
    X = np.random.default_rng(0).standard_normal((2000, 3))
    model = DPMeans(2.0, max_iter=2, random_state=0, search=search)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(X)
    assert not model.converged_
    assert model.n_iter_ == 2 == len(model.objective_history_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(np.unique(model.labels_), np.arange(model.n_clusters_))


def test_no_warning_without_cause(search):
    X = make_blobs(1000, 3, 6, spread=0.1)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in (X, X.astype(np.float32), sparse.csr_matrix(X)):
            model = DPMeans(0.5, max_clusters=900, random_state=0, search=search).fit(data)
            model.predict(data), model.transform(data), model.score(data)
        counts = DPMeans(0.5, divergence="kl", random_state=0, search=search)
        counts.fit(np.abs(X))
        counts.set_params(prior_weight=0.0).fit(np.eye(5))


# --- global state ----------------------------------------------------------------------------


def global_state():
    return (
        random.getstate(),
        np.random.get_state()[1].tobytes(),
        np.geterr(),
        list(warnings.filters),
        [(i["prefix"], i["num_threads"]) for i in threadpoolctl.threadpool_info()],
        threading.active_count(),
        sys.getswitchinterval(),
        sys.getrecursionlimit(),
    )


def test_a_fit_changes_no_global_state(search):
    X = make_blobs(20_000, 6, 12, spread=0.02)[0]
    DPMeans(1.0, random_state=0, n_jobs=2, search=search).fit(X)  # what is loaded once is loaded
    with np.errstate(over="raise", under="ignore", divide="raise", invalid="raise"):
        before = global_state()
        options = dict(random_state=0, n_jobs=2, n_init=2, init="k-means++", search=search)
        model = DPMeans(1.0, **options).fit(X)
        model.predict(X), model.transform(X[:100]), model.score(X)
        penalty_for(X, 5)
        objective(X, model.labels_, 1.0)
        after = global_state()
    for old, new in zip(before, after, strict=True):
        assert old == new


def test_callers_blas_limit_survives():
    X = make_blobs(5000, 40, 12, spread=0.3)[0]
    with threadpoolctl.threadpool_limits(2):
        before = [(i["prefix"], i["num_threads"]) for i in threadpoolctl.threadpool_info()]
        DPMeans(10.0, random_state=0, n_jobs=2).fit(X)
        after = [(i["prefix"], i["num_threads"]) for i in threadpoolctl.threadpool_info()]
    assert before == after


def test_importing_is_light(run_python):
    out = run_python(
        """
        import sys
        import hardbayes
        # scikit-learn itself imports pandas where it finds it.
        heavy = {"numba", "torch", "dask", "matplotlib", "polars"} & set(sys.modules)
        print(sorted(heavy))
        """
    )
    assert out.strip() == "[]"


def test_subpackages_come_at_the_first_look(run_python):
    out = run_python(
        """
        import sys
        import hardbayes
        assert {"datasets", "plot", "DPMeans"} <= set(dir(hardbayes))
        assert not {"hardbayes.datasets", "hardbayes.plot"} & set(sys.modules)
        hardbayes.datasets.make_three_gaussians, hardbayes.plot.ClustersDisplay
        print(sorted({"numba", "matplotlib"} & set(sys.modules)))
        try:
            hardbayes.nonsense
        except AttributeError as error:
            print(error)
        """
    )
    assert out.splitlines() == ["[]", "module 'hardbayes' has no attribute 'nonsense'"]


# --- threads and processes -------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_eight_threads_fitting_at_once(n_jobs, search):
    X = make_blobs(6000, 6, 12, spread=0.15)[0]
    sets = [X[i::3].astype(np.float32 if i % 2 else np.float64) for i in range(8)]
    expected = [
        DPMeans(2.0, random_state=i, search=search).fit(rows) for i, rows in enumerate(sets)
    ]
    found = [None] * 8
    gate = threading.Barrier(8)

    def work(i):
        gate.wait()
        for _ in range(3):
            found[i] = DPMeans(2.0, random_state=i, n_jobs=n_jobs, search=search).fit(sets[i])

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    for one, other in zip(found, expected, strict=True):
        assert_same_bits(one, other)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fit_fork_fit(run_python, n_jobs, search):
    out = run_python(
        f"""
        import hashlib, os, signal, sys, time, warnings
        import numpy as np
        from hardbayes import DPMeans
        warnings.simplefilter("ignore")
        X = np.random.default_rng(0).standard_normal((40_000, 6))

        def fit():
            options = dict(random_state=0, n_jobs={n_jobs}, max_iter=10, search={search!r})
            model = DPMeans(12.0, **options).fit(X)
            return hashlib.sha1(model.labels_.tobytes()).hexdigest()

        expected = fit()
        children = []
        for _ in range(2):
            pid = os.fork()
            if pid == 0:
                try:
                    os._exit(0 if fit() == expected else 3)
                except BaseException:
                    os._exit(4)
            children.append(pid)
        end = time.monotonic() + 30
        for pid in children:
            while True:
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    print(os.waitstatus_to_exitcode(status))
                    break
                if time.monotonic() > end:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    print("hung")
                    break
                time.sleep(0.02)
        print(fit() == expected)
        """,
        timeout=90,
    )
    assert out.split() == ["0", "0", "True"]


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib(backend):
    X = make_blobs(4000, 4, 10, spread=0.1)[0]
    models = [DPMeans(3.0, random_state=i, n_jobs=2) for i in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # CPython on fork and threads
        fitted = Parallel(n_jobs=2, backend=backend)(delayed(m.fit)(X) for m in models)
    for i, model in enumerate(fitted):
        assert_same_bits(model, DPMeans(3.0, random_state=i, n_jobs=1).fit(X))


INTERRUPTED = """
    import json, os, signal, sys, threading, time, warnings
    import numpy as np
    from scipy import sparse
    from hardbayes import DPMeans
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # who began this may ignore it
    kind = {kind!r}
    rng = np.random.default_rng(0)
    options = dict(search="paper")
    if kind == "sweeps":      # many rows, many centres, many sweeps
        X = rng.standard_normal((400_000, 16)).astype(np.float32)
        options |= dict(cluster_penalty=1e9, init=X[:400].copy(), max_iter=10_000)
    elif kind == "births":    # one sweep that opens clusters without end
        X = rng.standard_normal((300_000, 8))
        options |= dict(cluster_penalty=1e-6, max_clusters=200_000)
    elif kind == "seeding":
        X = rng.standard_normal((300_000, 8))
        options |= dict(cluster_penalty=1e-3, init="farthest-first", max_clusters=100_000)
    elif kind == "splits":    # no row is dear, and every cluster is worth splitting
        X = rng.standard_normal((400_000, 8))
        options = dict(cluster_penalty=100.0, max_iter=10_000)
    elif kind == "merges":    # every pair of clusters is worth merging
        X = rng.standard_normal((300_000, 8))
        options = dict(cluster_penalty=1e9, init=X[:3000].copy(), max_iter=10_000)
    elif kind == "collapsed":
        X = rng.standard_normal((400_000, 8))
        options = dict(cluster_penalty=4.0, method="collapsed", max_iter=10_000)
    else:                     # sparse
        n, d, each = 100_000, 2000, 20
        indices = rng.integers(0, d, n * each)
        starts = np.arange(0, n * each + 1, each)
        X = sparse.csr_matrix((rng.random(n * each), indices, starts), (n, d))
        X.sum_duplicates()
        options |= dict(cluster_penalty=1e9, init=X[:2000].toarray(), max_iter=10_000)
    small = np.random.default_rng(1).standard_normal((500, X.shape[1]))
    expected = DPMeans(5.0, random_state=0).fit(small)
    # Compile whatever this kind of fit needs before the clock runs.
    part = dict(options, max_iter=2)
    if part.get("max_clusters"):
        part["max_clusters"] = 100
    DPMeans(random_state=0, n_jobs=2, **part).fit(X[:3000])

    def interrupted(model):
        sent = []

        def send():
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(1.0, send)
        timer.start()
        try:
            model.fit(X)
        except KeyboardInterrupt:
            return time.perf_counter() - sent[0]
        finally:
            timer.cancel()
        return "finished"

    first = DPMeans(random_state=0, n_jobs=2, **options)
    delays = [interrupted(first)]
    fitted = [name for name in vars(first) if name.endswith("_") and not name.startswith("_")]
    second = DPMeans(5.0, random_state=0).fit(small)
    second.set_params(n_jobs=2, **options)
    delays.append(interrupted(second))
    kept = bool((second.labels_ == expected.labels_).all()) and second.n_iter_ == expected.n_iter_
    kept = kept and second.cluster_centers_.tobytes() == expected.cluster_centers_.tobytes()
    kept = kept and second.objective_ == expected.objective_
    again = DPMeans(5.0, random_state=0, n_jobs=2).fit(small)
    first.set_params(**DPMeans(5.0, random_state=0).get_params()).fit(small)
    works = again.objective_ == expected.objective_ == first.objective_
    print(json.dumps(dict(delays=delays, fitted=fitted, kept=kept, works=bool(works))))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    "kind", ["sweeps", "births", "seeding", "sparse", "splits", "merges", "collapsed"]
)
def test_ctrl_c(run_python, kind):
    """Within a second; a first fit leaves nothing, a refit leaves the old model."""
    report = json.loads(run_python(INTERRUPTED.format(kind=kind), timeout=120))
    assert report["fitted"] == []
    assert report["kept"] and report["works"]
    assert "finished" not in report["delays"], "the fit was too short to be interrupted"
    assert min(report["delays"]) < 1.0, report["delays"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("kind", ["dense", "sparse", "moves"])
def test_memory_is_data_and_a_little(run_python, kind):
    """n x K costs would be 8 GB here; the promise is the data, 64 MB, and the centres twice."""
    out = run_python(
        f"""
        import json, warnings
        import numpy as np
        from scipy import sparse
        from hardbayes import DPMeans
        warnings.simplefilter("ignore")
        kind = {kind!r}

        def peak():
            with open("/proc/self/status") as file:
                for line in file:
                    if line.startswith("VmHWM"):
                        return int(line.split()[1]) / 1024

        def forget_peak():
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")

        n, d, k = (1_000_000, 50, 300) if kind == "sparse" else (2_000_000, 4, 1000)
        rng = np.random.default_rng(0)
        start = rng.standard_normal((k, d)).astype(np.float32)
        options = dict(search="paper", cluster_penalty=1e9, max_iter=2, n_jobs=2, random_state=0)
        if kind == "moves":  # clusters far apart, of which the start lacks a few
            k = 300
            true = rng.uniform(-100, 100, (k, d)).astype(np.float32)
            X = true[rng.integers(0, k, n)]
            for i in range(0, n, 100_000):
                X[i : i + 100_000] += rng.standard_normal((100_000, d), dtype=np.float32)
            start = true[5:]
            options |= dict(search="split-merge", cluster_penalty=3e4, max_iter=20)
        elif kind == "dense":
            X = np.empty((n, d), np.float32)
            for i in range(0, n, 100_000):
                X[i : i + 100_000] = rng.standard_normal((100_000, d))
        else:
            each = 4
            indices = np.sort(rng.integers(0, d, (n, each), dtype=np.int32), axis=1)
            indices += np.arange(each, dtype=np.int32)
            indices = indices.ravel()
            d += each
            start = rng.standard_normal((k, d)).astype(np.float32)
            data = rng.standard_normal(n * each, dtype=np.float32)
            indptr = np.arange(0, n * each + 1, each, dtype=np.int32)
            X = sparse.csr_matrix((data, indices, indptr), shape=(n, d))
        options["init"] = start
        DPMeans(**options).fit(X[:30_000])
        forget_peak()
        before = peak()
        model = DPMeans(**options).fit(X)
        extra, centers = peak() - before, 2 * k * d * 8 / 2**20
        print(json.dumps(dict(extra=extra, k=model.n_clusters_, centers=centers)))
        """,
        timeout=120,
    )
    report = json.loads(out)
    assert report["k"] > 100
    small = 4  # pages that the allocator keeps
    assert report["extra"] < 64 + small + report["centers"], report
