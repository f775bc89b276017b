import numpy as np

from hardbayes.core.arrays import Formula
from hardbayes.core.geometry import Poisson
from hardbayes.core.geometry.poisson import NEVER
from tests.core.geometry.checks import SeparableChecks, SparseChecks, uniform

GEOMETRY = Poisson()


class TestPoisson(SeparableChecks, SparseChecks):
    formula = Formula.T_LOG_T
    geometry = GEOMETRY
    rows = uniform(0.1, 4.0)

    def test_formula(self):
        x, c = self.rows[:-1], self.rows[1:]
        np.testing.assert_allclose(
            GEOMETRY.divergence(x, c), (x * np.log(x / c) - x + c).sum(axis=1), rtol=1e-10
        )


def test_a_zero_in_the_centre_alone_costs_practically_infinity():
    at_zero = GEOMETRY.divergence(np.array([1.0, 2.0]), np.array([0.0, 2.0]))
    assert at_zero == NEVER > GEOMETRY.infinite_cost
    assert GEOMETRY.divergence(np.array([0.0, 2.0]), np.array([1.0, 2.0])) == 1.0
    assert GEOMETRY.gradient(np.zeros(1)) == -NEVER
    assert np.isfinite(np.float32(NEVER))


def test_domain():
    values = np.array([-1e-300, 0.0, 1e-300])
    np.testing.assert_array_equal(GEOMETRY.outside(values), [True, False, False])
    np.testing.assert_array_equal(GEOMETRY.at_border(values), [False, True, False])
    np.testing.assert_array_equal(GEOMETRY.inside(values), [0.0, 0.0, 1e-300])
    assert GEOMETRY.takes_zeros
    assert GEOMETRY.default_prior_weight(has_border=True) == 10
