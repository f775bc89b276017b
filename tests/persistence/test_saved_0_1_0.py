"""Files written by version 0.1.0 can be loaded."""

import json
from pathlib import Path

import numpy as np
import pytest

from hardbayes import load

FOLDER = Path(__file__).parent / "saved_0_1_0"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_model_saved_by_0_1_0_gives_the_results_it_gave(name):
    model, expected = load(FOLDER / f"{name}.hardbayes"), EXPECTED[name]
    rows = np.array(expected["rows"])
    assert model.objective_ == expected["objective"]
    np.testing.assert_allclose(model.transform(rows), expected["transform"], rtol=1e-12)
    np.testing.assert_allclose(model.score_samples(rows), expected["scores"], rtol=1e-12)
    if "labels" in expected:
        np.testing.assert_array_equal(model.predict(rows), expected["labels"])


def test_an_unfitted_estimator_saved_by_0_1_0_keeps_its_parameters():
    model = load(FOLDER / "unfitted.hardbayes")
    assert (model.cluster_penalty, model.search) == (7.0, "paper")
