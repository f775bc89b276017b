import numpy as np
from scipy import sparse

from hardbayes.core.geometry import ExponentialFamily, Poisson
from hardbayes.core.geometry.exponential_family import CERTAIN
from tests.core.geometry.checks import SeparableChecks, uniform

POISSON = ExponentialFamily(np.exp, np.log, allowed=lambda t: t >= 0, prior_weight=4.0)


class TestExponentialFamily(SeparableChecks):
    """Variances of Gaussians with mean zero: half an Itakura-Saito divergence."""

    geometry = ExponentialFamily(
        log_partition=lambda theta: -np.log(-2.0 * theta) / 2.0,
        mean_to_natural=lambda c: -1.0 / (2.0 * c),
        statistic=lambda rows: rows**2,
        domain="numbers > 0",
        allowed=lambda values: values > 0,
    )
    rows = uniform(0.3, 4.0)

    def test_formula(self):
        ratio = self.rows[:-1] / self.rows[1:]
        np.testing.assert_allclose(
            self.geometry.divergence(self.rows[:-1], self.rows[1:]),
            (ratio - np.log(ratio) - 1).sum(axis=1) / 2,
        )

    def test_statistics_take_the_place_of_rows(self):
        np.testing.assert_array_equal(self.geometry.statistic(self.rows), self.rows**2)
        thin = sparse.csr_array(self.rows)
        assert POISSON.statistic(thin) is thin


def test_a_named_family_written_by_its_functions():
    rows, named = uniform(0.1, 4.0), Poisson()
    np.testing.assert_allclose(
        POISSON.between(rows, rows[:3]), named.between(rows, rows[:3]), atol=1e-13
    )
    np.testing.assert_allclose(POISSON.potential(rows), named.potential(rows))


def test_an_infinite_natural_parameter_is_replaced():
    np.testing.assert_array_equal(POISSON.gradient(np.array([0.0, 1.0])), [-CERTAIN, 0.0])
    assert POISSON.generator(np.zeros(1)) == -np.exp(-CERTAIN)


def test_domain_and_prior_are_those_passed_in():
    values = np.array([-1.0, 0.0])
    np.testing.assert_array_equal(POISSON.outside(values), [True, False])
    assert POISSON.domain == "numbers that 'allowed' accepts"
    anything = ExponentialFamily(np.square, np.asarray)
    assert anything.domain is None and not anything.outside(values).any()
    assert POISSON.default_prior_weight(has_border=True) == 4.0
    assert POISSON.default_prior_weight(has_border=False) == 0.0
