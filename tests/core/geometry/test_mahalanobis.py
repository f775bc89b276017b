import numpy as np
import pytest

from hardbayes.core.geometry import Mahalanobis, SquaredEuclidean
from tests.core.geometry.checks import SparseChecks, uniform

MATRIX = np.diag([1.0, 2.0, 0.5, 1.0, 3.0, 1.0]) + 0.3


class TestMahalanobis(SparseChecks):
    geometry = Mahalanobis(MATRIX)
    rows = uniform(-2.0, 2.0)

    def test_formula(self):
        gap = self.rows[:-1] - self.rows[1:]
        np.testing.assert_allclose(
            self.geometry.divergence(self.rows[:-1], self.rows[1:]),
            np.einsum("nd,de,ne->n", gap, MATRIX, gap),
        )


def test_the_identity_gives_squared_distances():
    rows, plain = uniform(-2.0, 2.0), SquaredEuclidean()
    np.testing.assert_allclose(
        Mahalanobis(np.eye(6)).between(rows, rows[:3]), plain.between(rows, rows[:3]), atol=1e-13
    )


def test_potentials_do_not_depend_on_the_number_of_points():
    rows, geometry = uniform(-2.0, 2.0), Mahalanobis(MATRIX)
    singly = [geometry.potential(row) for row in rows]
    np.testing.assert_array_equal(geometry.potential(rows), singly)


def test_the_matrix_fixes_the_number_of_columns():
    assert Mahalanobis(MATRIX).n_columns == 6


@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        (np.ones((2, 3)), r"square matrix .* Got shape \(2, 3\) instead"),
        (np.ones(3), "square matrix of finite numbers"),
        ([[1.0, np.nan], [np.nan, 1.0]], "finite numbers"),
        ([[1.0, 0.5], [0.0, 1.0]], "must be symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "must be positive definite"),
        (np.zeros((2, 2)), "must be positive definite"),
    ],
)
def test_matrices_that_are_refused(matrix, says):
    with pytest.raises(ValueError, match=says):
        Mahalanobis(matrix)
