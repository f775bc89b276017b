"""Bad input to any command is one line that names the file, and nothing is written."""

from pathlib import Path

import numpy as np
import pytest

from hardbayes import DPMeans, save
from tests.cli.conftest import write_csv

ROWS = "".join(f"{i % 7},{i % 3},u\n" for i in range(20))
TABLES = {
    "long.csv": ("a,b,g\n" + ROWS + "1,2,u,4\n", "line 22 has 4 cells"),
    "short.csv": ("a,b,g\n" + ROWS + "1,2\n" + ROWS, "line 22 has 2 cells"),
    "nul.csv": ("a,b,g\n" + ROWS + "1,\0,u\n", "line 22 holds a NUL"),
    "utf16.csv": (("a,b,g\n" + ROWS).encode("utf-16"), "UTF-16"),
    "latin.csv": (b"a,b,g\n1,2,caf\xe9\n", "line 2 is not UTF-8"),
    "open.csv": ('a,b,g\n1,2,"u\n' + ROWS, "quotation mark"),
    "inf.csv": ("a,b,g\n" + ROWS + "1,1e999,u\n", "column 'b' holds an infinite"),
    "word.csv": ("a,b,g\n" + ROWS + "1,two,u\n", "row 21, column 'b' holds 'two'"),
    "hole.csv": ("a,b,g\n" + ROWS + "1,,u\n", "row 21 (line 22) has no value in column 'b'"),
    "empty.csv": ("", "it is empty"),
    "header.csv": ("a,b,g\n", "no rows"),
    "wide.csv": (",".join(["x"] * 10**6) + "\n1\n", "more than 100,000 columns"),
    "text.csv": ("a,b,g\n" + "".join(f"x{i},y{i},z{i}\n" for i in range(14)), ""),
    "noise.parquet": (bytes(range(256)), "not a Parquet file"),
    "noise.npy": (bytes(range(256)), "not an .npy file"),
    "noise.npz": (bytes(range(256)), "not an .npz file"),
    "nothing.csv": (None, "no such file"),
}
ON_TABLES = {
    "cluster": [],
    "path": [],
    "features": [],
    "groups": ["--group-column", "g"],
    "topics": ["--text-column", "g"],
    "predict": None,
}


def write(name):
    content, _ = TABLES[name]
    if content is not None:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("command", ["cluster", "path", "features", "groups", "predict"])
def test_tables(command, name, refused):
    write(name)
    if command == "predict":
        X = np.array([[0.0, 0.0], [1.0, 1.0], [9.0, 9.0]])
        model = DPMeans(4.0).fit(X)
        model.feature_names_in_ = np.array(["a", "b"], dtype=object)
        save(model, "m.model")
        line = refused("predict", "m.model", name, "-o", "out.csv")
    else:
        line = refused(command, name, *ON_TABLES[command], "-o", "out.csv")
    assert name in line
    if "a,b" in str(TABLES[name][0])[:6] or command == "cluster":
        assert TABLES[name][1] in line


@pytest.mark.parametrize("name", ["nul.csv", "utf16.csv", "latin.csv", "open.csv", "empty.csv",
                                  "header.csv", "nothing.csv", "noise.npz"])  # fmt: skip
def test_corpora(name, refused):
    write(name)
    assert name in refused("topics", name, "--text-column", "g", "-o", "out.csv")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"a b\nc\n", "line 2 has 1 cell"),
        (b"a b c d\n", "line 1 has 4 cell"),
        (b"a,b\n,c\n", "line 2 names no vertex"),
        (b"a,b,1\nc,d,-1\n", "line 2 has the weight '-1'"),
        (b"a,b,1\nc,d,nan\n", "line 2 has the weight 'nan'"),
        (b"a,b,1\nc,d,x\n", "line 2 has the weight 'x'"),
        (b"a b\n\0 c\n", "line 2 holds a NUL"),
        (b"a b\nc \xe9\n", "line 2 is not UTF-8"),
        (b"# nothing\n", "no edges"),
        (b"", "no edges"),
    ],
)
def test_edges(content, says, refused, tmp_path):
    (tmp_path / "e.txt").write_bytes(content)
    line = refused("graph", "e.txt", "-o", "out.csv")
    assert "e.txt" in line and says in line


