"""Columns without entries: left out, and put back."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.frame import Columns, used_columns
from hardbayes.core.geometry import GEOMETRIES, Mahalanobis, geometry_for

DENSE = np.array([[0.0, 1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 3.0, 0.0]])
ROWS = sparse.csr_array(DENSE)
KL = geometry_for("kl")


def test_columns_with_entries_are_kept():
    columns = used_columns(ROWS, KL)
    np.testing.assert_array_equal(columns.kept, [1, 3])
    assert columns.number == 5
    np.testing.assert_array_equal(columns.of(ROWS).toarray(), DENSE[:, [1, 3]])
    np.testing.assert_array_equal(columns.of(DENSE), DENSE[:, [1, 3]])
    assert np.shares_memory(columns.of(ROWS).data, ROWS.data)
    np.testing.assert_array_equal(columns.spread(DENSE[:, [1, 3]]), DENSE)
    assert columns.spread(DENSE[0, [1, 3]].astype(np.float32)).dtype == np.float32


def test_columns_of_given_centres_are_kept_too():
    columns = used_columns(ROWS, KL, np.array([[1.0, 0.0, 0.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(columns.kept, [0, 1, 3])


@pytest.mark.parametrize(
    ("matrix", "geometry"),
    [
        (DENSE, KL),
        (sparse.csr_array(DENSE[:, [1, 3]]), KL),
        (ROWS, Mahalanobis(np.eye(5))),  # columns belong together
        (sparse.csr_array((2, 5)), KL),
    ],
    ids=["dense", "full", "matrix", "nothing"],
)
def test_all_columns_are_kept_where_none_may_go(matrix, geometry):
    columns = used_columns(matrix, geometry)
    assert columns.kept is None and columns.of(matrix) is matrix
    assert columns.spread(DENSE) is DENSE and columns.with_entries_of(matrix) is columns


def test_every_named_divergence_of_sparse_rows_leaves_them_out():
    for name in GEOMETRIES:
        assert used_columns(ROWS, geometry_for(name)).kept is not None


def test_columns_of_new_rows():
    columns = Columns(np.array([1, 3]), 5)
    for new in (sparse.csr_array(DENSE[:, ::-1]), np.array([[0.0, 0.0, 4.0, 0.0, 0.0]])):
        more = columns.with_entries_of(new)
        expected = sorted({1, 3} | set(np.nonzero(new)[1].tolist()))
        np.testing.assert_array_equal(more.kept, expected)
        mine = columns.within(more)
        np.testing.assert_array_equal(more.kept[mine.kept], columns.kept)
        assert mine.number == len(more.kept)
