import numpy as np

from hardbayes.core.arrays import Formula
from hardbayes.core.geometry import Logistic
from hardbayes.core.geometry.logistic import CERTAIN
from tests.core.geometry.checks import SeparableChecks, SparseChecks, uniform

GEOMETRY = Logistic()


class TestLogistic(SeparableChecks, SparseChecks):
    formula = Formula.BINARY
    geometry = GEOMETRY
    rows = uniform(0.1, 0.9)

    def test_formula(self):
        x, c = self.rows[:-1], self.rows[1:]
        expected = x * np.log(x / c) + (1 - x) * np.log((1 - x) / (1 - c))
        np.testing.assert_allclose(GEOMETRY.divergence(x, c), expected.sum(axis=1), rtol=1e-10)

    def test_costs_follow_the_power_of_the_scale(self):
        assert GEOMETRY.degree is None and not GEOMETRY.translation_invariant


def test_zeros_and_ones_are_symmetric_and_finite():
    ends = np.array([0.0, 1.0])
    np.testing.assert_array_equal(GEOMETRY.generator(ends), 0.0)
    np.testing.assert_array_equal(GEOMETRY.gradient(ends), [-CERTAIN, CERTAIN])
    contradiction = GEOMETRY.terms(ends, ends[::-1])
    np.testing.assert_allclose(contradiction, CERTAIN, rtol=1e-12)
    np.testing.assert_array_equal(GEOMETRY.terms(ends, ends), 0.0)


def test_domain():
    values = np.array([-1e-9, 0.0, 0.5, 1.0, 1.0 + 1e-9])
    np.testing.assert_array_equal(GEOMETRY.outside(values), [True, False, False, False, True])
    np.testing.assert_array_equal(GEOMETRY.at_border(values), [False, True, False, True, False])
    np.testing.assert_array_equal(GEOMETRY.inside(values), [0.0, 0.0, 0.5, 1.0, 1.0])
    assert GEOMETRY.unit_interval
    assert GEOMETRY.default_prior_weight(has_border=True) == 10
