"""Streams of several machines as one."""

import copy
import re

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans, MiniBatchDPMeans, load, objective, save
from tests.mini_batch.streams import DIVERGENCES, assert_same_stream, cloud, rows_for, taken_up


def counts(n, *, seed=0):
    """Rows of small integers: every sum is exact."""
    return np.random.default_rng(seed).integers(0, 30, (n, 3)).astype(float)


def test_weights_and_sums_are_those_of_both():
    X, Y = counts(3000), counts(1700, seed=1)
    one, two = (taken_up(Z, [500], max_micro_clusters=80) for Z in (X, Y))
    merged = copy.deepcopy(one).merge(two)
    assert merged.n_rows_seen_ == 4700
    assert len(merged.micro_weights_) <= 80
    assert merged.micro_weights_.sum() == 4700
    assert merged.cluster_weights_.sum() == 4700
    totals = merged.micro_weights_ @ merged.micro_centers_
    np.testing.assert_allclose(totals, X.sum(axis=0) + Y.sum(axis=0), rtol=1e-14)
    # Weights and sums of clusters are exact; so is what the fit term makes of them.
    rows = np.concatenate([X, Y])
    spread = ((rows - rows.mean(axis=0)) ** 2).sum()
    between = merged.cluster_weights_ @ ((merged.cluster_centers_ - rows.mean(axis=0)) ** 2).sum(
        axis=1
    )
    assert merged.inertia_ == pytest.approx(spread - between, rel=1e-10)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_without_losses_the_objective_is_that_of_all_rows(divergence):
    X = rows_for(divergence, 1600)
    one, two = (
        taken_up(part, [], 30.0, divergence=divergence, max_micro_clusters=4000)
        for part in (X[:900], X[900:])
    )
    labels_of_one = one.labels_
    merged = one.merge(two)
    batch = DPMeans(30.0, divergence=divergence, random_state=0).fit(X)
    assert merged.objective_ <= 1.02 * batch.objective_
    labels = merged.predict(X)
    told = objective(X, labels, 30.0, divergence=divergence, prior_weight=merged.prior_weight_)
    assert told <= merged.objective_ * (1 + 1e-9)
    # Labels are still those of the last call of this model, in the clusters of both.
    assert len(merged.labels_) == len(labels_of_one) == 900
    assert (merged.labels_ == labels[:900]).mean() > 0.9


def test_the_parts_of_a_table_make_nearly_its_fit():
    X = cloud(8000, 4, 10, spread=0.7)
    parts = [taken_up(part, [], 60.0) for part in np.array_split(X[X[:, 0].argsort()], 5)]
    merged = parts[0]
    for part in parts[1:]:
        merged.merge(part)
    batch = DPMeans(60.0, random_state=0).fit(X)
    assert merged.n_rows_seen_ == 8000
    assert merged.objective_ <= 1.03 * batch.objective_


def test_the_other_is_unchanged_and_names_stay():
    one, two = taken_up(cloud(2000), []), taken_up(50 + cloud(2000, seed=1), [])
    own, twin = one.cluster_ids_.tolist(), copy.deepcopy(two)
    names = dict(zip(own, one.cluster_centers_, strict=True))
    one.merge(two)
    assert_same_stream(two, twin)
    assert set(own) <= set(one.cluster_ids_.tolist())
    for name, centre in zip(one.cluster_ids_.tolist(), one.cluster_centers_, strict=True):
        if name in names:
            np.testing.assert_allclose(centre, names[name], atol=0.2)
    new = [event[1] for event in one.events_ if event[0] == "born" and event[2] == 4000]
    assert len(new) == two.n_clusters_


def test_a_new_model_takes_all_and_goes_its_own_way():
    X = cloud(1500)
    other = taken_up(X, [])
    model = MiniBatchDPMeans(5.0, random_state=0).merge(other)
    assert_same_stream(model, copy.deepcopy(other))
    model.partial_fit(X + 40.0)
    assert other.n_rows_seen_ == 1500 and model.n_rows_seen_ == 3000
    assert_same_stream(other, taken_up(X, []))


