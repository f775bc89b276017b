"""Every experiment runs without data and without a network, and its answer is whole."""

import pytest

from hardbayes.experiments import EXPERIMENTS, Asked


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_runs_quickly(experiment):
    result = experiment.run(Asked(quick=True))
    assert "paper" in " ".join(result.head) and result.rows and result.claims
    assert all(isinstance(cell, str) and cell for row in result.rows for cell in row)
    assert all(claim.holds or claim.because for claim in result.claims)
    assert result.verdict.startswith(("Reproduces", "Does not reproduce"))
    assert result.data and result.caption and result.seconds > 0
    figure = pytest.importorskip("matplotlib.figure").Figure()
    result.draw(figure)
    assert any(axes.has_data() for axes in figure.axes)
