"""Components laid out for the kernels: products, squares of all subsets, a margin."""

import numpy as np
import pytest

from hardbayes.core.compiling import kernel
from hardbayes.features.compiled.layout import (
    LANES,
    LOW,
    inner_product,
    lay_out,
    list_members,
    new_features,
    new_workspace,
    project,
)


@kernel
def fill_in(features, workspace):
    lay_out(features, workspace)


def laid_out(A, origin, n_rows=10**6):
    features = new_features(A, origin, n_rows)
    fill_in(features, new_workspace(features))
    return features


def subsets_of(k):
    return (np.arange(1 << k)[:, np.newaxis] >> np.arange(k)) & 1


@pytest.mark.parametrize("n_rows", [1, 10**6], ids=["no table of sums", "table of sums"])
@pytest.mark.parametrize("k", [0, 1, 3, 4, 5, 9])
def test_squares_of_all_subsets(k, n_rows):
    rng = np.random.default_rng(k)
    A, origin = rng.standard_normal((k, 7)), rng.standard_normal(7)
    features = laid_out(A, origin, n_rows)
    sums = subsets_of(k) @ A
    squares = features.subsets.ravel()
    np.testing.assert_allclose(squares[: 1 << k], ((sums - origin) ** 2).sum(axis=1))
    assert np.isinf(squares[1 << k :]).all()
    assert len(features.sums) == (0 if n_rows == 1 else 1 << k)
    if n_rows > 1:
        np.testing.assert_allclose(features.sums, sums, atol=1e-12)


def test_many_features_have_no_subsets():
    features = laid_out(np.ones((13, 2)), np.zeros(2))
    assert features.subsets.shape == (0, LOW)
    assert features.sums.shape == (0, 2)


@pytest.mark.parametrize("k", [1, 8, 11])
def test_components_side_by_side_and_their_products(k):
    A = np.random.default_rng(k).standard_normal((k, 6))
    features = laid_out(A, np.zeros(6))
    side_by_side = features.blocks.transpose(0, 2, 1).reshape(-1, 6)
    np.testing.assert_array_equal(side_by_side[:k], A)
    assert not side_by_side[k:].any() and len(side_by_side) % LANES == 0
    np.testing.assert_allclose(features.gram, A @ A.T, atol=1e-14)


def test_the_margin_bounds_the_gram_from_below():
    rng = np.random.default_rng(0)
    margins = []
    for alike in (0.0, 0.5, 2.0, 8.0):
        A = rng.standard_normal((5, 20)) + alike * rng.standard_normal(20)
        features = laid_out(A, np.zeros(20))
        margins.append(features.margin[0])
        rest = features.gram - margins[-1] * np.diag(np.diag(features.gram))
        assert np.linalg.eigvalsh(rest).min() >= -1e-9
    assert margins[0] > 0
    assert margins == sorted(margins, reverse=True)
    assert laid_out(np.ones((2, 3)), np.zeros(3)).margin[0] == 0.0


@kernel
def call_project(rows, features, products):
    for i in range(rows.shape[0]):
        project(rows, i, features, products[i])


def test_products_of_a_row_with_each_component():
    rng = np.random.default_rng(0)
    rows, A = rng.standard_normal((4, 7)), rng.standard_normal((10, 7))
    products = np.empty((4, 16))
    call_project(rows, laid_out(A, np.zeros(7)), products)
    np.testing.assert_allclose(products[:, :10], rows @ A.T, atol=1e-13)


@kernel
def call_inner_product(x, y, out):
    for i in range(x.shape[0]):
        out[i] = inner_product(x, i, y, i, x.shape[1])


@pytest.mark.parametrize("d", [1, 3, 4, 9])
def test_inner_products(d):
    x, y = np.random.default_rng(d).standard_normal((2, 5, d))
    out = np.empty(5)
    call_inner_product(x, y, out)
    np.testing.assert_allclose(out, (x * y).sum(axis=1))


@kernel
def call_list_members(membership, k, members, counts):
    for i in range(membership.shape[0]):
        counts[i] = list_members(i, membership, k, members[i])


def test_the_features_of_a_row_are_listed_in_order():
    Z = (np.random.default_rng(0).random((6, 5)) < 0.5).astype(np.uint8)
    members, counts = np.full((6, 5), -1), np.empty(6, np.int64)
    call_list_members(Z, 4, members, counts)
    for row, listed, count in zip(Z, members, counts, strict=True):
        np.testing.assert_array_equal(listed[:count], np.flatnonzero(row[:4]))
