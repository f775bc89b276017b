"""Tables in .npy, Parquet and text files: what is read block by block is what is in memory."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hardbayes.cli import by_block, main, text_tables
from tests.cli.conftest import read_csv

NAMES = ["a", "b", "c"]


@pytest.fixture
def table():
    """Three clusters, in columns of other units; returns labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=900)
    X = np.array([[0.0, 0, 0], [9, 0, 3], [0, 9, -3]])[y] + rng.standard_normal((900, 3))
    X *= [1.0, 10.0, 100.0]
    np.save("rows.npy", X)
    counted = np.column_stack([np.arange(900), X, 1 + y])
    frame = pl.DataFrame(counted, schema=["row", *NAMES, "weight"])
    frame.write_parquet("rows.parquet", row_group_size=100)
    frame.write_csv("rows.csv")
    return y


@pytest.fixture
def small_memory(monkeypatch):
    monkeypatch.setattr(by_block, "SHARE_OF_MEMORY", 0.0)


@pytest.fixture
def both(hardbayes, monkeypatch, table):
    """Run a command in memory and by block; return what both print, and the files they write."""

    def call(*arguments):
        found = []
        for share in (0.25, 0.0):
            with monkeypatch.context() as patch:
                patch.setattr(by_block, "SHARE_OF_MEMORY", share)
                outputs = ["--centers", "centers.csv", "--save", "m.model", "--overwrite"]
                printed = hardbayes(*arguments, *outputs)
            found.append((printed, read_csv("centers.csv")))
        return found

    return call


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--no-standardize", "--penalty", "3e6"],
        ["--standardize", "--search", "paper"],
        ["--divergence", "squared_euclidean", "--columns", "a", "b"],
        ["--weight-column", "weight"],
    ],
    ids=lambda options: " ".join(options) or "plain",
)
@pytest.mark.parametrize("file", ["rows.npy", "rows.parquet", "rows.csv"])
def test_a_large_table_is_clustered_as_a_small_one(both, file, options):
    if file == "rows.npy":
        options = ["x0" if o == "a" else "x1" if o == "b" else o for o in options]
        if "--weight-column" in options:
            options = ["--weight-column", "x2", "--divergence", "squared_euclidean"]
            X = np.load(file)
            np.save(file, np.column_stack([X[:, :2], np.abs(X[:, 2])]))
    (memory, centres), (blocks, centres_by_block) = both("cluster", file, *options)
    assert memory.out == blocks.out
    assert centres[0] == centres_by_block[0]
    np.testing.assert_allclose(
        np.array(centres[1], float), np.array(centres_by_block[1], float), rtol=1e-9
    )
    assert f"{file}: read block by block, because it may not fit into memory." in blocks.err
    assert "read block by block" not in memory.err
    for line in memory.err.splitlines():  # what is said of columns, of the number and why
        if line.startswith(("Found", "Why", "Left out", "2 columns", "3 columns")):
            assert line in blocks.err.splitlines()


@pytest.mark.usefixtures("table", "small_memory")
@pytest.mark.parametrize("file", ["rows.parquet", "rows.csv"])
def test_a_model_of_a_large_table_is_applied_block_by_block(hardbayes, monkeypatch, file):
    monkeypatch.setattr(text_tables, "BLOCK_BYTES", 1 << 12)
    fitted = hardbayes("cluster", file, "--save", "m.model")
    predicted = hardbayes("predict", "m.model", file)
    assert predicted.out == fitted.out
    assert "Read block by block." in predicted.err
    novel = hardbayes("predict", "m.model", file, "--novelty", "0.1", "-o", "n.tsv")
    assert "in none (-1)" in novel.err
    lines = Path("n.tsv").read_text().splitlines()
    assert lines[0] == "row\tcluster" and len(lines) == 901
    as_json = hardbayes("predict", "m.model", file, "--json")
    assert "block" not in as_json.err


@pytest.mark.usefixtures("table", "small_memory")
@pytest.mark.parametrize(
    "options", [["--model gaussian"], ["--json"], ["--id-column", "row"], ["--report", "r.html"]]
)
def test_what_needs_rows_in_memory_says_so(hardbayes, options):
    printed = hardbayes("cluster", "rows.parquet", *" ".join(options).split())
    assert f"read into memory, which it may not fit into, because of {options[0]}." in printed.err


@pytest.mark.usefixtures("table", "small_memory")
def test_exactly_so_many_clusters_by_block(hardbayes):
    printed = hardbayes("cluster", "rows.parquet", "--k", "4")
    assert "read block by block" in printed.err
    assert "4 clusters" in printed.err


@pytest.mark.usefixtures("table", "small_memory")
@pytest.mark.parametrize(
    ("bad", "words"),
    [(None, "row 701 has no value in column 'b': add --missing drop"),
     (float("inf"), "row 701, column 'b' holds an infinite number")],
)  # fmt: skip
def test_a_bad_cell_is_named(hardbayes, refused, bad, words):
    hardbayes("cluster", "rows.parquet", "--save", "m.model")
    frame = pl.read_parquet("rows.parquet")
    cells = frame["b"].to_list()
    cells[700] = bad
    bad = frame.with_columns(pl.Series("b", cells))
    bad.write_parquet("bad.parquet")
    bad.write_csv("bad.csv")
    assert words in refused("predict", "m.model", "bad.parquet")
    assert words in refused("predict", "m.model", "bad.csv").replace(" (line 702)", "")
    assert main(["cluster", "bad.parquet"]) == main(["cluster", "bad.csv"]) == 2


@pytest.mark.usefixtures("small_memory")
def test_columns_of_other_kinds_are_read_into_memory(hardbayes, table):
    pl.read_parquet("rows.parquet").with_columns(
        pl.datetime_range(pl.datetime(2020, 1, 1), pl.datetime(2020, 1, 1, 0, 14, 59), "1s").alias(
            "t"
        )
    ).write_parquet("dates.parquet")
    assert (
        "because of columns that are no plain numbers" in hardbayes("cluster", "dates.parquet").err
    )
