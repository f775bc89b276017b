"""penalty_path: solutions from one cluster to many, each as good as a fit of its own."""

import copy
import pickle
import re
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from hardbayes import DPMeans, PenaltyPath, by_size, load, objective, penalty_path, save
from hardbayes.datasets import make_blobs_apart, make_three_gaussians, make_word_histograms
from hardbayes.dp_means import penalty_path as dp_means_path
from tests.conftest import assert_all_finite, assert_same_bits, make_blobs, quiet_fit
from tests.dp_means.choice.mixtures import gaussians_apart
from tests.reference.dp_means import same_partition


def template(seed=0, **options):
    return DPMeans(random_state=seed, **options)


def wide(seed=0, n=200):
    return np.random.default_rng(seed).standard_normal((n, 2))


def histograms():
    return make_word_histograms(90, 20, 3, random_state=0)[0]


# name: (rows, options of the template, whether the rows are weighted)
TEMPLATES = {
    "separated": (lambda: gaussians_apart(4, seed=1)[0], {}, False),
    "overlapping": (lambda: make_three_gaussians(200, random_state=0)[0], {}, False),
    "no structure": (wide, {}, False),
    "float32": (lambda: wide().astype(np.float32), {}, False),
    "sparse": (lambda: sparse.csr_array(wide()), {}, False),
    "weighted": (wide, {}, True),
    "prior": (wide, {"prior_weight": 3.0}, True),
    "kl": (histograms, {"divergence": "kl"}, False),
    "kl weighted sparse": (lambda: sparse.csr_array(histograms()), {"divergence": "kl"}, True),
    "kl without prior": (lambda: histograms() + 0.5, {"divergence": "kl", "prior_weight": 0}, 0),
    "cap": (wide, {"max_clusters": 5}, False),
    "paper": (wide, {"search": "paper", "order": "given"}, True),
    "collapsed": (lambda: wide(n=80), {"method": "collapsed"}, False),
    "few steps": (wide, {"max_iter": 3}, False),
}


def weights_for(X, weighted):
    return np.random.default_rng(5).uniform(0.2, 3.0, X.shape[0]) if weighted else None


@pytest.fixture(scope="module", params=TEMPLATES)
def case(request):
    """(X, weights, template, path) of each template in turn."""
    rows, options, weighted = TEMPLATES[request.param]
    X, estimator = rows(), template(**options)
    weights = weights_for(X, weighted)
    path = penalty_path(X, estimator=estimator, n_penalties=25, sample_weight=weights)
    return X, weights, estimator, path


def warm(case):
    """Whether each fit goes on from the last: the published searches cannot."""
    return case[2].search == "split-merge" and case[2].method == "joint"


# --- what a path is ------------------------------------------------------------------------------


def test_shapes_and_order(case):
    path = case[3]
    assert isinstance(path, PenaltyPath)
    assert path.penalties.shape == path.n_clusters.shape == path.objectives.shape == (25,)
    assert len(path.models) == 25
    assert np.isfinite(path.penalties).all() and (path.penalties > 0).all()
    assert (np.diff(path.penalties) < 0).all()
    if warm(case):
        assert (np.diff(path.n_clusters) >= 0).all()
        assert (np.diff(path.objectives) < 0).all()
    assert path.n_clusters[0] == 1
    assert path.n_clusters.dtype.kind == "i"
    assert path.sample_indices is None


def test_penalties_are_even_in_the_logarithm(case):
    steps = np.diff(np.log(case[3].penalties))
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)


def test_objectives_are_those_of_the_labels(case):
    X, weights, estimator, path = case
    for penalty, value, model in zip(path.penalties, path.objectives, path.models, strict=True):
        expected = objective(
            X,
            model.labels_,
            penalty,
            divergence=estimator.divergence,
            prior_weight=model.prior_weight_,
            sample_weight=weights,
        )
        # Labels of a fit that ran out of steps go with centres that are not yet their means.
        rtol = (1e-6 if X.dtype == np.float32 else 1e-9) if model.converged_ else 0.05
        np.testing.assert_allclose(value, expected, rtol=rtol)
        assert model.objective_ == value


