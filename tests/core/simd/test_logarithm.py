"""The logarithm that loops can vectorise, against NumPy's in extended precision."""

import numpy as np
import pytest

from hardbayes.core.compiling import kernel
from hardbayes.core.simd.vectors import SMALLEST, log


@kernel
def logarithms(numbers, out):
    for i in range(len(numbers)):
        out[i] = log(numbers[i])


def found(numbers):
    out = np.empty(len(numbers))
    logarithms(np.asarray(numbers, float), out)
    return out


@pytest.mark.parametrize("kind", ["any", "middle", "near one"])
def test_within_a_few_units_in_the_last_place(kind):
    rng = np.random.default_rng(0)
    numbers = {
        "any": np.exp(rng.uniform(-700, 700, 10_000)),
        "middle": rng.uniform(0.3, 3.0, 10_000),
        "near one": 1 + 1e-6 * rng.standard_normal(10_000),
    }[kind]
    expected = np.log(numbers.astype(np.longdouble))
    units = np.spacing(np.abs(expected.astype(float)))
    assert np.max(np.abs(found(numbers) - expected) / units) < 4


def test_exact_and_smallest():
    assert found([1.0])[0] == 0.0
    np.testing.assert_array_equal(found([0.0, -1.0, SMALLEST / 4]), found([SMALLEST] * 3))
