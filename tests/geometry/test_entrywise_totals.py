import pytest

from hardbayes.geometry import GEOMETRIES, EntrywiseTotals, Geometry


def test_which_geometries_have_it():
    having = {name for name, kind in GEOMETRIES.items() if issubclass(kind, EntrywiseTotals)}
    assert having == {"kl", "poisson", "cosine"}


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
