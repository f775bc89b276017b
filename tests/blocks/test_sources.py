"""What blocks of rows are read from, and how often."""

import gzip
import re
import threading

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import zarr
from pyarrow import parquet
from scipy import sparse

from hardbayes import DPMeans, row_blocks
from tests.blocks.conftest import assert_same_bits, blobs, cut
from tests.conftest import quiet_fit

X = blobs()
NAMES = ["a", "b", "c"]
WEIGHTS = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(X))
SMALL = 24 * 50  # bytes of a block of fifty rows


def fit(rows, weights=None, **options):
    given = dict(cluster_penalty=8.0, search="paper", random_state=0, n_jobs=1) | options
    return quiet_fit(DPMeans(**given), rows, weights)


def npy(folder):
    np.save(folder / "x.npy", X)
    return folder / "x.npy"


def column_major(folder):
    np.save(folder / "f.npy", np.asfortranarray(X))
    return str(folder / "f.npy")


def memory_map(folder):
    return np.load(npy(folder), mmap_mode="r")


def part_of_a_map(folder):
    path = folder / "raw.bin"
    np.concatenate([X[:7] + 1, X]).tofile(path)
    return np.memmap(path, np.float64, "r+", offset=24, shape=(len(X) + 6, 3))[6:]


def table(rows=X):
    return pa.table(dict(zip(NAMES, rows.T, strict=True)))


def parquet_file(folder):
    parquet.write_table(table(), folder / "x.parquet", row_group_size=70)
    return folder / "x.parquet"


def parquet_folder(folder):
    for number, part in enumerate(cut(X, "3")):
        parquet.write_table(table(part), folder / f"part-{number}.parquet")
    return folder


def text(folder, name, rows=X, separator=","):
    with (gzip.open if name.endswith("gz") else open)(folder / name, "wt") as file:
        pd.DataFrame(rows, columns=NAMES).to_csv(file, sep=separator, index=False)
    return folder / name


def zarr_array(folder):
    rows = zarr.open(str(folder / "x.zarr"), mode="w", shape=X.shape, chunks=(20, 2), dtype="f8")
    rows[:] = X
    return rows


def h5py_data(folder):
    with h5py.File(folder / "x.h5", "w") as file:
        file["X"] = X
    return h5py.File(folder / "x.h5")["X"]


SOURCES = {
    "npy": npy,
    "npy, column-major": column_major,
    "memory map": memory_map,
    "part of a memory map": part_of_a_map,
    "Parquet": parquet_file,
    "Parquet folder": parquet_folder,
    "CSV frames": lambda folder: text(folder, "x.csv"),
    "TSV frames, compressed": lambda folder: text(folder, "x.tsv.gz", separator="\t"),
    "zarr": zarr_array,
    "h5py": h5py_data,
    "array": lambda folder: X,
    "strided": lambda folder: np.repeat(X, 2, axis=0)[::2],
    "pandas": lambda folder: pd.DataFrame(X, columns=NAMES),
    "polars": lambda folder: pl.DataFrame(X, schema=NAMES),
    "list": lambda folder: cut(X, "empty"),
    "tuple of CSC": lambda folder: tuple(sparse.csc_array(part) for part in cut(X, "3")),
    "arrays": lambda folder: lambda: iter(cut(X, "17")),
    "pandas frames": lambda folder: lambda: iter(cut(pd.DataFrame(X, columns=NAMES), "3")),
    "polars frames": lambda folder: lambda: iter(cut(pl.DataFrame(X, schema=NAMES), "empty")),
    "a generator of one block": lambda folder: lambda: (part for part in [X]),
}