def test_models_are_what_a_fit_would_be(case):
    X, weights, estimator, path = case
    total = X.shape[0] if weights is None else weights.sum()
    for penalty, k, model in zip(path.penalties, path.n_clusters, path.models, strict=True):
        assert type(model) is DPMeans
        params = model.get_params()
        assert params.pop("cluster_penalty") == penalty == model.cluster_penalty_
        assert type(model.cluster_penalty) is float
        expected = estimator.get_params()
        expected.pop("cluster_penalty")
        assert params == expected
        assert model.n_clusters_ == k
        np.testing.assert_array_equal(np.unique(model.labels_), np.arange(k))
        assert model.cluster_centers_.shape == (k, X.shape[1])
        assert model.cluster_centers_.dtype == X.dtype
        np.testing.assert_allclose(model.cluster_weights_.sum(), total)
        assert_all_finite(model)
        assert not hasattr(model, "plateau_width_")
        assert model.max_clusters is None or k <= model.max_clusters


def test_models_know_their_columns(case):
    X, _, _, path = case
    for model in path.models:
        assert model.n_features_in_ == X.shape[1]
    wrong = np.ones((2, X.shape[1] + 1))
    with pytest.raises(ValueError, match=f"expecting {X.shape[1]} features"):
        path.models[-1].predict(wrong)


def test_histories_never_rise_and_end_at_the_objective(case):
    for model in case[3].models:
        history = model.objective_history_
        assert len(history) == model.n_iter_ > 0
        assert (np.diff(history) <= 0).all(), np.diff(history).max() / history[-1]
        assert history[-1] == model.objective_


def test_models_predict_their_labels(case):
    X, _, _, path = case
    assert any(model.converged_ for model in path.models)
    for model in path.models:
        labels = model.predict(X)
        assert labels.min() >= 0 and labels.max() < model.n_clusters_
        if model.converged_:
            np.testing.assert_array_equal(labels, model.labels_)
        np.testing.assert_allclose(model.transform(X).argmin(axis=1), labels)


def test_models_can_be_saved_and_loaded(case, tmp_path):
    X, _, _, path = case
    for at in (0, 12, 24):
        name = tmp_path / f"{at}.hb"
        save(path.models[at], name)
        back = load(name)
        assert_same_bits(back, path.models[at])
        np.testing.assert_array_equal(back.predict(X), path.models[at].predict(X))


def test_plateaus(case):
    path = case[3]
    ks = [plateau.k for plateau in path.plateaus]
    assert ks == sorted(set(ks)) and all(k > 1 for k in ks)
    for plateau in path.plateaus:
        assert 0 <= plateau.low < plateau.high < np.inf
        assert plateau.width > 0 or plateau.prices is not None
        assert plateau.low < plateau.middle < plateau.high
    for more, fewer in zip(path.plateaus[1:], path.plateaus, strict=False):
        assert not warm(case) or more.high == pytest.approx(fewer.low)


def test_no_solution_of_the_path_is_better_at_another_ones_penalty(case):
    path = case[3]
    if not warm(case):
        return
    fits = path.objectives - path.penalties * path.n_clusters
    for penalty, value in zip(path.penalties, path.objectives, strict=True):
        assert (fits + penalty * path.n_clusters >= value * (1 - 1e-9)).all()


# --- as good as fits of their own ----------------------------------------------------------------

DATA = {
    "five apart": lambda s: gaussians_apart(5, seed=s)[0],
    "twelve apart in 5 columns": lambda s: gaussians_apart(12, 5, 240, seed=s)[0],
    "balls apart": lambda s: make_blobs_apart(300, 3, 6, random_state=s)[0],
    "three overlapping": lambda s: make_three_gaussians(random_state=s)[0],
    "eight overlapping": lambda s: make_blobs(300, 3, 8, seed=s, spread=0.3)[0],
    "one Gaussian": lambda s: wide(s, 300),
}


def gaps(X, seed=0, **options):
    """How much higher each objective is than that of a fresh fit, as a part of it; the numbers."""
    path = penalty_path(X, estimator=template(seed, **options), n_penalties=20)
    fresh = [
        quiet_fit(template(seed + 1, **options).set_params(cluster_penalty=penalty), X).objective_
        for penalty in path.penalties
    ]
    return path.objectives / np.array(fresh) - 1, path.n_clusters


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", DATA)
def test_no_worse_than_fresh_fits(name, seed):
    """At one penalty two fresh fits differ by up to 3 %, in the mean by nothing."""
    found, _ = gaps(DATA[name](seed), seed)
    assert found.max() < 0.007, found.max()
    assert found.mean() < 0.0005, found.mean()


