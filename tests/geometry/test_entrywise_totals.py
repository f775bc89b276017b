import numpy as np
import pytest

from hardbayes.geometry import GEOMETRIES, EntrywiseTotals, Geometry, KullbackLeibler
from hardbayes.geometry.stock import KeepsStock


def test_which_geometries_have_it():
    having = {name for name, kind in GEOMETRIES.items() if issubclass(kind, EntrywiseTotals)}
    assert having == {"kl", "poisson", "cosine"}


def test_former_names():
    assert KeepsStock is EntrywiseTotals
    totals = np.random.default_rng(0).uniform(size=(4, 3))
    geometry = KullbackLeibler()
    terms = geometry.entry_terms(totals)
    np.testing.assert_array_equal(geometry.stocked(totals), terms)
    sums = np.arange(1.0, 5.0), totals.sum(axis=1), terms.sum(axis=1)
    np.testing.assert_array_equal(geometry.kept(*sums), geometry.cluster_potential(*sums))


def test_both_methods_must_be_defined():
    class Half(EntrywiseTotals, Geometry):
        def generator(self, x):
            return x * x

        def gradient(self, c):
            return 2 * c

        def entry_terms(self, totals):
            return totals

    with pytest.raises(TypeError, match="cluster_potential"):
        Half()