@pytest.fixture(scope="module")
def expected():
    return fit(X)


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_fit(source, expected, tmp_path):
    rows = SOURCES[source](tmp_path)
    blocks = row_blocks(rows, block_bytes=SMALL)
    model = fit(blocks)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    wanted = expected if "CSC" not in source else fit(sparse.csr_array(X))
    assert_same_bits(model, wanted)
    np.testing.assert_array_equal(model.predict(blocks), expected.labels_)
    named = any(word in source for word in ("Parquet", "pandas", "polars", "frames"))
    assert list(getattr(model, "feature_names_in_", [])) == (NAMES if named else [])
    if isinstance(rows, h5py.Dataset):
        rows.file.close()


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("dtype", [np.float32, np.int16, bool])
def test_types_of_files_are_those_of_memory(dtype, tmp_path):
    rows = X.astype(dtype) if dtype is not bool else X > 0
    np.save(tmp_path / "x.npy", rows)
    parquet.write_table(table(rows), tmp_path / "x.parquet")
    expected = fit(rows)
    for name in ("x.npy", "x.parquet"):
        assert_same_bits(fit(row_blocks(tmp_path / name, block_bytes=SMALL)), expected)


@pytest.mark.usefixtures("small_memory")
def test_columns_and_weights_are_chosen_by_name(tmp_path):
    whole = pd.DataFrame(X, columns=NAMES).assign(w=WEIGHTS)
    whole["text"] = "x"
    whole.to_parquet(tmp_path / "x.parquet")
    whole.to_csv(tmp_path / "x.csv", index=False)
    expected = fit(X[:, [2, 0]], WEIGHTS)
    files = tmp_path / "x.parquet", tmp_path / "x.csv"
    for source in (*files, whole, pl.DataFrame(whole), [whole[:90], whole[90:]]):
        blocks = row_blocks(source, columns=["c", "a"], weights="w", block_bytes=SMALL)
        model = fit(blocks)
        assert_same_bits(model, expected)
        assert list(model.feature_names_in_) == ["c", "a"]
        np.testing.assert_array_equal(model.predict(blocks), expected.labels_)
    every = fit(row_blocks(whole.drop(columns="text"), weights="w", block_bytes=SMALL))
    assert_same_bits(every, fit(X, WEIGHTS))
    by_number = row_blocks(cut(X, "3"), columns=[2, 0], weights=WEIGHTS)
    assert_same_bits(fit(by_number), expected)


def test_text_that_is_no_table_of_numbers(tmp_path):
    """A number may be written in any block after the first as it was not before."""
    rows = np.round(X).astype(object)
    rows[100, 1], rows[200, 2] = 0.5, ""
    path = text(tmp_path, "x.csv", rows)
    with pytest.raises(ValueError, match=r"NaN at row 200, column 2 .*'c'"):
        fit(row_blocks(path, block_bytes=SMALL))
    np.testing.assert_array_equal(
        np.concatenate([raw.rows for raw in row_blocks(path, columns=["b"]).blocks()]),
        rows[:, 1:2].astype(float),
    )
    rows[200, 2] = "many"
    with pytest.raises(ValueError, match=r"x.csv must hold numbers.*many.*'columns' without"):
        fit(row_blocks(text(tmp_path, "x.csv", rows), block_bytes=SMALL))
    with pytest.raises(ValueError, match=r"must name columns of x.csv. Got 'd'"):
        row_blocks(path, columns=["d"])
    (tmp_path / "x.csv").write_text("1,2\n3,4\n")
    with pytest.raises(ValueError, match=r"first line of x.csv must hold the names"):
        row_blocks(path)
    (tmp_path / "x.csv").write_text("")
    with pytest.raises(ValueError, match=r"x.csv is no table"):
        row_blocks(path)


@pytest.mark.usefixtures("small_memory")
def test_weights_come_in_three_forms_and_as_an_argument_of_fit():
    expected = fit(X, np.abs(X[:, 0]))
    by_function = row_blocks(cut(X, "17"), weights=lambda block: np.abs(block[:, 0]))
    by_array = row_blocks(cut(X, "17"), weights=np.abs(X[:, 0]))
    for model in (fit(by_function), fit(by_array), fit(row_blocks(X), np.abs(X[:, 0]))):
        assert_same_bits(model, expected)