@pytest.mark.parametrize("k", [3, 5, 8])
def test_no_worse_than_fresh_fits_where_the_clusters_are(k):
    """From one cluster to the true number a path has no excuse."""
    X, _ = gaussians_apart(k, seed=k)
    found, n_clusters = gaps(X, seed=k)
    assert k in n_clusters
    assert found[n_clusters <= k].max() <= 0.005


def test_no_worse_than_fresh_fits_of_histograms_and_with_a_prior():
    for X, options in ((histograms(), {"divergence": "kl"}), (wide(), {"prior_weight": 5.0})):
        found, _ = gaps(X, **options)
        assert found.max() < 0.025 and found.mean() < 0.004


def test_no_worse_than_the_true_clusters():
    X, member = gaussians_apart(6, seed=4)
    path = penalty_path(X, estimator=template())
    for penalty, value in zip(path.penalties, path.objectives, strict=True):
        assert value <= objective(X, member, penalty) * (1 + 1e-9)


# --- given penalties -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series])
def test_given_penalties_in_any_order(kind):
    X = wide()
    asked = [30.0, 400.0, 5.0, 100.0, 30.0, 2]
    path = penalty_path(X, estimator=template(), penalties=kind(asked))
    np.testing.assert_array_equal(path.penalties, sorted(set(asked), reverse=True))
    again = penalty_path(X, estimator=template(), penalties=sorted(asked))
    np.testing.assert_array_equal(path.objectives, again.objectives)
    assert asked == [30.0, 400.0, 5.0, 100.0, 30.0, 2]
    for penalty, value in zip(path.penalties, path.objectives, strict=True):
        assert value <= DPMeans(penalty, random_state=3).fit(X).objective_ * 1.025


def test_one_given_penalty_is_a_fit():
    X, member = gaussians_apart(5, seed=0)
    penalty = penalty_path(X, estimator=template()).for_n_clusters(5)
    path = penalty_path(X, estimator=template(), penalties=[penalty])
    assert path.n_clusters.tolist() == [5]
    assert same_partition(path.models[0].labels_, member)


def test_given_penalties_do_not_change():
    asked = np.array([3.0, 50.0, 7.0])
    path = penalty_path(wide(), penalties=asked, estimator=template())
    np.testing.assert_array_equal(asked, [3.0, 50.0, 7.0])
    assert not np.shares_memory(path.penalties, asked)


def test_a_huge_and_a_tiny_penalty():
    X = wide(n=60)
    path = penalty_path(X, penalties=[1e300, 1e-9], estimator=template())
    assert path.n_clusters.tolist() == [1, 60]
    assert np.isfinite(path.objectives).all()


@pytest.mark.parametrize("asked", [[1e5, 1e4], [900.0], [3.0, 500.0, 70.0], [1e-6]])
def test_given_penalties_do_not_change_the_plateaus(five, asked):
    X, _, path = five
    given = penalty_path(X, estimator=template(), penalties=asked)
    assert given.plateaus == path.plateaus
    assert given.suggest() == path.suggest()
    assert DPMeans(given.for_n_clusters(5), random_state=1).fit(X).n_clusters_ == 5


@pytest.mark.parametrize("number", [1, 2, 7])
def test_number_of_penalties(number):
    path = penalty_path(wide(), n_penalties=number, estimator=template())
    assert len(path.penalties) == len(path.models) == number
    assert path.n_clusters[0] == 1


# --- weights, containers, scales -----------------------------------------------------------------


@pytest.fixture(scope="module")
def five():
    """(X, member, path): 150 rows of five clusters far apart."""
    X, member = gaussians_apart(5, seed=0)
    return X, member, penalty_path(X, estimator=template())