def test_both_go_on_after_they_are_merged():
    X = cloud(3000)
    one, two = taken_up(X[:700], []), taken_up(X[700:1500], [])
    one.merge(two).partial_fit(X[1500:])
    assert one.n_rows_seen_ == 3000 and one.micro_weights_.sum() == 3000
    assert len(one.labels_) == 1500
    batch = DPMeans(5.0, random_state=0).fit(X)
    assert one.objective_ <= 1.03 * batch.objective_


def test_merging_with_a_file_between_has_the_same_bits(tmp_path):
    one, two = taken_up(cloud(1500), []), taken_up(cloud(2500, seed=1), [])
    save(two, tmp_path / "two")
    there = copy.deepcopy(one).merge(load(tmp_path / "two"))
    assert_same_stream(there, one.merge(two))


def test_numbered_rows_fade_as_if_both_had_run_side_by_side():
    X, Y, half_life = cloud(1500), cloud(900, seed=1), 400.0
    one, two = (taken_up(Z, [], 20.0, half_life=half_life) for Z in (X, Y))
    weight = sum((2.0 ** (-np.arange(n) / half_life)).sum() for n in (1500, 900))
    assert one.merge(two).cluster_weights_.sum() == pytest.approx(weight)
    later = one.partial_fit(cloud(1, seed=2)).cluster_weights_.sum()
    assert later == pytest.approx(1 + weight * 2 ** (-1 / half_life))


def test_times_hold_for_both():
    half_life, X = 10.0, cloud(600)
    one = taken_up(X, [], half_life=half_life, times=np.full(600, 30.0))
    for time, weight in ((30.0, 1200.0), (20.0, 900.0), (40.0, 900.0)):
        two = taken_up(X, [], half_life=half_life, times=np.full(600, time))
        assert copy.deepcopy(one).merge(two).cluster_weights_.sum() == pytest.approx(weight)
        assert copy.deepcopy(two).merge(one).cluster_weights_.sum() == pytest.approx(weight)


def test_dense_and_sparse_streams_are_merged():
    X = rows_for("poisson", 2000)
    dense = taken_up(X[:1000], [], 30.0, divergence="poisson")
    other = taken_up(sparse.csr_array(X[1000:]), [], 30.0, divergence="poisson")
    both = copy.deepcopy(dense).merge(other)
    assert both.micro_weights_ @ both.micro_centers_ == pytest.approx(X.sum(axis=0))
    back = other.merge(dense)
    assert back.objective_ == pytest.approx(both.objective_, rel=0.02)


def test_what_cannot_be_merged_is_refused_with_a_remedy():
    X = cloud(50)
    model = MiniBatchDPMeans(1.0).partial_fit(X)
    before = copy.deepcopy(model)
    message = re.escape("The 'other' parameter of merge must be ")
    with pytest.raises(ValueError, match=message + "a MiniBatchDPMeans that has seen rows"):
        model.merge(MiniBatchDPMeans())
    with pytest.raises(ValueError, match=message + "a MiniBatchDPMeans that has seen rows"):
        model.merge(DPMeans(1.0).fit(X))
    with pytest.raises(ValueError, match=message + "a model of rows with as many features"):
        model.merge(MiniBatchDPMeans(1.0).partial_fit(X[:, :2]))
    with pytest.raises(ValueError, match="with times where this one has times"):
        model.merge(MiniBatchDPMeans(1.0, half_life=3.0).partial_fit(X, time=1.0))
    with pytest.raises(ValueError, match="'divergence' parameter of MiniBatchDPMeans must stay"):
        model.merge(MiniBatchDPMeans(1.0, divergence="kl").partial_fit(np.abs(X)))
    assert_same_stream(model, before)
    weightless = MiniBatchDPMeans(1.0).partial_fit(X, sample_weight=np.zeros(50))
    merged = model.merge(weightless)
    assert merged.objective_ == before.objective_ and merged.n_rows_seen_ == 100
