import numpy as np
import pytest
from scipy import sparse

from hardbayes.core import arrays
from hardbayes.core.arrays import (
    CHUNK_BYTES,
    chunks,
    inverse_permutation,
    is_sparse,
    row_lengths,
    row_sums,
    total_weight,
)

CONTAINERS = pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def test_is_sparse():
    assert is_sparse(sparse.csr_array((2, 3))) and not is_sparse(np.zeros((2, 3)))


@pytest.mark.parametrize(("n", "d"), [(0, 3), (1, 1), (5000, 100), (300_000, 1), (3, 10**9)])
def test_chunks_cover_all_rows_once_and_are_small(n, d):
    found = chunks(n, d)
    covered = np.concatenate([np.arange(part.start, part.stop) for part in found] or [[]])
    np.testing.assert_array_equal(covered, np.arange(n))
    assert all(part.stop - part.start == 1 or 8 * d * (part.stop - part.start) <= CHUNK_BYTES
               for part in found)  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_inverse_permutation(dtype):
    order = np.random.default_rng(0).permutation(50).astype(dtype)
    inverse = inverse_permutation(order)
    assert inverse.dtype == dtype
    np.testing.assert_array_equal(order[inverse], np.arange(50))


def test_total_weight_of_equal_and_of_other_weights():
    assert total_weight(np.array([0.25]), 10) == 2.5
    assert total_weight(np.array([0.25, 1.0, 3.0]), 3) == 4.25
    assert total_weight(np.array([0.25]), 1) == 0.25


@CONTAINERS
@TYPES
def test_sums_and_lengths(container, dtype, monkeypatch):
    monkeypatch.setattr(arrays, "CHUNK_BYTES", 200)
    X = np.random.default_rng(0).normal(size=(40, 5)).astype(dtype)
    X[X < 0.2] = 0
    X[7] = 0
    exact = X.astype(np.float64)
    sums, lengths = row_sums(container(X)), row_lengths(container(X))
    assert sums.dtype == lengths.dtype == np.float64
    np.testing.assert_allclose(lengths, np.linalg.norm(exact, axis=1), rtol=1e-14)
    # SciPy adds up sparse rows in their own dtype.
    precision = 1e-6 if container is sparse.csr_array and dtype == np.float32 else 1e-14
    np.testing.assert_allclose(sums, exact.sum(axis=1), rtol=precision)


@CONTAINERS
@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1.0, 1e170, 1e300])
def test_lengths_of_rows_whose_squares_leave_float64(container, scale):
    X = np.array([[3.0, 0.0, -4.0], [0.0, 0.0, 0.0], [5.0, 12.0, 0.0]])
    np.testing.assert_allclose(row_lengths(container(scale * X)), scale * np.array([5, 0, 13]))