def assert_same_path(path, other, most, factor=1.0):
    """The same numbers and objectives as far as the true number of clusters."""
    within = path.n_clusters <= most
    assert most in path.n_clusters
    np.testing.assert_array_equal(path.n_clusters[within], other.n_clusters[within])
    np.testing.assert_allclose(
        other.objectives[within], factor * path.objectives[within], rtol=1e-6
    )


def test_weights_are_repetition(five):
    X, _, _ = five
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    path = penalty_path(X, estimator=template(), sample_weight=weights)
    rows = np.repeat(X, weights, axis=0)
    assert_same_path(path, penalty_path(rows, estimator=template(), penalties=path.penalties), 5)
    own = penalty_path(rows, estimator=template())
    for plateau, other in zip(path.plateaus[:4], own.plateaus[:4], strict=True):
        assert plateau[:3] == pytest.approx(other[:3], rel=0.05)


def test_equal_weights_scale_the_penalties(five):
    X, _, path = five
    weighted = penalty_path(X, estimator=template(), sample_weight=np.full(len(X), 4.0))
    np.testing.assert_allclose(weighted.penalties, 4 * path.penalties)
    assert_same_path(path, weighted, 5, factor=4.0)


def test_rows_without_weight_take_no_part(five):
    X, member, _ = five
    weights = (member < 3) * 1.0
    path = penalty_path(X, estimator=template(), sample_weight=weights)
    part = penalty_path(X[member < 3], estimator=template(), penalties=path.penalties)
    assert_same_path(path, part, 3)
    assert DPMeans(path.suggest()).fit(X[member < 3]).n_clusters_ == 3


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_sparse_rows_are_dense_ones(five, kind):
    X, _, path = five
    thin = penalty_path(kind(X), estimator=template(), penalties=path.penalties)
    assert_same_path(path, thin, 5)


def test_sparse_histograms_are_dense_ones():
    X = make_word_histograms(90, 20, 3, random_state=0)[0]
    dense = penalty_path(X, estimator=template(divergence="kl"))
    options = dict(estimator=template(divergence="kl"), penalties=dense.penalties)
    assert_same_path(dense, penalty_path(sparse.csr_array(X), **options), 3)


def test_frames(five):
    X, _, _ = five
    frame = pd.DataFrame(X, columns=["width", "height"])
    named = penalty_path(frame, estimator=template(), n_penalties=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labels = [model.predict(frame) for model in named.models]
    np.testing.assert_array_equal(labels[2], named.models[2].labels_)
    for model in named.models:
        assert model.feature_names_in_.tolist() == ["width", "height"]


@pytest.mark.parametrize("power", [-200, -7, 200])
def test_powers_of_two(five, power):
    X, _, path = five
    scaled = penalty_path(X * 2.0**power, estimator=template())
    np.testing.assert_array_equal(scaled.n_clusters, path.n_clusters)
    np.testing.assert_allclose(scaled.penalties, path.penalties * 4.0**power, rtol=1e-9)


@pytest.mark.parametrize("offset", [1e6, -1e9])
def test_offsets(five, offset):
    X, _, path = five
    moved = penalty_path(X + offset, estimator=template(), penalties=path.penalties)
    assert_same_path(path, moved, 5)


def test_inputs_are_not_touched(five):
    X = five[0].copy()
    weights = np.random.default_rng(0).uniform(1, 2, len(X))
    for rows in (X, sparse.csr_array(X)):
        parts = (rows.data, rows.indices, rows.indptr) if sparse.issparse(rows) else (rows,)
        before = copy.deepcopy((*parts, weights))
        for part in (*parts, weights):
            part.flags.writeable = False
        penalty_path(rows, estimator=template(), sample_weight=weights, n_penalties=5)
        for old, new in zip(before, (*parts, weights), strict=True):
            np.testing.assert_array_equal(old, new)


# --- templates -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fitted", [False, True])
def test_the_template_is_not_changed(five, fitted):
    X, _, _ = five
    start = X[:2].copy()
    estimator = DPMeans(20.0, init=start, random_state=np.random.RandomState(0), max_clusters=9)
    if fitted:
        quiet_fit(estimator, X)
    before = dict(vars(estimator))
    path = penalty_path(X, estimator=estimator, n_penalties=5)
    assert vars(estimator).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(estimator).items())
    np.testing.assert_array_equal(start, X[:2])
    assert all(model is not estimator for model in path.models)


