"""penalty_path of the models that have a fit of their own at each penalty."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from hardbayes import (
    DPMeans,
    GaussianDPMeans,
    HDPMeans,
    HDPTopics,
    KernelHDPMeans,
    KFeatures,
    penalty_path,
)
from hardbayes.datasets import make_bars, make_shared_gaussians, make_three_gaussians

X = make_three_gaussians(150, random_state=0)[0]
SHARED, GROUPS, _ = make_shared_gaussians(random_state=0)
BARS = sparse.csr_array(make_bars(80, random_state=0)[0])

CASES = {
    "gaussian": (GaussianDPMeans(random_state=0), X, {}),
    "groups": (HDPMeans(random_state=0), SHARED[:300], {"groups": GROUPS[:300]}),
    "kernel": (
        KernelHDPMeans(0.1, gamma=1.0, balance=False, random_state=0),
        SHARED[:120],
        {"groups": GROUPS[:120]},
    ),
    "topics": (HDPTopics(random_state=0), BARS, {}),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    template, rows, params = CASES[request.param]
    return template, rows, params, penalty_path(rows, estimator=template, n_penalties=5, **params)


def test_each_penalty_has_the_fit_of_its_own(case):
    template, rows, params, path = case
    name = "global_penalty" if hasattr(template, "global_penalty") else "cluster_penalty"
    assert (np.diff(path.penalties) < 0).all()
    assert path.n_clusters[0] == 1 and path.n_clusters[-1] > 3
    model = clone(path.models[3])
    assert getattr(model, name) == path.penalties[3]
    model.fit(rows, **params)
    assert model.objective_ == path.objectives[3]


def test_plateaus_and_numbers_are_of_the_fits(case):
    template, rows, params, path = case
    for penalty, k in zip(path.penalties, path.n_clusters, strict=True):
        if k > 1:
            plateau = next(p for p in path.plateaus if p.k == k)
            assert plateau.low <= penalty <= plateau.high
    automatic = clone(template).fit(rows, **params)
    name = "global_penalty_" if hasattr(template, "global_penalty") else "cluster_penalty_"
    assert path.suggest() == pytest.approx(getattr(automatic, name))
    three = path.model(3)
    assert getattr(three, "n_topics_" if "topics" in repr(path) else "n_clusters_") == 3


def test_a_given_prior_is_kept():
    path = penalty_path(X, estimator=GaussianDPMeans(covariance_prior=5.0), penalties=[9.0, 2.0])
    model = GaussianDPMeans(2.0, covariance_prior=5.0).fit(X)
    assert path.objectives[1] == model.objective_
    assert path.to_frame()["n_clusters"][1] == model.n_clusters_


def test_what_has_no_path_or_no_groups_is_refused():
    with pytest.raises(ValueError, match=r"must be one of DPMeans, BPMeans.* HDPTopics"):
        penalty_path(X, estimator=KFeatures(2))
    with pytest.raises(ValueError, match="'groups' parameter of penalty_path is for HDPMeans"):
        penalty_path(X, estimator=DPMeans(), groups=np.zeros(len(X)))
