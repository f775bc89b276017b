"""Scores of a sparse row against adjacent blocks, against NumPy."""

import numpy as np
import pytest
from numba import njit
from scipy import sparse

from hardbayes.core.arrays import lanes_of
from hardbayes.core.compiling import OPTIONS
from hardbayes.core.simd import scores as simd


def compiled(score):
    @njit(**OPTIONS)
    def score_row(values, columns, first, last, scale, theta, block, offset, least, second, place):
        score(values, columns, first, last, scale, theta, block, offset, least, second, place)

    return score_row


SCORES = {n: compiled(getattr(simd, f"score_row_{n}")) for n in (1, 4)}


@pytest.mark.parametrize("n_blocks", SCORES)
@pytest.mark.parametrize(
    ("dtype", "index"), [(np.float32, np.int32), (np.float64, np.int32), (np.float64, np.int64)]
)
def test_smallest_second_and_place_in_each_block(dtype, index, n_blocks):
    rng = np.random.default_rng(0)
    lanes = lanes_of(np.dtype(dtype).itemsize)
    slots, d, block = 6 * lanes, 11, 2
    X = sparse.csr_array(rng.normal(size=(5, d)) * (rng.random((5, d)) < 0.5), dtype=dtype)
    X.data[3:5] = 0
    theta = rng.normal(size=(1, d, slots)).astype(dtype)
    offset = rng.normal(size=slots).astype(dtype)
    scores = offset - 0.5 * (X.toarray().astype(float) @ theta[0].astype(float))
    for row in range(5):
        outputs = (np.full((1, 6), 7, dtype), np.full((1, 6), 7, dtype), np.full((1, 6), -1, "i4"))
        first, last = X.indptr[row : row + 2]
        SCORES[n_blocks](
            X.data, X.indices.astype(index), first, last, 0.5, theta, block, offset, *outputs
        )
        least, second, place = (output[0] for output in outputs)
        for b in range(6):
            if not block <= b < block + n_blocks:
                assert place[b] == -1 and least[b] == second[b] == 7
                continue
            own = scores[row, b * lanes : (b + 1) * lanes]
            assert place[b] == own.argmin()
            tolerance = 50 * np.finfo(dtype).eps
            np.testing.assert_allclose([least[b], second[b]], np.sort(own)[:2], atol=tolerance)


def test_a_row_without_entries_has_the_offsets_as_scores():
    offset = np.array([3.0, 1.0, 2.0, 9.0, 9.0, 9.0, 9.0, 9.0])
    outputs = np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1), np.int32)
    SCORES[1](
        np.zeros(0), np.zeros(0, np.int32), 0, 0, 1.0, np.ones((1, 4, 8)), 0, offset, *outputs
    )
    assert [output.item() for output in outputs] == [1.0, 2.0, 1]


def test_scores_that_are_no_numbers_give_an_index_within_the_block():
    outputs = np.zeros((1, 1)), np.zeros((1, 1)), np.full((1, 1), 99, np.int32)
    empty = np.zeros(0), np.zeros(0, np.int32), 0, 0, 1.0, np.ones((1, 4, 8)), 0
    SCORES[1](*empty, np.full(8, np.nan), *outputs)
    assert 0 <= outputs[2].item() < 8


def test_scales_beyond_float32_are_applied_in_float64():
    """A tiny entry times a huge scale is a number; in float32 the scale would be infinite."""
    offset = np.zeros(16, np.float32)
    theta = np.zeros((1, 1, 16), np.float32)
    theta[0, 0, 3] = 2.0
    outputs = np.zeros((1, 1), "f4"), np.zeros((1, 1), "f4"), np.zeros((1, 1), np.int32)
    entry, column = np.array([1e-38], np.float32), np.zeros(1, np.int32)
    SCORES[1](entry, column, 0, 1, 1e40, theta, 0, offset, *outputs)
    assert outputs[2].item() == 3
    np.testing.assert_allclose(outputs[0].item(), -200.0, rtol=1e-6)