def test_the_default_template(five):
    X, _, _ = five
    path = penalty_path(X, n_penalties=3)
    expected = {**DPMeans().get_params(), "cluster_penalty": path.penalties[2]}
    assert path.models[2].get_params() == expected


@pytest.mark.parametrize("cap", [1, 2, 5, 7])
def test_a_cap(five, cap):
    X, _, _ = five
    path = penalty_path(X, estimator=template(max_clusters=cap))
    assert path.n_clusters.max() <= cap
    assert all(plateau.k <= cap for plateau in path.plateaus)
    given = penalty_path(X, estimator=template(max_clusters=cap), penalties=[1e6, 1.0])
    assert given.n_clusters.max() <= cap


@pytest.mark.parametrize("options", [{}, {"divergence": "poisson", "prior_weight": 3.0}])
def test_models_at_the_cap_say_what_a_fit_would(options):
    X = make_blobs(200, 2, 4, spread=0.1)[0] + 2.0
    path = penalty_path(X, estimator=template(max_clusters=4, **options), n_penalties=12)
    assert {model.n_clusters_ for model in path.models} >= {1, 4}
    lower = penalty_path(
        X, estimator=template(max_clusters=4, **options), penalties=path.penalties[-1] / [1, 1e4]
    )
    for model in path.models + lower.models:
        refit = clone(model).set_params(init=model.cluster_centers_, random_state=0)
        quiet_fit(refit, X)
        assert refit.n_clusters_ == model.n_clusters_
        assert ("at the cap" in model.status_) == ("at the cap" in refit.status_)
    assert "at the cap of 4 clusters" in lower.models[-1].status_
    assert "at the cap" not in path.models[0].status_
    assert all(model.converged_ for model in path.models)


def test_the_published_search(five):
    """Its own solutions, reached without a split or a merge; the true clusters are among them."""
    X, member, _ = five
    paper = penalty_path(X, estimator=template(search="paper"))
    assert 5 in paper.n_clusters
    at = paper.n_clusters.tolist().index(5)
    assert same_partition(paper.models[at].labels_, member)
    assert all(model.n_splits_ == model.n_merges_ == 0 for model in paper.models)


# --- reading a path ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("k", "d"), [(2, 2), (3, 5), (6, 2), (12, 3)])
def test_suggests_the_true_number(k, d, seed):
    X, member = gaussians_apart(k, d, max(80, 20 * k), seed=10 * k + seed)
    path = penalty_path(X, estimator=template(seed))
    model = DPMeans(path.suggest(), random_state=seed).fit(X)
    assert same_partition(model.labels_, member)
    assert max(path.plateaus, key=lambda plateau: plateau.width).k == k


def test_suggests_the_true_number_of_topics():
    X, y = make_word_histograms(90, 20, 3, random_state=0)
    path = penalty_path(X, estimator=template(divergence="kl"))
    model = DPMeans(path.suggest(), divergence="kl", random_state=1).fit(X)
    assert same_partition(model.labels_, y)


@pytest.mark.parametrize("k", range(1, 7))
def test_a_penalty_for_each_number_up_to_the_truth(k):
    X, _ = gaussians_apart(6, seed=0)
    path = penalty_path(X, estimator=template())
    numbers = {1, *(plateau.k for plateau in path.plateaus)}
    assert {1, 6} <= numbers
    if k in numbers:
        penalty = path.for_n_clusters(k)
    else:
        with pytest.warns(UserWarning, match=f"for {k} clusters; this one.*model"):
            penalty = path.for_n_clusters(k)
    assert type(penalty) is float
    found = DPMeans(penalty, random_state=1).fit(X).n_clusters_
    assert abs(found - k) == min(abs(number - k) for number in numbers)
    if k in numbers:
        assert found == k