@pytest.mark.parametrize(
    "arguments",
    [
        ["cluster", "t.csv", "--columns", "z"],
        ["cluster", "t.csv", "--penalty", "-1"],
        ["cluster", "t.csv", "--penalty", "nan"],
        ["cluster", "t.csv", "--about-k", "1" + "0" * 400],
        ["cluster", "t.csv", "--about-k", "0"],
        ["cluster", "t.csv", "--about-k", "2", "--penalty", "3"],
        ["cluster", "t.csv", "--about-k", "1000"],
        ["cluster", "t.csv", "--seed", "-1"],
        ["cluster", "t.csv", "--divergence", "itakura_saito"],
        ["cluster", "t.csv", "--divergence", "kl", "--model", "gaussian"],
        ["cluster", "t.csv", "--divergence", "kl", "--standardize"],
        ["cluster", "t.csv", "-o", "t.csv", "--overwrite"],
        ["cluster", "t.csv", "-o", "nowhere/l.csv"],
        ["cluster", "t.csv", "--save", "t.csv"],
        ["path", "t.csv", "--plot", "p.xyz"],
        ["groups", "t.csv"],
        ["groups", "t.csv", "--group-column", "z"],
        ["features", "t.csv", "--penalty", "-1"],
        ["topics", "t.csv"],
        ["topics", "t.csv", "--text-column", "g", "--vocabulary", "t.csv"],
        ["topics", "."],
        ["predict", "t.csv", "t.csv"],
        ["predict", "nothing", "t.csv"],
        ["graph", "."],
        ["experiments", "nothing"],
    ],
)
def test_options(arguments, refused, tmp_path):
    write_csv("t.csv", ["a", "b", "g"], [[i % 7, i % 3, "u"] for i in range(20)])
    if arguments == ["topics", "."]:
        (tmp_path / "t.csv").unlink()
    refused(*arguments)


def test_predict_names_the_columns_that_a_table_lacks(refused, hardbayes):
    write_csv("t.csv", ["a", "b", "c"], [[i % 7, i % 3, i % 2] for i in range(20)])
    hardbayes("cluster", "t.csv", "--penalty", "3", "--save", "m", "-o", "l.csv")
    write_csv("new.csv", ["c", "x"], [[1, 2]])
    line = refused("predict", "m", "new.csv")
    assert "needs columns that are not there: a, b; its columns are c, x" in line
    write_csv("new.csv", ["a", "b", "c"], [["one", 1, 2]])
    assert "column 'a' holds text" in refused("predict", "m", "new.csv")
    assert "--group-column is for" in refused("predict", "m", "t.csv", "--group-column", "c")


def test_cells_outside_a_divergence_are_named_as_in_the_file(refused):
    write_csv("t.csv", ["a", "b"], [[1, 2], [3, -4]])
    line = refused("cluster", "t.csv", "--divergence", "kl")
    assert "Got -4.0 at row 2 (line 3), column 'b'" in line


def test_numbers_near_the_largest(refused, hardbayes):
    write_csv("t.csv", ["a", "b"], [[1e308, -1e308], [-1e308, 1e308], [0, 0]])
    assert "t.csv" in refused("cluster", "t.csv")
    write_csv("t.csv", ["a", "b"], [[i * 1e152, -i * 1e152] for i in (1, 1.1, 5, 5.1, 5.2)])
    assert "RuntimeWarning" not in hardbayes("cluster", "t.csv").err


def test_a_full_disk_leaves_no_file(refused, monkeypatch):
    write_csv("t.csv", ["a", "b"], [[i % 7, i % 3] for i in range(20)])

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    for option in ("-o", "--save", "--centers"):
        line = refused("cluster", "t.csv", "--penalty", "3", option, "out")
        assert "cannot write 'out': no space left on device" in line
