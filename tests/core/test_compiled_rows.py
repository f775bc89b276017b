"""What a row is to a kernel, against NumPy."""

import numpy as np
import pytest

from hardbayes.core import rows as rows_file
from hardbayes.core.compiling import kernel
from hardbayes.core.rows import (
    EPSILON,
    RUN,
    affine_cost,
    new_batch,
    pick,
    score_error,
    score_range,
    sparse_squared_distance,
    squared_gap,
)
from tests.core.alone import alone
from tests.dp_means.compiled.arrays import KINDS, Rows, constants_of

kinds = pytest.mark.parametrize("kind", KINDS)
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
scales = pytest.mark.parametrize("scales", [False, True])


@kernel
def row_cost(rows, i, constants, centres, k):
    return rows_file.row_cost(rows, i, constants, centres, k)


@kernel
def product(rows, i, vectors, k):
    return rows_file.product(rows, i, vectors, k)


@kernel
def blend(rows, i, keep, take, centres, k):
    rows_file.blend(rows, i, keep, take, centres, k)


@kernel
def read_row(rows, i, batch, r):
    return rows_file.read_row(rows, i, batch, r)


@kernel
def score_blocks(rows, batch, n_members, centres, first, last, cell):
    rows_file.score_blocks(rows, batch, n_members, centres, first, last, cell)


@scales
@dtypes
@kinds
@pytest.mark.parametrize("squared", [True, False])
def test_the_cost_of_a_row_at_a_centre(kind, squared, dtype, scales):
    rows = Rows(kind, dtype=dtype, scales=scales)
    points = rows.centres()
    centres, constants = rows.direct(points, squared), constants_of(rows, squared)
    found = [[row_cost(rows.rows, i, constants, centres, k) for k in range(4)] for i in range(30)]
    np.testing.assert_allclose(found, rows.costs(points, squared), rtol=1e-12, atol=1e-14)


@kinds
@pytest.mark.parametrize("squared", [True, False])
def test_a_row_costs_nothing_at_itself(kind, squared):
    rows = Rows(kind)
    centres = rows.direct(rows.x, squared)
    constants = constants_of(rows, squared)
    assert not any(row_cost(rows.rows, i, constants, centres, i) for i in range(30))


@pytest.mark.parametrize("far", [1.0, 1e-3, 1e-9])
def test_sparse_distances_do_not_cancel(far):
    """Where the entries of a row cover nearly all of the centre."""
    rows = Rows("sparse")
    points = rows.x + far * np.random.default_rng(1).uniform(size=rows.x.shape)
    centres = rows.direct(points)
    starts = rows.rows.starts
    for i in range(30):
        found = sparse_squared_distance(rows.rows, starts[i], starts[i + 1], 0.5, centres, i)
        assert found == pytest.approx(((rows.x[i] - points[i]) ** 2).sum(), rel=1e-9)


def test_affine_costs_within_their_rounding_error_are_nothing():
    noise = (5 + 8) * EPSILON * 3.0  # of the three numbers together
    assert alone(affine_cost)(1.0, 1.0, 1.0, 5) == 1.0
    assert alone(affine_cost)(1.0, 0.5, 1.5, 5) == 0.0
    assert alone(affine_cost)(1.0, 0.5, 1.5 - 2 * noise, 5) == pytest.approx(2 * noise, rel=0.1)
    assert alone(affine_cost)(1.0, 0.5, 1.5 - 0.9 * noise, 5) == 0.0
    assert alone(affine_cost)(1.0, 0.5, 1.6, 5) == 0.0  # below zero is rounding


@scales
@kinds
def test_products_of_rows_and_vectors(kind, scales):
    rows = Rows(kind, scales=scales)
    vectors = np.random.default_rng(1).normal(size=(3, 5))
    found = [[product(rows.rows, i, vectors, k) for k in range(3)] for i in range(30)]
    np.testing.assert_allclose(found, rows.x @ vectors.T, rtol=1e-12, atol=1e-13)


@scales
@kinds
def test_a_centre_blended_with_a_row(kind, scales):
    rows = Rows(kind, scales=scales)
    points = rows.centres()
    centres = rows.direct(points)
    for i in (3, 15, 15, 29):
        blend(rows.rows, i, 0.75, -0.5, centres, 2)
        points[2] = 0.75 * points[2] - 0.5 * rows.x[i]
        np.testing.assert_allclose(centres.exact, points, rtol=1e-13)
        assert centres.exact_offset[2] == pytest.approx((points[2] ** 2).sum())
    np.testing.assert_array_equal(centres.exact_offset[:2], (points[:2] ** 2).sum(axis=1))


@dtypes
@kinds
def test_rows_are_read_into_a_batch(kind, dtype):
    rows = Rows(kind, dtype=dtype if kind == "sparse" else np.float64)
    batch = new_batch(4, rows.table(rows.centres(), dtype=np.dtype(dtype)).view())
    for r, i in ((2, 7), (0, 15)):
        m, squares = read_row(rows.rows, i, batch, r)
        assert batch.ids[r] == i
        assert m == (np.count_nonzero(rows.x[i]) if kind == "sparse" else 5)
        expected = rows.x[i] if kind == "sparse" else rows.x[i].astype(dtype).astype(float)
        assert squares == pytest.approx((expected**2).sum(), rel=1e-6)
        if kind == "dense":
            np.testing.assert_array_equal(batch.x[r], rows.x[i].astype(dtype))


