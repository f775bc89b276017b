"""Sparse matrices with indices out of bounds are refused; all others become canonical CSR."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans
from hardbayes.core.geometry import SquaredEuclidean
from hardbayes.core.validation import check_matrix
from hardbayes.core.validation.matrix import canonical, check_indices


def checked(X):
    return check_matrix(X, SquaredEuclidean())


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_indices_within_bounds(dtype):
    check_indices(np.array([0, 4, 2], dtype), 5, "column")
    check_indices(np.zeros(0, dtype), 0, "column")
    with pytest.raises(ValueError, match=r"row numbers must be from 0 to 3\. Got 4 in .* entry 1"):
        check_indices(np.array([0, 4, 2], dtype), 4, "row")


def test_indices_must_be_integers():
    with pytest.raises(ValueError, match=r"column numbers must be integers\. Got float64"):
        check_indices(np.zeros(2), 5, "column")


def test_canonical_form_has_sorted_unique_entries_and_leaves_its_input():
    data, columns = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 2, 1])
    X = sparse.csr_array((data, columns, np.array([0, 3, 4])), (2, 3))
    found = canonical(X)
    assert found.has_canonical_format and found.indices.dtype == found.indptr.dtype == np.int32
    np.testing.assert_array_equal(found.toarray(), [[2.0, 0.0, 4.0], [0.0, 4.0, 0.0]])
    np.testing.assert_array_equal(X.indices, columns)
    np.testing.assert_array_equal(X.data, data)
    assert np.shares_memory(canonical(found).data, found.data)


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


def test_unused_space_after_the_stored_entries_is_allowed():
    X = sparse.csr_array(np.eye(4))
    X.indices, X.data = np.append(X.indices, 99).astype(np.int32), np.append(X.data, np.nan)
    np.testing.assert_array_equal(checked(X).toarray(), np.eye(4))


def test_every_sparse_format_and_an_empty_one():
    X = np.diag(np.arange(6.0))
    for kind in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia"):
        np.testing.assert_array_equal(checked(sparse.csr_array(X).asformat(kind)).toarray(), X)
        assert checked(sparse.csr_array((6, 6)).asformat(kind)).nnz == 0