@pytest.mark.parametrize(("k", "nearest"), [(1, 1), (2, 1), (4, 5), (5, 5), (6, 5), (10**6, 5)])
def test_the_nearest_number_where_one_has_no_plateau(k, nearest):
    """Five points equally far apart: each more saves as much, so no number between is best."""
    X = np.repeat(10.0 * np.eye(5), 16, axis=0)
    path = penalty_path(X, estimator=template())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        penalty = path.for_n_clusters(k)
    assert DPMeans(penalty, random_state=0).fit(X).n_clusters_ == nearest
    told = (
        f"No penalty of this path is for {k} clusters; this one, {penalty:.6g}, is for {nearest}. "
        f"Use path.model({k}) for exactly {k}."
    )
    assert [str(w.message) for w in caught] == ([told] if k != nearest else [])


def test_more_clusters_than_the_path_has(five):
    X, _, path = five
    with pytest.warns(UserWarning, match="for 1000000 clusters"):
        penalty = path.for_n_clusters(10**6)
    found = DPMeans(penalty, random_state=0).fit(X).n_clusters_
    assert abs(found - path.n_clusters[-1]) <= 2


@pytest.mark.filterwarnings("ignore:No penalty of this path")
@pytest.mark.parametrize("k", [5, 8, 12])
def test_about_k_clusters_beyond_the_truth(five, k):
    X, _, path = five
    found = DPMeans(path.for_n_clusters(k), random_state=1).fit(X).n_clusters_
    assert abs(found - k) <= 2


PUBLISHED = [{"search": "paper", "order": "given"}, {"search": "paper"}, {"method": "collapsed"}]


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("options", PUBLISHED)
def test_a_path_of_a_published_search_is_its_fits(five, options, given):
    """From the template's own start, each: what it finds from elsewhere is something else."""
    X, _, _ = five
    estimator = template(3, **options)
    penalties = [3000.0, 80.0, 500.0] if given else None
    path = penalty_path(X, estimator=estimator, n_penalties=20, penalties=penalties)
    for penalty, model in zip(path.penalties, path.models, strict=True):
        fresh = clone(estimator).set_params(cluster_penalty=penalty).fit(X)
        assert_same_bits(fresh, model)


@pytest.mark.parametrize("options", PUBLISHED)
def test_a_penalty_for_k_clusters_of_the_published_searches(five, options):
    X, _, _ = five
    estimator = template(**options)
    path = penalty_path(X, estimator=estimator)
    assert {1, 5} <= set(path.n_clusters)
    for k in set(path.n_clusters[path.n_clusters <= 8]):
        model = clone(estimator).set_params(cluster_penalty=path.for_n_clusters(int(k))).fit(X)
        assert model.n_clusters_ == k


@pytest.mark.parametrize("options", PUBLISHED)
def test_plateaus_of_the_published_searches_are_runs(five, options):
    X, _, _ = five
    path = penalty_path(X, estimator=template(**options), n_penalties=30)
    for plateau in path.plateaus:
        inside = (plateau.low <= path.penalties) & (path.penalties <= plateau.high)
        assert inside.any() and (path.n_clusters[inside] == plateau.k).all()
    assert {plateau.k for plateau in path.plateaus} == set(path.n_clusters) - {1}


def test_frame_of_a_path(five):
    path = five[2]
    frame = path.to_frame()
    assert list(frame.columns) == ["penalty", "n_clusters", "objective", "inertia"]
    assert len(frame) == 50
    np.testing.assert_array_equal(frame["penalty"], path.penalties)
    np.testing.assert_array_equal(frame["n_clusters"], path.n_clusters)
    np.testing.assert_array_equal(frame["objective"], path.objectives)
    np.testing.assert_allclose(
        frame["inertia"] + frame["penalty"] * frame["n_clusters"], frame["objective"]
    )


# --- corners -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [
        np.array([[3.0, 4.0]]),
        np.ones((50, 2)),
        np.zeros((9, 3)),
        np.full((20, 1), -1e9),
        sparse.csr_array((12, 3)),
    ],
    ids=lambda X: f"{type(X).__name__}{X.shape}",
)
def test_one_row_and_constant_rows(X):
    path = penalty_path(X, estimator=template(), n_penalties=6)
    assert (np.diff(path.penalties) < 0).all() and np.isfinite(path.penalties).all()
    np.testing.assert_array_equal(path.n_clusters, 1)
    np.testing.assert_allclose(path.objectives, path.penalties)
    assert path.plateaus == []
    with pytest.warns(UserWarning, match="is for 1"):
        seven = path.for_n_clusters(7)
    for penalty in (path.suggest(), path.for_n_clusters(1), seven):
        assert penalty > 0 and DPMeans(penalty).fit(X).n_clusters_ == 1
    given = penalty_path(X, estimator=template(), penalties=[5.0, 1e-3])
    assert given.n_clusters.tolist() == [1, 1]


