"""Large arrays are copied in parts, so that Ctrl-C is handled between them."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans
from hardbayes.core.geometry import SquaredEuclidean
from hardbayes.core.validation import check_matrix
from hardbayes.core.validation import matrix as copying
from hardbayes.core.validation import matrix as of_matrices


def checked(X):
    return check_matrix(X, SquaredEuclidean())


@pytest.mark.parametrize(("n", "d"), [(1, 1), (10, 0), (1000, 7), (3, 10**6)])
def test_parts_cover_all_rows_once(n, d, monkeypatch):
    monkeypatch.setattr(copying, "PART_BYTES", 4096)
    covered = [row for part in copying.parts(n, d) for row in range(part.start, part.stop)]
    assert covered == list(range(n))


def test_dtypes_that_are_kept():
    accepted = copying.accepted_dtypes
    assert accepted(np.zeros((2, 2))) == accepted([[1]]) == [np.float64, np.float32]
    assert accepted(np.zeros((2, 2), ">f4")) == [np.float32]
    assert copying.kept(np.dtype("f4"), [np.float64, np.float32]) == np.float32
    assert copying.kept(np.dtype("i4"), [np.float64, np.float32]) == np.float64


def test_what_is_not_copied_in_parts(monkeypatch):
    monkeypatch.setattr(copying, "PART_BYTES", 4096)
    dtypes = [np.float64, np.float32]
    for X in (
        np.zeros((3, 2), int),  # small
        np.zeros((3000, 2)),  # needs no copy
        np.zeros((3000, 2), object),
        np.zeros(3000),
        sparse.csr_array((3000, 2)),
        [[1.0, 2.0]] * 3000,
    ):
        assert copying.reader_of(X, dtypes) is None
    dtype, read = copying.reader_of(np.arange(6000).reshape(3000, 2), dtypes)
    assert dtype == np.float64
    np.testing.assert_array_equal(read(slice(1, 3)), [[2, 3], [4, 5]])


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
