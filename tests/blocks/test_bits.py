"""A fit of rows in blocks has the bits of the fit in memory, however the rows are cut."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans, load, row_blocks, save
from tests.blocks.conftest import CUTS, assert_same_bits, blobs, cut
from tests.conftest import SEARCHES, quiet_fit

X = blobs()
WEIGHTS = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(X))
COUNTS = np.random.default_rng(2).poisson(np.abs(X)) + (np.arange(len(X)) % 3 == 0)[:, None]
HOLES = np.where(np.abs(X) > 2, X, 0.0)
CASES = {
    "float64": (X, None, {}),
    "float32": (X.astype(np.float32), None, {}),
    "integers": (COUNTS, None, {}),
    "weights": (X, WEIGHTS, {}),
    "equal weights": (X, np.full(len(X), 0.3), {}),
    "offset": (X + 1e7, None, {}),
    "CSR": (sparse.csr_array(HOLES), None, {}),
    "CSR, float32, weights": (sparse.csr_array(HOLES.astype(np.float32)), WEIGHTS, {}),
    "kl": (np.abs(X) + 0.1, None, dict(divergence="kl")),
    "kl, counts, CSR": (sparse.csr_array(COUNTS + 1.0), WEIGHTS, dict(divergence="kl")),
    "poisson": (COUNTS, WEIGHTS, dict(divergence="poisson")),
    "cosine": (X, None, dict(divergence="cosine", cluster_penalty=2.0)),
    "cap": (X, WEIGHTS, dict(max_clusters=3)),
    "prior": (X, WEIGHTS, dict(prior_weight=2.0)),
    "k-means++": (X, None, dict(init="k-means++", n_init=2)),
    "farthest-first": (X, None, dict(init="farthest-first")),
    "given": (X, None, dict(init=X[:4], order="given")),
    "stopped": (X, None, dict(max_iter=3)),
}


def fit(case, search, rows=None, **options):
    matrix, weights, more = CASES[case]
    given = dict(cluster_penalty=8.0, search=search, random_state=0, n_jobs=1) | more | options
    return quiet_fit(DPMeans(**given), matrix if rows is None else rows, weights)


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("case", CASES)
def test_blocks_give_the_bits_of_memory(case, search):
    expected = fit(case, search)
    for how in ("3", "empty"):
        model = fit(case, search, row_blocks(cut(CASES[case][0], how)))
        assert "labels_" not in vars(model)  # one byte a row, until they are asked for
        assert_same_bits(model, expected)


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("how", CUTS)
def test_no_cut_changes_a_bit(how):
    expected = fit("weights", "split-merge")
    model = fit("weights", "split-merge", row_blocks(cut(X, how)), n_jobs=2)
    assert_same_bits(model, expected)


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("penalty", [0.3, 200.0])
def test_many_clusters_and_one(penalty):
    expected = fit("float64", "split-merge", cluster_penalty=penalty)
    model = fit("float64", "split-merge", row_blocks(cut(X, "17")), cluster_penalty=penalty)
    assert_same_bits(model, expected)


@pytest.mark.usefixtures("small_memory")
def test_the_collapsed_algorithm():
    expected = fit("float64", "split-merge", method="collapsed")
    blocks = row_blocks(cut(X, "17"))
    assert_same_bits(fit("float64", "split-merge", blocks, method="collapsed"), expected)


@pytest.mark.usefixtures("small_memory")
def test_more_than_255_clusters():
    rows = 100 * np.random.default_rng(0).standard_normal((400, 1))
    model = DPMeans(1e-6, search="paper", random_state=0, max_clusters=300)
    expected = quiet_fit(DPMeans(**model.get_params()), rows)
    assert_same_bits(quiet_fit(model, row_blocks(cut(rows, "17"))), expected)
    assert model.n_clusters_ == 300


@pytest.mark.parametrize("search", SEARCHES)
def test_the_automatic_penalty_of_rows_that_fit_into_memory(search):
    rows = blobs(600, 2, seed=4)
    expected = quiet_fit(DPMeans(search=search, random_state=0), rows)
    model = quiet_fit(DPMeans(search=search, random_state=0), row_blocks(cut(rows, "17")))
    assert_same_bits(model, expected)
    assert model.cluster_penalty_ == expected.cluster_penalty_
    assert model.status_ == expected.status_


@pytest.mark.usefixtures("small_memory")
def test_the_automatic_penalty_of_more_rows_is_chosen_on_some():
    rows = blobs(600, 2, seed=4)
    model = quiet_fit(DPMeans(random_state=0), row_blocks(cut(rows, "3")))
    other = quiet_fit(DPMeans(random_state=0), row_blocks(cut(rows, "17")))
    assert_same_bits(model, other)
    assert "The penalty was chosen on" in model.status_
    assert (np.diff(model.objective_history_) <= 0).all()
    fixed = DPMeans(model.cluster_penalty_, random_state=0).fit(rows)
    assert model.objective_ <= 1.02 * fixed.objective_


@pytest.mark.usefixtures("small_memory")
def test_a_model_of_blocks_predicts_and_is_saved_like_any_other(tmp_path):
    expected = fit("float32", "split-merge")
    rows = CASES["float32"][0]
    blocks = row_blocks(cut(rows, "empty"))
    model = fit("float32", "split-merge", blocks)
    for novelty in (False, True, 0.1):
        wanted = expected.predict(rows, novelty=novelty)
        np.testing.assert_array_equal(model.predict(blocks, novelty=novelty), wanted)
        np.testing.assert_array_equal(model.predict(rows, novelty=novelty), wanted)
    distances = expected.transform(rows)
    np.testing.assert_array_equal(np.concatenate(list(model.transform(blocks))), distances)
    save(model, tmp_path / "model.hb")
    loaded = load(tmp_path / "model.hb")
    assert loaded.n_passes_ == model.n_passes_
    np.testing.assert_array_equal(loaded.predict(rows), expected.predict(rows))
    np.testing.assert_array_equal(model.labels_, expected.labels_)  # read at last, kept from then


@pytest.mark.usefixtures("small_memory")
def test_a_fit_goes_on_from_centres_in_a_file_with_the_same_bits(tmp_path):
    """Each round depends on the centres before it alone: one that was killed is done again."""

    def rounds(begin, end, centres):
        for number in range(begin, end):
            blocks = row_blocks(cut(X, "3"))
            model = DPMeans(8.0, init=centres, max_iter=2, random_state=number)
            centres = quiet_fit(model, blocks).cluster_centers_
        return model

    start = X[:1]
    expected = rounds(0, 5, start)
    np.save(tmp_path / "centres.npy", rounds(0, 2, start).cluster_centers_)
    assert_same_bits(rounds(2, 5, np.load(tmp_path / "centres.npy")), expected)


@pytest.mark.usefixtures("small_memory")
def test_a_row_takes_a_few_bytes_at_most():
    n, size = 1_000_000, 20_000

    def read(parts):
        rng = np.random.default_rng(0)
        for _ in range(parts):
            yield rng.integers(3, size=(size, 1)) + 0.1 * rng.standard_normal((size, 1))

    model = DPMeans(1e5, search="paper", init=[[0.0], [1.0], [2.0]], n_jobs=1, random_state=0)
    model.fit(row_blocks(lambda: read(2)))  # compiles
    tracemalloc.start()
    try:
        model.fit(row_blocks(lambda: read(n // size)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.n_clusters_ == 3
    assert peak < 8 * n  # less than one number a row
