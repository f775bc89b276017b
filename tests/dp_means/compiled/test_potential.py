"""Sums over clusters in twice the working precision, against rational numbers."""

from fractions import Fraction

import numpy as np
import pytest

from hardbayes.core.arrays import Totals
from hardbayes.core.compiling import kernel
from hardbayes.dp_means.compiled import sums
from hardbayes.dp_means.compiled.sums import _two_product, _two_sum, add_term, squared_potential
from tests.core.alone import alone


@pytest.mark.parametrize("d", [1, 7, 8, 9, 40])
@pytest.mark.parametrize("prior_weight", [0.0, 0.5])
def test_twice_the_working_precision(d, prior_weight):
    rng = np.random.default_rng(d)
    coarse = rng.normal(size=(5, d)) * 10.0 ** rng.uniform(-4, 4, d)
    weights = rng.uniform(1, 2, 5)
    fine = 2.0**-60 * rng.normal(size=(5, d))
    totals = Totals(coarse, fine, weights, np.zeros(5), np.zeros(5, bool))
    prior = prior_weight * rng.normal(size=d)
    slots = np.array([4, 0, 2])
    value, remainder = squared_potential(totals, prior_weight, prior, slots, len(slots))

    def square(numbers):
        return sum(number * number for number in numbers)

    exact = Fraction(0)
    for k in slots:
        total = [
            sum(map(Fraction, parts))
            for parts in zip(totals.coarse[k], totals.fine[k], prior, strict=True)
        ]
        exact += square(total) / Fraction(weights[k] + prior_weight)
    error = abs(Fraction(value) + Fraction(remainder) - exact)
    assert error < 1e-29 * float(sum(totals.coarse[slots].ravel() ** 2))
    assert abs(remainder) < 1e-14 * abs(value)


@kernel
def square_over(coarse, fine, prior, k, weight):
    return sums.square_over(coarse, fine, prior, k, weight)


@kernel
def square_of_total(coarse, fine, prior, k):
    return sums.square_of_total(coarse, fine, prior, k)


@pytest.mark.parametrize("d", [1, 7, 8, 9, 40])
def test_the_square_of_one_total(d):
    rng = np.random.default_rng(d)
    coarse, prior = rng.normal(size=(3, d)), rng.normal(size=d)
    fine = 2.0**-60 * rng.normal(size=(3, d))
    columns = zip(coarse[1], fine[1], prior, strict=True)
    exact = sum(sum(map(Fraction, parts)) ** 2 for parts in columns)
    found = sum(map(Fraction, square_of_total(coarse, fine, prior, 1)))
    assert abs(found - exact) < 1e-29 * d
    over = sum(map(Fraction, square_over(coarse, fine, prior, 1, 0.3)))
    assert abs(over - exact / Fraction(0.3)) < 1e-28 * d


def test_sums_and_products_with_their_rounding_errors():
    rng = np.random.default_rng(0)
    for a, b in rng.normal(size=(50, 2)) * 10.0 ** rng.integers(-8, 8, (50, 2)):
        assert sum(map(Fraction, alone(_two_sum)(a, b))) == Fraction(a) + Fraction(b)
        assert sum(map(Fraction, alone(_two_product)(a, b))) == Fraction(a) * Fraction(b)


def test_terms_are_added_without_loss():
    value, remainder, exact = 0.0, 0.0, Fraction(0)
    for term in 10.0 ** np.linspace(-12, 12, 40) * np.tile([1.0, -0.7], 20):
        value, remainder = alone(add_term)(value, remainder, term, 1e-3 * term * 2.0**-53)
        exact += Fraction(term) + Fraction(1e-3 * term * 2.0**-53)
    assert abs(Fraction(value) + Fraction(remainder) - exact) < 1e-28 * abs(exact) + Fraction(1e-19)
