"""A stream: calls of any size, threads, budgets, bounds that hold, and rows of every kind."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans, MiniBatchDPMeans, objective
from tests.conftest import assert_same_bits, assert_same_numbers, quiet_fit
from tests.mini_batch.streams import (
    DIVERGENCES,
    WINDOW,
    assert_same_stream,
    cloud,
    rows_for,
    taken_up,
)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_micro_clusters": 100},
        {"half_life": 700.0},
        {"penalty": "auto"},
        {"penalty": 0.01, "penalty_per": "row"},
        {"refresh": 3},
        {"prior_weight": 2.0},
        {"n_jobs": 1},
    ],
    ids=str,
)
def test_how_a_stream_is_cut_changes_no_bit(options):
    X = cloud(5200, spread=0.5)
    last = 200  # rows of the last call, for the same labels
    cuts = {
        "whole": [5000],
        "sevens and blocks": [7] * 100 + [1000] * 4 + [300],
        "one by one": [1] * 50 + [4950],
    }
    models = {name: taken_up(X, sizes, **options) for name, sizes in cuts.items()}
    for model in models.values():
        assert len(model.labels_) == last
        assert_same_stream(model, models["whole"])


def test_rows_that_come_one_by_one_wait_in_few_windows():
    X = cloud(WINDOW - 1)
    model = MiniBatchDPMeans(5.0, random_state=0)
    for row in X:
        model.partial_fit(row[np.newaxis])
        assert len(model._seen.waiting) <= np.log2(WINDOW)
    assert model._seen.n_waiting == WINDOW - 1
    assert_same_numbers(model, taken_up(X, []), ["cluster_centers_", "objective_"])


def test_weights_and_times_are_cut_like_rows():
    X, rng = cloud(3000), np.random.default_rng(1)
    weights, times = rng.uniform(0, 2, 3000), np.cumsum(rng.exponential(1.0, 3000))
    weights[rng.random(3000) < 0.1] = 0.0
    given = {"weights": weights, "times": times, "half_life": 400.0}
    whole = taken_up(X, [2500], **given)
    for sizes in ([1] * 30 + [970, 1500], [1024, 1024, 452]):
        assert_same_stream(taken_up(X, sizes, **given), whole)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_threads_and_storage_change_nothing(divergence):
    X = rows_for(divergence, 3000)
    options = {"divergence": divergence, "penalty": 30.0, "max_micro_clusters": 150}
    model = taken_up(X, [], n_jobs=1, **options)
    assert_same_stream(taken_up(X, [], n_jobs=4, **options), model)
    other = taken_up(sparse.csr_array(X), [], **options)
    assert other.objective_ == pytest.approx(model.objective_, rel=0.02)
    assert_close_to_direct(other, X, divergence)


def assert_close_to_direct(model, X, divergence, weights=None):
    """The model tells the objective of its labels, where they are those of all rows."""
    told = objective(
        X,
        model.labels_,
        model.cluster_penalty_,
        divergence=divergence,
        prior_weight=model.prior_weight_,
        sample_weight=weights,
    )
    assert model.objective_ == pytest.approx(told, rel=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_the_objective_is_exact_for_the_partition_told(divergence, dtype):
    X = rows_for(divergence, 2500).astype(dtype)
    weights = np.random.default_rng(0).uniform(0.2, 3.0, 2500)
    for given in (None, weights):
        model = taken_up(X, [], 20.0, weights=given, divergence=divergence, max_micro_clusters=120)
        assert len(model.micro_weights_) <= 120
        assert_close_to_direct(model, X, divergence, given)
        assert model.cluster_centers_.dtype == dtype
        total = len(X) if given is None else given.sum()
        assert model.cluster_weights_.sum() == pytest.approx(total)
        assert model.micro_weights_.sum() == pytest.approx(total)
        own = np.bincount(model.labels_, given, model.n_clusters_)
        np.testing.assert_allclose(model.cluster_weights_, own)


def test_a_cluster_penalty_per_row_is_one_per_weight():
    X = cloud(3000)
    each = taken_up(X, [], 0.01, penalty_per="row")
    total = taken_up(X, [], 30.0)
    assert each.cluster_penalty_ == pytest.approx(30.0)
    assert each.objective_ == pytest.approx(total.objective_)


def test_without_losses_the_summary_is_all_rows():
    X = cloud(1500, spread=0.4)
    model = taken_up(X, [], max_micro_clusters=5000)
    batch = DPMeans(5.0, random_state=0).fit(X)
    assert len(model.micro_weights_) <= 1500
    assert model.objective_ <= 1.01 * batch.objective_
    assert taken_up(X[:WINDOW], []).summary_error_ == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_what_the_summary_hides_bounds_the_cost_of_any_centres(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.choice([1, 2, 8]))
    X = cloud(4000, d, 5, seed=seed, spread=rng.uniform(0.1, 1.0))
    model = taken_up(X, [], 20.0, max_micro_clusters=60)
    hidden = np.sqrt(model.summary_error_)
    means, weights = model.micro_centers_, model.micro_weights_
    for k in (1, 3, 30):
        centres = rng.standard_normal((k, d)) * rng.uniform(0.1, 5.0)
        whole = np.sqrt(((X[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum())
        small = np.sqrt(weights @ ((means[:, None] - centres) ** 2).sum(axis=2).min(axis=1))
        assert abs(whole - small) <= hidden * (1 + 1e-9)


@pytest.mark.parametrize("budget", [1, 2, 50, 300])
def test_the_budget_holds_over_a_long_stream(budget):
    rng = np.random.default_rng(0)
    model = MiniBatchDPMeans(200.0, max_micro_clusters=budget, random_state=0)
    for step in range(12):
        model.partial_fit(0.3 * step + rng.standard_normal((2500, 2)))
        assert len(model._seen.summary) <= budget
        assert model._seen.n_waiting < WINDOW
    # Rows that wait are a window of their own where results are read.
    assert len(model.micro_weights_) <= budget
    assert model.n_rows_seen_ == 30_000
    assert model.micro_weights_.sum() == pytest.approx(30_000)


def test_the_automatic_budget_is_in_proportion_to_the_clusters():
    X = cloud(12_000, 2, 90, spread=0.01)
    model = taken_up(X, [], 0.1)
    assert 70 <= model.n_clusters_ <= 90
    assert 2000 < len(model.micro_weights_) <= 50 * 90
    few = taken_up(cloud(12_000, 2, 3, spread=0.3), [], 500.0)
    assert len(few.micro_weights_) <= 2000


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_the_objective_never_rises(divergence):
    X = rows_for(divergence, 6000)
    model = MiniBatchDPMeans(20.0, divergence=divergence, random_state=0)
    for start in range(0, 6000, 1500):
        history = model.partial_fit(X[start : start + 1500]).objective_history_
        assert (np.diff(history) <= 0).all()
        assert model.objective_ == history[-1] and model.n_iter_ == len(history)
        assert model.converged_


@pytest.mark.parametrize("order", ["shuffled", "by cluster", "by column", "backwards"])
@pytest.mark.parametrize("d", [2, 16])
def test_the_order_of_rows_costs_little(order, d):
    rng = np.random.default_rng(5)
    kinds = rng.integers(0, 12, 6000)
    X = 3 * rng.standard_normal((12, d))[kinds] + rng.standard_normal((6000, d))
    by = {
        "shuffled": rng.permutation(6000),
        "by cluster": np.argsort(kinds, kind="stable"),
        "by column": np.argsort(X[:, 0]),
        "backwards": np.argsort(-X[:, 0]),
    }[order]
    penalty = 150.0 * d
    batch = DPMeans(penalty, random_state=0).fit(X)
    assert taken_up(X[by], [], penalty).objective_ <= 1.03 * batch.objective_


def test_scaling_by_a_power_of_two_changes_no_bit_but_the_scale():
    X = cloud(3000)
    one = taken_up(X, [], 5.0, max_micro_clusters=200)
    four = taken_up(4 * X, [], 80.0, max_micro_clusters=200)
    np.testing.assert_array_equal(one.labels_, four.labels_)
    np.testing.assert_array_equal(4 * one.micro_centers_, four.micro_centers_)
    assert 16 * one.objective_ == four.objective_


def test_weights_are_repetition_in_the_objective():
    X = cloud(1000, spread=0.5)
    times = np.random.default_rng(0).integers(0, 4, 1000)
    weighted = taken_up(X, [], 10.0, weights=times.astype(float))
    repeated = np.repeat(X, times, axis=0)
    told = objective(repeated, np.repeat(weighted.labels_, times), 10.0)
    assert weighted.objective_ == pytest.approx(told)
    again = taken_up(repeated, [], 10.0)
    assert again.objective_ == pytest.approx(weighted.objective_, rel=0.01)


def test_equal_weights_are_like_any_others():
    X = cloud(3000)
    double = taken_up(X, [], 10.0, weights=np.full(3000, 2.0))
    assert_same_numbers(double, taken_up(X, []), ["labels_", "cluster_centers_"])
    assert double.inertia_ == 2 * taken_up(X, []).inertia_
    fitted = MiniBatchDPMeans(10.0, random_state=0).fit(X, sample_weight=np.full(3000, 2.0))
    assert_same_stream(fitted, double)


@pytest.mark.parametrize("value", [0.0, 3.7, -1e8, 1e-30])
def test_equal_rows_are_one_cluster(value):
    model = taken_up(np.full((2600, 2), value), [5, 1030], 1.0)
    assert model.n_clusters_ == len(model.micro_weights_) == 1
    assert model.inertia_ == model.summary_error_ == 0.0 and model.objective_ == 1.0
    np.testing.assert_array_equal(model.cluster_centers_, np.full((1, 2), value))
    assert model.micro_weights_.tolist() == [2600.0]


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_one_row_is_one_cluster(divergence):
    X = rows_for(divergence, 1)
    model = taken_up(X, [], divergence=divergence)
    assert model.labels_.tolist() == [0] and model.cluster_ids_.tolist() == [0]
    assert model.events_ == [("born", 0, 1)]


def test_without_a_penalty_each_kind_of_row_is_a_cluster():
    X = np.random.default_rng(0).integers(0, 7, (3000, 1)).astype(float)
    model = taken_up(X, [1000], 0.0)
    assert sorted(model.cluster_centers_.ravel()) == list(range(7))
    assert model.inertia_ == 0.0
    wide = quiet_fit(MiniBatchDPMeans(0.0, max_micro_clusters=20), cloud(2000))
    assert wide.n_clusters_ <= 20


def test_an_automatic_penalty_is_chosen_once_and_finds_what_is_there():
    X = cloud(9000, 4, 6, spread=0.15)
    model = taken_up(X[:5000], [], "auto")
    penalty = model.cluster_penalty_ / 5000
    model.partial_fit(X[5000:])
    assert model.n_clusters_ == 6
    assert model.cluster_penalty_ / 9000 == pytest.approx(penalty, rel=1e-12)


def test_parameters_may_change_on_the_way():
    X = cloud(4000, 2, 8)
    model = taken_up(X[:3000], [], 5.0)
    many = model.n_clusters_
    assert model.set_params(cluster_penalty=1e5).partial_fit(X[3000:]).n_clusters_ == 1 < many
    capped = model.set_params(cluster_penalty=5.0, max_clusters=3).partial_fit(X[:1])
    assert capped.n_clusters_ == 3
    budget = capped.set_params(max_micro_clusters=30).partial_fit(X[:2000])
    assert len(budget.micro_weights_) <= 30


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_stream_that_moves_far_away_is_followed(dtype):
    rng = np.random.default_rng(0)
    near = rng.standard_normal((2000, 2)).astype(dtype)
    far = (1e6 + rng.standard_normal((2000, 2))).astype(dtype)
    model = MiniBatchDPMeans(1e5, random_state=0).partial_fit(near).partial_fit(far)
    assert model.n_clusters_ == 2
    np.testing.assert_allclose(
        np.sort(model.cluster_centers_, axis=0),
        [near.mean(axis=0, dtype=np.float64), far.mean(axis=0, dtype=np.float64)],
        rtol=1e-6,
    )


def test_sparse_and_dense_calls_make_one_stream():
    X = rows_for("poisson", 3000)
    mixed = MiniBatchDPMeans(50.0, divergence="poisson", random_state=0)
    mixed.partial_fit(sparse.csr_array(X[:1500])).partial_fit(X[1500:])
    whole = taken_up(sparse.csr_array(X), [1500], 50.0, divergence="poisson")
    assert_same_stream(mixed, whole)


def test_two_fits_have_the_same_bits():
    X = cloud(3000)
    one, two = (MiniBatchDPMeans(5.0, random_state=3).fit(X) for _ in range(2))
    assert_same_bits(one, two)
