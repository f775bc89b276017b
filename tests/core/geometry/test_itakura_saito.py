import numpy as np
import pytest

from hardbayes.core.geometry import ItakuraSaito
from tests.core.geometry.checks import SeparableChecks, uniform


class TestItakuraSaito(SeparableChecks):
    geometry = ItakuraSaito(shape=2.5)
    rows = uniform(0.3, 4.0)

    def test_formula(self):
        ratio = self.rows[:-1] / self.rows[1:]
        np.testing.assert_allclose(
            self.geometry.divergence(self.rows[:-1], self.rows[1:]),
            2.5 * (ratio - np.log(ratio) - 1).sum(axis=1),
        )


def test_close_rows_do_not_cancel():
    c = np.ones(1)
    small = ItakuraSaito().divergence(c + 1e-9, c)
    np.testing.assert_allclose(small, 1e-18 / 2, rtol=1e-6)


def test_domain():
    geometry = ItakuraSaito()
    values = np.array([-1.0, 0.0, 1e-300])
    np.testing.assert_array_equal(geometry.outside(values), [True, True, False])
    assert not geometry.takes_zeros
    inside = geometry.inside(values)
    assert not geometry.outside(inside).any() and inside[2] == 1e-300
    assert np.isfinite(geometry.gradient(inside)).all()


@pytest.mark.parametrize("shape", [0.0, -1.0, np.inf, np.nan])
def test_shapes_that_are_refused(shape):
    with pytest.raises(ValueError, match="The 'shape' parameter of ItakuraSaito must be a number"):
        ItakuraSaito(shape)
