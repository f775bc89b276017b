"""Fits of Dask arrays and data frames, without a cluster: the bits of the fit in memory."""

import asyncio
import pickle

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from scipy import sparse

from hardbayes import DPMeans, by_size, load, row_blocks, save
from tests.blocks.conftest import assert_same_bits, blobs
from tests.conftest import SEARCHES, quiet_fit

X = blobs(150)
NAMES = ["a", "b", "c"]
FRAME = pd.DataFrame(X, columns=NAMES)
WEIGHTS = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(X))


@pytest.fixture(params=["synchronous", "threads"])
def scheduler(request):
    with dask.config.set(scheduler=request.param):
        yield


@pytest.fixture
def counted():
    """How often each block of rows was computed."""
    return [0, 0, 0]


def fit(rows, weights=None, **options):
    given = dict(cluster_penalty=8.0, random_state=0, n_jobs=1) | options
    return quiet_fit(DPMeans(**given), rows, weights)


def unknown(rows):
    """The same rows, in blocks whose lengths are not known."""
    return da.from_array(rows, chunks=(50, 3))[da.from_array(np.ones(len(rows), bool), chunks=50)]


def sparse_blocks(rows):
    # Not csr_array, which older versions of Dask cannot join.
    parts = [sparse.csr_matrix(rows[start : start + 60]) for start in range(0, len(rows), 60)]
    blocks = [da.from_delayed(dask.delayed(p), p.shape, meta=p[:0]) for p in parts]
    return da.concatenate(blocks)


SOURCES = {
    "array": lambda: da.from_array(X, chunks=(40, 3)),
    "one chunk": lambda: da.from_array(X, chunks=-1),
    "column chunks": lambda: da.from_array(X, chunks=(70, 2)),
    "uneven, empty": lambda: da.from_array(X, chunks=((0, 1, 100, 0, 49, 0), 3)),
    "unknown": lambda: unknown(X),
    "unknown, column chunks": lambda: unknown(X).rechunk({1: 2}),
    "frame": lambda: dd.from_pandas(FRAME, npartitions=3),
    "frame with empty partitions": lambda: dd.from_delayed(
        [dask.delayed(FRAME[a:b]) for a, b in ((0, 0), (0, 90), (90, 90), (90, 150))],
        meta=FRAME[:0],
    ),
    "sparse": lambda: sparse_blocks(X),
}


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("search", SEARCHES)
def test_dask_gives_the_bits_of_memory(source, search):
    rows = SOURCES[source]()
    with dask.config.set(scheduler="synchronous"):
        expected = fit(sparse.csr_array(X) if source == "sparse" else X, search=search)
        model = fit(rows, search=search)
        assert isinstance(model.labels_, da.Array)
        assert_same_bits(model, expected)
        predicted = model.predict(rows)
        assert predicted.numblocks[0] == (
            rows.npartitions if "frame" in source else rows.numblocks[0]
        )
        np.testing.assert_array_equal(predicted.compute(), expected.labels_)
        np.testing.assert_array_equal(
            model.predict(rows, novelty=True), expected.predict(X, novelty=True)
        )
        np.testing.assert_array_equal(model.transform(rows).compute(), expected.transform(X))
    if "frame" in source:
        assert list(model.feature_names_in_) == NAMES


@pytest.mark.usefixtures("small_memory", "scheduler")
@pytest.mark.parametrize("search", SEARCHES)
def test_no_scheduler_changes_a_bit(search):
    expected = fit(X, WEIGHTS, search=search)
    rows = da.from_array(X, chunks=(13, 3))
    for weights in (WEIGHTS, da.from_array(WEIGHTS, chunks=40)):
        assert_same_bits(fit(rows, weights, search=search), expected)
    frame = dd.from_pandas(FRAME.assign(w=WEIGHTS), npartitions=4)
    assert_same_bits(fit(frame[NAMES], frame["w"], search=search), expected)


@pytest.mark.usefixtures("small_memory", "scheduler")
@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (X.astype(np.float32), {}),
        (np.round(X).astype(int), {}),
        (np.abs(X) + 0.1, dict(divergence="kl")),
        (X, dict(max_clusters=3, search="paper")),
        (X, dict(init="k-means++", n_init=2)),
    ],
    ids=["float32", "integers", "kl", "cap", "k-means++"],
)
def test_other_fits(rows, options):
    assert_same_bits(fit(da.from_array(rows, chunks=(40, 3)), **options), fit(rows, **options))


