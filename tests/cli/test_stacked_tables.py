"""Several tables with the same columns are read as one."""

import json

import numpy as np
import pytest

from hardbayes.cli.readers import open_tables
from hardbayes.cli.terminal import CommandError
from tests.cli.conftest import write_csv

ROWS = np.random.default_rng(0).normal(0, 0.1, (40, 2)) + np.repeat([[0, 0], [5, 5]], 20, axis=0)


@pytest.fixture
def halves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv("whole.csv", ["a", "b"], ROWS.tolist())
    write_csv("one.csv", ["a", "b"], ROWS[:25].tolist())
    write_csv("two.csv", ["b", "a"], ROWS[25:, ::-1].tolist())


@pytest.mark.usefixtures("halves")
def test_rows_of_two_files_are_those_of_one(hardbayes):
    whole = hardbayes("cluster", "whole.csv", "--json")
    both = hardbayes("cluster", "one.csv", "two.csv", "--json", "--report", "page.html")
    assert json.loads(both.out)["labels"] == json.loads(whole.out)["labels"]
    assert "one.csv, two.csv: 40 rows, 2 columns" in both.err
    ids = json.loads(both.out)["ids"]
    assert ids[0] == "one.csv 1" and ids[-1] == "two.csv 15" and len(ids) == 40
    assert "hardbayes cluster one.csv two.csv" in both.err


@pytest.mark.usefixtures("halves")
def test_a_bad_cell_is_named_by_its_row_and_file(refused):
    write_csv("bad.csv", ["a", "b"], [[1, 2], ["", 3]])
    said = refused("cluster", "one.csv", "bad.csv")
    assert "row 2 (line 3) of bad.csv has no value in column 'a'" in said


@pytest.mark.usefixtures("halves")
def test_other_columns_are_refused(refused):
    write_csv("other.csv", ["a", "c"], [[1, 2]])
    said = refused("cluster", "one.csv", "other.csv")
    assert "other.csv: its columns are not those of one.csv: only one of the two has b, c" in said
    with pytest.raises(CommandError):
        open_tables(["one.csv", "other.csv"])


@pytest.mark.usefixtures("halves")
def test_a_column_of_text_in_one_file_is_text_in_all():
    write_csv("words.csv", ["a", "b"], [[1, "x"], [2, "y"]])
    table = open_tables(["one.csv", "words.csv"])
    assert table.kinds == {"a": "number", "b": "text"}
    cells = table.read(["a"], ["b"])
    assert cells.numbers.shape == (27, 1) and cells.texts["b"][-2:] == ["x", "y"]


@pytest.mark.usefixtures("halves")
def test_an_input_is_not_written_over(refused):
    said = refused("cluster", "one.csv", "two.csv", "-o", "two.csv", "--overwrite")
    assert "it is what is read" in said
