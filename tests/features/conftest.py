"""Rows, and an allocation of them at least squares, for moves."""

from types import SimpleNamespace

import numpy as np
import pytest

from hardbayes.features.moves import LocalOptimum
from hardbayes.features.rows import Allocation
from tests.reference.feature_rows import NumpyFeatureRows
from tests.reference.features import feature_objective, least_squares


class Case(SimpleNamespace):
    """Rows and a local optimum; objectives by least squares on the whole Z."""

    def objective(self, membership, penalty):
        return feature_objective(self.rows.X, membership, penalty, self.rows.weights)

    def assert_exact(self, proposal, penalty):
        """The proposed change is the change of the objective after a refit; nothing else moved."""
        before = self.objective(self.optimum.allocation.membership, penalty)
        after = self.objective(proposal.allocation.membership, penalty)
        assert proposal.change == pytest.approx(after - before)
        assert proposal.change < 0
        for now, start in zip(self.optimum.allocation, self.start, strict=True):
            np.testing.assert_array_equal(now, start)
            assert not any(np.shares_memory(now, other) for other in proposal.allocation)


def make_case(X, Z, weights=None):
    rows = NumpyFeatureRows(X, weights)
    allocation = Allocation(least_squares(X, Z, weights)[0], np.array(Z, np.uint8))
    sums = rows.collect(allocation)
    optimum = LocalOptimum(allocation, sums, np.linalg.inv(sums.gram))
    return Case(rows=rows, optimum=optimum, start=allocation.copy())


@pytest.fixture(params=range(4))
def case(request):
    rng = np.random.default_rng(request.param)
    Z = (rng.random((16, 3)) < 0.5).astype(float)
    return make_case(rng.standard_normal((16, 3)), Z, rng.random(16) + 0.5)
