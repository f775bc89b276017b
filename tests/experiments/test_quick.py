"""Every experiment runs without data and without a network, and its answer is whole."""

import numpy as np
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


def test_faces_are_read_where_they_are(tmp_path):
    rng = np.random.default_rng(0)
    parts = rng.random((3, 6, 5))
    has = np.column_stack([np.ones(40), rng.integers(0, 2, (40, 2))])
    faces = np.einsum("nk,kij->nij", has, parts) + 0.01 * rng.normal(size=(40, 6, 5))
    np.savez(tmp_path / "image_faces.npz", X=faces)
    experiment = next(each for each in EXPERIMENTS if each.name == "digits")
    result = experiment.run(Asked(quick=True, data=tmp_path))
    assert "40 faces" in result.data and not result.missing
    counts = result.rows[0][3].split(", ")
    assert sorted(map(int, counts)) == sorted(np.unique(has, axis=0, return_counts=True)[1])
    figure = pytest.importorskip("matplotlib.figure").Figure()
    result.draw(figure)
    assert figure.axes[0].images[0].get_array().shape == (6, 5)
