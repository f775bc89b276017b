"""Columns are chosen, encoded, filled in and scaled as the options say."""

import argparse

import numpy as np
import pytest

from hardbayes.cli.preparation import Preparation, assembled
from hardbayes.cli.rows import NO_SAY, Spreads, read_rows, spreads
from hardbayes.cli.terminal import CommandError
from tests.cli.conftest import write_csv


def rows_of(name, scalable=True, centred=True, **given):
    options = {
        "table": name, "columns": None, "exclude": None, "encode": False, "missing": "refuse",
        "id_column": None, "weight_column": None, "group_column": None, "standardize": None,
        "header": None, **given,
    }  # fmt: skip
    return read_rows(argparse.Namespace(**options), scalable=scalable, centred=centred)


@pytest.fixture
def mixed():
    rows = [
        [i + 1, i % 4, 1000 * (i % 7), "xy"[i % 2], ["true", "false"][i % 2]] for i in range(12)
    ]
    write_csv("t.csv", ["number", "a", "b", "kind", "flag"], rows)


def test_numbers_are_taken_and_others_named(mixed):
    rows = rows_of("t.csv", standardize=False)
    assert rows.names == ["a", "b"]
    assert rows.notes == [
        "Left out (no numbers): kind, flag. To use them: --encode.",
        "Left out (names or counts the rows): number. To use it: --columns.",
    ]


@pytest.mark.parametrize(
    ("name", "left_out"),
    [("id", True), ("customer_id", True), ("OrderID", True), ("paid", False), ("bid", False)],
)
def test_numbers_that_name_the_rows(name, left_out):
    write_csv("t.csv", [name, "a"], [[(7 * i) % 31 + 5, i % 3] for i in range(31)])
    assert (rows_of("t.csv").names == ["a"]) == left_out
    assert rows_of("t.csv", columns=[name]).names == [name]


def test_columns_by_name_with_or_without_commas(mixed):
    assert rows_of("t.csv", columns=["b,number"]).names == ["b", "number"]
    assert rows_of("t.csv", columns=["b", "flag"]).X[:2, 1].tolist() != [0, 0]
    assert rows_of("t.csv", exclude=["b"]).names == ["a"]
    with pytest.raises(CommandError, match="there is no column 'z'; its columns are number, a, b"):
        rows_of("t.csv", columns=["z"])
    with pytest.raises(CommandError, match="'kind' holds text; add --encode"):
        rows_of("t.csv", columns=["a", "kind"])


def test_encoding(mixed):
    rows = rows_of("t.csv", columns=["a", "kind"], encode=True, standardize=False)
    assert rows.names == ["a", "kind=x", "kind=y"]
    assert rows.X[:3].tolist() == [[0, 1, 0], [1, 0, 1], [2, 1, 0]]
    scaled = rows_of("t.csv", columns=["a", "kind"], encode=True)
    assert np.array_equal(scaled.X[:, 1:], rows.X[:, 1:])  # zeros and ones stay
    assert np.isclose(scaled.X[:, 0].std(), 1)


def test_too_many_values_are_not_encoded():
    write_csv("t.csv", ["a", "name"], [[i % 5, f"n{i}"] for i in range(60)])
    rows = rows_of("t.csv", encode=True)
    assert rows.names == ["a"]
    assert "has 60 different values" in rows.notes[0]
    with pytest.raises(CommandError, match="leave it out of --columns"):
        rows_of("t.csv", encode=True, columns=["a", "name"])


def test_missing_values():
    write_csv("t.csv", ["a", "b"], [[1, 2], ["", 4], [3, "NA"], [5, 6]])
    with pytest.raises(CommandError, match=r"row 2 \(line 3\) has no value in column 'a'; 2 rows"):
        rows_of("t.csv")
    dropped = rows_of("t.csv", missing="drop")
    assert dropped.X.tolist() == [[1, 2], [5, 6]]
    assert dropped.in_table(np.array([7, 8])) == [7, None, None, 8]
    assert dropped.cell(1, 0) == "row 4 (line 5), column 'a'"
    filled = rows_of("t.csv", missing="mean")
    assert filled.X.tolist() == [[1, 2], [3, 4], [3, 4], [5, 6]]
    assert filled.preparation.fill.tolist() == [3, 4]


