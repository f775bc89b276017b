"""Properties of every divergence; test modules derive their classes from these."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.arrays import Formula

#: What the formulas of potentials say: of weights (n, 1) and totals (n, d).
FORMULAS = {
    Formula.LENGTH: lambda n, t: np.linalg.norm(t, axis=1),
    Formula.T_LOG_T: lambda n, t: (t * np.log(t / n) - t).sum(axis=1),
    Formula.BINARY: lambda n, t: (t * np.log(t / n) + (n - t) * np.log(1 - t / n)).sum(axis=1),
}
EPS = np.finfo(np.float64).eps


def gradient_by_differences(function, points, step=1e-5):
    """Central differences of a function of rows (n, d) -> (n,)."""
    d = points.shape[1]
    steps = step * np.eye(d)
    sides = [function(points[:, None, :] + sign * steps) for sign in (1, -1)]
    return (sides[0] - sides[1]) / (2 * step)


class GeometryChecks:
    """Tests for one geometry; ``rows`` (n, d) lie in its domain, away from its border."""

    geometry: object
    rows: np.ndarray
    distance_costs = False
    rotation_invariant = False
    formula = None

    def test_capabilities(self):
        geometry = self.geometry
        assert geometry.distance_costs == self.distance_costs
        assert geometry.needs_mean != self.distance_costs
        assert geometry.rotation_invariant == self.rotation_invariant
        assert geometry.separable == hasattr(geometry, "generator")
        assert geometry.separable == isinstance(self, SeparableChecks)
        assert geometry.takes_zeros == isinstance(self, SparseChecks)
        assert geometry.formula is self.formula

    def test_the_formula_gives_cluster_potentials(self):
        if self.formula is None:
            return
        weights, totals = np.linspace(6.0, 9.0, 30), 5.0 * self.rows
        expected = weights * self.geometry.potential(totals / weights[:, None])
        found = FORMULAS[self.formula](weights[:, None], totals)
        np.testing.assert_allclose(found, expected, rtol=1e-12)

    # -- phi, its gradient, the divergence ---------------------------------------------------------

    def test_theta_is_the_gradient_of_the_potential(self):
        theta, _ = self.geometry.affine(self.rows)
        differences = gradient_by_differences(self.geometry.potential, self.rows)
        np.testing.assert_allclose(theta, differences, rtol=1e-6, atol=1e-7)

    def test_divergence_is_bregmans(self):
        x, c = self.rows[1:], self.rows[:-1]
        theta, _ = self.geometry.affine(c)
        potential = self.geometry.potential
        expected = potential(x) - potential(c) - np.sum(theta * (x - c), axis=1)
        np.testing.assert_allclose(self.geometry.divergence(x, c), expected, atol=1e-11)

    def test_divergence_is_zero_at_the_row_and_positive_elsewhere(self):
        rows = self.rows
        np.testing.assert_allclose(self.geometry.divergence(rows, rows), 0, atol=1e-15)
        assert (self.geometry.divergence(rows[1:], rows[:-1]) > 0).all()

    def test_affine_form_is_the_divergence(self):
        x, c = self.rows, self.rows[:4]
        theta, offset = self.geometry.affine(c)
        affine = self.geometry.potential(x)[:, None] + offset - x @ theta.T
        direct = self.geometry.divergence(x[:, None], c)
        np.testing.assert_allclose(affine, direct, atol=1e-11)
        np.testing.assert_allclose(self.geometry.between(x, c), direct, atol=1e-11)

    def test_the_mean_minimises_and_leaves_the_bregman_information(self):
        mean = self.rows.mean(axis=0)
        least = self.geometry.divergence(self.rows, mean).sum()
        identity = self.geometry.potential(self.rows).sum()
        identity -= len(self.rows) * self.geometry.potential(mean)
        np.testing.assert_allclose(identity, least, rtol=1e-9)
        steps = 1e-3 * np.random.default_rng(1).normal(size=(50, len(mean)))
        others = self.geometry.divergence(self.rows[:, None], mean + steps).sum(axis=0)
        assert (others > least).all()

    # -- the domain --------------------------------------------------------------------------------

    def test_valid_rows_are_inside_and_stay_as_they_are(self):
        assert not self.geometry.outside(self.rows).any()
        np.testing.assert_array_equal(self.geometry.inside(self.rows), self.rows)

    def test_a_prior_by_default_only_where_a_border_is_touched(self):
        assert self.geometry.default_prior_weight(has_border=False) == 0

    def test_costs_follow_the_power_of_the_scale(self):
        x, c = self.rows[1:], self.rows[:-1]
        shifted = self.geometry.divergence(x + 3.0, c + 3.0)
        assert self.geometry.translation_invariant == np.allclose(
            shifted, self.geometry.divergence(x, c)
        )
        if self.geometry.degree is not None:
            expected = 2.0**self.geometry.degree * self.geometry.divergence(x, c)
            np.testing.assert_allclose(self.geometry.divergence(2 * x, 2 * c), expected)

    # -- direct costs and their rounding -----------------------------------------------------------

    def test_exact_form_gives_direct_costs(self):
        x, c = self.rows, self.rows[:4].copy()
        exact, offset = self.geometry.exact_form(c)
        assert not np.shares_memory(exact, c)
        costs = self.geometry.potential(x)[:, None] + offset - x @ exact.T
        np.testing.assert_allclose(costs, self.geometry.divergence(x[:, None], c), atol=1e-11)

    def test_row_constants_are_the_potentials(self):
        potential = self.geometry.potential(self.rows)
        np.testing.assert_array_equal(self.geometry.constant_potential(self.rows), potential)
        found = self.geometry.row_constants(iter((self.rows[:5], self.rows[5:])))
        np.testing.assert_allclose(found, potential, rtol=1e-14)

    def test_costs_are_no_distances(self):
        costs = np.array([0.0, 4.0])
        assert self.geometry.as_distances(costs) is costs
        assert self.geometry.equality_rounding(6) == 0

    def test_cost_rounding_covers_rows_at_themselves(self):
        rows = self.rows
        constants = self.geometry.potential(rows)
        theta, offset = self.geometry.affine(rows)
        computed = np.abs(constants + offset - np.einsum("ij,ij->i", rows, theta))
        bound = self.geometry.cost_rounding(6, constants, rows, rows.mean(axis=0))
        assert bound.shape == (30,)
        assert (computed <= bound).all()

    @pytest.mark.parametrize("weights", [[0.25], np.linspace(0.5, 1.0, 30)], ids=["one", "many"])
    def test_objective_rounding_sums_the_sizes_of_all_rows(self, weights):
        mean, constants = self.rows.mean(axis=0), self.geometry.potential(self.rows)
        weights = np.broadcast_to(weights, 30)
        size = (weights * np.abs(constants)).sum()
        found = self.geometry.objective_rounding(weights.sum(), size, mean)
        theta, offset = self.geometry.affine(mean[None])
        sizes = np.abs(constants) + np.abs(offset) + np.abs(theta * mean).sum()
        np.testing.assert_allclose(found, (6 + 8) * EPS * (weights * sizes).sum())

    def test_any_scale_is_accepted(self):
        self.geometry.check_scale(6, 2.0, 1e200)
        self.geometry.check_reach(np.full((2, 6), 1e200), 1.0, "Costs")


class SeparableChecks(GeometryChecks):
    """Where phi is a sum over columns."""

    def test_generator_and_gradient_make_potential_and_affine(self):
        phi, slope = self.geometry.generator(self.rows), self.geometry.gradient(self.rows)
        theta, offset = self.geometry.affine(self.rows)
        np.testing.assert_allclose(self.geometry.potential(self.rows), phi.sum(axis=1), rtol=1e-13)
        np.testing.assert_allclose(theta, slope, rtol=1e-13)
        np.testing.assert_allclose(offset, (self.rows * slope - phi).sum(axis=1), atol=1e-12)


class SparseChecks(GeometryChecks):
    """Where zeros are in the domain."""

    @pytest.fixture
    def thin(self):
        """The rows with every third entry, and one whole row, set to zero."""
        rows = self.rows.copy()
        rows.ravel()[::3] = 0.0
        rows[-1] = 0.0
        return rows

    def test_phi_of_zero_is_zero(self):
        assert self.geometry.potential(np.zeros((1, 6)))[0] == 0
        assert np.isfinite(self.geometry.affine(np.zeros((1, 6)))[0]).all()

    def test_potentials_of_sparse_rows(self, thin):
        found = self.geometry.sparse_potential(sparse.csr_array(thin))
        np.testing.assert_allclose(found, self.geometry.potential(thin), rtol=1e-12, atol=1e-15)
        constants = self.geometry.constant_potential(sparse.csr_array(thin))
        if not self.distance_costs:
            np.testing.assert_array_equal(constants, found)

    def test_rounding_of_sparse_rows(self, thin):
        args = 6, self.geometry.potential(thin)
        mean = self.rows.mean(axis=0)
        found = self.geometry.cost_rounding(*args, sparse.csr_array(thin), mean)
        theta, offset = self.geometry.affine(mean[None])
        sizes = np.abs(self.geometry.potential(thin)) + np.abs(offset) + np.abs(thin @ theta[0])
        np.testing.assert_allclose(found, (6 + 8) * EPS * sizes)

    @pytest.mark.parametrize("weights", [np.ones(30), np.linspace(0.5, 2.0, 30)])
    def test_opening_costs_of_sparse_rows(self, thin, weights):
        """``w D(x, mu) + eta D(m, mu)`` at the mean of the row and the prior."""
        eta, mean = 3.0, self.rows.mean(axis=0)
        centres = (weights[:, None] * thin + eta * mean) / (weights + eta)[:, None]
        direct = weights * self.geometry.divergence(thin, centres)
        direct += eta * self.geometry.divergence(mean, centres)
        found = self.geometry.opening_costs(sparse.csr_array(thin), weights, eta, mean)
        np.testing.assert_allclose(found, direct, rtol=1e-9, atol=1e-15)


def uniform(low, high, seed=0):
    return np.random.default_rng(seed).uniform(low, high, (30, 6))
