"""Tables of every kind give the same cells."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from hardbayes.cli import text_tables
from hardbayes.cli.readers import open_table
from hardbayes.cli.tables import new_matrix
from hardbayes.cli.terminal import CommandError


def table(content, name="t.csv", header=None):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return open_table(name, header)


def test_kinds():
    found = table("a,b,c,d,e\n1,x,true,,1\n2.5,y,False,NA,z\n?,w,true,,3\n")
    assert found.kinds == {"a": "number", "b": "text", "c": "boolean", "d": "empty", "e": "text"}


@pytest.mark.parametrize("block_bytes", [5, 50, 1 << 20])
def test_cells(block_bytes, monkeypatch):
    monkeypatch.setattr(text_tables.Layout.blocks, "__defaults__", (block_bytes,))
    found = table('a,b,c\n1,"x, y",2\n +3 ,NA,"4"\nNaN,"l1\nl2",-.5\n').read(["c", "a"], ["b"])
    assert np.array_equal(found.numbers, [[2, 1], [4, 3], [-0.5, np.nan]], equal_nan=True)
    assert found.texts == {"b": ["x, y", "NA", "l1\nl2"]}


def test_true_and_false_are_numbers_and_numbers_are_text_where_that_is_wanted():
    found = table("a,b\ntrue,1.50\nFALSE,2\n").read(["a"], ["b"])
    assert found.numbers.tolist() == [[1.0], [0.0]]
    assert found.texts["b"] == ["1.50", "2"]


def test_decimal_commas_with_blanks():
    assert table("a;b\n1,5;2\n 2,5 ;3\n").read(["a", "b"], []).numbers.tolist() == [
        [1.5, 2],
        [2.5, 3],
    ]


def test_blank_lines_are_no_rows():
    found = table("a,b\n1,2\n\n  \n3,4\n\n")
    assert found.read(["a", "b"], []).numbers.tolist() == [[1, 2], [3, 4]]
    assert found.row_name(1) == "row 2"
    assert table("a\n1\n\n3\n").read(["a"], []).numbers.shape == (3, 1)  # a missing value


def test_rows_are_named_by_line_where_each_is_one():
    found = table("a,b\n1,2\n3,4\n")
    found.read(["a"], [])
    assert found.row_name(1) == "row 2 (line 3)"
    found = table('a,b\n1,"x\ny"\n3,4\n')
    found.read(["a"], [])
    assert found.row_name(1) == "row 2"


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("1,2\n1\n3,4\n", "line 3 has 1 cell and the header has 2"),
        ("1,2\n1,2,3\n", "line 3 has 3 cells"),
        ("1,2\n1\n1,2,3\n", "line 3 has 1 cell "),
        ('"1\n",2\n1\n', "line 4 has 1 cell "),
        ("1,2\n" * 20 + "3,x\n", "row 21, column 'b' holds 'x'"),
        # Polars 1.0 reads such a cell as text.
        ('1,5" wide\n2,6" wide\n', "quotation mark|row 1, column 'b' holds '5\" wide'"),
    ],
)
def test_bad_rows_are_named(rows, says):
    with pytest.raises(CommandError, match=says):
        table(f"a,b\n{rows}").read(["a", "b"], [])


def test_every_kind_of_file_gives_the_same():
    X = np.array([[1.5, 2.0], [np.nan, 4.0], [5.0, -6.0]])
    frame = pl.DataFrame({"x0": [1.5, None, 5.0], "x1": [2, 4, -6], "t": ["u", None, "w"]})
    frame.write_csv("t.csv")
    frame.write_csv("t.tsv", separator="\t")
    frame.write_parquet("t.parquet")
    np.save("t.npy", X)
    np.savez("t.npz", X=X, y=np.zeros(3))
    for name in ("t.csv", "t.tsv", "t.parquet", "t.npy", "t.npz"):
        found = open_table(name)
        assert found.names[:2] == ["x0", "x1"]
        assert found.kinds["x0"] == found.kinds["x1"] == "number"
        swapped = found.read(["x1", "x0"], []).numbers
        assert np.array_equal(swapped, X[:, ::-1], equal_nan=True), name
        if len(found.names) == 3:
            assert found.kinds["t"] == "text"
            assert found.read([], ["t"]).texts["t"] == ["u", None, "w"]


def test_an_array_file_is_not_copied():
    np.save("t.npy", np.ones((4, 2), np.float32))
    found = open_table("t.npy").read(["x0", "x1"], []).numbers
    assert isinstance(found, np.memmap) and found.dtype == np.float32


def test_sparse_files_stay_sparse():
    X = sparse.random(9, 5, 0.5, format="csc", random_state=0)
    sparse.save_npz("t.npz", X)
    found = open_table("t.npz").read([f"x{j}" for j in range(5)], ["x1"])
    assert np.array_equal(found.numbers.toarray(), X.toarray())
    assert [float(text) for text in found.texts["x1"]] == X.toarray()[:, 1].tolist()


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("t.parquet", b"PAR1 and more", "not a Parquet file"),
        ("t.npy", b"\x93NUMPY", "not an .npy file"),
        ("t.npz", b"PK", "not an .npz file"),
        ("t.docx", b"PK", "save it as one of these"),
    ],
)
def test_damaged_and_unknown_files(name, content, says):
    with pytest.raises(CommandError, match=says):
        table(content, name)


def test_arrays_that_are_no_tables():
    for array, says in [
        (np.zeros((2, 2, 2)), "2 x 2 x 2"),
        (np.zeros((0, 3)), "0 x 3"),
        (np.array(["a"]), "not numbers"),
        (np.array([{}], dtype=object), "not an .npy file of numbers"),
    ]:
        np.save("t.npy", array, allow_pickle=True)
        with pytest.raises(CommandError, match=says):
            open_table("t.npy")
    np.savez("t.npz", a=np.zeros(1), b=np.zeros(1))
    with pytest.raises(CommandError, match="'a', 'b'; name one array 'X'"):
        open_table("t.npz")


def test_a_folder_and_nothing(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(CommandError, match="folder without pictures"):
        open_table("folder.csv")
    with pytest.raises(CommandError, match="no such file"):
        open_table("nothing.csv")


def test_pictures_are_rows_of_pixels(tmp_path):
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "p").mkdir()
    pixels = np.arange(6, dtype=np.uint8).reshape(2, 3)
    image.fromarray(pixels).save("p/b.png")
    image.fromarray(pixels + 10).save("p/a.png")
    found = open_table("p")
    assert found.names == ["r0c0", "r0c1", "r0c2", "r1c0", "r1c1", "r1c2"]
    assert found.row_ids == ["a.png", "b.png"]
    assert np.allclose(found.read(found.names, []).numbers * 255, [range(10, 16), range(6)])
    image.fromarray(pixels.T).save("p/c.png")
    with pytest.raises(CommandError, match=r"c\.png: it is 2 x 3 and a\.png is 3 x 2"):
        open_table("p").read(found.names, [])
    (tmp_path / "p" / "a.png").write_bytes(b"nothing")
    with pytest.raises(CommandError, match="not a picture"):
        open_table("p")


def test_without_polars_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(CommandError, match=r'pip install "hardbayes\[app\]"'):
        table("a\n1\n")


def test_what_does_not_fit_in_memory_goes_to_a_file(monkeypatch):
    monkeypatch.setattr("hardbayes.cli.tables.memory_bytes", lambda: 100)
    matrix = new_matrix(10, 2)
    matrix[:] = 3.0
    assert isinstance(matrix, np.memmap) and matrix.sum() == 60
    assert not isinstance(new_matrix(1, 1), np.memmap)
