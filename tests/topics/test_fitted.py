import numpy as np
import pytest

from hardbayes import HDPTopics
from hardbayes.core import schema
from hardbayes.core.pool import Pool
from hardbayes.datasets import make_bars
from hardbayes.topics import fitted as topics
from hardbayes.topics.fitted import FittedTopics

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
        schema.check(arrays, topics.MODEL)


def test_missing_and_unknown_arrays_are_refused(fitted):
    arrays = fitted._model.to_arrays()
    with pytest.raises(ValueError, match="contradicts itself"):
        schema.check(arrays | {"more": 1}, topics.MODEL)
    del arrays["working_prior"]
    with pytest.raises(ValueError, match="incomplete"):
        schema.check(arrays, topics.MODEL)


def test_labels_and_relevance_do_not_depend_on_chunks(fitted, monkeypatch):
    monkeypatch.setattr(topics, "CHUNK", 7)
    with Pool(1) as pool:
        labels, found = fitted._model.describe(X, None, pool)
    np.testing.assert_array_equal(labels, fitted.labels_)
    np.testing.assert_allclose(found, fitted.relevance_, atol=1e-9)


def test_relevance_by_the_definition(fitted):
    shares, present = fitted.transform(X), X.toarray() > 0
    expected = np.zeros_like(fitted.components_)
    for k in range(fitted.n_topics_):
        for word in range(25):
            having = shares[present[:, word], k].sum()
            chance = shares[:, k].sum() * present[:, word].sum() / len(shares)
            expected[k, word] = having * np.log(having / chance) if having else 0.0
    np.testing.assert_allclose(fitted.relevance_, expected, atol=1e-9)


def test_a_document_of_weight_two_counts_twice_in_relevance(fitted):
    weights = np.arange(60) % 3
    copies = np.repeat(np.arange(60), weights)
    with Pool(1) as pool:
        _, once = fitted._model.describe(X, weights.astype(float), pool)
        _, copied = fitted._model.describe(X[copies], None, pool)
    np.testing.assert_allclose(once, copied, atol=1e-9)
