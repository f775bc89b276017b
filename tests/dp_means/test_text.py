"""Wide sparse rows: columns without entries change nothing, whatever the divergence."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.metrics import adjusted_rand_score

from hardbayes import DPMeans, load, objective, penalty_for, penalty_path, save
from hardbayes.datasets import make_word_histograms

PENALTIES = {
    "squared_euclidean": 30.0, "kl": 3.0, "poisson": 20.0, "cosine": 3.0, "logistic": 60.0,
}  # fmt: skip
N, D, WIDE = 120, 25, 400


def counts(divergence, rng, n, d, rate):
    X = rng.poisson(rate, (n, d)).astype(float)
    X[np.arange(n), rng.integers(0, d, n)] += 1.0  # no empty document
    return sparse.csr_array(np.minimum(X, 1.0) if divergence == "logistic" else X)


@pytest.fixture(params=PENALTIES)
def case(request):
    """(divergence, narrow rows, the same among many empty columns, new rows with entries there)."""
    rng = np.random.default_rng(0)
    X = counts(request.param, rng, N, D, 0.3)
    columns = np.sort(rng.choice(WIDE, D, replace=False)).astype(np.int32)
    wide = sparse.csr_array((X.data, columns[X.indices], X.indptr), (N, WIDE))
    return request.param, X, wide, counts(request.param, rng, 30, WIDE, 0.03), columns


def fitted(divergence, X, **options):
    return DPMeans(PENALTIES[divergence], divergence=divergence, random_state=0, **options).fit(X)


def test_fits_are_the_same_to_the_bit(case, tmp_path):
    divergence, X, wide, new, columns = case
    narrow, model = fitted(divergence, X), fitted(divergence, wide)
    np.testing.assert_array_equal(narrow.labels_, model.labels_)
    assert narrow.objective_ == model.objective_
    assert model.cluster_centers_.shape == (model.n_clusters_, WIDE)
    np.testing.assert_array_equal(model.cluster_centers_[:, columns], narrow.cluster_centers_)
    np.testing.assert_array_equal(np.delete(model.cluster_centers_, columns, axis=1), 0.0)
    np.testing.assert_array_equal(model.predict(wide), narrow.predict(X))
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.cluster_centers_, model.cluster_centers_)
    np.testing.assert_array_equal(again.transform(new), model.transform(new))


def test_new_rows_cost_what_they_would_with_all_columns(case):
    """Compared with a fit of the same rows stored densely, which keeps every column."""
    divergence, _, wide, new, _ = case
    first = fitted(divergence, wide)
    options = dict(init=first.cluster_centers_, order="given", prior_weight=first.prior_weight_)
    model, dense = (fitted(divergence, rows, **options) for rows in (wide, wide.toarray()))
    np.testing.assert_array_equal(model.labels_, dense.labels_)
    for rows in (new, new.toarray()):
        np.testing.assert_allclose(model.transform(rows), dense.transform(rows), rtol=1e-9)
        np.testing.assert_array_equal(model.predict(rows), dense.predict(rows))
        np.testing.assert_array_equal(
            model.predict(rows, novelty=True), dense.predict(rows, novelty=True)
        )
        assert model.score(rows) == pytest.approx(dense.score(rows), rel=1e-9)


def test_functions_of_rows_are_the_same(case):
    divergence, X, wide, _, _ = case
    labels = np.arange(N) % 3
    for function, argument in ((objective, (labels, 1.0)), (penalty_for, (3,))):
        narrow, broad = (function(rows, *argument, divergence=divergence) for rows in (X, wide))
        assert narrow == broad
    estimator = DPMeans(divergence=divergence, random_state=0)
    narrow, broad = (penalty_path(rows, estimator=estimator, n_penalties=4) for rows in (X, wide))
    np.testing.assert_array_equal(narrow.objectives, broad.objectives)
    assert broad.models[-1].cluster_centers_.shape[1] == WIDE


@pytest.mark.parametrize("divergence", ["cosine", "kl", "logistic", "poisson"])
@pytest.mark.parametrize("method", ["joint", "collapsed"])
def test_weights_are_repetitions_in_the_objective(divergence, method):
    rng = np.random.default_rng(1)
    X, weights = counts(divergence, rng, 60, D, 0.4), rng.integers(1, 4, 60)
    options = dict(method=method, prior_weight=1.0)
    model = DPMeans(PENALTIES[divergence], divergence=divergence, random_state=0, **options)
    labels = model.fit(X, sample_weight=weights).labels_
    repeated = np.repeat(np.arange(60), weights)
    value = objective(
        X[repeated], labels[repeated], model.cluster_penalty_, divergence=divergence,
        prior_weight=1.0,
    )  # fmt: skip
    assert model.objective_ == pytest.approx(value, rel=1e-9)


def test_hashed_words_take_no_more_memory_than_their_entries():
    """2^20 columns, of which a few hundred hold entries."""
    X, _ = make_word_histograms(random_state=0)
    words = [
        " ".join(f"w{j}" for j in np.repeat(np.arange(X.shape[1]), row.astype(int))) for row in X
    ]
    hashed = HashingVectorizer(alternate_sign=False, norm=None).transform(words)
    assert hashed.shape[1] == 1 << 20
    model = DPMeans(12.0, divergence="kl", random_state=0, n_jobs=1)
    plain = DPMeans(12.0, divergence="kl", random_state=0, n_jobs=1).fit(sparse.csr_array(X))
    tracemalloc.start()
    try:
        model.fit(hashed)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20  # one array (1, 2^20) is 8 MiB, three of clusters would be 200
    assert model.n_clusters_ > 1
    assert model.objective_ == pytest.approx(plain.objective_, rel=0.01)


def corpus(n_kinds, *, n=500, n_words=900, length=15, seed=0):
    """Counts of texts of several kinds, which draw a part of their words from one tenth of all."""
    rng = np.random.default_rng(seed)
    common = 1.0 / np.arange(1, n_words + 1)
    own = np.zeros((n_kinds, n_words))
    for kind in own:
        kind[rng.choice(n_words, n_words // 10, replace=False)] = 1.0
    chances = 0.5 * common / common.sum() + 0.5 * own / own.sum(axis=1, keepdims=True)
    chances = chances if n_kinds > 1 else common[np.newaxis] / common.sum()
    kinds = rng.integers(n_kinds, size=n)
    lengths = rng.poisson(length, n) + 5
    X = np.array([rng.multinomial(m, chances[k]) for m, k in zip(lengths, kinds, strict=True)])
    return sparse.csr_array(X * 1.0), kinds


@pytest.mark.parametrize("divergence", ["kl", "cosine", "squared_euclidean"])
def test_words_drawn_alike_are_one_cluster(divergence):
    """A few integers a row leave gaps between rows, which are no clusters."""
    X, _ = corpus(1)
    with pytest.warns(UserWarning, match="No number of clusters stood out"):
        model = DPMeans(divergence=divergence, random_state=0).fit(X)
    assert model.n_clusters_ == 1


@pytest.mark.parametrize("divergence", ["kl", "cosine"])
def test_kinds_of_texts_are_found(divergence):
    X, kinds = corpus(4, length=60)
    model = DPMeans(divergence=divergence, random_state=0).fit(X)
    assert adjusted_rand_score(kinds, model.labels_) > 0.95