def test_two_rows():
    X = np.array([[0.0, 0.0], [6.0, 8.0]])
    path = penalty_path(X, estimator=template())
    # Apart they save half of their squared distance.
    assert [plateau.k for plateau in path.plateaus] == [2]
    assert path.plateaus[0].high == pytest.approx(50.0)
    assert path.plateaus[0].low == 0.0 or path.plateaus[0].low < 1e-3
    np.testing.assert_array_equal(path.n_clusters, np.where(path.penalties > 50.0, 1, 2))
    for k in (1, 2):
        assert DPMeans(path.for_n_clusters(k)).fit(X).n_clusters_ == k
    assert DPMeans(path.suggest()).fit(X).n_clusters_ == 1  # two rows are no evidence


def test_the_numbers_of_three_rows():
    """By hand: fit terms 0, 2 and 26 for three, two and one cluster."""
    X = np.array([[0.0], [2.0], [7.0]])
    path = penalty_path(X, estimator=template(), penalties=[25.0, 23.0, 3.0, 1.0])
    assert path.n_clusters.tolist() == [1, 2, 2, 3]
    np.testing.assert_allclose(path.objectives, [26 + 25, 2 + 46, 2 + 6, 3], rtol=1e-12)
    assert path.plateaus[0].k == 2
    assert path.plateaus[0].low == pytest.approx(2.0)
    assert path.plateaus[0].high == pytest.approx(24.0)


# --- determinism ---------------------------------------------------------------------------------


def assert_same_paths(a, b):
    assert a.penalties.tobytes() == b.penalties.tobytes()
    assert a.plateaus == b.plateaus
    for one, other in zip(a.models, b.models, strict=True):
        assert_same_bits(one, other)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_same_bits_for_a_seed_and_any_number_of_jobs(container):
    X = container(np.random.default_rng(0).standard_normal((700, 3)))
    options = dict(n_penalties=12)
    expected = penalty_path(X, estimator=template(7, n_jobs=1, max_clusters=30), **options)
    for n_jobs in (1, 2, 3, -1):
        estimator = template(7, n_jobs=n_jobs, max_clusters=30)
        assert_same_paths(penalty_path(X, estimator=estimator, **options), expected)


def test_a_random_state_is_a_seed():
    X = wide()
    seeded = penalty_path(X, estimator=template(3), n_penalties=5)
    state = template(np.random.RandomState(3))
    assert_same_paths(penalty_path(X, estimator=state, n_penalties=5), seeded)


def test_numpys_own_stream_is_left_alone():
    state = np.random.get_state()[1].copy()
    penalty_path(wide(), n_penalties=3)
    np.testing.assert_array_equal(np.random.get_state()[1], state)