@pytest.mark.usefixtures("scheduler")
def test_the_automatic_penalty():
    rows = blobs(400, 2, seed=4)
    expected = quiet_fit(DPMeans(random_state=0), rows)
    model = quiet_fit(DPMeans(random_state=0), da.from_array(rows, chunks=(90, 2)))
    assert_same_bits(model, expected)
    assert model.status_ == expected.status_


@pytest.mark.usefixtures("small_memory")
def test_passes_are_counted(counted):
    """A pass may leave out blocks; no block is computed twice in one."""

    def block(number):
        counted[number] += 1
        return X[50 * number : 50 * number + 50]

    parts = [da.from_delayed(dask.delayed(block)(i), (50, 3), X.dtype) for i in range(3)]
    with dask.config.set(scheduler="synchronous"):
        model = fit(da.concatenate(parts), search="paper")
    assert max(counted) <= model.n_passes_ <= sum(counted)


@pytest.mark.usefixtures("small_memory", "scheduler")
def test_bad_cells_are_named_by_their_place_among_all_rows():
    rows = X.copy()
    rows[-2, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*row 148, column 1"):
        fit(da.from_array(rows, chunks=(40, 3)))
    with pytest.raises(ValueError, match=r"NaN.*row 148, column 1.*'b'"):
        fit(dd.from_pandas(pd.DataFrame(rows, columns=NAMES), npartitions=4))
    weights = np.ones(len(X))
    weights[77] = -1
    with pytest.raises(ValueError, match=r"Got -1\.0 at row 77"):
        fit(da.from_array(X, chunks=(40, 3)), weights)


@pytest.mark.usefixtures("scheduler")
def test_what_is_refused():
    rows = da.from_array(X, chunks=(40, 3))
    with pytest.raises(ValueError, match=r"one weight for each of the 150 rows"):
        fit(rows, np.ones(7))
    with pytest.raises(ValueError, match=r"lengths of the blocks of X are not known"):
        fit(unknown(X), WEIGHTS)
    with pytest.raises(ValueError, match=r"a chunk for each of the 3 of X. Got 2"):
        fit(unknown(X), da.from_array(WEIGHTS, chunks=75))
    text = dd.from_pandas(FRAME.assign(t="x"), npartitions=2)
    with pytest.raises(ValueError, match=r"Column 't' of X holds"):
        fit(text)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        fit(rows[:0])
    model = fit(rows)
    with pytest.raises(ValueError, match=r"X has 2 features, but DPMeans is expecting 3"):
        model.predict(rows[:, :2]).compute()


@pytest.mark.usefixtures("small_memory", "scheduler")
def test_a_model_needs_no_dask(tmp_path):
    expected = fit(X)
    model = fit(da.from_array(X, chunks=(40, 3)))
    save(model, tmp_path / "model.hb")
    loaded = load(tmp_path / "model.hb")
    assert not hasattr(loaded, "labels_")
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), expected.labels_)


def test_an_asynchronous_client_is_refused():
    async def within():
        async with Client(
            processes=False,
            n_workers=1,
            threads_per_worker=1,
            asynchronous=True,
            dashboard_address=None,
        ):
            fit(da.from_array(X, chunks=(40, 3)))

    with pytest.raises(TypeError, match=r"The Dask client is asynchronous, and fit is not"):
        asyncio.run(within())


@pytest.mark.usefixtures("small_memory")
def test_clusters_are_numbered_by_size_without_computing_labels():
    expected = by_size(fit(X))
    with dask.config.set(scheduler="synchronous"):
        model = fit(da.from_array(X, chunks=(40, 3)))

    def unwanted(*args, **kwargs):
        raise AssertionError("labels were computed")

    with dask.config.set(scheduler=unwanted):
        numbered = by_size(model)
    assert numbered.labels_.chunks == model.labels_.chunks
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_array_equal(numbered.labels_.compute(), expected.labels_)
    np.testing.assert_array_equal(numbered.predict(X), expected.labels_)
    blocks = by_size(fit(row_blocks(X)))
    np.testing.assert_array_equal(blocks.labels_, expected.labels_)