class Counting:
    """A source that counts how often it is gone through."""

    def __init__(self):
        self.times = 0

    def __call__(self):
        self.times += 1
        return iter(cut(X, "3"))


@pytest.mark.parametrize("search", ["paper", "split-merge"])
@pytest.mark.usefixtures("small_memory")
def test_passes_are_counted(search):
    source = Counting()
    blocks = row_blocks(source)
    first = fit(blocks, search=search)
    assert first.n_passes_ == source.times > 2
    second = fit(blocks, search=search)
    assert second.n_passes_ == first.n_passes_ and source.times == 2 * first.n_passes_


@pytest.mark.usefixtures("small_memory")
def test_a_log_tells_what_passes_took(capsys):
    model = fit(row_blocks(cut(X, "3")), verbose=1)
    logged = re.findall(r"\] (.*): (\d+) pass(?:es)?, .* s in all", capsys.readouterr().err)
    assert {"first pass", "assignment", "objective"} <= {phase for phase, _ in logged}
    assert sum(int(n) for _, n in logged) == model.n_passes_


def test_rows_that_fit_into_memory_are_read_twice():
    source = Counting()
    assert fit(row_blocks(source)).n_passes_ == source.times == 2


@pytest.mark.usefixtures("small_memory")
def test_no_thread_and_no_file_stays_open_after_an_error(tmp_path):
    rows = X.copy()
    rows[30, 1] = np.nan
    closed = []

    def source():
        try:
            yield from cut(rows, "17")
        finally:
            closed.append(True)

    with pytest.raises(ValueError, match="NaN at row 30, column 1"):
        fit(row_blocks(source))
    assert len(closed) == 2  # the second read names the place
    assert not [t for t in threading.enumerate() if t.name.startswith("hardbayes reads")]


@pytest.mark.usefixtures("small_memory")
def test_a_cache_is_read_in_place_of_the_source(tmp_path):
    expected = fit(X, WEIGHTS)
    path = npy(tmp_path)
    source = Counting()
    blocks = row_blocks(source, weights=WEIGHTS, cache=tmp_path / "cache")
    assert_same_bits(fit(blocks), expected)
    assert source.times == 1
    assert len(list((tmp_path / "cache").iterdir())) == 3
    again = row_blocks(source, weights=WEIGHTS, cache=tmp_path / "cache")
    fit(again)
    assert source.times == 2  # another function may yield other rows
    for weights in (WEIGHTS, None, WEIGHTS):
        cached = row_blocks(path, weights=weights, cache=tmp_path / "cache")
        assert_same_bits(fit(cached), fit(X, weights))
    frame = pd.DataFrame(X, columns=NAMES).to_parquet(tmp_path / "x.parquet")
    for _ in range(2):
        frame = row_blocks(tmp_path / "x.parquet", columns=["b"], cache=tmp_path / "cache")
        assert list(fit(frame).feature_names_in_) == ["b"]


def test_two_functions_of_weights_share_no_cache(tmp_path):
    path = npy(tmp_path)
    for factor in (1.0, 5.0):
        blocks = row_blocks(
            path, weights=lambda rows, f=factor: np.full(len(rows), f), cache=tmp_path / "cache"
        )
        assert fit(blocks).cluster_weights_.sum() == pytest.approx(factor * len(X))


def test_a_cache_that_was_not_finished_does_not_count(tmp_path):
    def broken():
        yield X[:100]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        fit(row_blocks(broken, cache=tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_was_cut_is_told(tmp_path):
    blocks = row_blocks(npy(tmp_path), cache=tmp_path / "cache")
    fit(blocks)
    rows = next((tmp_path / "cache").glob("*rows.bin"))
    rows.write_bytes(rows.read_bytes()[:-8])
    with pytest.raises(ValueError, match=r"rows\.bin in the 'cache' folder.*Remove .*hardbayes-"):
        fit(blocks)
