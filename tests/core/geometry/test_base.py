"""What a geometry of the user's own inherits, and the registry of names."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import xlogy

from hardbayes.core.geometry import GEOMETRIES, Geometry, geometry_for
from hardbayes.core.geometry.base import t_log_t
from tests.core.geometry.checks import SeparableChecks, SparseChecks, uniform


class Quartic(Geometry):
    """``phi(t) = t^4``, by the two functions alone."""

    def generator(self, x):
        return x**4

    def gradient(self, c):
        return 4 * c**3


class Lengths(Geometry):
    """``phi(c) = |c|^4``, of whole rows."""

    def potential(self, centres):
        return (centres**2).sum(axis=-1) ** 2

    def affine(self, centres):
        squares = (centres**2).sum(axis=-1)
        return 4 * squares[..., None] * centres, 3 * squares**2

    def divergence(self, x, c):
        theta, offset = self.affine(c)
        return self.potential(x) + offset - (theta * x).sum(axis=-1)

    def sparse_potential(self, rows):
        return self.potential(rows.toarray())


class TestTwoFunctions(SeparableChecks, SparseChecks):
    geometry = Quartic()
    rows = uniform(-1.0, 1.0)


class TestWholeRows(SparseChecks):
    geometry = Lengths()
    rows = uniform(-1.0, 1.0)

    test_opening_costs_of_sparse_rows = None  # it has no version of its own

    def test_divergence_is_zero_at_the_row_and_positive_elsewhere(self):
        assert np.abs(self.geometry.divergence(self.rows, self.rows)).max() < 1e-13


def test_defaults_accept_every_number():
    values = np.array([-1e300, 0.0, 1.0])
    geometry = Quartic()
    assert not geometry.outside(values).any() and geometry.takes_zeros
    assert geometry.inside(values) is values and geometry.statistic(values) is values
    np.testing.assert_array_equal(geometry.at_border(values), values == 0)
    assert geometry.shown(values) is values
    assert geometry.default_prior_weight(has_border=True) == 0


def test_nonnegative_means_are_clipped():
    class Positive(Quartic):
        nonnegative = True

    np.testing.assert_array_equal(Positive().inside(np.array([-1e-17, 2.0])), [0.0, 2.0])


def test_rows_of_zeros_open_like_sparse_rows_without_entries():
    weights, mean = np.array([0.5, 2.0]), np.array([0.5, 1.0, 2.0])
    found = Quartic().empty_opening_costs(weights, 3.0, mean)
    expected = Quartic().opening_costs(sparse.csr_array((2, 3)), weights, 3.0, mean)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("given", [(), ("generator",), ("gradient",), ("potential", "affine")])
def test_a_class_that_lacks_functions_is_refused(given):
    body = dict.fromkeys(given, lambda self, x: x)
    with pytest.raises(TypeError, match="'generator' and 'gradient' of entries, or 'potential'"):
        type("Lacking", (Geometry,), body)


def test_geometry_for_names_and_objects():
    for name, kind in GEOMETRIES.items():
        assert type(geometry_for(name)) is kind
    own = Quartic()
    assert geometry_for(own) is own


def test_t_log_t():
    t = np.array([0.0, 5e-324, 1e-3, 1.0, 7.0])
    np.testing.assert_allclose(t_log_t(t), xlogy(t, t), rtol=1e-15, atol=1e-320)