@dtypes
@pytest.mark.parametrize("cell", [1, 2])
def test_scores_of_dense_rows(cell, dtype):
    rows = Rows()
    view = rows.table(rows.centres(70), dtype=np.dtype(dtype)).view()
    batch = new_batch(8, view)
    for r in range(6):
        read_row(rows.rows, r, batch, r)
    members = [5, 0, 3, 2, 1]
    batch.members[:5] = members
    batch.smallest[:] = -7
    first, last = 2, view.n_blocks
    score_blocks(rows.rows, batch, 5, view, first, last, cell)
    theta = view.theta.transpose(0, 2, 1).reshape(-1, 5).astype(float)
    scores = view.offset.astype(float) - rows.x @ theta.T
    for r in members:
        for c in range(first // cell, -(-last // cell)):
            slots = slice(c * cell * view.block, min((c + 1) * cell, last) * view.block)
            own = scores[r, slots]
            assert batch.place[r, c] == own.argmin()
            least = np.sort(own)
            tolerance = dict(rel=1e-5 if dtype == np.float32 else 1e-12, abs=1e-6)
            assert batch.smallest[r, c] == pytest.approx(least[0], **tolerance)
            assert batch.second[r, c] == pytest.approx(least[1], **tolerance)
    assert (batch.smallest[4] == -7).all() and (batch.smallest[:, : first // cell] == -7).all()


@dtypes
@pytest.mark.parametrize("n_blocks", [1, 2, 3, 4, 5, 6, 9])
def test_scores_of_a_sparse_row(n_blocks, dtype):
    rows = Rows("sparse", dtype=dtype)
    view = rows.table(rows.centres(12 * 16)).view()
    batch = new_batch(1, view)
    batch.smallest[:] = -7
    for i in (4, 15):
        read_row(rows.rows, i, batch, 0)
        score_blocks(rows.rows, batch, 1, view, 1, 1 + n_blocks, 1)
        scores = view.offset.astype(float) - rows.x[i] @ view.theta[0].astype(float)
        scores = scores.reshape(-1, view.block)
        for b in range(1, 1 + n_blocks):
            assert batch.place[0, b] == scores[b].argmin()
            least = np.sort(scores[b])
            assert batch.smallest[0, b] == pytest.approx(least[0], rel=1e-5, abs=1e-6)
            assert batch.second[0, b] == pytest.approx(least[1], rel=1e-5, abs=1e-6)
        assert batch.smallest[0, 0] == -7 and (batch.smallest[0, 1 + n_blocks :] == -7).all()


@dtypes
def test_no_score_errs_by_more_than_the_bound(dtype):
    """Which is narrow where row and centre are near, however far other centres are."""
    for seed in range(5):
        rows = Rows(seed=seed, d=40)
        far = np.where(np.arange(30) < 3, 1e4, 1.0)[:, np.newaxis]
        view = rows.table(far * rows.centres(30, seed), dtype=np.dtype(dtype)).view()
        batch = new_batch(30, view)
        m, squares = zip(*(read_row(rows.rows, i, batch, i) for i in range(30)), strict=True)
        theta = view.theta.transpose(0, 2, 1).reshape(-1, 40)
        exact = view.exact_offset - rows.x @ (2 * view.exact).T
        rough = view.offset - (batch.x[:, np.newaxis] * theta).sum(axis=2, dtype=dtype)
        taken = view.rank >= 0
        for i in range(30):
            error = batch.error[i] = alone(score_error)(m[i], squares[i], squares[i], view)
            ranges = np.array(
                [alone(score_range)(batch, i, view, k) for k in np.flatnonzero(taken)]
            )
            above = (exact - rough)[i, taken]
            assert (above >= -error).all() and (above <= ranges - error).all()
            assert (ranges < 1e-3 * view.exact_offset[taken] + 1e-3 * squares[i]).all()


def test_scores_that_leave_their_type_have_no_bound():
    rows = Rows()
    view = rows.table(rows.centres()).view()._replace(theta_bound=1e38, offset_bound=1e38)
    assert alone(score_error)(5, 1.0, 1.0, view) == np.inf


def test_one_value_stands_for_all_rows():
    assert alone(pick)(np.array([4.0]), 17) == 4.0
    assert alone(pick)(np.array([4.0, 5.0]), 1) == 5.0


def test_the_squared_distance_of_two_points():
    points = np.random.default_rng(0).normal(size=(4, 9))
    assert alone(squared_gap)(points, 3, 1) == pytest.approx(((points[3] - points[1]) ** 2).sum())


@dtypes
def test_room_for_a_batch(dtype):
    rows = Rows()
    view = rows.table(rows.centres(40), dtype=np.dtype(dtype)).view()
    batch = new_batch(6, view)
    assert batch.x.shape == (6, 5) and batch.x.dtype == dtype
    for name in ("smallest", "second", "place"):
        assert getattr(batch, name).shape == (6, view.n_blocks)
    assert batch.members.shape == (9,)  # a group of four may be filled up
    assert batch.near_ids.shape == batch.open_ids.shape == batch.open_costs.shape == (RUN,)
    assert batch.reach.dtype == np.float32
