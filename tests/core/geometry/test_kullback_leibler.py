import numpy as np
import pytest
from scipy import sparse
from scipy.stats import entropy

from hardbayes.core.arrays import Formula
from hardbayes.core.geometry import KullbackLeibler
from tests.core.geometry.checks import SeparableChecks, SparseChecks, uniform


def shares():
    rows = uniform(0.1, 2.0)
    return rows / rows.sum(axis=1, keepdims=True)


class TestKullbackLeibler(SeparableChecks, SparseChecks):
    formula = Formula.T_LOG_T
    geometry = KullbackLeibler()
    rows = shares()

    def test_formula(self):
        x, c = self.rows[:-1], self.rows[1:]
        np.testing.assert_allclose(self.geometry.divergence(x, c), entropy(x, c, axis=1))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_rows_are_divided_by_their_sums(container):
    counts = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 5.0]])
    geometry = KullbackLeibler()
    assert geometry.row_unit == "sum" and geometry.degree is None
    np.testing.assert_array_equal(geometry.row_sizes(container(counts)), [3.0, 5.0])


def test_length_as_weight():
    assert not KullbackLeibler().length_as_weight
    assert KullbackLeibler(length_as_weight=True).length_as_weight
