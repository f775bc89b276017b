"""When a change of the objective is more than rounding."""

import pytest


@pytest.mark.parametrize(("share", "lower"), [(-1e-8, True), (-1e-12, False), (1e-8, False)])
def test_a_change_must_be_more_than_rounding(case, share, lower):
    assert case.optimum.is_lowered_by(share * case.optimum.sums.fit) is lower
