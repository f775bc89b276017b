"""Tables with categories, spikes and counts: no clusters where there are none but in one column."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from hardbayes import DPMeans, GaussianDPMeans

ESTIMATORS = [DPMeans, GaussianDPMeans]


def dummies(codes):
    return np.eye(codes.max() + 1)[codes]


def beside(kind, rng, n=600):
    """Gaussian columns beside one of another kind."""
    numbers = rng.normal(size=(n, 3))
    if kind == "category":
        other = dummies(rng.randint(4, size=n))
    elif kind == "yes and no":
        other = dummies((rng.random_sample(n) < 0.4).astype(int))
    elif kind == "level dropped":
        other = dummies(rng.randint(4, size=n))[:, 1:]
    elif kind == "amount, mostly none":
        other = np.where(rng.random_sample(n) < 0.5, 0.0, rng.lognormal(3.0, 1.0, n))[:, np.newaxis]
    else:
        other = np.log1p(rng.poisson(rng.uniform(1, 6, 3), (n, 3)))
    return np.column_stack([numbers, other])


KINDS = ["category", "yes and no", "level dropped", "amount, mostly none", "log counts"]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_no_clusters_in_one_column(estimator, kind, scaled):
    X = beside(kind, np.random.RandomState(0))
    X = StandardScaler().fit_transform(X) if scaled or kind == "amount, mostly none" else X
    assert estimator(random_state=0).fit(X).n_clusters_ == 1


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_clusters_of_other_columns_are_found_beside_a_spike(estimator):
    rng = np.random.RandomState(0)
    X, y = beside("amount, mostly none", rng), rng.randint(3, size=600)
    X[:, :3] += 6.0 * np.eye(3)[y]
    model = estimator(random_state=0).fit(StandardScaler().fit_transform(X))
    assert adjusted_rand_score(model.labels_, y) > 0.9


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_category_that_agrees_with_clusters_stays(estimator):
    rng = np.random.RandomState(0)
    y = rng.randint(3, size=600)
    numbers = rng.normal(size=(600, 3)) + 6.0 * np.eye(3)[y]
    model = estimator(random_state=0).fit(np.column_stack([numbers, dummies(y)]))
    assert adjusted_rand_score(model.labels_, y) > 0.99


def clusters_beside_a_category(weight):
    rng = np.random.RandomState(0)
    y, codes = rng.randint(3, size=900), rng.randint(4, size=900)
    numbers = rng.normal(size=(900, 2)) + 6.0 * np.eye(3, 2)[y]
    X = StandardScaler().fit_transform(np.column_stack([numbers, dummies(codes)]))
    X[:, 2:] *= weight
    return X, y


@pytest.mark.parametrize("weight", [0.3, 0.6])
def test_clusters_are_found_beside_a_category_that_weighs_less(weight):
    X, y = clusters_beside_a_category(weight)
    model = DPMeans(random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, y) > 0.9


def test_a_fit_that_would_divide_clusters_by_a_category_names_it():
    X, _ = clusters_beside_a_category(1.0)
    with pytest.warns(UserWarning, match="levels of one category, columns 2 to 5"):
        model = DPMeans(random_state=0).fit(X)
    assert model.n_clusters_ == 1