def test_infinite_numbers_are_refused_whatever_is_said_of_missing_ones():
    write_csv("t.csv", ["a"], [[1], ["1e999"], [2]])
    with pytest.raises(CommandError, match=r"row 2 \(line 3\), column 'a' holds an infinite"):
        rows_of("t.csv", missing="drop")


def test_weights_groups_and_ids(blobs):
    rows = rows_of("blobs.csv", id_column="name", weight_column="weight", group_column="group")
    assert rows.names == ["a", "b"]
    assert rows.weights.tolist() == [1.0, 2.0] * 30
    assert rows.groups[:4] == ["u", "v", "w", "u"] and rows.ids[:2] == ["n0", "n1"]
    write_csv("w.csv", ["a", "w", "g"], [[1, 1, "x"], [2, -1, ""]])
    with pytest.raises(CommandError, match=r"row 2 .* has the weight -1 in column 'w'"):
        rows_of("w.csv", weight_column="w")
    with pytest.raises(CommandError, match=r"row 2 .* has no group in column 'g'"):
        rows_of("w.csv", group_column="g")


def test_units_decide_about_scales():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(50, 4)) * [1, 2, 3, 4]
    write_csv("one.csv", "abcd", X.tolist())
    one = rows_of("one.csv")
    assert np.array_equal(one.X, X) and "used as they are" in one.notes[-1]
    write_csv("two.csv", "abcd", (X * [1, 1, 1000, 1000]).tolist())
    two = rows_of("two.csv")
    assert np.allclose(two.X, (X - X.mean(0)) / X.std(0)) and "have no say" in two.notes[-1]
    assert np.allclose(two.preparation.in_own_units(two.X), X * [1, 1, 1000, 1000])
    assert rows_of("two.csv", standardize=False).preparation.scale is None
    assert rows_of("two.csv", scalable=False).preparation.scale is None
    assert not rows_of("two.csv", centred=False).preparation.shift.any()
    with pytest.raises(CommandError, match="--standardize needs"):
        rows_of("two.csv", standardize=True, scalable=False)


def test_share_of_the_smaller_half():
    assert np.isclose(Spreads(np.zeros(4), np.array([3.0, 1, 0, 2])).smaller_half, 1 / 14)
    assert Spreads(np.zeros(2), np.array([0.0, 5])).smaller_half == 1  # a constant column
    X = np.array([[1.0, 10], [3, 10]])
    found = spreads(X, [1.0, 3.0])
    assert np.allclose(found, [[2.5, 10], [np.sqrt(0.75), 0]])
    assert 0 < NO_SAY < 0.1


def test_a_preparation_survives_its_values():
    made = Preparation(
        ["a"], {"k": ["x", "y"], "l": ["z"]}, "mean", np.ones(4), np.zeros(4), np.full(4, 2.0)
    )
    again = Preparation.from_values(made.to_values(), 4)
    assert again.names == made.names == ["a", "k=x", "k=y", "l=z"]
    assert again.levels == made.levels and again.scale.tolist() == made.scale.tolist()
    for change in ({"scale": np.zeros(4)}, {"shift": np.zeros(3)}, {"n_levels": np.array([1, 1])}):
        with pytest.raises(ValueError, match="contradicts"):
            Preparation.from_values(made.to_values() | change, 4)


def test_unseen_values_are_no_level():
    made = Preparation(["a"], {"k": ["x", "y"]})
    X = assembled(made, np.array([[1.0], [2.0], [3.0]]), {"k": ["y", "new", None]})
    assert np.array_equal(X, [[1, 0, 1], [2, 0, 0], [3, np.nan, np.nan]], equal_nan=True)
