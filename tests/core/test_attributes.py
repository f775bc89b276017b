"""How a fit went, as attributes."""

import numpy as np
import pytest

from hardbayes.core.fitted import AtOnce, trace_attributes
from hardbayes.core.loop import Status


@pytest.mark.parametrize("status", [Status.CONVERGED, Status.CAPPED, Status.OUT_OF_STEPS])
def test_attributes_tell_the_end_of_a_fit(status):
    history = np.array([5.0, 3.0, 2.0])
    found = trace_attributes(AtOnce(status, 4, 1), history, 7)
    assert (found["objective_"], found["n_iter_"]) == (2.0, 3)
    assert (found["n_splits_"], found["n_merges_"]) == (4, 1)
    assert found["converged_"] == (status is not Status.OUT_OF_STEPS)
    assert found["status_"] == status.sentence(3, 7)
    assert found["objective_history_"] is history
