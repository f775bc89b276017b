"""One sentence for what cannot be read by block, and for cells that are no numbers."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from hardbayes import DPMeans, row_blocks
from tests.blocks.conftest import blobs, cut

X = blobs(120)


def refused(source, error=ValueError, match="", weights=None, **options):
    with pytest.raises(error, match=match):
        DPMeans(8.0, random_state=0).fit(row_blocks(source, **options), sample_weight=weights)


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_cell_of_the_last_block_is_named_by_its_place_among_all_rows(bad, tmp_path):
    rows = X.copy()
    rows[-2, 1] = bad
    what = "NaN" if np.isnan(bad) else "infinity"
    place = rf"row {len(X) - 2}, column 1"
    refused(cut(rows, "17"), match=rf"{what}.*{place}")
    np.save(tmp_path / "x.npy", rows)
    refused(tmp_path / "x.npy", match=rf"{what}.*{place}", block_bytes=24 * 50)
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    refused(cut(frame, "17"), match=rf"{what}.*row {len(X) - 2}, column 1.*'b'")
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=40)
    refused(tmp_path / "x.parquet", match=rf"{what}.*row {len(X) - 2}, column 1.*'b'")


def test_missing_cells_of_parquet_are_named(tmp_path):
    cells = {"a": pa.array([1, 2, None, 4]), "b": pa.array([True, False, True, None])}
    parquet.write_table(pa.table(cells), tmp_path / "x.parquet")
    refused(tmp_path / "x.parquet", match=r"NaN.*row 2, column 0")
    refused(tmp_path / "x.parquet", match=r"NaN.*row 3, column 0", columns=["b"])


def test_bad_cells_of_new_rows_are_named():
    model = DPMeans(8.0, random_state=0).fit(X)
    rows = X.copy()
    rows[100, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*row 100, column 2"):
        model.predict(row_blocks(cut(rows, "17")))
    with pytest.raises(ValueError, match=r"X has 2 features, but DPMeans is expecting 3"):
        model.predict(row_blocks(cut(X[:, :2], "3")))
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.predict(row_blocks([X[:0]]))


def test_a_weight_that_is_none():
    weights = np.ones(len(X))
    weights[77] = -1.0
    refused(cut(X, "17"), match=r"77", weights=weights)
    refused(cut(X, "17"), match=r"All are zero", weights=np.zeros(len(X)))
    refused(cut(X, "3"), match=r"one weight for each", weights=np.ones(100))
    refused(
        cut(X, "3"), match=r"one weight for each of the 120 rows. Got 130", weights=np.ones(130)
    )
    with pytest.raises(ValueError, match=r"must be None where row_blocks has weights"):
        DPMeans(8.0).fit(row_blocks(X, weights=np.ones(120)), sample_weight=np.ones(120))


SOURCES = {
    "iterator": (iter([X]), TypeError, "read once only: pass a function"),
    "number": (7, TypeError, "Got int instead"),
    "no blocks": ([], ValueError, "at least one block"),
    "no rows": ([X[:0], X[:0]], ValueError, r"0 sample\(s\)"),
    "vector": ([X[:, 0]], ValueError, "Block 0 of row_blocks must be a table"),
    "function of an array": (lambda: X, TypeError, "must return an iterator of blocks"),
    "columns": ([X, X[:, :2]], ValueError, "Block 1 has 2 columns, the first one 3"),
    "missing file": ("no-such.npy", FileNotFoundError, "there is no no-such.npy"),
    "blocks of blocks": (row_blocks(X), TypeError, "must not be row_blocks. Use it as is"),
    "text": ([np.array([["a", "b"]])], ValueError, "strings"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_no_source(source):
    rows, error, match = SOURCES[source]
    refused(rows, error, match)


def test_frames_with_other_names():
    frames = [pd.DataFrame(X, columns=list(names)) for names in ("abc", "abd")]
    refused(frames, match=r"Block 1 has \['a', 'b', 'd'\]")


def test_options_of_row_blocks(tmp_path):
    refused(X, match=r"'block_bytes' parameter.*Got 0 instead", block_bytes=0)
    refused(X, match=r"'columns' parameter.*pass \['a'\]", columns="a")
    refused(X, match=r"'columns' parameter.*the 3 columns have no names", columns=[7])
    refused(X, match=r"'columns' parameter.*the 3 columns have no names", columns=["a"])
    frame = pd.DataFrame(X, columns=list("abc"))
    refused(frame, match=r"Got 'z'; there are \['a', 'b', 'c'\]", columns=["z"])
    frame.to_parquet(tmp_path / "x.parquet")
    refused(tmp_path / "x.parquet", match=r"x\.parquet.*Got 'z'; there are", columns=["z"])
    with pytest.raises(ValueError, match=r"'weights' parameter.*name of a column. Got 'z'"):
        DPMeans(8.0).fit(row_blocks(frame, weights="z"))
    with pytest.raises(ValueError, match=r"'weights' parameter.*no named columns"):
        DPMeans(8.0).fit(row_blocks(X, weights="z"))


def test_files_that_are_no_tables(tmp_path):
    np.save(tmp_path / "flat.npy", X[:, 0])
    np.save(tmp_path / "text.npy", np.array([["a"]]))
    (tmp_path / "broken.npy").write_bytes(b"no array")
    (tmp_path / "x.json").write_text("[[1, 2]]")
    (tmp_path / "empty").mkdir()
    pd.DataFrame({"a": [1.0], "t": ["x"]}).to_parquet(tmp_path / "t.parquet")
    refused(tmp_path / "flat.npy", match=r"must hold a table of numbers.*\(120,\)")
    refused(tmp_path / "text.npy", match=r"must hold a table of numbers")
    refused(tmp_path / "broken.npy", match=r"broken\.npy is no \.npy file")
    refused(tmp_path / "x.json", match=r"For others pass a function")
    refused(tmp_path / "empty", match=r"or a folder of these")
    refused(tmp_path / "t.parquet", match=r"Column 't' of t.parquet holds")


def test_a_file_that_becomes_shorter_while_it_is_read(tmp_path):
    np.save(tmp_path / "x.npy", X)
    blocks = row_blocks(tmp_path / "x.npy", block_bytes=24 * 50)
    np.save(tmp_path / "x.npy", X[:90])
    with pytest.raises(ValueError, match=r"x\.npy ends before row 100: it has become shorter"):
        DPMeans(8.0).fit(blocks)


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("change", ["sizes", "fewer", "cells"])
def test_a_source_that_yields_other_rows_the_next_time(change):
    times = []

    def source():
        times.append(1)
        rows = X.copy()
        if len(times) > 2 and change == "cells":
            rows[50, 0] = np.nan
        parts = cut(rows, "3" if len(times) < 3 or change == "cells" else "17")
        return iter(parts[:2] if change == "fewer" and len(times) > 2 else parts)

    with pytest.raises(ValueError, match=r"must yield the same blocks each time"):
        DPMeans(8.0, random_state=0).fit(row_blocks(source))


def test_results_are_written_whole_or_not_at_all(tmp_path):
    model = DPMeans(8.0, random_state=0).fit(X)
    blocks = row_blocks(cut(X, "17"))
    labels = model.predict(blocks, out=tmp_path / "labels.npy")
    assert isinstance(labels, np.memmap)
    np.testing.assert_array_equal(labels, model.predict(X))
    distances = model.transform(blocks, out=tmp_path / "distances.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "distances.npy"), model.transform(X))
    np.testing.assert_array_equal(distances, model.transform(X))
    rows = X.copy()
    rows[-1, 0] = np.nan
    with pytest.raises(ValueError, match=r"NaN"):
        model.predict(row_blocks(cut(rows, "17")), out=tmp_path / "other.npy")
    mixed = row_blocks([X[:50].astype(np.float32), X[50:]])
    with pytest.raises(ValueError, match=r"'out' parameter.*Got float64 from row 50 on"):
        model.transform(mixed, out=tmp_path / "other.npy")
    assert {path.name for path in tmp_path.iterdir()} == {"labels.npy", "distances.npy"}
    with pytest.raises(ValueError, match=r"'out' parameter must be None unless X is row_blocks"):
        model.predict(X, out=tmp_path / "other.npy")
