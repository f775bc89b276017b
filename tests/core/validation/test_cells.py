"""Cells that are not numbers: refused, with row, column and column name."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans
from hardbayes.core.geometry import SquaredEuclidean
from hardbayes.core.validation import check_matrix
from hardbayes.core.validation.cells import (
    column_names,
    first_text,
    holds_numbers,
    is_number,
    missing_value,
    object_cells,
    one_sentence,
    place,
)


def checked(X):
    return check_matrix(X, SquaredEuclidean())


# --- the parts ---------------------------------------------------------------------------------


def test_column_names():
    pd = pytest.importorskip("pandas")
    assert column_names(pd.DataFrame({1: [0.0], "b": [0.0]})) == ["1", "b"]
    assert column_names(np.zeros((1, 2))) is None
    assert column_names(sparse.csr_array((1, 2))) is None


@pytest.mark.parametrize("kind", [int, float, bool, type(None), Decimal, np.float32, np.bool_])
def test_kinds_of_numbers(kind):
    assert is_number(kind)


@pytest.mark.parametrize(
    "kind", [str, bytes, complex, dict, np.str_, np.complex64, np.datetime64, np.ndarray, dt.date]
)
def test_kinds_of_other_objects(kind):
    assert not is_number(kind)


def test_dtypes_of_numbers():
    assert all(holds_numbers(np.dtype(kind)) for kind in ("f4", "i8", "u1", "?"))
    assert not any(holds_numbers(np.dtype(kind)) for kind in ("U1", "M8[s]", "c8"))


def test_first_text():
    assert first_text([[1, 2], [3, "x"], ["y", 4]]) == (1, 1)
    assert first_text(np.array([[1, 2], [b"x", 4]], dtype=object)) == (1, 0)
    assert first_text([[1, 2], (3, 4.0), np.zeros(2)]) is None


def test_words_for_a_cell():
    assert place(3, 1, None) == "row 3, column 1"
    assert place(3, 1, ["a", "b"]) == "row 3, column 1 ('b')"
    assert missing_value("NaN", 3, 1, None).startswith("Input X contains NaN at row 3, column 1. ")


def test_quoted_data_are_left_out_of_errors():
    error = one_sentence([[1.0]], ValueError("Expected 2D array:\narray=[1. 2.].\nReshape it."))
    assert isinstance(error, ValueError) and str(error) == "Expected 2D array: Reshape it."
    error = one_sentence([[1.0, "x"]], TypeError("wrong"))
    assert isinstance(error, TypeError) and str(error) == "wrong, at row 0, column 1 of X."


def test_cells_as_objects():
    assert object_cells(np.zeros((2, 2))) is None
    assert object_cells([[1, 2], [3]]).ndim == 1
    assert object_cells([[1, "x"]])[0, 1] == "x"
    cells = np.array([[1, None]], dtype=object)
    assert object_cells(cells) is cells


# --- whole matrices ----------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["NA", "NaT"])
def test_missing_objects_of_pandas_are_named_as_nan_is(missing):
    pd = pytest.importorskip("pandas")
    good = pd.DataFrame({"b": [1, 2], "a": [1.0, 2.0]})
    column = pd.Series([1.0, getattr(pd, missing)], dtype=object)
    for call in (DPMeans(1.0).fit, DPMeans(1.0).fit(good).predict):
        with pytest.raises(ValueError, match=r"Input X contains .* at row 1, column 1 \('a'\)"):
            call(pd.DataFrame({"b": [1, 2], "a": column}))


@pytest.mark.parametrize(
    "values",
    [
        [{}, []],
        [1.0, {}],
        [1j, 2j],
        [1.0, np.complex128(2j)],
        [b"1", b"2"],
        [dt.date(2020, 1, 1)] * 2,
        [dt.timedelta(1), 2.0],
        [np.arange(2), np.arange(2)],
    ],
)
@pytest.mark.parametrize("as_object", [False, True])
def test_odd_columns_of_pandas_are_named(values, as_object):
    pd = pytest.importorskip("pandas")
    column = pd.Series(values, dtype=object if as_object else None)
    with pytest.raises(ValueError, match=r"^Column 'odd' of X holds [^\n]* Drop it or encode it"):
        checked(pd.DataFrame({"size": [1.0, 2.0], "odd": column}))


def test_interval_and_category_columns_are_named():
    pd = pytest.importorskip("pandas")
    for column in (
        pd.interval_range(0, 2),
        pd.Categorical([1, 2]),
        pd.period_range("2020", "2021"),
    ):
        with pytest.raises(ValueError, match="Column 'odd' of X"):
            checked(pd.DataFrame({"size": [1.0, 2.0], "odd": column[:2]}))


@pytest.mark.parametrize("kind", ["Object", "Array", "List", "Binary", "String", "Date", "Struct"])
def test_odd_columns_of_polars_are_named(kind):
    pl = pytest.importorskip("polars")
    column = {
        "Object": pl.Series([object(), object()], dtype=pl.Object),
        "Array": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2)),
        "List": pl.Series([[1], [3, 4]]),
        "Binary": pl.Series([b"1", b"2"]),
        "String": pl.Series(["1", "2"]),
        "Date": pl.Series([dt.date(2020, 1, 1)] * 2),
        "Struct": pl.Series([{"a": 1}, {"a": 2}]),
    }[kind]
    with pytest.raises(ValueError, match=f"Column 'odd' of X holds {kind}"):
        checked(pl.DataFrame({"size": [1.0, 2.0], "odd": column}))


def test_a_polars_column_of_nulls_is_named():
    pl = pytest.importorskip("polars")
    with pytest.raises(ValueError, match=r"NaN at row 0, column 1 \('b'\)"):
        checked(pl.DataFrame({"a": [1.0, 2.0], "b": [None, None]}))


def test_a_lazy_frame_must_be_collected():
    pl = pytest.importorskip("polars")
    lazy = pl.LazyFrame({"a": [1.0, 2.0]})
    with pytest.raises(TypeError, match=r"Call \.collect\(\) first"):
        DPMeans(1.0).fit(lazy)
    assert DPMeans(1.0).fit(lazy.collect()).n_features_in_ == 1


@pytest.mark.parametrize(
    "X", [[[1, 2], [3, "4"]], [(1, 2), (3, b"4")], [[1, 2], np.array(["x", "4"])[1:].repeat(2)]]
)
def test_digits_written_as_text_in_lists_are_refused(X):
    with pytest.raises(ValueError, match=r"text at row 1, column [01]\b"):
        checked(X)


def test_a_list_of_scalars_is_told_to_be_a_table():
    for X in ([np.array(1.0), np.array(2.0)], [1.0, 2.0], ["1", "2"]):
        with pytest.raises(ValueError, match="Expected 2D array"):
            checked(X)


def test_integers_beyond_float64_are_named():
    pd = pytest.importorskip("pandas")
    for X in ([[0], [10**400]], np.array([[0], [10**400]], dtype=object)):
        with pytest.raises(ValueError, match=r"too large .* row 1, column 0"):
            DPMeans(1.0).fit(X)
    with pytest.raises(ValueError, match=r"too large .* row 1, column 0 \('a'\)"):
        checked(pd.DataFrame({"a": pd.Series([0, 10**400], dtype=object)}))


def test_numbers_of_other_kinds_are_taken():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    expected = [[1.0, 1.0], [0.0, 2.5]]
    for X in (
        pd.DataFrame({"a": [True, False], "b": [Decimal(1), Decimal("2.5")]}),
        pd.DataFrame({"a": pd.array([1, 0], "Int64"), "b": pd.Series([1, 2.5], dtype=object)}),
        pd.DataFrame({"a": pd.array([True, False], "boolean"), "b": pd.array([1, 2.5], "Float64")}),
        pl.DataFrame({"a": [True, False], "b": [Decimal("1.0"), Decimal("2.5")]}),
        pl.DataFrame({"a": pl.Series([1, 0], dtype=pl.UInt8), "b": [1.0, 2.5]}),
        [[True, np.float32(1)], (0, Decimal("2.5"))],
        [np.array([1, 1]), [0, 2.5]],
    ):
        matrix = checked(X)
        assert matrix.dtype == np.float64
        np.testing.assert_array_equal(matrix, expected)
