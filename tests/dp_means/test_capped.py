"""With max_clusters binding the search is as good as without: no worse than the best of k-means."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from hardbayes import DPMeans
from hardbayes.datasets import make_word_histograms
from tests.conftest import quiet_fit

TABLES = {
    "lognormal": lambda: np.random.default_rng(0).lognormal(0.0, 1.5, (3000, 6)),
    "student": lambda: np.random.default_rng(0).standard_t(2.0, (3000, 5)),
    "iris": lambda: load_iris().data,
    "wine": lambda: load_wine().data,
    "cancer": lambda: load_breast_cancer().data,
    "digits": lambda: load_digits().data,
}


@pytest.mark.parametrize("k", [10, 40])
@pytest.mark.parametrize("table", TABLES)
def test_capped_at_penalty_zero(table, k):
    X = TABLES[table]()
    best = KMeans(k, n_init=10, random_state=0).fit(X).inertia_
    for seed in (0, 3):
        model = quiet_fit(DPMeans(0.0, max_clusters=k, random_state=seed), X)
        assert model.n_clusters_ == k
        assert model.inertia_ <= 1.005 * best


def test_slow_sweeps_leave_steps_for_splits_then_merges():
    """300 steps did not suffice for sweeps that converge, and no cluster split to merge again."""
    X = np.random.default_rng(0).standard_t(2.0, (10000, 8))
    best = KMeans(40, n_init=1, random_state=0).fit(X).inertia_
    model = quiet_fit(DPMeans(0.0, max_clusters=40, random_state=7), X)
    assert model.n_iter_ < 250
    assert model.inertia_ < best


def test_exchanges_are_accepted_where_one_cluster_holds_most_rows():
    """Heavy tails: a neighbourhood that holds nearly all rows must not use up all trials."""
    X = np.random.default_rng(1).lognormal(0.0, 1.5, (20000, 9))
    model = quiet_fit(DPMeans(0.0, max_clusters=10, random_state=3), X)
    assert model.n_splits_ > 0
    paper = quiet_fit(DPMeans(0.0, max_clusters=10, search="paper", random_state=3), X)
    assert model.inertia_ < 0.95 * paper.inertia_


def test_the_paper_search_sweeps_until_nothing_changes_at_the_cap():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    model = quiet_fit(DPMeans(0.01, max_clusters=8, search="paper", random_state=0), X)
    np.testing.assert_allclose(model.cluster_centers_[3], X[model.labels_ == 3].mean(axis=0))
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("penalty", [0.0, 1.0, 30.0])
def test_a_binding_cap_is_as_good_at_any_penalty_below(penalty):
    X = np.random.default_rng(2).standard_t(3.0, (1500, 3))
    free = quiet_fit(DPMeans(60.0, random_state=0, n_init=3), X)
    options = dict(max_clusters=free.n_clusters_, random_state=0, n_init=3)
    capped = quiet_fit(DPMeans(penalty, **options), X)
    assert capped.n_clusters_ == free.n_clusters_
    assert capped.inertia_ <= 1.005 * free.inertia_


def test_other_divergences_have_exchanges_at_the_cap():
    X, _ = make_word_histograms(300, 30, 8, random_state=0)
    capped = DPMeans(0.0, divergence="kl", prior_weight=1.0, max_clusters=8, random_state=0)
    starts = [quiet_fit(capped.set_params(random_state=seed), X).objective_ for seed in range(4)]
    paper = quiet_fit(capped.set_params(search="paper", n_init=10), X)
    assert max(starts) <= 1.005 * paper.objective_
