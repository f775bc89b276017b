from fractions import Fraction

import numpy as np
import pytest

from hardbayes.kernels.partition.potential import squared_potential
from hardbayes.kernels.partition.totals import Totals


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
