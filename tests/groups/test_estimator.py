"""What must hold of HDPMeans under any input."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hardbayes import DPMeans, HDPMeans, load, objective, save
from hardbayes.datasets import make_shared_gaussians
from tests.conftest import quiet_fit
from tests.random_inputs import random_rows, random_weights
from tests.reference.brute_force import set_partitions
from tests.reference.dp_means import same_partition
from tests.reference.hdp import grouped_objective

NUMBERS = (
    "labels_", "local_labels_", "n_local_clusters_", "group_cluster_weights_", "cluster_centers_",
    "objective_", "objective_history_", "local_penalty_", "global_penalty_",
)  # fmt: skip


def assert_same_bits(a, b):
    for name in NUMBERS:
        x, y = np.asarray(getattr(a, name)), np.asarray(getattr(b, name))
        assert x.dtype == y.dtype and x.tobytes() == y.tobytes(), name


@pytest.fixture(scope="module")
def shared():
    return make_shared_gaussians(12, 6, 3, 5, random_state=0)


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([5, 12, 40, 120]))
    X = random_rows(rng, n, int(rng.integers(1, 5)))
    groups = rng.integers(0, int(rng.integers(1, 7)), n)
    scale = X.var(axis=0).sum() or 1.0
    penalties = scale * 10 ** rng.uniform(-2, 1), scale * 10 ** rng.uniform(-2, 1)
    return X, groups, penalties, random_weights(rng, n)


@pytest.mark.parametrize("search", ["paper", "split-merge"])
@pytest.mark.parametrize("seed", range(25))
def test_attributes_agree_with_the_labels(seed, search):
    X, groups, penalties, weights = random_problem(seed)
    model = HDPMeans(*penalties, search=search, random_state=seed)
    quiet_fit(model, X, weights, groups=groups)
    w = np.ones(len(X)) if weights is None else weights
    k, labels = model.n_clusters_, model.labels_
    assert sorted(set(labels)) == list(range(k))
    options = {"weights": weights}
    expected = grouped_objective(X, labels, groups, *penalties, **options)
    assert model.objective_ == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert model.objective_ == pytest.approx(
        objective(
            X, labels, penalties[1], sample_weight=weights, groups=groups,
            local_penalty=penalties[0],
        ), rel=1e-9, abs=1e-12,
    )  # fmt: skip
    assert (np.diff(model.objective_history_) <= 1e-9 * model.objective_history_[0]).all()
    table = np.zeros((len(model.groups_), k))
    np.add.at(table, (np.searchsorted(model.groups_, groups), labels), w)
    np.testing.assert_allclose(model.group_cluster_weights_, table)
    np.testing.assert_allclose(model.cluster_weights_, table.sum(axis=0))
    np.testing.assert_array_equal(model.n_local_clusters_, (table > 0).sum(axis=1))
    for number, group in enumerate(model.groups_):
        own = (groups == group) & (w > 0)
        local = model.local_labels_[own]
        assert sorted(set(local)) == list(range(model.n_local_clusters_[number]))
        assert not own.any() or same_partition(local, labels[own])
    if weights is None:
        np.testing.assert_array_equal(model.predict(X, groups=groups), labels)
        assert model.score(X, groups=groups) == pytest.approx(-model.inertia_, rel=1e-9)


def test_split_merge_is_optimal_on_tiny_inputs():
    partitions = list(set_partitions(6))
    best = []
    for seed in range(60):
        rng = np.random.RandomState(seed)
        groups = rng.randint(0, rng.randint(1, 4), 6)
        X = rng.randn(6, rng.randint(1, 3)) + 3 * rng.randn(3, 1)[rng.randint(0, 3, 6)]
        scale = X.var(axis=0).sum()
        penalties = scale * 10 ** rng.uniform(-1.5, 1, 2)
        model = HDPMeans(*penalties, random_state=0).fit(X, groups=groups)
        least = min(grouped_objective(X, p, groups, *penalties) for p in partitions)
        assert model.objective_ >= least * (1 - 1e-9)
        best.append(model.objective_ <= least * (1 + 1e-9))
    assert np.mean(best) >= 0.95


@pytest.mark.parametrize("seed", range(10))
def test_one_group_without_local_penalty_is_dp_means(seed):
    X, _, (_, penalty), weights = random_problem(seed)
    grouped = quiet_fit(HDPMeans(0.0, penalty, random_state=seed), X, weights)
    flat = quiet_fit(DPMeans(penalty, random_state=seed), X, weights)
    np.testing.assert_array_equal(grouped.labels_, flat.labels_)
    np.testing.assert_array_equal(grouped.cluster_centers_, flat.cluster_centers_)
    assert grouped.objective_ == flat.objective_
    assert grouped.groups_.tolist() == [0]
    np.testing.assert_array_equal(grouped.predict(X), flat.predict(X))


def test_one_group_chooses_the_penalty_of_dp_means(blobs):
    X, _ = blobs
    grouped, flat = HDPMeans(random_state=0).fit(X), DPMeans(random_state=0).fit(X)
    assert grouped.global_penalty_ == flat.cluster_penalty_ and grouped.local_penalty_ == 0
    np.testing.assert_array_equal(grouped.labels_, flat.labels_)


def test_published_search_of_one_group_is_algorithm_1_in_most_cases():
    """Step 5 may unite clusters that Algorithm 1 would not: a new global mean opens nearby."""
    same = []
    for seed in range(30):
        X, _, (_, penalty), _ = random_problem(seed)
        options = {"search": "paper", "order": "given"}
        grouped = HDPMeans(0.0, penalty, **options).fit(X)
        same.append(same_partition(grouped.labels_, DPMeans(penalty, **options).fit(X).labels_))
    assert np.mean(same) > 0.9


def test_separated_clusters_are_found_and_shared():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]])
    uses = {"a": [0, 1], "b": [1, 2], "c": [0, 1, 2], "d": [3]}
    groups = np.repeat(list(uses), 30)
    y = np.concatenate([rng.choice(own, 30) for own in uses.values()])
    X = centres[y] + 0.3 * rng.standard_normal((120, 2))
    model = HDPMeans(random_state=0).fit(X, groups=groups)
    assert same_partition(model.labels_, y)
    assert model.n_local_clusters_.tolist() == [2, 2, 3, 1]


def test_scaling_by_powers_of_two_changes_nothing(shared):
    X, groups, _ = shared
    small = HDPMeans(0.1, 0.3, random_state=0).fit(X, groups=groups)
    large = HDPMeans(0.1 * 4**9, 0.3 * 4**9, random_state=0).fit(X * 2.0**9, groups=groups)
    np.testing.assert_array_equal(small.labels_, large.labels_)
    auto = HDPMeans(random_state=0).fit(X, groups=groups)
    scaled = HDPMeans(random_state=0).fit(X * 2.0**9, groups=groups)
    np.testing.assert_array_equal(auto.labels_, scaled.labels_)
    assert scaled.local_penalty_ == 4**9 * auto.local_penalty_


def test_equal_weights_scale_the_automatic_penalties(shared):
    X, groups, _ = shared
    light = HDPMeans(random_state=0).fit(X, groups=groups)
    heavy = HDPMeans(random_state=0).fit(X, groups=groups, sample_weight=np.full(len(X), 4.0))
    np.testing.assert_array_equal(light.labels_, heavy.labels_)
    assert light.local_penalty_ > 0
    assert heavy.local_penalty_ == pytest.approx(4 * light.local_penalty_)
    assert heavy.global_penalty_ == pytest.approx(4 * light.global_penalty_)


def test_threads_do_not_change_a_bit(shared):
    X, groups, _ = shared
    one, two = (HDPMeans(random_state=0, n_jobs=j).fit(X, groups=groups) for j in (1, 2))
    assert_same_bits(one, two)


def test_extreme_penalties(shared):
    X, groups, _ = shared
    one = HDPMeans(1e9, 1e9, random_state=0).fit(X, groups=groups)
    assert one.n_clusters_ == 1
    np.testing.assert_allclose(one.cluster_centers_[0], X.mean(axis=0))
    every = HDPMeans(0.0, 0.0, random_state=0).fit(X[:20], groups=groups[:20])
    assert every.n_clusters_ == 20 and every.objective_ == 0


def test_cap(shared):
    X, groups, _ = shared
    with pytest.warns(ConvergenceWarning, match="cap of 3"):
        model = HDPMeans(0.01, 0.01, max_clusters=3, random_state=0).fit(X, groups=groups)
    assert model.n_clusters_ == 3
    automatic = HDPMeans(max_clusters=4, random_state=0)
    assert quiet_fit(automatic, X, groups=groups).n_clusters_ <= 4


def test_out_of_steps_gives_labels_that_predict_gives(shared):
    X, groups, _ = shared
    for search in ("paper", "split-merge"):
        model = HDPMeans(0.05, 0.1, search=search, max_iter=1, random_state=0)
        with pytest.warns(ConvergenceWarning, match="before it converged"):
            model.fit(X, groups=groups)
        np.testing.assert_array_equal(model.predict(X, groups=groups), model.labels_)
        value = grouped_objective(X, model.labels_, groups, 0.05, 0.1)
        assert model.objective_ >= value * (1 - 1e-12)


def test_rows_without_weight(shared):
    X, groups, _ = shared
    weights = np.ones(len(X))
    weights[::3] = 0.0
    kept = weights > 0
    model = HDPMeans(0.1, 0.3, order="given", random_state=0)
    part = clone(model).fit(X[kept], groups=groups[kept])
    whole = model.fit(X, groups=groups, sample_weight=weights)
    assert whole.objective_ == pytest.approx(part.objective_, rel=0.02)
    np.testing.assert_array_equal(whole.predict(X[~kept], groups=groups[~kept]),
                                  whole.labels_[~kept])  # fmt: skip


def test_a_group_of_rows_without_weight(shared):
    X, groups, _ = shared
    weights = (groups != 3).astype(float)
    model = HDPMeans(0.1, 0.3, random_state=0).fit(X, groups=groups, sample_weight=weights)
    assert model.n_local_clusters_[3] == 0 and (model.local_labels_[groups == 3] == -1).all()


@pytest.mark.parametrize("divergence", ["kl", "poisson", "cosine", "logistic", "itakura_saito"])
def test_divergences_with_the_default_search(divergence):
    rng = np.random.default_rng(1)
    X = rng.dirichlet(np.full(5, 0.5), 3)[rng.integers(0, 3, 60)] + 0.1 * rng.random((60, 5))
    X /= X.sum(axis=1, keepdims=True)
    groups = rng.integers(0, 4, 60)
    model = HDPMeans(0.05, 0.1, divergence=divergence, random_state=0).fit(X, groups=groups)
    value = grouped_objective(
        X, model.labels_, groups, 0.05, 0.1, divergence=divergence, prior_weight=model.prior_weight_
    )
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    paper = clone(model).set_params(search="paper").fit(X, groups=groups)
    assert model.objective_ <= paper.objective_ * (1 + 1e-12)
    np.testing.assert_array_equal(model.predict(X, groups=groups), model.labels_)
    automatic = clone(model).set_params(local_penalty="auto", global_penalty="auto")
    automatic = quiet_fit(automatic, X, groups=groups)
    value = grouped_objective(
        X, automatic.labels_, groups, automatic.local_penalty_, automatic.global_penalty_,
        divergence=divergence, prior_weight=automatic.prior_weight_,
    )  # fmt: skip
    assert automatic.objective_ == pytest.approx(value, rel=1e-8)


def test_sparse_rows_give_the_labels_of_dense_rows(shared):
    X, groups, _ = shared
    X = np.where(X < 0.3, 0.0, X)
    dense = HDPMeans(0.1, 0.3, search="paper", random_state=0).fit(X, groups=groups)
    thin = HDPMeans(0.1, 0.3, search="paper", random_state=0)
    thin.fit(sparse.csr_array(X), groups=groups)
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    model = HDPMeans(0.1, 0.3, random_state=0)
    dense, thin = (clone(model).fit(rows, groups=groups) for rows in (X, sparse.csr_array(X)))
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    assert dense.objective_ == pytest.approx(thin.objective_)


def test_the_page_on_groups_runs():
    page = (Path(__file__).parents[2] / "docs" / "groups.md").read_text()
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, names)  # noqa: S102
    model = names["model"]  # with penalties by the papers' rule
    assert model.n_clusters_ == 4 and model.n_local_clusters_.tolist() == [2] * 6
    assert (names["local"], names["shared"]) == (model.local_penalty_, model.global_penalty_)


# -- groups ----------------------------------------------------------------------------------------


def test_labels_of_groups_may_be_anything(shared):
    X, groups, _ = shared
    expected = HDPMeans(0.1, 0.3, random_state=0).fit(X, groups=groups)
    pd = pytest.importorskip("pandas")
    names = [f"g{g:02d}" for g in groups]
    for labels in (names, np.array(names), pd.Series(names), pd.Series(names, dtype="category"),
                   [(1, g) for g in groups], groups.astype(float)):  # fmt: skip
        model = HDPMeans(0.1, 0.3, random_state=0).fit(X, groups=labels)
        np.testing.assert_array_equal(model.predict(X, groups=labels), expected.labels_)
        assert len(model.groups_) == len(expected.groups_)
    mixed = HDPMeans(0.1, 0.3, random_state=0).fit(X, groups=["a" if g else 0 for g in groups])
    assert list(mixed.groups_) == [0, "a"]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([0.0, np.nan, 1.0], "NaN or None at row 1"),
        (["a", None, "b"], "NaN or None at row 1"),
        ([0, 1], r"one label for each of the 3 rows. Got shape \(2,\)"),
        ([[0], [1], [2]], "cannot be a label"),
        (np.zeros((3, 1)), "one label for each of the 3 rows"),
        ("abc", "must be a list of labels"),
        (5, "must be a list of labels"),
    ],
)
def test_bad_groups_are_refused_and_nothing_changes(groups, message):
    X = np.arange(6.0).reshape(3, 2)
    model = HDPMeans(1.0, 1.0).fit(X, groups=[0, 0, 1])
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(X, groups=groups)
    with pytest.raises(ValueError, match=message):
        model.predict(X, groups=groups)
    assert vars(model) == before


def test_the_objective_of_grouped_labels():
    X, labels = np.array([[0.0], [2.0], [9.0]]), [0, 0, 1]
    value = {"X": X, "labels": labels, "cluster_penalty": 5.0, "local_penalty": 3.0}
    assert objective(**value) == 2 + 2 * 5 + 2 * 3  # one group
    assert objective(**value, groups=["a", "b", "b"]) == 2 + 2 * 5 + 3 * 3
    weighted = objective(**value, groups=["a", "b", "b"], sample_weight=[1.0, 0.0, 1.0])
    assert weighted == 2 * 5 + 2 * 3
    thin = value | {"X": sparse.csr_array(X)}
    assert objective(**thin, groups=["a", "b", "b"]) == 2 + 2 * 5 + 3 * 3
    for groups, message in (([0, None, 1], "None at row 1"), ([0, 1], "each of the 3 rows")):
        with pytest.raises(ValueError, match=message):
            objective(**value, groups=groups)


def test_groups_of_one_row_each():
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    model = HDPMeans(0.5, 1.0, random_state=0).fit(X, groups=[3, 1, 2, 0])
    assert model.n_clusters_ == 2 and model.n_local_clusters_.tolist() == [1, 1, 1, 1]
    assert model.groups_.tolist() == [0, 1, 2, 3]
    labels = HDPMeans(random_state=0).fit(X, groups=[3, 1, 2, 0]).labels_
    assert same_partition(labels, np.array([0, 0, 1, 1]))
    assert HDPMeans(random_state=0).fit(X[:1], groups=["a"]).n_clusters_ == 1


def test_predict_for_known_and_unknown_groups():
    X = np.array([[0.0], [0.2], [4.0], [4.2]])
    model = HDPMeans(3.0, 1.0, random_state=0).fit(X, groups=["a", "a", "b", "b"])
    left, right = model.labels_[[0, 2]]
    middle = [[2.4]]  # nearer to the right by 2.3^2 - 1.7^2 = 2.4, less than the local penalty
    assert model.predict(middle, groups=["a"]) == [left]
    assert model.predict(middle, groups=["b"]) == [right]
    assert model.predict(middle, groups=["new"]) == [right]
    assert model.predict(middle) == [right]
    # In its own group a row pays up to both penalties, elsewhere one of them is for the group.
    far = [[4.1 + 1.5]]
    assert model.predict(far, groups=["b"], novelty=True) == [right]
    assert model.predict(far, groups=["new"], novelty=True) == [-1]


# -- scikit-learn ----------------------------------------------------------------------------------


def test_groups_are_routed(shared):
    X, groups, _ = shared
    with config_context(enable_metadata_routing=True):
        model = HDPMeans(0.3, 1.0, random_state=0)
        with pytest.raises(ValueError, match="groups"):
            make_pipeline(StandardScaler(), model).fit(X, groups=groups)
        model.set_fit_request(groups=True).set_predict_request(groups=True)
        model.set_score_request(groups=True)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, groups=groups)
        scaled = StandardScaler().fit_transform(X)
        expected = clone(model).fit(scaled, groups=groups)
        assert_same_bits(pipeline[-1], expected)
        found = pipeline.predict(X, groups=groups[::-1])
        np.testing.assert_array_equal(found, expected.predict(scaled, groups=groups[::-1]))
        assert (found != expected.predict(scaled)).any()
        folds = KFold(2, shuffle=True, random_state=0)
        scores = cross_val_score(model, X, params={"groups": groups}, cv=folds)
        for score, (train, test) in zip(scores, folds.split(X), strict=True):
            part = clone(model).fit(X[train], groups=groups[train])
            assert score == part.score(X[test], groups=groups[test])


def test_scores_are_costs_in_the_predicted_clusters(shared):
    X, groups, _ = shared
    model = HDPMeans(0.3, 1.0, random_state=0).fit(X, groups=groups)
    for given in (groups, groups[::-1], None):
        centres = model.cluster_centers_[model.predict(X, groups=given)]
        costs = ((X - centres) ** 2).sum(axis=1)
        np.testing.assert_allclose(model.score_samples(X, groups=given), -costs)
        weights = np.arange(len(X)) % 3
        score = model.score(X, sample_weight=weights, groups=given)
        assert score == pytest.approx(-weights @ costs)


def test_transform_and_fit_methods(shared):
    X, groups, _ = shared
    model = HDPMeans(0.1, 0.3, random_state=0)
    labels = model.fit_predict(X, groups=groups)
    np.testing.assert_array_equal(labels, model.labels_)
    distances = model.fit_transform(X, groups=groups)
    assert distances.shape == (len(X), model.n_clusters_)
    centres = model.cluster_centers_
    np.testing.assert_allclose(distances[0], np.linalg.norm(X[0] - centres, axis=1))
    assert model.get_feature_names_out()[0] == "hdpmeans0"
    assert model.fit(X.astype(np.float32), groups=groups).cluster_centers_.dtype == np.float32


def test_verbose_reports_on_standard_error(shared, capsys):
    X, groups, _ = shared
    HDPMeans(0.1, 0.3, verbose=1, random_state=0).fit(X, groups=groups)
    out, err = capsys.readouterr()
    assert out == "" and "[HDPMeans] step 1: " in err


@pytest.mark.parametrize("labels", [np.arange(12), [f"g{g}" for g in range(12)]])
def test_files(shared, tmp_path, labels):
    X, groups, _ = shared
    own = np.asarray(labels)[groups]
    model = HDPMeans(random_state=0).fit(X, groups=own)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert_same_bits(model, again)
    np.testing.assert_array_equal(model.groups_, again.groups_)
    np.testing.assert_array_equal(again.predict(X, groups=own), model.labels_)


def test_labels_that_a_file_cannot_hold(shared, tmp_path):
    X, groups, _ = shared
    model = HDPMeans(0.1, 0.3, random_state=0).fit(X, groups=[(g, 0) for g in groups])
    with pytest.raises(ValueError, match="groups_"):
        save(model, tmp_path / "model")
