"""search="split-merge", the default: Algorithm 1, and moves that leave its local optima."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from hardbayes import DPMeans, load, save
from hardbayes.datasets import make_blobs_apart
from tests.conftest import assert_all_finite, assert_same_bits, make_blobs, pairwise_sq, quiet_fit
from tests.dp_means.local_optima import (
    assert_no_merge_helps,
    assert_no_move_helps_by_formula,
    assert_no_single_move_helps,
    labelling_value,
)
from tests.interrupts import assert_survives_interrupts
from tests.random_inputs import between, put_zeros, random_cap, random_rows, random_weights
from tests.reference.brute_force import brute_force, optimum
from tests.reference.centroid_index import centroid_index
from tests.reference.certificates import assert_certificate, assert_history
from tests.reference.dp_means import same_partition

pytestmark = pytest.mark.usefixtures("both_sweeps")


def split_merge(cluster_penalty, **options):
    options = {"search": "split-merge", "order": "given", "random_state": 0, **options}
    return DPMeans(cluster_penalty, **options)


def random_problem(seed, largest=120):
    """(X, weights, options): squared distances for even seeds, KL for odd."""
    rng = np.random.default_rng(40_000 + seed)
    n, d = int(rng.integers(1, largest + 1)), int(rng.integers(1, 7))
    options = dict(
        max_clusters=random_cap(rng),
        prior_weight=float(rng.choice([0.0, 0.0, 0.5, 10.0])),
        init=str(rng.choice(["mean", "farthest-first", "k-means++"])),
        order=str(rng.choice(["given", "random"])),
        random_state=seed,
    )
    weights = random_weights(rng, n)
    if seed % 2 == 0:
        X = random_rows(rng, n, d)
        return X, weights, dict(options, cluster_penalty=between(rng, pairwise_sq(X)))
    X = rng.gamma(0.5, size=(n, d)) + 1e-3
    if options["prior_weight"]:
        put_zeros(rng, X, 0.4)
    return X, weights, dict(options, divergence="kl", cluster_penalty=float(rng.uniform(0.05, 2)))


def wide_cluster(n=500, d=2, seed=0):
    """One Gaussian: at a penalty of 50 no row of it is dear, and several clusters pay."""
    return np.random.default_rng(seed).standard_normal((n, d))


def gaussians_apart(k, seed):
    """k Gaussians of about thirty rows, more than ten deviations apart, and which row is whose."""
    rng = np.random.default_rng(seed)
    means, _ = make_blobs_apart(k, 2, k, separation=14.0, random_state=seed)
    member = rng.permutation(np.concatenate([np.arange(k), rng.integers(0, k, 29 * k)]))
    return means[member] + rng.standard_normal((len(member), 2)), member


def penalties_of_the_truth(X, member):
    """Penalties between which no true cluster is worth splitting and no two worth merging.

    Splitting a cluster saves no more than all it costs.
    """
    means = np.array([X[member == c].mean(axis=0) for c in range(member.max() + 1)])
    sizes = np.bincount(member)
    costs = np.bincount(member, ((X - means[member]) ** 2).sum(axis=1))
    a, b = np.triu_indices(len(means), 1)
    rises = sizes[a] * sizes[b] / (sizes[a] + sizes[b]) * ((means[a] - means[b]) ** 2).sum(axis=1)
    return costs.max(), rises.min()


def assert_consistent(model, X, weights=None):
    """What every result of this search must be, capped or not, whatever the divergence."""
    assert_certificate(model, X, weights)
    np.testing.assert_allclose(
        model.objective_, labelling_value(model, X, weights), rtol=1e-9, atol=1e-12
    )
    for name in ("n_splits_", "n_merges_"):
        assert type(getattr(model, name)) is int and getattr(model, name) >= 0
    assert model.max_clusters is None or model.n_clusters_ <= model.max_clusters


# --- against Algorithm 1 ---------------------------------------------------------------------


def test_it_is_the_default():
    assert inspect.signature(DPMeans).parameters["search"].default == "split-merge"
    X = wide_cluster()
    default = DPMeans(50.0, random_state=0).fit(X)
    assert_same_bits(default, DPMeans(50.0, search="split-merge", random_state=0).fit(X))


@pytest.mark.parametrize("seed", range(80))
def test_never_above_algorithm_1_from_the_same_start(seed):
    X, weights, options = random_problem(seed)
    container = [np.asarray, sparse.csr_array][seed // 2 % 2]
    paper = quiet_fit(DPMeans(search="paper", **options), container(X), weights)
    model = quiet_fit(DPMeans(search="split-merge", **options), container(X), weights)
    assert model.objective_ <= paper.objective_ * (1 + 1e-12)
    assert_consistent(model, X, weights)


@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_never_above_algorithm_1_from_given_centres(seed):
    X, weights, options = random_problem(seed)
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, min(len(X), options["max_clusters"] or len(X)) + 1))
    options["init"] = X[rng.choice(len(X), k, replace=False)]
    paper = quiet_fit(DPMeans(search="paper", **options), X, weights)
    model = quiet_fit(DPMeans(search="split-merge", **options), X, weights)
    assert model.objective_ <= paper.objective_ * (1 + 1e-12)
    assert_consistent(model, X, weights)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("seed", range(10))
def test_never_above_algorithm_1_in_float32(seed, container):
    X = make_blobs(300, 3, 8, seed=seed, spread=0.3, dtype=np.float32)[0]
    options = dict(cluster_penalty=0.5, random_state=seed)
    paper = DPMeans(search="paper", **options).fit(container(X))
    model = DPMeans(search="split-merge", **options).fit(container(X))
    assert model.objective_ <= paper.objective_ * (1 + 1e-9)
    assert model.cluster_centers_.dtype == np.float32
    assert_history(model)
    np.testing.assert_array_equal(model.predict(container(X)), model.labels_)
    np.testing.assert_allclose(model.objective_, labelling_value(model, X), rtol=1e-7)


# --- what a result is ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_no_merge_lowers_the_objective(seed):
    X, weights, options = random_problem(seed, largest=60)
    model = quiet_fit(DPMeans(search="split-merge", **options), X, weights)
    assert_no_merge_helps(model, X, weights)


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_no_single_move_lowers_the_objective(seed):
    X, weights, options = random_problem(seed, largest=20)
    model = quiet_fit(DPMeans(search="split-merge", **options), X, weights)
    assert_no_single_move_helps(model, X, weights)


def test_no_merge_and_no_single_move_helps_where_many_splits_were_made():
    X = wide_cluster(150)
    model = split_merge(6.0).fit(X)
    assert model.n_clusters_ > 4
    assert_no_merge_helps(model, X)
    assert_no_single_move_helps(model, X)


def test_no_merge_and_no_single_move_helps_among_many_rows():
    X = make_blobs(80_000, 2, 160, spread=0.03)[0]
    model = split_merge(1.0, max_iter=5000).fit(X)
    assert model.n_clusters_ > 50
    assert_no_move_helps_by_formula(model, X)


@pytest.mark.parametrize("seed", range(6))
def test_the_two_optima_agree(seed):
    X = np.random.default_rng(seed).gamma(0.5, size=(6, 2)) + 1e-3
    w = np.random.default_rng(seed).uniform(0.2, 2, 6)
    for divergence in ("squared_euclidean", "kl"):
        for eta in (0.0, 1.0):
            options = dict(divergence=divergence, prior_weight=eta, weights=w)
            best, _ = brute_force(X, 0.1, **options)
            np.testing.assert_allclose(optimum(X, 0.1, **options), best, rtol=1e-12)


def test_tiny_inputs_reach_the_optimum():
    missed = 0
    for seed in range(300):
        rng = np.random.default_rng(50_000 + seed)
        X = rng.standard_normal((int(rng.integers(2, 9)), int(rng.integers(1, 4))))
        penalty = between(rng, pairwise_sq(X))
        model = DPMeans(penalty, random_state=seed).fit(X)
        best = optimum(X, penalty)
        assert model.objective_ >= best * (1 - 1e-12)
        missed += model.objective_ > best * (1 + 1e-9)
    assert missed <= 3


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
@pytest.mark.parametrize(("k", "seed"), [(10, 0), (10, 1), (20, 2), (20, 3), (30, 4), (30, 5)])
def test_separated_gaussians_are_found(k, seed, share):
    """The true number of clusters, each where it belongs, across the penalties that ask for it."""
    X, member = gaussians_apart(k, seed)
    low, high = penalties_of_the_truth(X, member)
    assert 2 * low < high
    model = DPMeans(low ** (1 - share) * high**share, random_state=seed).fit(X)
    true = np.array([X[member == c].mean(axis=0) for c in range(k)])
    assert model.n_clusters_ == k
    assert centroid_index(model.cluster_centers_, true) == 0
    assert same_partition(model.labels_, member)


# --- the moves -------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_wide_cluster_that_no_row_would_leave_is_split(container, dtype):
    X = wide_cluster().astype(dtype)
    assert split_merge(50.0, search="paper").fit(container(X)).n_clusters_ == 1
    model = split_merge(50.0).fit(container(X))
    assert model.n_splits_ > 0
    assert model.n_clusters_ > 2
    assert model.objective_ < 0.7 * model.objective_history_[0]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("prior_weight", [0.0, 5.0])
def test_a_wide_cluster_of_histograms_is_split(container, prior_weight):
    rng = np.random.default_rng(0)
    topics = np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]])
    member = rng.permutation(np.repeat([0, 1], 150))
    X = rng.gamma(20 * topics[member])
    options = dict(divergence="kl", prior_weight=prior_weight)
    assert split_merge(5.0, search="paper", **options).fit(container(X)).n_clusters_ == 1
    model = split_merge(5.0, **options).fit(container(X))
    assert model.n_splits_ > 0
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(member, model.labels_) > 0.9


@pytest.mark.parametrize(("divergence", "penalty"), [("squared_euclidean", 20_000.0), ("kl", 2.0)])
def test_clusters_split_too_far_are_merged(divergence, penalty):
    X = np.random.default_rng(0).gamma(50.0, size=(200, 2))
    start = X[np.argsort(X[:, 0] / X[:, 1])[[20, 180]]]
    options = dict(divergence=divergence, prior_weight=0.0, init=start)
    assert split_merge(penalty, search="paper", **options).fit(X).n_clusters_ == 2
    model = split_merge(penalty, **options).fit(X)
    assert model.n_merges_ > 0
    assert model.n_clusters_ == 1


def test_a_row_at_its_nearest_centre_moves_where_that_pays():
    """The row at 2 is nearest to 1, the mean of its cluster, only because it drags it along."""
    X = np.array([[0.0], [2.0], [3.2], [3.2], [3.2], [3.2]])
    start = np.array([[1.0], [3.2]])
    stuck = split_merge(4.0, search="paper", init=start).fit(X)
    np.testing.assert_array_equal(stuck.labels_, [0, 0, 1, 1, 1, 1])
    model = split_merge(4.0, init=start).fit(X)
    assert same_partition(model.labels_, np.array([0, 1, 1, 1, 1, 1]))


@pytest.mark.parametrize("cap", [None, 3])
def test_one_cluster_in_two_and_two_in_one_are_put_right(cap):
    X, member = make_blobs_apart(300, 2, 3, random_state=0)
    means = np.array([X[member == c].mean(axis=0) for c in range(3)])
    start = np.array([means[0] + 0.3, means[0] - 0.3, means[1:].mean(axis=0)])
    penalty = np.sqrt(np.prod(penalties_of_the_truth(X, member)))
    stuck = quiet_fit(split_merge(penalty, search="paper", init=start, max_clusters=3), X)
    assert not same_partition(stuck.labels_, member)
    model = quiet_fit(split_merge(penalty, init=start, max_clusters=cap), X)
    assert same_partition(model.labels_, member)
    assert model.n_splits_ > 0 and model.n_merges_ > 0


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_a_cap_stops_splits(cap):
    model = quiet_fit(split_merge(50.0, max_clusters=cap), wide_cluster())
    assert model.n_clusters_ == cap
    assert_history(model)


@pytest.mark.parametrize("penalty", [1000.0, "auto"])
def test_a_cap_that_keeps_out_splits_alone_is_told(penalty):
    """No row is dearer than the penalty, but clusters would divide."""
    centres = np.array([(0, 0), (20, 0), (0, 20), (20, 20)])
    X = np.repeat(centres, 100, axis=0) + np.random.RandomState(0).randn(400, 2)
    model = DPMeans(penalty, max_clusters=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="at the cap of 2 clusters"):
        model.fit(X)
    assert model.converged_
    assert "cap" not in DPMeans(penalty, max_clusters=4, random_state=0).fit(X).status_


# --- symmetries ------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_jobs_gives_the_same_bits(container, dtype):
    X = container(wide_cluster(3000, 3).astype(dtype))
    options = dict(order="random", random_state=7)
    expected = split_merge(100.0, n_jobs=1, **options).fit(X)
    assert expected.n_splits_ > 0
    for n_jobs in (1, 2, 3, -1):
        model = split_merge(100.0, n_jobs=n_jobs, **options).fit(X)
        assert_same_bits(model, expected)
        assert (model.n_splits_, model.n_merges_) == (expected.n_splits_, expected.n_merges_)


def test_any_number_of_jobs_gives_the_same_bits_for_kl():
    X = np.random.default_rng(0).gamma(0.5, size=(600, 5)) + 1e-3
    options = dict(order="random", random_state=7, divergence="kl", init="k-means++")
    expected = split_merge(3.0, n_jobs=1, **options).fit(X)
    assert expected.n_clusters_ > 2
    for n_jobs in (2, 5):
        assert_same_bits(split_merge(3.0, n_jobs=n_jobs, **options).fit(X), expected)


@pytest.mark.parametrize("k", [-300, -31, -1, 3, 300])
@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
def test_power_of_two_scale(k, prior_weight):
    X = wide_cluster(300, 3)
    options = dict(prior_weight=prior_weight, random_state=0)
    plain = split_merge(30.0, **options).fit(X)
    assert plain.n_splits_ > 0
    scaled = split_merge(30.0 * 4.0**k, **options).fit(X * 2.0**k)
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)
    np.testing.assert_array_equal(scaled.cluster_centers_, plain.cluster_centers_ * 2.0**k)
    assert (scaled.n_splits_, scaled.n_merges_) == (plain.n_splits_, plain.n_merges_)


@pytest.fixture(scope="module")
def separated():
    """(X, member, penalty): fifteen Gaussians far apart, and the middle of what asks for them."""
    X, member = gaussians_apart(15, 8)
    return X, member, np.sqrt(np.prod(penalties_of_the_truth(X, member)))


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_separated_rows_makes_no_difference(separated, seed):
    X, _, penalty = separated
    order = np.random.default_rng(seed).permutation(len(X))
    plain, shuffled = split_merge(penalty).fit(X), split_merge(penalty).fit(X[order])
    assert same_partition(shuffled.labels_, plain.labels_[order])
    np.testing.assert_allclose(shuffled.objective_, plain.objective_, rtol=1e-10)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("seed", range(3))
def test_weights_are_repetition_for_separated_rows(seed, container):
    X, member = gaussians_apart(12, seed)
    w = np.random.default_rng(seed).integers(0, 4, len(X))
    w[: len(w) // 3] = 1
    repeated, classes = np.repeat(X, w, axis=0), np.repeat(member, w)
    penalty = np.sqrt(np.prod(penalties_of_the_truth(repeated, classes)))
    weighted = split_merge(penalty).fit(container(X), sample_weight=w)
    copies = split_merge(penalty).fit(container(repeated))
    assert same_partition(np.repeat(weighted.labels_, w), copies.labels_)
    np.testing.assert_allclose(weighted.objective_, copies.objective_, rtol=1e-9)


def test_rows_without_weight_are_labelled_but_never_a_centre(separated):
    X, _, penalty = separated
    rng = np.random.default_rng(0)
    far = np.concatenate([X + rng.normal(size=X.shape), rng.normal(size=(50, 2)) * 1e4])
    rows = np.concatenate([X, far])
    w = np.concatenate([np.ones(len(X)), np.zeros(len(far))])
    model, alone = split_merge(penalty).fit(rows, sample_weight=w), split_merge(penalty).fit(X)
    assert same_partition(model.labels_[w > 0], alone.labels_)
    np.testing.assert_allclose(model.objective_, alone.objective_, rtol=1e-9)
    assert_consistent(model, rows, w)


@pytest.mark.parametrize("seed", range(6))
def test_rows_without_weight_cost_nothing_in_a_wide_cluster(seed):
    X = wide_cluster(300, seed=seed)
    w = np.random.default_rng(seed).integers(0, 2, 300).astype(float)
    X[w == 0] *= 20
    model = split_merge(20.0).fit(X, sample_weight=w)
    assert model.n_splits_ > 0
    assert_consistent(model, X, w)


# --- limits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zero_penalty_is_one_cluster_per_distinct_row(dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2)).astype(dtype)[rng.integers(0, 30, 120)]
    model = split_merge(0.0).fit(X)
    assert model.n_clusters_ == len(np.unique(X, axis=0))
    assert model.objective_ <= 1e-10


@pytest.mark.parametrize("init", ["mean", "farthest-first", "given"])
def test_a_huge_penalty_is_one_cluster(init):
    X = wide_cluster()
    model = split_merge(1e12, init=X[:7] if init == "given" else init).fit(X)
    assert model.n_clusters_ == 1
    np.testing.assert_allclose(model.cluster_centers_[0], X.mean(axis=0), atol=1e-12)
    assert_consistent(model, X)


@pytest.mark.parametrize("penalty", [0.0, 1e-6, 1.0])
@pytest.mark.parametrize("value", [0.0, 0.1, -3.3e7])
def test_constant_rows_are_one_cluster(penalty, value):
    model = split_merge(penalty).fit(np.full((200, 3), value))
    assert model.n_clusters_ == 1
    assert (model.n_splits_, model.n_merges_) == (0, 0)
    assert_all_finite(model)


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
def test_one_row(penalty, divergence):
    X = np.array([[1.0, 2.0, 3.0]])
    model = split_merge(penalty, divergence=divergence).fit(X)
    assert model.n_clusters_ == 1
    assert_consistent(model, X)


@pytest.mark.parametrize("penalty", [1e-3, 0.5, 5.0])
def test_duplicates_stay_together(penalty):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 2))[rng.integers(0, 12, 300)]
    model = split_merge(penalty).fit(X)
    pairs = {(*row, label) for row, label in zip(X.tolist(), model.labels_.tolist(), strict=True)}
    assert len(pairs) == len(np.unique(X, axis=0))
    assert_consistent(model, X)
    assert_no_merge_helps(model, X)


# --- stopping, interrupts, files -------------------------------------------------------------


def test_one_sweep_works_and_warns():
    X = wide_cluster()
    model = split_merge(2.0, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(X)
    assert not model.converged_
    assert model.n_iter_ == 1
    assert_history(model)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(np.unique(model.labels_), np.arange(model.n_clusters_))


@pytest.mark.parametrize("max_iter", [2, 3, 5, 9])
def test_stopped_among_the_moves_it_agrees_with_itself(max_iter):
    X = wide_cluster()
    model = quiet_fit(split_merge(20.0, max_iter=max_iter), X)
    assert model.n_iter_ <= max_iter
    assert_history(model)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(np.unique(model.labels_), np.arange(model.n_clusters_))
    fit = objective_at(model, X)
    np.testing.assert_allclose(model.objective_, fit, rtol=1e-9)


def objective_at(model, X):
    """The objective of the labels at the model's own centres."""
    costs = ((X - model.cluster_centers_[model.labels_]) ** 2).sum(axis=1)
    return costs.sum() + model.cluster_penalty_ * model.n_clusters_


