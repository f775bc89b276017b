import numpy as np
from scipy import sparse

from hardbayes.core.arrays import Formula
from hardbayes.core.geometry import Cosine
from tests.core.geometry.checks import SparseChecks, uniform

GEOMETRY = Cosine()


def directions():
    rows = uniform(0.1, 2.0)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class TestCosine(SparseChecks):
    formula = Formula.LENGTH
    geometry = GEOMETRY
    rows = directions()

    def test_formula(self):
        x, c = self.rows[:-1], self.rows[1:]
        np.testing.assert_allclose(GEOMETRY.divergence(x, c), 1 - np.sum(x * c, axis=1))


def test_only_the_direction_of_a_centre_matters():
    x, c = directions()[:5], directions()[5:10]
    np.testing.assert_allclose(GEOMETRY.divergence(x, 7 * c), GEOMETRY.divergence(x, c))
    np.testing.assert_allclose(GEOMETRY.divergence(7 * x, c), 7 * GEOMETRY.divergence(x, c))


def test_close_directions_do_not_cancel():
    x, c = np.array([1.0, 1e-9]), np.array([1.0, 0.0])
    np.testing.assert_allclose(GEOMETRY.divergence(x, c), 1e-18 / 2, rtol=1e-6)


def test_a_centre_at_the_origin_costs_the_length():
    rows = 3 * directions()
    np.testing.assert_allclose(GEOMETRY.divergence(rows, np.zeros(6)), 3.0)
    theta, offset = GEOMETRY.affine(np.zeros((1, 6)))
    assert not theta.any() and not offset.any()


def test_centres_are_shown_with_length_one():
    shown = GEOMETRY.shown(np.array([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_array_equal(shown, [[0.6, 0.8], [0.0, 0.0]])


def test_rows_are_divided_by_their_lengths():
    rows = np.array([[3.0, 4.0], [0.0, -2.0]])
    for container in (np.asarray, sparse.csr_array):
        np.testing.assert_array_equal(GEOMETRY.row_sizes(container(rows)), [5.0, 2.0])