def test_nothing_is_printed_or_warned_of(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        penalty_path(wide(), estimator=template(max_clusters=3), n_penalties=5)
    assert capfd.readouterr() == ("", "")


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "penalties",
    [[], [1.0, -2.0], [0.0], [np.nan], [3.0, np.inf], "auto", 3.0, ["a"], [1j], [None]],
    ids=repr,
)
def test_bad_penalties(penalties):
    sentence = r"The 'penalties' parameter of penalty_path must be .* Got .* instead\."
    with pytest.raises(ValueError, match=sentence):
        penalty_path(wide(), penalties=penalties)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_penalties": 0}, "The 'n_penalties' parameter of penalty_path must be"),
        ({"n_penalties": 2.5}, "The 'n_penalties' parameter of penalty_path must be"),
        ({"estimator": "DPMeans"}, "The 'estimator' parameter of penalty_path must be"),
        ({"estimator": DPMeans}, "The 'estimator' parameter of penalty_path must be"),
        ({"estimator": DPMeans(max_iter=0)}, "The 'max_iter' parameter of"),
        ({"estimator": DPMeans(search="x")}, "The 'search' parameter of"),
        ({"sample_weight": np.ones(3)}, "one weight for each of the 200 rows"),
        ({"sample_weight": np.zeros(200)}, "at least one number > 0"),
        ({"sample_weight": np.full(200, -1.0)}, "finite numbers >= 0. Got -1.0 at row 0"),
        ({"estimator": DPMeans(divergence="kl")}, "Negative values"),
    ],
)
def test_bad_options(options, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        penalty_path(wide(), **options)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("value", "kind"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_bad_rows_are_named(container, value, kind):
    X = wide()
    X[17, 1] = value
    with pytest.raises(ValueError, match=f"Input X contains {kind} at row 17, column 1"):
        penalty_path(container(X))


@pytest.mark.parametrize("number", [0, -3, 2.5, np.nan, "3", None], ids=repr)
def test_bad_numbers_of_clusters(five, number):
    for method in (five[2].for_n_clusters, five[2].model):
        with pytest.raises(ValueError, match=r"'n_clusters'.* an int >= 1\. Got .* instead\."):
            method(number)


@pytest.mark.parametrize(("cap", "penalty"), [(200, 0.001), (300, 0.005)])
def test_penalties_far_below_the_path_under_a_cap(cap, penalty):
    X = np.random.RandomState(1).randn(600, 2)
    estimator = DPMeans(random_state=0, max_clusters=cap)
    path = penalty_path(X, penalties=[penalty], estimator=estimator)
    fresh = quiet_fit(clone(estimator).set_params(cluster_penalty=penalty), X)
    assert path.objectives[0] <= 1.03 * fresh.objective_


def test_a_frame_without_pandas_says_what_to_install(monkeypatch):
    path = penalty_path(make_blobs(40, 2, 3)[0], n_penalties=3)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_frame needs pandas\. Install it"):
        path.to_frame()


def test_a_fitted_estimator_keeps_its_choice_for_its_rows_and_parameters(monkeypatch):
    X, _ = make_three_gaussians(120, random_state=0)
    weights = np.linspace(0.5, 2.0, len(X))
    fitted = DPMeans(random_state=0).fit(X, sample_weight=weights)
    expected = penalty_path(X, estimator=clone(fitted), sample_weight=weights, n_penalties=5)
    calls = []
    choose = dp_means_path.choose_penalty
    monkeypatch.setattr(
        dp_means_path, "choose_penalty", lambda *given: calls.append(given) or choose(*given)
    )

    def chosen_anew(estimator, X, weights):
        calls.clear()
        path = penalty_path(X, estimator=estimator, sample_weight=weights, n_penalties=5)
        return path, bool(calls)

    for same in (fitted, by_size(fitted), copy.copy(fitted), pickle.loads(pickle.dumps(fitted))):
        path, anew = chosen_anew(same, X.copy(), weights)
        assert not anew
        assert path.suggest() == expected.suggest() == fitted.cluster_penalty_
        for name, column in expected.choice.items():
            np.testing.assert_array_equal(path.choice[name], column)
        for name in ("penalties", "n_clusters", "objectives"):
            np.testing.assert_array_equal(getattr(path, name), getattr(expected, name))
    assert chosen_anew(fitted, X + 1.0, weights)[1]
    assert chosen_anew(fitted, X[::-1], weights[::-1])[1]
    assert chosen_anew(fitted, X, None)[1]
    assert chosen_anew(copy.copy(fitted).set_params(random_state=1), X, weights)[1]
    assert chosen_anew(copy.copy(fitted).set_params(prior_weight=1.0), X, weights)[1]
    assert chosen_anew(clone(fitted), X, weights)[1]
    fitted.set_params(cluster_penalty=30.0).fit(X, sample_weight=weights)
    assert chosen_anew(fitted, X, weights)[1]


@pytest.mark.parametrize("rows", [sparse.csr_array, np.asfortranarray, np.float32])
def test_any_kind_of_rows_is_known_again(rows, monkeypatch):
    X = rows(make_three_gaussians(150, random_state=0)[0])
    fitted = DPMeans(random_state=0).fit(X)
    monkeypatch.setattr(dp_means_path, "choose_penalty", None)
    assert penalty_path(X, estimator=fitted, n_penalties=3).suggest() == fitted.cluster_penalty_
