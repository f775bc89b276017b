import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.arrays import total_weight
from hardbayes.core.geometry import SquaredEuclidean
from hardbayes.core.geometry.squared_euclidean import FARTHEST, distance_rounding
from tests.core.geometry.checks import SeparableChecks, SparseChecks, uniform

GEOMETRY = SquaredEuclidean()


class TestSquaredEuclidean(SeparableChecks, SparseChecks):
    geometry = GEOMETRY
    rows = uniform(-2.0, 2.0)
    distance_costs = True
    rotation_invariant = True

    def test_exact_form_gives_direct_costs(self):
        c = self.rows[:4]
        exact, offset = GEOMETRY.exact_form(c)
        assert not np.shares_memory(exact, c)
        np.testing.assert_array_equal(exact, c)
        np.testing.assert_array_equal(offset, GEOMETRY.affine(c)[1])

    def test_row_constants_are_the_potentials(self):
        def blocks():
            raise AssertionError("read")
            yield

        assert GEOMETRY.constant_potential(self.rows) is None
        np.testing.assert_array_equal(GEOMETRY.row_constants(blocks()), [0.0])

    def test_costs_are_no_distances(self):
        np.testing.assert_array_equal(GEOMETRY.as_distances(np.array([0.0, 4.0])), [0.0, 2.0])

    def test_cost_rounding_covers_rows_at_themselves(self):
        """A mean of equal rows differs from them by its rounding."""
        rows = np.random.default_rng(0).uniform(-1.0, 1.0, (2000, 6))
        computed = GEOMETRY.divergence(rows, sum(rows for _ in range(7)) / 7)
        bound = GEOMETRY.cost_rounding(6, np.zeros(1), rows, np.zeros(6))
        assert bound == GEOMETRY.equality_rounding(6) == distance_rounding(6)
        assert 0 < computed.max() <= bound

    @pytest.mark.parametrize("weights", [[0.25], np.linspace(0.5, 1.0, 30)], ids=["one", "many"])
    def test_objective_rounding_sums_the_sizes_of_all_rows(self, weights):
        found = GEOMETRY.objective_rounding(total_weight(np.asarray(weights), 30), 0.0, np.zeros(6))
        total = np.broadcast_to(weights, 30).sum()
        np.testing.assert_allclose(found, distance_rounding(6) * total, rtol=1e-14)

    test_any_scale_is_accepted = None  # see below

    def test_formula(self):
        x, c = self.rows[:-1], self.rows[1:]
        np.testing.assert_allclose(GEOMETRY.divergence(x, c), ((x - c) ** 2).sum(axis=1))


def test_a_rotation_changes_no_cost():
    rows = uniform(-2.0, 2.0)
    turn = np.linalg.qr(uniform(-1.0, 1.0, seed=1)[:6])[0]
    np.testing.assert_allclose(GEOMETRY.between(rows @ turn, rows[:3] @ turn),
                               GEOMETRY.between(rows, rows[:3]), atol=1e-13)  # fmt: skip


def test_affine_has_the_bits_of_the_definition():
    c = uniform(-2.0, 2.0)
    theta, offset = GEOMETRY.affine(c)
    np.testing.assert_array_equal(theta, GEOMETRY.gradient(c))
    definition = np.sum(c * GEOMETRY.gradient(c) - GEOMETRY.generator(c), axis=1)
    np.testing.assert_array_equal(offset, definition)


@pytest.mark.parametrize("largest", [1e-150, 1.0, 1e150])
def test_scales_that_fit(largest):
    GEOMETRY.check_scale(5, 100.0, largest)
    GEOMETRY.check_scale(5, 100.0, 0.0)


@pytest.mark.parametrize(
    ("largest", "weight", "says"),
    [
        (1e154, 1.0, "Squared distances between rows of X do not fit float64: X holds values near"),
        (1e-160, 1.0, "near 1e-160. Multiply X by a suitable power of ten, or remove such rows."),
        (1e-150, 1e-20, "Squared distances between rows of X do not fit float64"),
        (1e100, 1e200, "The 'sample_weight' parameter is too large: with values of X near 1e"),
    ],
)
def test_scales_that_do_not_fit(largest, weight, says):
    with pytest.raises(ValueError, match=says):
        GEOMETRY.check_scale(5, 100.0 * weight, largest)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("sign", [-1, 1])
def test_new_rows_that_reach_too_far(container, sign):
    near, far = (container(sign * np.array([[0.0, value]])) for value in (1e140, 1.1e140))
    GEOMETRY.check_reach(near, 1.0, "Squares")
    GEOMETRY.check_reach(far, 0.5, "Squares")
    GEOMETRY.check_reach(container(np.full((1, 2), 3e38, np.float32)), 1.0, "Squares")
    with pytest.raises(ValueError, match=r"^Squares do not fit float64: X holds values near 1\.1e"):
        GEOMETRY.check_reach(far, 1.0, "Squares")
    assert FARTHEST == 1e140
