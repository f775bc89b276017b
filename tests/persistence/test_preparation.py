"""Model files of the command carry how columns were prepared."""

import warnings

import numpy as np
import pytest

from hardbayes import DPMeans, load, save
from hardbayes.persistence.model import load_prepared, save_prepared

VALUES = {"kind": "table", "columns": ["a", "\u00fc"], "scale": np.array([1.0, 2.0]), "fill": None}


@pytest.fixture
def model():
    return DPMeans(4.0).fit([[0.0, 0.0], [9.0, 9.0]])


def test_values_come_back(model, tmp_path):
    path = tmp_path / "m"
    save_prepared(model, path, VALUES)
    again, values = load_prepared(path)
    assert again.labels_.tolist() == model.labels_.tolist()
    assert values.pop("scale").tolist() == [1.0, 2.0]
    assert values == {"kind": "table", "columns": ["a", "\u00fc"], "fill": None}


def test_load_warns_that_rows_must_be_prepared(model, tmp_path):
    save_prepared(model, tmp_path / "m", VALUES)
    with pytest.warns(UserWarning, match="fitted by the command"):
        load(tmp_path / "m")


def test_plain_files_have_none(model, tmp_path):
    save(model, tmp_path / "m")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(tmp_path / "m")
    assert load_prepared(tmp_path / "m")[1] is None


def test_what_cannot_be_stored_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match="preparation entry 'f'"):
        save_prepared(model, tmp_path / "m", {"f": print})
    assert not list(tmp_path.iterdir())
