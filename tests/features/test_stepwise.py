"""K-features for K = 0, 1, 2, ..."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hardbayes import BPMeans
from hardbayes.features import estimator
from hardbayes.features import starts as module
from hardbayes.features.descent import FeatureSearch
from hardbayes.features.problem import FeatureAllocation
from hardbayes.features.starts import k_features_path, no_features, stepwise, with_one_more
from tests.reference.feature_rows import NumpyFeatureRows

X = np.array([[1, 0], [0, 1], [1, 1], [0, 0]] * 2) @ np.array([[3.0, 0.0], [0.0, 2.0]])


def search(cap=4):
    return FeatureSearch(FeatureAllocation(0.0, cap), False, False, 50)


def path(X=X, cap=4):
    return list(k_features_path(NumpyFeatureRows(X), search(cap), 2, np.random.RandomState(0)))


def test_without_features_rows_are_their_own_residuals():
    solution = no_features(NumpyFeatureRows(X))
    assert solution.n_components == 0
    assert solution.fit == (X**2).sum()


def test_a_path_ends_where_rows_are_explained():
    solutions = path()
    assert [each.n_components for each in solutions] == [0, 1, 2]
    assert (np.diff([each.fit for each in solutions]) < 0).all()
    assert solutions[-1].fit == pytest.approx(0.0, abs=1e-20)


def test_a_path_ends_at_the_cap():
    assert [each.n_components for each in path(cap=1)] == [0, 1]
    rows = NumpyFeatureRows(X)
    rng = np.random.RandomState(0)
    assert with_one_more(rows, search(0), no_features(rows), 1, rng) is None


def test_a_path_ends_where_another_feature_is_not_kept(monkeypatch):
    rows = NumpyFeatureRows(X)
    before = no_features(rows)
    monkeypatch.setattr(module, "minimise_features", lambda *_: before)
    assert with_one_more(rows, search(), before, 1, np.random.RandomState(0)) is None


@pytest.mark.parametrize(("penalty", "k"), [(1e3, 0), (20.0, 1), (1.0, 2)])
def test_the_first_number_after_which_the_objective_does_not_fall(penalty, k):
    found = stepwise(path(), FeatureAllocation(penalty, 4))
    assert found.n_components == k
    assert [point.n_components for point in found.trace] == list(range(k + 1))


def test_a_path_without_end_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(estimator, "STEPWISE_COMPONENTS", 3)
    noise = np.random.default_rng(0).normal(size=(30, 8))
    options = {"method": "stepwise", "n_init": 2, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="cap of 3 features, where another would still"):
        assert BPMeans(1e-3, **options).fit(noise).n_components_ == 3
    given = BPMeans(1e-3, max_components=4, **options)
    with pytest.warns(ConvergenceWarning, match="cap of 4 features"):
        assert given.fit(noise).n_components_ == 4
