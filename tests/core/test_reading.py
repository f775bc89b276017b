"""A matrix as kernels read it, and its rows in working coordinates."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from hardbayes.core.rows import (
    DenseRows,
    SparseRows,
    entries_per_row,
    kernel_rows,
    read_only,
    working_rows,
)

X = np.array([[1.0, 0.0, 4.0], [0.0, 0.0, 2.0], [3.0, 1.0, 0.0], [0.0, 8.0, 0.0]])
SHIFT, SCALE = np.array([0.5, 1.0, -2.0]), np.array([0.25, 0.5, 2.0, 4.0])
PICKS = [slice(None), slice(1, 3), np.array([3, 0, 3]), np.array([], int)]


def test_dense_rows_are_not_copied_and_read_only():
    rows = kernel_rows(X, SHIFT, SCALE)
    assert isinstance(rows, DenseRows)
    assert np.shares_memory(rows.values, X) and not rows.values.flags.writeable
    assert X.flags.writeable and rows.shift is SHIFT and rows.scale is SCALE


def test_sparse_rows_are_not_copied_and_read_only():
    matrix = csr_array(X)
    rows = kernel_rows(matrix, SHIFT, SCALE)
    assert isinstance(rows, SparseRows) and rows.scale is SCALE
    for mine, theirs in ((rows.values, matrix.data), (rows.columns, matrix.indices)):
        assert np.shares_memory(mine, theirs) and not mine.flags.writeable
    np.testing.assert_array_equal(rows.starts, matrix.indptr)


def test_a_read_only_view_leaves_the_array_writeable():
    array = np.zeros(3)
    view = read_only(array)
    assert array.flags.writeable and not view.flags.writeable and view.base is array


def test_how_many_numbers_a_row_holds():
    assert entries_per_row(kernel_rows(X, SHIFT, SCALE), X.shape) == 3
    assert entries_per_row(kernel_rows(csr_array(X), SHIFT, SCALE), X.shape) == 1  # 6 in 4 rows
    empty = csr_array((4, 3))
    assert entries_per_row(kernel_rows(empty, SHIFT, SCALE), (4, 3)) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [SCALE, np.array([0.5])], ids=["each", "all"])
@pytest.mark.parametrize("which", PICKS, ids=["all", "some", "ids", "none"])
def test_rows_in_working_coordinates(which, scale, dtype):
    factors = np.broadcast_to(scale, 4)[which][:, np.newaxis]
    dense = working_rows(kernel_rows(X.astype(dtype), SHIFT, scale), X.shape, which)
    assert dense.dtype == np.float64
    np.testing.assert_array_equal(dense, (X[which] - SHIFT) * factors)
    thin = working_rows(kernel_rows(csr_array(X.astype(dtype)), SHIFT, scale), X.shape, which)
    assert thin.dtype == np.float64
    np.testing.assert_array_equal(thin.toarray(), X[which] * factors)
