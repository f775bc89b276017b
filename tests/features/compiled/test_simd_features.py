"""Vector code for one row against NumPy, at widths on both sides of each strip."""

import numpy as np
import pytest

from hardbayes.core.compiling import kernel
from hardbayes.features.compiled.simd import add_residual, project_block, subtract_members

WIDTHS = [1, 3, 4, 7, 8, 13, 32, 33, 45, 77]


@kernel
def call_subtract(rows, members, components, origin, residuals, squares):
    for i in range(rows.shape[0]):
        squares[i] = subtract_members(
            rows, i, members, members.shape[0], components, origin, residuals, i
        )


@kernel
def call_add(residuals, weight, members, correction):
    for r in range(residuals.shape[0]):
        add_residual(residuals, r, weight, members, members.shape[0], correction)


@kernel
def call_project(rows, blocks, products):
    for i in range(rows.shape[0]):
        for block in range(blocks.shape[0]):
            project_block(rows, i, blocks, block, products[i])


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("count", [0, 2])
def test_residuals_and_their_squares(d, count):
    rng = np.random.default_rng(d)
    rows, components, origin = (rng.standard_normal((m, d)) for m in (3, 5, 1))
    members = np.array([4, 1])[:count]
    residuals, squares = np.empty((3, d)), np.empty(3)
    call_subtract(rows, members, components, origin, residuals, squares)
    expected = rows - (components[members].sum(axis=0) - origin)
    np.testing.assert_allclose(residuals, expected, atol=1e-13)
    np.testing.assert_allclose(squares, (expected**2).sum(axis=1))


@pytest.mark.parametrize("d", WIDTHS)
def test_residuals_are_added_to_some_rows(d):
    rng = np.random.default_rng(d)
    residuals, correction = rng.standard_normal((3, d)), rng.standard_normal((4, d))
    expected = correction.copy()
    expected[[0, 2]] += 1.5 * residuals.sum(axis=0)
    call_add(residuals, 1.5, np.array([2, 0]), correction)
    np.testing.assert_allclose(correction, expected, atol=1e-13)


@pytest.mark.parametrize("d", WIDTHS)
def test_products_with_blocks_of_components(d):
    rng = np.random.default_rng(d)
    rows, components = rng.standard_normal((3, d)), rng.standard_normal((16, d))
    blocks = np.ascontiguousarray(components.reshape(2, 8, d).transpose(0, 2, 1))
    products = np.empty((3, 16))
    call_project(rows, blocks, products)
    np.testing.assert_allclose(products, rows @ components.T, atol=1e-12)
