"""What is refused as data, and that the sentence says where."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans
from hardbayes.geometry import SquaredEuclidean
from hardbayes.validation import check_matrix, copying
from hardbayes.validation import matrix as of_matrices


def checked(X):
    return check_matrix(X, SquaredEuclidean())


# --- cells that are no numbers ---------------------------------------------------------------


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
        checked(pd.DataFrame({"a": [0, 10**400]}))


def test_numbers_of_other_kinds_are_taken():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    expected = [[1.0, 1.0], [0.0, 2.5]]
    for X in (
        pd.DataFrame({"a": [True, False], "b": [Decimal(1), Decimal("2.5")]}),
        pd.DataFrame({"a": pd.array([1, 0], "Int64"), "b": pd.Series([1, 2.5], dtype=object)}),
        pd.DataFrame({"a": pd.array([True, False], "boolean"), "b": pd.array([1, 2.5], "Float64")}),
        pl.DataFrame({"a": [True, False], "b": [Decimal(1), Decimal("2.5")]}),
        pl.DataFrame({"a": pl.Series([1, 0], dtype=pl.UInt8), "b": [1.0, 2.5]}),
        [[True, np.float32(1)], (0, Decimal("2.5"))],
        [np.array([1, 1]), [0, 2.5]],
    ):
        matrix = checked(X)
        assert matrix.dtype == np.float64
        np.testing.assert_array_equal(matrix, expected)


# --- sparse matrices that point outside themselves -------------------------------------------


def broken(container, index, damage):
    X = container(np.random.default_rng(0).random((30, 30)).round(1))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    damage(X)
    return X


def set_part(name, place, value):
    def damage(X):
        getattr(X, name)[place] = value

    return damage


def lose_entries(X):
    X.data = X.data[:-1]


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csc_array, sparse.bsr_array])
@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (set_part("indices", 7, -1), r"numbers must be from 0 to \d+\. Got -1 in stored entry 7"),
        (set_part("indices", -1, 30), r"numbers must be from 0 to \d+\. Got 30 in stored entry"),
        (set_part("indices", 0, 2**31 - 1), "Got 2147483647 in stored entry 0"),
        (set_part("indptr", 0, 1), "indptr must begin with 0. Got 1"),
        (set_part("indptr", -1, 10**6), "indptr must end within the .* Got 1000000"),
        (set_part("indptr", 1, 800), "indptr must not decrease"),
        (set_part("indptr", 1, -5), "indptr must not decrease. Got -5 after 0 at 1"),
        (lose_entries, "indptr must end within"),
    ],
)
def test_malformed_sparse_matrices_are_refused(container, index, damage, says):
    model = DPMeans(1.0, random_state=0).fit(np.random.default_rng(0).random((30, 30)))
    for call in (DPMeans(1.0).fit, model.predict):
        with pytest.raises(ValueError, match=f"malformed sparse matrix: .*{says}"):
            call(broken(container, index, damage))


@pytest.mark.parametrize("bad", [-1, 30])
def test_malformed_coordinates_are_refused(bad):
    X = sparse.coo_array(np.random.default_rng(0).random((30, 30)))
    X.coords[0][5] = bad
    with pytest.raises(ValueError, match=f"row numbers must be from 0 to 29. Got {bad} in .* 5"):
        checked(X)


def test_room_behind_the_stored_entries_is_allowed():
    X = sparse.csr_array(np.eye(4))
    X.indices, X.data = np.append(X.indices, 99).astype(np.int32), np.append(X.data, np.nan)
    np.testing.assert_array_equal(checked(X).toarray(), np.eye(4))


def test_every_sparse_format_and_an_empty_one():
    X = np.diag(np.arange(6.0))
    for kind in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia"):
        np.testing.assert_array_equal(checked(sparse.csr_array(X).asformat(kind)).toarray(), X)
        assert checked(sparse.csr_array((6, 6)).asformat(kind)).nnz == 0


# --- large arrays, copied in parts so that Ctrl-C need not wait -------------------------------


def large_arrays():
    X = np.random.default_rng(0).normal(0, 50, (700, 6))
    unaligned = np.frombuffer(b"x" + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(X.shape)
    return {
        "Fortran": np.asfortranarray(X),
        "float32": np.asfortranarray(X, dtype=np.float32),
        "float16": X.astype(np.float16),
        "long": X.astype(np.longdouble),
        "foreign": X.astype(">f8"),
        "foreign32": X.astype(">f4"),
        "integers": X.astype(np.int64) * (2**55 + 1),
        "bools": X > 0,
        "reversed": X[::-1, ::-1],
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
        "unaligned": unaligned,
    }


def assert_copied_once_and_alike(X, monkeypatch):
    expected = checked(X)
    seen = []
    real = of_matrices.check_array

    def watched(array, **options):
        seen.append(array)
        return real(array, **options)

    monkeypatch.setattr(of_matrices, "check_array", watched)
    monkeypatch.setattr(copying, "PART_BYTES", 4096)
    assert len(copying.parts(*X.shape)) > 5
    matrix = checked(X)
    assert seen[0].flags.c_contiguous and seen[0].flags.aligned
    assert seen[0].dtype == matrix.dtype == expected.dtype
    assert np.shares_memory(seen[0], matrix)
    assert not np.shares_memory(matrix, X)
    assert matrix.tobytes() == expected.tobytes()


@pytest.mark.parametrize("kind", large_arrays())
def test_large_arrays_are_copied_in_parts(kind, monkeypatch):
    assert_copied_once_and_alike(large_arrays()[kind], monkeypatch)


def test_a_large_memmap_is_copied_in_parts(tmp_path, monkeypatch):
    X = np.memmap(tmp_path / "X", np.int32, "w+", shape=(700, 6))
    X[:] = np.arange(4200).reshape(700, 6)
    assert_copied_once_and_alike(X, monkeypatch)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("types", [["f8", "f8"], ["f4", "f4"], ["f4", "i2"], ["i8", "f8", "u1"]])
def test_large_frames_are_copied_in_parts(library, types, monkeypatch):
    frames = pytest.importorskip(library)
    numbers = np.random.default_rng(0).integers(0, 99, (3000, len(types)))
    columns = {f"c{i}": numbers[:, i].astype(kind) for i, kind in enumerate(types)}
    frame = frames.DataFrame(columns)
    model = DPMeans(1e9)
    assert_copied_once_and_alike(frame, monkeypatch)
    model.fit(frame)
    assert list(model.feature_names_in_) == list(columns) and model.n_features_in_ == len(types)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"c0": "x"}) if library == "pandas" else frame[:, ::-1])


def test_what_needs_no_copy_is_not_copied(monkeypatch):
    pd = pytest.importorskip("pandas")
    monkeypatch.setattr(copying, "PART_BYTES", 4096)
    for dtype in (np.float32, np.float64):
        X = np.random.default_rng(0).random((3000, 3)).astype(dtype)
        assert np.shares_memory(checked(X), X)
        frame = pd.DataFrame(X, copy=False)
        assert np.shares_memory(checked(frame), X)


def test_a_bad_number_is_found_in_every_part(monkeypatch):
    monkeypatch.setattr(copying, "PART_BYTES", 4096)
    for row in (0, 511, 512, 2999):
        X = np.ones((3000, 2))
        X[row, 1] = np.inf
        for container in (np.asarray, np.asfortranarray, sparse.csr_array):
            with pytest.raises(ValueError, match=f"infinity at row {row}, column 1"):
                checked(container(X))
    largest = np.full((3000, 2), 1e308)  # sums overflow, and nothing is infinite
    np.testing.assert_array_equal(checked(largest), largest)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_large_object_of_numpys_matrix_class_is_still_refused(monkeypatch):
    monkeypatch.setattr(copying, "PART_BYTES", 4096)
    with pytest.raises(TypeError, match="matrix"):
        checked(np.asmatrix(np.ones((3000, 2), int)))