@pytest.mark.parametrize("move", ["splits", "merges"])
def test_an_interrupt_at_any_moment_leaves_the_old_model(move):
    X, other = wide_cluster(100), make_blobs(40, 2, 3, seed=1)[0]
    options = {"splits": (20.0, "mean"), "merges": (200.0, X[:6])}
    penalty, init = options[move]
    assert getattr(split_merge(penalty, init=init).fit(X), f"n_{move}_") > 0
    assert_survives_interrupts(lambda: split_merge(penalty, init=init, n_jobs=1), X, other)


class Stop:
    """A standard error that interrupts at a chosen report."""

    def __init__(self, at):
        self.left = at

    def write(self, text):
        self.left -= text.count("\n")
        if self.left <= 0:
            raise KeyboardInterrupt

    def flush(self):
        pass


def test_an_interrupt_in_any_report_leaves_the_old_model(monkeypatch, capsys):
    X = wide_cluster()
    model = split_merge(20.0, verbose=1).fit(X)
    n_reports = capsys.readouterr().err.count("\n")
    assert n_reports >= model.n_iter_
    before = dict(vars(model))
    for at in np.unique(np.linspace(1, n_reports, 8).astype(int)):
        monkeypatch.setattr("sys.stderr", Stop(at))
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)
        monkeypatch.undo()
        assert all(value is before[name] for name, value in vars(model).items())


def test_files_keep_the_counts_of_moves(tmp_path):
    model = split_merge(20.0, init=wide_cluster()[:30]).fit(wide_cluster())
    assert model.n_splits_ + model.n_merges_ > 0
    save(model, tmp_path / "model.hb")
    back = load(tmp_path / "model.hb")
    assert_same_bits(back, model)
    assert back.search == "split-merge"
    for name in ("n_splits_", "n_merges_"):
        assert type(getattr(back, name)) is int
        assert getattr(back, name) == getattr(model, name)


def test_splits_that_a_sample_proposes_and_all_rows_refuse_leave_no_trace():
    """Wide data: a sample overfits, every split it proposes may be undone, and sweeps go on."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(29, 32))
    X = centres[rng.integers(29, size=12_000)] + rng.normal(size=(12_000, 32))
    model = quiet_fit(split_merge(0.64 * 12_000 / 29, max_iter=150), X)
    assert (np.diff(model.objective_history_) <= 0).all()
    assert model.labels_.max() == model.n_clusters_ - 1
    np.testing.assert_allclose(model.objective_, objective_at(model, X), rtol=1e-9)
