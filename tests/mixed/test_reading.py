"""What columns of frames and arrays are taken for."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from hardbayes import Mixed, MixedDPMeans
from hardbayes.mixed.reading import UNSEEN, cells_of, read_cells, read_table

N = 40


def kinds(X, **said):
    return {column.name: column.kind for column in read_table(X, said).columns}


def test_kinds_are_found_out():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "number": rng.normal(size=N), "signed": rng.integers(-5, 5, N),
        "count": rng.permutation(N), "grade": 1 + np.arange(N) % 5, "flag": np.arange(N) % 2 == 0,
        "zero_one": np.arange(N) % 2, "word": np.array(["a", "b", "c", "d"])[np.arange(N) % 4],
        "size": pd.Categorical(["s", "m", "l", "m"] * (N // 4), ["s", "m", "l"], ordered=True),
        "colour": pd.Categorical(["red", "blue", "green", "red"] * (N // 4)),
        "day": pd.date_range("2020-01-01", periods=N), "constant": 3.0, "empty": np.nan,
        "nothing": [None] * N,
    })  # fmt: skip
    assert kinds(frame) == {
        "number": "number", "signed": "number", "count": "count", "grade": "ordered",
        "flag": "yes/no", "zero_one": "yes/no", "word": "category", "size": "ordered",
        "colour": "category", "day": "date", "constant": "left out", "empty": "left out",
        "nothing": "left out",
    }  # fmt: skip


def test_nullable_columns_of_pandas():
    frame = pd.DataFrame({
        "whole": pd.array([1, 2, None, 12] * 10, dtype="Int64"),
        "real": pd.array([0.5, None, 2.5, 3.0] * 10, dtype="Float32"),
        "flag": pd.array([True, False, None, True] * 10, dtype="boolean"),
        "word": pd.array(["a", None, "b", "c"] * 10, dtype="string"),
        "day": pd.to_datetime(["2020-01-01", None, "2020-03-01", "2021-01-01"] * 10),
        "span": pd.to_timedelta(["1D", None, "3D", "9D"] * 10),
    })  # fmt: skip
    table = read_table(frame, {})
    assert {column.name: column.kind for column in table.columns} == {
        "whole": "ordered", "real": "number", "flag": "yes/no", "word": "category",
        "day": "date", "span": "ordered",
    }  # fmt: skip
    missing = np.isnan(table.matrix[:4])
    assert_array_equal(missing.argmax(axis=0), [2, 1, 2, 1, 1, 1])
    assert_array_equal(missing.sum(axis=0), 1)
    assert table.matrix[2, 4] - table.matrix[0, 4] == 60  # days


def test_zones_of_time_agree_between_libraries():
    times = pd.date_range("2020-01-01", periods=N, freq="7h", tz="Asia/Tokyo")
    frame = pd.DataFrame({"at": times, "x": np.arange(N)})
    expected = read_table(frame, {}).matrix
    assert_array_equal(read_table(pl.from_pandas(frame), {}).matrix, expected)
    objects = pd.DataFrame({"at": times.to_pydatetime().astype(object), "x": np.arange(N)})
    assert_array_equal(read_table(objects.astype({"at": object}), {}).matrix, expected)


def test_dates_times_and_decimals_in_objects():
    rows = np.array(
        [[dt.date(2020, 1, 1 + i), dt.time(i), Decimal(i) / 4, None] for i in range(20)],
        dtype=object,
    )
    table = read_table(rows, {})
    assert [column.kind for column in table.columns] == ["date", "count", "number", "left out"]
    assert_array_equal(np.diff(table.matrix[:, 0]), 1.0)
    assert_array_equal(table.matrix[:, 1], np.arange(20))


def test_levels_of_numbers_and_text_are_one():
    fitted = read_table(pd.DataFrame({"c": ["1", "2", "10", None] * 10}), {})
    assert fitted.columns[0].levels == ("1", "2", "10")
    new = pd.DataFrame({"c": [10.0, 1.0, 7.0, np.nan]})
    codes = read_cells(cells_of(new)[1], fitted.columns)[:, 0]
    assert_array_equal(codes, [2, 0, UNSEEN, np.nan])


def test_a_new_level_of_an_order_is_missing():
    order = ["low", "mid", "high"]
    fitted = read_table(pd.DataFrame({"c": pd.Categorical(order * 9, order, ordered=True)}), {})
    new = pd.DataFrame({"c": ["high", "huge", None]})
    assert_array_equal(read_cells(cells_of(new)[1], fitted.columns)[:, 0], [2, np.nan, np.nan])


def test_what_is_said_is_done():
    frame = pd.DataFrame({
        "code": np.arange(N) % 7, "two": np.arange(N) % 2, "text": ["3", "1", "2", "30"] * 10,
        "when": ["2020-01-05", "2020-01-01", "2021-01-01", None] * 10, "out": np.arange(N),
    })  # fmt: skip
    said = {"code": "category", "two": "number", "text": "number", "when": "date", "out": "ignore"}
    table = read_table(frame, said)
    assert {c.name: c.kind for c in table.columns} == said | {"out": "left out"}
    assert_array_equal(table.matrix[:4, 2], [3, 1, 2, 30])
    assert_array_equal(table.matrix[:4, 3] - table.matrix[1, 3], [4, 0, 366, np.nan])
    assert read_table(frame, {"text": "ordered"}).columns[2].levels == ("1", "2", "3", "30")


def test_columns_are_said_by_name_or_number():
    frame = pd.DataFrame({"a": np.arange(N), "b": np.arange(N)})
    for said in ({"b": "category"}, {1: "category"}, {-1: "category"}, {np.int64(1): "category"}):
        assert [c.kind for c in read_table(frame, said).columns] == ["count", "category"]
    numbered = frame.set_axis([7, 3], axis=1)
    assert [c.kind for c in read_table(numbered, {3: "category"}).columns] == ["count", "category"]
    assert Mixed([None, "category"]).columns == {1: "category"}


REFUSED = {
    "sparse": (sparse.csr_array(np.eye(3)), {}, TypeError, r"Pass X\.toarray\(\)"),
    "lazy": (pl.DataFrame({"a": [1, 2]}).lazy(), {}, TypeError, r"\.collect\(\)"),
    "twice": (pd.DataFrame(np.eye(3), columns=list("aab")), {}, ValueError, "named 'a'.*Rename"),
    "flat": (np.arange(3.0), {}, ValueError, "Expected 2D array.*reshape"),
    "words": ("abc", {}, ValueError, "Expected 2D array"),
    "no rows": (np.zeros((0, 2)), {}, ValueError, "Pass at least one row"),
    "no columns": (pd.DataFrame(index=range(3)), {}, ValueError, "0 feature"),
    "infinity": (np.array([[1.0, 2], [np.inf, 3], [2, 4]]), {}, ValueError, "row 1 of column 'x0'"),
    "complex": (np.eye(3) * 1j, {}, ValueError, "Complex data"),
    "lists": (pd.DataFrame({"a": [[1], [2], [3]]}), {}, TypeError, "type list.*Leave that"),
    "arrays": (pd.DataFrame({"a": [np.eye(2)] * 3}), {}, TypeError, "type ndarray.*Leave that"),
    "no kind": (np.eye(3), {0: "colour"}, ValueError, "one of number, .*Got 'colour'"),
    "no column": (pd.DataFrame({"a": [1, 2]}), {"z": "number"}, ValueError, "'z', which X has not"),
    "no place": (np.eye(3), {3: "number"}, ValueError, "column 3, which X has not"),
    "no number": (pd.DataFrame({"a": ["1", "x"]}), {"a": "number"}, ValueError, "row 1 holds 'x'"),
    "no date": (pd.DataFrame({"a": ["2020-01-01", "May"]}), {"a": "date"}, ValueError, "'May'"),
    "not two": (pd.DataFrame({"a": ["y", "n", "?"]}), {"a": "yes/no"}, ValueError, "3 values"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_one_sentence_with_a_remedy(name):
    X, said, error, match = REFUSED[name]
    with pytest.raises(error, match=match) as caught:
        MixedDPMeans(columns=said).fit(X)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "error"), [("number", TypeError), (3, TypeError), (["number", "wet"], ValueError)]
)
def test_mixed_checks_what_it_is_told(columns, error):
    with pytest.raises(error, match="The 'columns' parameter of Mixed must"):
        Mixed(columns)
