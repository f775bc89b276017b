import numpy as np
import pytest

from hardbayes import HDPTopics
from hardbayes.datasets import make_bars
from hardbayes.models.topics import FittedTopics
from hardbayes.pool import Pool

X, _, _ = make_bars(60, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return HDPTopics(background=True, random_state=0).fit(X)


def test_arrays_give_the_model_back(fitted):
    model = fitted._model
    again = FittedTopics.from_arrays(model.to_arrays(), fitted.global_penalty_)
    with Pool(1) as pool:
        for one, other in zip(model.shares(X, pool), again.shares(X, pool), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("working_totals", np.zeros(3)),
        ("working_totals", np.full((25, 3), -1.0)),
        ("working_prior", np.zeros(3)),
        ("working_factors", np.full(25, np.nan)),
        ("working_quantum", 0.0),
        ("working_scale", float("inf")),
        ("working_per_word", 1),
        ("working_has_background", None),
    ],
)
def test_arrays_that_are_no_model_are_refused(fitted, name, value):
    arrays = fitted._model.to_arrays() | {name: value}
    with pytest.raises(ValueError, match="The saved model"):
        FittedTopics.from_arrays(arrays, 1.0)


def test_missing_and_unknown_arrays_are_refused(fitted):
    arrays = fitted._model.to_arrays()
    with pytest.raises(ValueError, match="contradicts itself"):
        FittedTopics.from_arrays(arrays | {"more": 1}, 1.0)
    del arrays["working_prior"]
    with pytest.raises(ValueError, match="incomplete"):
        FittedTopics.from_arrays(arrays, 1.0)


def test_labels_do_not_depend_on_chunks(fitted, monkeypatch):
    from hardbayes.models import topics

    monkeypatch.setattr(topics, "CHUNK", 7)
    with Pool(1) as pool:
        labels = fitted._model.labels(X, pool)
    np.testing.assert_array_equal(labels, fitted.labels_)
