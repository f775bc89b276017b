"""A collapsed sweep as a move."""

import numpy as np
import pytest

from hardbayes.features.moves import run_collapsed_sweep, sweep_collapsed
from hardbayes.features.problem import FeatureAllocation
from tests.features.conftest import make_case


@pytest.mark.parametrize("penalty", [0.5, 3.0])
def test_its_change_is_exact(case, penalty):
    proposal = sweep_collapsed(case.rows, FeatureAllocation(penalty, 5), case.optimum)
    case.assert_exact(proposal, penalty)


def test_none_where_no_row_changes():
    Z = np.array([[1, 0], [0, 1], [1, 1], [1, 0], [0, 1], [1, 1]], float)
    case = make_case(Z @ np.array([[3.0, 0.0], [0.0, 2.0]]), Z)
    assert sweep_collapsed(case.rows, FeatureAllocation(1.0, 5), case.optimum) is None


def test_sums_are_of_the_allocation_returned(case):
    swept, sums = run_collapsed_sweep(case.rows, FeatureAllocation(1.0, 5), case.optimum.allocation)
    assert sums.fit == case.rows.collect(swept).fit
    assert sums.changed > 0
