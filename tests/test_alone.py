"""One cluster, one topic or no feature: every model says why, and how to get more."""

import re
import warnings

import numpy as np
import pytest

from hardbayes import (
    BPMeans,
    DPMeans,
    GaussianDPMeans,
    GraphDPMeans,
    HDPMeans,
    HDPTopics,
    KernelDPMeans,
    SpectralDPMeans,
)

RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(60, 2))
LINKS = np.triu(RNG.uniform(size=(40, 40)) < 0.3, 1).astype(float)
WORDS = RNG.poisson(1.0, (40, 20))

WITHOUT_STRUCTURE = [
    (DPMeans(), ROWS),
    (GaussianDPMeans(), ROWS),
    (KernelDPMeans(), ROWS),
    (KernelDPMeans(gamma=1.0), ROWS),
    (SpectralDPMeans(), ROWS),
    (HDPMeans(), ROWS),
    (BPMeans(), ROWS),
    (GraphDPMeans(), LINKS + LINKS.T),
    (HDPTopics(), WORDS),
]
NOTHING_TO_COMPARE = [
    (DPMeans(), np.zeros((30, 2))),
    (GaussianDPMeans(), ROWS[:3]),
    (KernelDPMeans(), np.zeros((30, 2))),
    (SpectralDPMeans(), ROWS[:3]),
    (HDPMeans(), np.zeros((30, 2))),
    (BPMeans(), np.zeros((30, 2))),
    (GraphDPMeans(), 1.0 - np.eye(30)),
]


def number_of(model):
    names = ("n_clusters_", "n_topics_", "n_components_")
    return next(getattr(model, name) for name in names if hasattr(model, name))


def name_of(value):
    return type(value).__name__ if hasattr(value, "fit") else ""


@pytest.mark.parametrize(("model", "X"), WITHOUT_STRUCTURE, ids=name_of)
def test_the_nearest_number_and_its_call(model, X):
    with pytest.warns(UserWarning, match="so there is (one|none)") as told:
        model = model.set_params(random_state=0).fit(X)
    assert [str(each.message) for each in told] == [model.status_]
    assert number_of(model) <= 1
    near = re.search(r"Nearest came (\d+) (\w+)[^:]*: .+ To use \1 \2: (\w+)\(", model.status_)
    assert near is not None, model.status_
    assert int(near[1]) > 1
    assert near[3] in {type(model).__name__, "DPMeans", "KFeatures"}


@pytest.mark.parametrize(("model", "X"), NOTHING_TO_COMPARE, ids=name_of)
def test_how_to_get_more_where_nothing_was_compared(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = model.set_params(random_state=0).fit(X)
    assert number_of(model) <= 1
    assert re.search(r"so there is (one|none).* For k \w+ nevertheless: \w+\(", model.status_)
    assert "Nothing needs doing" not in model.status_


def test_one_topic_says_how_to_get_more():
    model = HDPTopics(random_state=0).fit(np.eye(1, 5).repeat(9, axis=0))
    assert model.n_topics_ == 1
    assert (
        "so there is one topic. For k topics nevertheless: HDPTopics(n_topics=k)" in model.status_
    )
