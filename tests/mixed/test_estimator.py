"""MixedDPMeans: invariances, new rows, edge cases, refusals."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import hardbayes
from hardbayes import (
    DPMeans,
    HDPMeans,
    Mixed,
    MixedDPMeans,
    by_size,
    certainty,
    objective,
    penalty_path,
)
from hardbayes.plot import ClustersDisplay, fit_figure
from tests.conftest import quiet_fit
from tests.mixed.tables import KINDS, customers
from tests.reference import mixed


@pytest.fixture(scope="module")
def fitted():
    frame, y = customers(missing=0.05)
    return MixedDPMeans(n_clusters=4, random_state=0).fit(frame), frame, y


def same_partition(one, other):
    return adjusted_rand_score(one, other) == 1.0


def test_customers_are_found_without_their_number():
    frame, y = customers(600)
    model = MixedDPMeans(random_state=0).fit(frame)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y, model.labels_) > 0.75
    assert model.column_kinds_ == KINDS
    choice = model.penalty_choice_
    assert choice["n_clusters"][choice["chosen"]].tolist() == [4]
    assert choice["evidence"][choice["chosen"]] > choice["reference"][choice["chosen"]]


def test_fitted_attributes_agree(fitted):
    model, frame, _ = fitted
    assert_array_equal(model.predict(frame), model.labels_)
    assert_array_equal(model.fit_predict(frame), model.labels_)
    assert_array_equal(np.bincount(model.labels_), model.cluster_weights_)
    assert (np.diff(model.cluster_weights_) <= 0).all()
    assert model.cluster_centers_.shape == (4, len(model.center_names_))
    assert model.objective_history_[-1] == model.objective_
    assert (np.diff(model.objective_history_) <= 0).all()
    assert_allclose(-model.score(frame), model.inertia_)
    assert model.transform(frame).shape == (len(frame), 4)
    assert (model.transform(frame) >= 0).all()
    assert model.converged_


def test_centres_are_means_and_shares(fitted):
    model, frame, _ = fitted
    centres = pd.DataFrame(model.cluster_centers_, columns=model.center_names_)
    by_label = frame.groupby(model.labels_)
    assert_allclose(centres["age"], by_label["age"].mean())
    assert_allclose(centres["spent"], frame[frame["spent"] > 0].groupby(
        model.labels_[frame["spent"] > 0])["spent"].mean())  # fmt: skip
    counts = by_label["newsletter"].value_counts().unstack()
    usual = frame["newsletter"].value_counts(normalize=True)["yes"]  # one pseudo-row
    assert_allclose(centres["newsletter=yes"], (counts["yes"] + usual) / (counts.sum(axis=1) + 1))


@pytest.mark.parametrize("k", [1, 3])
def test_the_objective_follows_from_the_labels(k):
    frame, _ = customers(90)
    frame = frame.drop(columns="spent")  # a spike is a hole in the number beside it
    weights = np.random.default_rng(0).integers(1, 4, 90).astype(float)
    model = MixedDPMeans(n_clusters=k, random_state=0).fit(frame, sample_weight=weights)
    assert len(model._model.clusters.covariances) == 1
    rows = model._model.rows(model._checked(frame), weights)
    value = mixed.from_labels(
        rows.numbers, rows.levels, weights, rows.floors, rows.sizes, model.labels_,
        model.prior_weight_, model.cluster_penalty_,
    )  # fmt: skip
    assert_allclose(model.objective_, value)


def test_weights_are_repetition_in_the_objective():
    frame, _ = customers(120)
    weights = np.random.default_rng(0).integers(1, 4, 120)
    once = MixedDPMeans(n_clusters=1, random_state=0).fit(frame, sample_weight=weights)
    twice = MixedDPMeans(n_clusters=1, random_state=0).fit(
        frame.iloc[np.arange(120).repeat(weights)]
    )
    assert_allclose(once.inertia_, twice.inertia_, rtol=1e-9)
    assert_allclose(once.score_samples(frame), twice.score_samples(frame), rtol=1e-9)


def test_rows_of_no_weight_are_labelled_and_change_nothing():
    frame, _ = customers(200)
    weights = np.ones(200)
    weights[150:] = 0.0
    model = MixedDPMeans(n_clusters=3, random_state=0).fit(frame, sample_weight=weights)
    kept = MixedDPMeans(n_clusters=3, random_state=0).fit(frame[:150])
    assert_allclose(model.objective_, kept.objective_)
    assert_array_equal(model.labels_, kept.predict(frame))


def test_the_order_of_rows_and_columns_does_not_matter(fitted):
    model, frame, _ = fitted
    rows = np.random.default_rng(0).permutation(len(frame))
    again = MixedDPMeans(n_clusters=4, random_state=0).fit(frame.iloc[rows])
    assert_allclose(again.objective_, model.objective_, rtol=0.01)  # starts are drawn otherwise
    columns = MixedDPMeans(n_clusters=4, random_state=0).fit(frame[frame.columns[::-1]])
    assert_allclose(columns.objective_, model.objective_, rtol=0.01)
    one, other = (MixedDPMeans(n_clusters=1, random_state=0).fit(each)
                  for each in (frame, frame.iloc[rows, ::-1]))  # fmt: skip
    assert_allclose(one.objective_, other.objective_)
    assert_allclose(one.score_samples(frame)[rows], other.score_samples(frame.iloc[rows, ::-1]))


def test_units_and_names_of_levels_do_not_matter(fitted):
    model, frame, _ = fitted
    other = frame.assign(
        income=frame["income"] * 4.0, age=frame["age"] - 7.0,
        country=frame["country"].map({"DE": "z", "FR": "x", "UK": "a", "US": "b"}),
    )  # fmt: skip
    again = MixedDPMeans(n_clusters=4, random_state=0).fit(other)
    assert same_partition(model.labels_, again.labels_)
    assert_allclose(again.objective_, model.objective_, rtol=1e-6)


def test_frames_and_arrays_agree(fitted):
    model, frame, _ = fitted
    polars = MixedDPMeans(n_clusters=4, random_state=0).fit(pl.from_pandas(frame))
    assert_array_equal(polars.labels_, model.labels_)
    assert_array_equal(polars.predict(frame), model.labels_)
    assert polars.objective_ == model.objective_
    objects = MixedDPMeans(n_clusters=4, random_state=0).fit(frame.to_numpy(dtype=object))
    assert_array_equal(objects.labels_, model.labels_)
    codes = frame.assign(
        country=pd.factorize(frame["country"])[0], newsletter=frame["newsletter"] == "yes"
    ).astype({"country": float, "newsletter": float})
    codes.loc[frame["country"].isna(), "country"] = np.nan
    codes.loc[frame["newsletter"].isna(), "newsletter"] = np.nan
    array = MixedDPMeans(n_clusters=4, columns={3: "category"}, random_state=0).fit(
        codes.to_numpy()
    )
    assert same_partition(array.labels_, model.labels_)
    assert_allclose(array.objective_, model.objective_)


def test_the_divergence_of_dp_means_is_the_same():
    frame, _ = customers(150)
    for divergence, columns in (
        ("mixed", None),
        (Mixed({"stars": "category"}), {"stars": "category"}),
    ):
        model = MixedDPMeans(columns=columns, max_clusters=5, random_state=0).fit(frame)
        other = DPMeans(divergence=divergence, max_clusters=5, random_state=0).fit(frame)
        assert_array_equal(other.labels_, model.labels_)
        assert other.objective_ == model.objective_
        assert other.column_kinds_ == model.column_kinds_
        assert_array_equal(other.predict(frame), model.labels_)
        assert_array_equal(other.summary(frame)["apart"], model.summary(frame)["apart"])


@pytest.mark.parametrize("missing", [0.2, 0.5])
def test_missing_cells(missing):
    frame, y = customers(400, missing=missing)
    model = MixedDPMeans(n_clusters=4, random_state=0).fit(frame)
    assert_array_equal(model.predict(frame), model.labels_)
    assert np.isfinite(model.score_samples(frame)).all()
    assert (np.diff(model.objective_history_) <= 0).all()
    complete, _ = customers(400)
    told = MixedDPMeans(n_clusters=4, random_state=0).fit(complete)
    assert adjusted_rand_score(y, model.labels_) < adjusted_rand_score(y, told.labels_)


def test_a_cell_that_is_missing_is_no_evidence(fitted):
    model, frame, _ = fitted
    empty = pd.DataFrame({name: [None] * 3 for name in frame})
    assert_array_equal(model.predict(empty), model.cluster_weights_.argmax())
    assert_array_equal(model.transform(empty), 0.0)


EDGES = {
    "one row": pd.DataFrame({"x": [1.0], "c": ["a"]}),
    "two rows": pd.DataFrame({"x": [1.0, 2.0], "c": ["a", "b"]}),
    "equal rows": pd.DataFrame({"x": [1.0] * 30, "c": ["a"] * 30}),
    "constant beside": pd.DataFrame({"x": [1.0] * 30, "y": np.arange(30.0)}),
    "all missing": pd.DataFrame({"x": [np.nan] * 30, "c": [None] * 30}),
    "one missing": pd.DataFrame({"x": [np.nan] * 30, "y": np.sin(np.arange(30.0))}),
    "names only": pd.DataFrame({"id": [f"r{i}" for i in range(30)]}),
    "one level": pd.DataFrame({"c": ["a"] * 30, "d": ["x", "y", "z"] * 10}),
    "one column": pd.DataFrame({"x": np.cos(np.arange(40.0))}),
    "copies": pd.DataFrame({"x": np.cos(np.arange(40.0)), "y": np.cos(np.arange(40.0))}),
    "huge": pd.DataFrame({"x": 1e300 * np.cos(np.arange(40.0)), "c": list("ab") * 20}),
    "tiny": pd.DataFrame({"x": 1e-300 * np.cos(np.arange(40.0)), "c": list("ab") * 20}),
    "far": pd.DataFrame({"x": np.r_[np.cos(np.arange(39.0)), 1e200], "c": list("ab") * 20}),
    "wide": pd.DataFrame(np.random.default_rng(0).normal(size=(12, 40))).rename(columns=str),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("k", [None, 2])
def test_edges_fit_and_predict(name, k):
    frame = EDGES[name]
    told = None if k is None else min(k, len(frame))
    model = quiet_fit(MixedDPMeans(n_clusters=told, random_state=0), frame)
    assert model.n_clusters_ <= (told or 2)
    assert np.isfinite(model.objective_)
    assert (np.diff(model.objective_history_) <= 0).all()
    assert_array_equal(model.predict(frame), model.labels_)
    assert len(np.unique(model.labels_)) == model.n_clusters_
    assert set(model.column_kinds_) == set(frame.columns)
    assert np.isfinite(model.cluster_centers_).all()


def test_new_rows(fitted):
    model, frame, _ = fitted
    new = frame[:4].copy()
    new["country"] = ["NZ", "DE", None, "FR"]  # NZ is a level that the fit has not seen
    assert np.isfinite(model.transform(new)).all()
    without = new.assign(country=[None, "DE", None, "FR"])
    assert_array_equal(model.predict(new), model.predict(without))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(new.rename(columns={"age": "years"}))
    unnamed = MixedDPMeans(n_clusters=2, random_state=0).fit(frame.to_numpy(dtype=object))
    with pytest.raises(ValueError, match="6 features"):
        unnamed.predict(new.drop(columns="age").to_numpy(dtype=object))


def test_novelty_by_share_and_by_penalty(fitted):
    model, frame, _ = fitted
    assert not (model.predict(frame) < 0).any()
    share = (model.predict(frame, novelty=0.05) < 0).mean()
    assert 0.02 < share < 0.08
    strange = frame[:1].assign(age=400.0, income=9e7, visits=5000, stars=1.0)
    assert_array_equal(model.predict(strange, novelty=0.01), [-1])
    fine = MixedDPMeans(0.5, max_clusters=4, random_state=0).fit(frame)  # a small penalty
    by_penalty = fine.predict(frame, novelty=True) < 0
    assert_array_equal(fine.predict(frame, novelty=True)[~by_penalty], fine.labels_[~by_penalty])
    dear = quiet_fit(MixedDPMeans(1e6, random_state=0), frame)
    assert not (dear.predict(strange, novelty=True) < 0).any()


def test_penalties():
    frame, _ = customers(200)
    numbers = [
        quiet_fit(MixedDPMeans(penalty, random_state=0), frame).n_clusters_
        for penalty in (1e6, 60.0, 5.0)
    ]
    assert numbers == sorted(numbers)
    assert numbers[0] == 1 < numbers[-1]
    chosen = MixedDPMeans(n_clusters=3, random_state=0).fit(frame)
    again = MixedDPMeans(chosen.cluster_penalty_, random_state=0).fit(frame)
    assert again.objective_ <= chosen.objective_ * (1 + 1e-6)


def test_one_cluster_is_told_with_the_nearest_number():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=300), "c": rng.choice(list("abc"), 300)})
    frame["y"] = frame["x"] + 0.5 * rng.normal(size=300)
    with pytest.warns(
        UserWarning, match=r"so there is one\. Nearest came 2 clusters.*n_clusters=2"
    ):
        model = MixedDPMeans(random_state=0).fit(frame)
    assert model.n_clusters_ == 1
    assert "Columns are associated: x with y." in model.status_ or "y with x" in model.status_
    assert not model.penalty_choice_["chosen"].any()


def test_too_many_clusters_are_told():
    frame = pd.DataFrame({"c": ["a", "b"] * 20, "d": ["x", "y"] * 20})
    with pytest.warns(UserWarning, match=r"not 5: no more were found whose rows differ"):
        assert MixedDPMeans(n_clusters=5, random_state=0).fit(frame).n_clusters_ < 5
    with pytest.raises(ValueError, match=r"at most the number of rows, 40\. Got 41"):
        MixedDPMeans(n_clusters=41).fit(frame)


def test_seeds_and_threads():
    frame, _ = customers(150, missing=0.1)
    one = MixedDPMeans(random_state=3, max_clusters=4, n_jobs=1).fit(frame)
    two = MixedDPMeans(random_state=3, max_clusters=4, n_jobs=2).fit(frame)
    assert_array_equal(one.labels_, two.labels_)
    assert one.objective_ == two.objective_
    assert_array_equal(one.score_samples(frame), two.score_samples(frame))


def test_clusters_by_size_are_those_of_the_fit(fitted):
    model, frame, _ = fitted
    numbered = by_size(model)
    assert_array_equal(numbered.labels_, model.labels_)
    assert_array_equal(numbered.predict(frame), model.labels_)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda m, X: certainty(m, X), "must be a fitted DPMeans or GaussianDPMeans. Got Mixed"),
        (lambda m, X: penalty_path(X, estimator=m), "must be one of DPMeans"),
        (lambda m, X: penalty_path(X, estimator=DPMeans(divergence="mixed")), "Pass n_clusters"),
        (lambda m, X: objective(X, m.labels_, 1.0, divergence="mixed"), "Got 'mixed' instead"),
        (lambda m, X: HDPMeans(divergence="mixed").fit(X, groups=X["stars"]), "Got 'mixed' inst"),
        (lambda m, X: ClustersDisplay.from_estimator(m, X), r"mixed table.*hardbayes\.report"),
        (lambda m, X: fit_figure(m, X), r"mixed table.*hardbayes\.report"),
        (lambda m, X: DPMeans(divergence="mixed", search="paper").fit(X), "must be 'split-merge'"),
        (lambda m, X: m.fit(X, sample_weight=np.zeros(len(X))), "at least one number > 0"),
        (lambda m, X: m.fit(X, sample_weight=-np.ones(len(X))), "sample_weight"),
        (lambda m, X: MixedDPMeans(-1.0).fit(X), "cluster_penalty"),
        (lambda m, X: MixedDPMeans(columns={"age": "old"}).fit(X), "Got 'old' for column 'age'"),
    ],
)
def test_what_is_not_there_is_said_in_one_sentence(call, match, fitted):
    model, frame, _ = fitted
    with pytest.raises((ValueError, TypeError), match=match) as caught:
        call(model, frame)
    assert "\n" not in str(caught.value)


def test_a_failed_fit_changes_nothing(fitted):
    model, frame, _ = fitted
    before = model.objective_
    with pytest.raises(ValueError, match="infinity"):
        model.fit(frame.assign(age=np.inf))
    assert model.objective_ == before
    assert model.get_params() == MixedDPMeans(n_clusters=4, random_state=0).get_params()


def test_public():
    assert {"Mixed", "MixedDPMeans"} <= set(hardbayes.__all__)


REPEATED = "weights are repetition in the objective, not in what the search draws"


@pytest.mark.filterwarnings("ignore:.*so there is one")  # the checks draw rows without any
@parametrize_with_checks(
    [MixedDPMeans(random_state=0, max_clusters=3), MixedDPMeans(n_clusters=2, random_state=0)],
    expected_failed_checks=lambda model: (
        {}
        if model.n_clusters is None
        else {"check_sample_weight_equivalence_on_dense_data": REPEATED}
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
