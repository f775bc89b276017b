"""Single flips of eight rows side by side against a loop over rows."""

import numpy as np
import pytest

from hardbayes.core.compiling import kernel
from hardbayes.features.compiled.simd import EIGHT, flip_eight, project_eight, rows_in_doubt


@kernel
def call_project(rows, blocks, products):
    for block in range(blocks.shape[0]):
        project_eight(rows, blocks, block, products)


@kernel
def call_doubt(products, signs, gram, margin):
    return rows_in_doubt(products, signs, gram, margin)


@kernel
def call_flip(products, signs, gram):
    return flip_eight(products, signs, gram)


@pytest.fixture(params=[(3, 2), (5, 7), (9, 4)], ids=str)
def case(request):
    k, d = request.param
    rng = np.random.default_rng(k)
    A, residuals = rng.standard_normal((k, d)), rng.standard_normal((EIGHT, d))
    signs = np.where(rng.random((k, EIGHT)) < 0.5, -1.0, 1.0)
    return A, residuals, signs


def bits(flags):
    return sum(1 << r for r, flag in enumerate(flags) if flag)


def test_products_of_eight_rows(case):
    A, residuals, _ = case
    blocks = np.zeros((-(-len(A) // 8), A.shape[1], 8))
    for a, component in enumerate(A):
        blocks[a // 8, :, a % 8] = component
    products = np.empty((8 * len(blocks), EIGHT))
    call_project(residuals, blocks, products)
    np.testing.assert_allclose(products[: len(A)], A @ residuals.T, atol=1e-13)
    assert not products[len(A) :].any()


@pytest.mark.parametrize("margin", [1.0, 0.3])
def test_rows_in_doubt(case, margin):
    A, residuals, signs = case
    squares = (A**2).sum(axis=1)[:, np.newaxis]
    expected = (2.0 * signs * (A @ residuals.T) > margin * squares).any(axis=0)
    assert call_doubt(A @ residuals.T, signs, A @ A.T, margin) == bits(expected)


def test_flips_one_feature_after_another(case):
    A, residuals, signs = case
    products, found = A @ residuals.T, signs.copy()
    flipped = call_flip(products, found, A @ A.T)
    expected, left = signs.copy(), residuals.copy()
    for r in range(EIGHT):
        for a, component in enumerate(A):
            after = left[r] - expected[a, r] * component
            if (after**2).sum() < (left[r] ** 2).sum():
                left[r], expected[a, r] = after, -expected[a, r]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(products, A @ left.T, atol=1e-12)
    assert flipped == bits((signs != expected).any(axis=0))
