"""cluster_penalty="auto": the number of clusters that data ask for, and one where they ask none."""

import copy
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_clustering

from hardbayes import DPMeans, load, penalty_path, save
from hardbayes.datasets import make_blobs_apart, make_three_gaussians, make_word_histograms
from hardbayes.dp_means.choice.rule import needed_width
from tests.conftest import assert_all_finite, assert_same_bits, quiet_fit
from tests.dp_means.choice.mixtures import CLOUDS, gaussians_apart, long_pair, one_gaussian, square
from tests.dp_means.choice.test_references import ItakuraSaito
from tests.interrupts import assert_survives_interrupts
from tests.reference.dp_means import same_partition


def auto(seed=0, **options):
    return DPMeans(random_state=seed, **options)


def assert_plateau(model):
    """The two numbers that tell why: finite, and in the order that the number of clusters says."""
    width, reference = model.plateau_width_, model.plateau_reference_
    assert type(width) is float and type(reference) is float
    assert np.isfinite([width, reference]).all()
    assert width >= 0 and reference >= 0
    if model.n_clusters_ > 1:
        assert width > reference
    assert np.isfinite(model.cluster_penalty_) and model.cluster_penalty_ > 0


def assert_finds(model, member):
    assert model.n_clusters_ == member.max() + 1
    assert same_partition(model.labels_, member)
    assert_plateau(model)


# --- clusters far apart --------------------------------------------------------------------------


@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("k", [2, 3, 7, 15, 30])
def test_gaussians_in_the_plane(k, unequal):
    X, member = gaussians_apart(k, n=max(80, 16 * k), seed=k, unequal=unequal)
    assert_finds(auto(k).fit(X), member)


@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize(("k", "d"), [(3, 5), (15, 5), (2, 20), (7, 20)])
def test_gaussians_in_many_columns(k, d, unequal):
    X, member = gaussians_apart(k, d, max(80, 14 * k), seed=k, unequal=unequal)
    assert_finds(auto(d).fit(X), member)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_float32_and_offsets(dtype, offset):
    X, member = gaussians_apart(4, seed=1)
    model = auto().fit((X + offset).astype(dtype))
    assert_finds(model, member)
    assert model.cluster_centers_.dtype == dtype


@pytest.fixture(scope="module")
def three():
    """(X, member, fitted model): ninety rows of three clusters."""
    X, member = gaussians_apart(3, n=90, seed=5)
    return X, member, auto().fit(X)


@pytest.mark.parametrize("power", [-300, -31, 3, 300])
def test_powers_of_two_change_nothing(three, power):
    X, _, plain = three
    model = auto().fit(X * 2.0**power)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_allclose(model.cluster_penalty_, plain.cluster_penalty_ * 4.0**power)
    assert model.plateau_width_ == pytest.approx(plain.plateau_width_)
    assert model.plateau_reference_ == pytest.approx(plain.plateau_reference_)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e-3, 1e3, 1e30, 1e150])
def test_any_scale(three, scale):
    X, member, plain = three
    model = auto().fit(X * scale)
    assert_finds(model, member)
    assert_all_finite(model)
    np.testing.assert_allclose(model.cluster_penalty_ / scale**2, plain.cluster_penalty_, rtol=1e-6)


def test_the_largest_numbers_of_float32(three):
    """Rows like these would not all fit float32."""
    X, member, _ = three
    rows = (X / np.abs(X).max() * 3.4e38).astype(np.float32)
    assert_finds(auto().fit(rows), member)


@pytest.mark.parametrize("scale", [1e-17, 1e17])
def test_any_scale_in_float32(three, scale):
    X, member, _ = three
    assert_finds(auto().fit((X * scale).astype(np.float32)), member)


def test_the_middle_of_the_plateau_is_taken(three):
    X, _, model = three
    plateau = next(p for p in penalty_path(X, estimator=auto(1)).plateaus if p.k == 3)
    assert model.cluster_penalty_ == pytest.approx(plateau.middle, rel=0.02)
    assert model.plateau_width_ == pytest.approx(plateau.width, rel=0.02)
    for penalty in (plateau.low * 1.05, plateau.high / 1.05):
        fitted = DPMeans(penalty, random_state=0).fit(X)
        assert same_partition(fitted.labels_, model.labels_)


def test_overlapping_gaussians():
    X, y = make_three_gaussians(random_state=0)
    for seed in range(2):
        model = auto(seed).fit(X)
        assert model.n_clusters_ == 3
        assert adjusted_rand_score(y, model.labels_) > 0.8


@pytest.mark.parametrize("seed", [1, 2, 6])
def test_long_clusters_side_by_side(seed):
    """No plateau stands out, and only in the metric within clusters are there few rows between."""
    X, member = long_pair(np.random.default_rng(seed))
    model = auto().fit(X)
    assert model.n_clusters_ == 2
    assert model.plateau_width_ < needed_width(2, model.plateau_reference_)
    assert adjusted_rand_score(member, model.labels_) > 0.5


def test_copies_of_a_few_rows():
    """No remainder at all: best down to any penalty, and still finite."""
    member = np.repeat(np.arange(4), 15)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    model = auto().fit(10.0 * rotation[member])  # of the identity: the levels of a category
    assert_finds(model, member)
    assert_all_finite(model)


def test_the_levels_of_one_category_are_no_clusters():
    """Where they are all there is, there is one cluster, and a sentence names the columns."""
    levels = np.random.default_rng(0).choice(4, 60)
    with pytest.warns(UserWarning, match="one category, columns 0 to 3 of X"):
        model = auto().fit(10.0 * np.eye(4)[levels])
    assert model.n_clusters_ == 1


def test_clusters_that_one_discrete_column_explains_are_none():
    rng = np.random.RandomState(0)
    visits = np.where(rng.random_sample(400) < 0.5, 0.0, 8.0 + rng.poisson(8.0, 400))
    rows = np.column_stack([rng.normal(size=(400, 2)), (visits - visits.mean()) / visits.std()])
    with pytest.warns(UserWarning, match="Not counted.*column 2 of X"):
        assert auto().fit(rows).n_clusters_ == 1


def test_clusters_that_other_columns_show_too_stay():
    """A column that says which cluster a row is in does not count against the clusters."""
    rng = np.random.RandomState(0)
    member = rng.randint(3, size=450)
    rows = 6.0 * np.eye(3)[member] + rng.normal(size=(450, 3))
    assert_finds(auto().fit(np.column_stack([rows, 4.0 * member])), member)


@pytest.mark.parametrize("column", [0.0, 7.0, -1e5])
def test_a_constant_column_changes_nothing(three, column):
    X, member, _ = three
    assert_finds(auto().fit(np.column_stack([X, np.full(len(X), column)])), member)


# --- weights, containers, divergences ------------------------------------------------------------


def test_weights_are_repetition(three):
    X, member, _ = three
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    model = auto().fit(X, sample_weight=weights)
    repeated = auto().fit(np.repeat(X, weights, axis=0))
    assert_finds(model, member)
    assert same_partition(np.repeat(model.labels_, weights), repeated.labels_)
    assert model.plateau_width_ == pytest.approx(repeated.plateau_width_, rel=0.05)


def test_weights_scale_the_penalty(three):
    X, _, plain = three
    model = auto().fit(X, sample_weight=np.full(len(X), 8.0))
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert model.cluster_penalty_ == pytest.approx(8 * plain.cluster_penalty_)


def test_clusters_without_weight_do_not_count():
    X, member = gaussians_apart(5, seed=2)
    model = auto().fit(X, sample_weight=(member < 3) * 1.0)
    assert model.n_clusters_ == 3
    assert model.labels_.shape == (len(X),)
    np.testing.assert_array_equal(model.labels_, model.predict(X))


def test_rows_without_weight_are_absent(three):
    """Also from the data without structure, whose box they would stretch."""
    X, member, plain = three
    far = np.array([[1e6, 0.0], [0.0, -1e6]])
    weights = np.append(np.ones(len(X)), [0.0, 0.0])
    model = auto().fit(np.concatenate([X, far]), sample_weight=weights)
    assert same_partition(model.labels_[: len(X)], member)
    assert model.plateau_width_ == pytest.approx(plain.plateau_width_)
    assert model.plateau_reference_ == pytest.approx(plain.plateau_reference_)


def test_heavy_rows_are_many_rows():
    """Two clusters of one heavy row each among many light ones, and the same with copies."""
    X, member = gaussians_apart(4, n=120, seed=3)
    weights = np.where(np.arange(len(X)) % 10 == 0, 30, 1)
    model = auto().fit(X, sample_weight=weights)
    repeated = auto().fit(np.repeat(X, weights, axis=0))
    assert_finds(model, member)
    assert same_partition(np.repeat(model.labels_, weights), repeated.labels_)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
def test_sparse_rows(three, kind):
    X, member, _ = three
    assert_finds(auto().fit(kind(X)), member)


@pytest.mark.parametrize("kind", ["dense", "csr", "float32"])
def test_topics(kind):
    X, y = make_word_histograms(100, 30, 4, random_state=1, sparse=kind == "csr")
    model = auto(divergence="kl").fit(X.astype(np.float32) if kind == "float32" else X)
    assert_finds(model, y)


def test_full_histograms():
    """No zeros: another prior, and other data without structure."""
    rng = np.random.default_rng(0)
    member = rng.permutation(np.repeat([0, 1, 2], 40))
    X = rng.gamma(np.array([[90.0, 10, 20, 20], [10, 90, 20, 20], [20, 20, 50, 60]])[member])
    model = auto(divergence="kl").fit(X)
    assert model.prior_weight_ == 0.0
    assert_finds(model, member)


def one_kind_of_histogram(seed=0, n=80):
    return np.random.default_rng(seed).dirichlet(np.full(5, 40.0), n)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_histograms_of_one_kind(scale):
    model = quiet_fit(auto(divergence="kl", max_clusters=9), one_kind_of_histogram() * scale)
    assert model.n_clusters_ == 1
    assert_plateau(model)


def test_lengths_of_histograms_do_not_matter():
    """KL divides each row by its sum, so what data are compared with must not know of it either."""
    X = one_kind_of_histogram()
    lengths = np.random.default_rng(1).lognormal(0.0, 2.0, (len(X), 1))
    model = auto(divergence="kl", max_clusters=9)
    plain, scaled = (quiet_fit(copy.copy(model), rows) for rows in (X, X * lengths))
    assert scaled.plateau_width_ == pytest.approx(plain.plateau_width_)
    assert scaled.plateau_reference_ == pytest.approx(plain.plateau_reference_, rel=0.3)


def test_another_geometry():
    X = np.random.default_rng(0).lognormal(0.0, 2.0, (300, 1))
    model = quiet_fit(auto(divergence=ItakuraSaito(), max_clusters=12), X)
    assert_all_finite(model)
    assert_plateau(model)


# --- other searches ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"search": "paper"},
        {"search": "paper", "order": "given"},
        {"method": "collapsed"},
        {"init": "k-means++"},
        {"init": "farthest-first"},
        {"n_init": 2},
        {"max_clusters": 12},
        {"max_iter": 1000},
    ],
)
def test_other_searches_find_about_as_many(options):
    X, member = gaussians_apart(5, n=90, seed=6)
    model = auto(**options).fit(X)
    assert abs(model.n_clusters_ - 5) <= (1 if options.keys() & {"search", "method"} else 0)
    assert adjusted_rand_score(member, model.labels_) > 0.9
    assert_plateau(model)


@pytest.mark.parametrize("prior_weight", [0.5, 2.0, 5.0])
def test_a_prior_on_the_centres(prior_weight):
    X, member = gaussians_apart(6, n=120, seed=2)
    assert_finds(auto(prior_weight=prior_weight).fit(X), member)


def test_given_centres_are_where_the_fit_starts(three):
    X, member, _ = three
    start = X[:2].copy()
    model = auto(init=start).fit(X)
    assert_finds(model, member)
    np.testing.assert_array_equal(start, X[:2])


@pytest.mark.parametrize("cap", [1, 2, 3, 4, 8])
def test_a_cap_is_kept(cap):
    X, _ = gaussians_apart(4, n=100, seed=1)
    model = quiet_fit(auto(max_clusters=cap), X)
    assert model.n_clusters_ <= cap
    assert_plateau(model)


def test_a_cap_at_the_truth():
    X, member = gaussians_apart(4, n=100, seed=1)
    assert_finds(quiet_fit(auto(max_clusters=4), X), member)


@pytest.mark.parametrize("cap", [2, 3])
def test_a_cap_below_the_truth(cap):
    """The penalty is chosen as if there were no cap."""
    X, _ = gaussians_apart(4, n=100, seed=1)
    plain, model = auto().fit(X), quiet_fit(auto(max_clusters=cap), X)
    assert model.n_clusters_ == cap
    assert model.cluster_penalty_ == plain.cluster_penalty_


@pytest.mark.parametrize(("k", "n"), [(2, 10), (2, 20), (3, 20), (5, 40)])
def test_few_rows_in_clusters_far_apart(k, n):
    X, member = make_blobs_apart(n, 2, k, separation=40.0, random_state=0)
    assert_finds(auto().fit(X), member)


# --- no clusters ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cloud", CLOUDS)
def test_one_cloud_is_one_cluster(cloud, seed):
    X = cloud(np.random.default_rng(seed), 150)
    model = quiet_fit(auto(seed), X)
    assert model.n_clusters_ == 1
    assert_plateau(model)
    np.testing.assert_allclose(model.cluster_centers_[0], X.mean(axis=0), atol=1e-9)


@pytest.mark.parametrize("cloud", [one_gaussian, square])
def test_one_cloud_is_one_cluster_with_a_prior_too(cloud):
    """A prior stops splits at some number of clusters: that this is best from there on is no sign.

    How far down the penalty goes is the path's choice, not the data's.
    """
    model = quiet_fit(auto(prior_weight=1.0), cloud(np.random.default_rng(0), 150))
    assert model.n_clusters_ == 1
    assert_plateau(model)


def test_documents_of_one_topic():
    X, _ = make_word_histograms(200, 40, 1, concentration=0.3, random_state=0)
    model = quiet_fit(auto(divergence="kl"), X)
    assert model.n_clusters_ == 1
    assert_plateau(model)


@pytest.mark.parametrize(
    "X",
    [
        np.ones((60, 3)),
        np.zeros((40, 2)),
        np.full((30, 1), 1e12),
        np.full((30, 2), -1e-300),
        np.array([[3.0, 4.0]]),
        np.array([[3.0], [3.0]]),
        np.array([[3.0, 1.0], [4.0, 1.0]]),
        sparse.csr_array((20, 4)),
        sparse.csr_array(np.eye(1, 4)),
    ],
    ids=lambda X: f"{type(X).__name__}{X.shape}",
)
def test_constant_rows_one_row_and_two(X):
    model = auto().fit(X)
    assert model.n_clusters_ == 1
    assert_plateau(model)
    assert_all_finite(model)
    assert model.converged_
    np.testing.assert_array_equal(model.predict(X), np.zeros(X.shape[0]))


def test_one_histogram():
    for X in (np.array([[1.0, 2.0, 0.0]]), np.tile([1.0, 2.0, 0.0], (30, 1))):
        model = auto(divergence="kl").fit(X)
        assert model.n_clusters_ == 1
        assert_plateau(model)


# --- attributes ----------------------------------------------------------------------------------


def test_attributes_belong_to_the_automatic_penalty(three):
    X, _, model = three
    other = copy.deepcopy(model).set_params(cluster_penalty=50.0).fit(X)
    assert not hasattr(other, "plateau_width_") and not hasattr(other, "plateau_reference_")
    assert hasattr(other.set_params(cluster_penalty="auto").fit(X), "plateau_width_")


def test_the_parameter_stays_auto(three):
    _, _, model = three
    assert model.cluster_penalty == "auto"
    assert model.get_params()["cluster_penalty"] == "auto"


@pytest.mark.parametrize("found", [True, False])
def test_files_keep_the_plateau(three, tmp_path, found):
    model = three[2] if found else auto().fit(np.ones((5, 2)))
    save(model, tmp_path / "model.hb")
    back = load(tmp_path / "model.hb")
    assert_same_bits(back, model)
    assert back.cluster_penalty == "auto"
    for name in ("plateau_width_", "plateau_reference_"):
        assert type(getattr(back, name)) is float
        assert getattr(back, name) == getattr(model, name)


@pytest.mark.filterwarnings("ignore:Converged")
@pytest.mark.parametrize("container", [np.array, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
def test_inputs_are_not_touched(container, divergence):
    rows, _ = make_word_histograms(60, 12, 2, random_state=0)
    X, weights = container(rows), np.random.default_rng(0).uniform(0.5, 2.0, 60)
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    before, weights_before = copy.deepcopy(parts), weights.copy()
    for part in (*parts, weights):
        part.flags.writeable = False
    auto(divergence=divergence).fit(X, sample_weight=weights)
    for old, new in zip(before, parts, strict=True):
        np.testing.assert_array_equal(old, new)
    np.testing.assert_array_equal(weights, weights_before)


# --- contract ------------------------------------------------------------------------------------


@pytest.mark.parametrize("readonly_memmap", [False, True])
def test_scikit_learns_check_of_clusterers(readonly_memmap):
    check_clustering("DPMeans", DPMeans(), readonly_memmap=readonly_memmap)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_same_bits_for_any_number_of_jobs(container):
    X = container(gaussians_apart(3, 4, 72, seed=1)[0])
    expected = auto(7, n_jobs=1).fit(X)
    for n_jobs in (1, 2, 4):
        model = auto(7, n_jobs=n_jobs).fit(X)
        assert_same_bits(model, expected)
        assert model.plateau_width_ == expected.plateau_width_
        assert model.plateau_reference_ == expected.plateau_reference_


def test_numpys_own_stream_is_left_alone(three):
    state = np.random.get_state()[1].copy()
    DPMeans(max_clusters=8).fit(three[0])
    np.testing.assert_array_equal(np.random.get_state()[1], state)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_rows_are_named(three, bad):
    X, _, fitted = three
    X, model = X.copy(), copy.deepcopy(fitted)
    before = dict(vars(model))
    X[41, 1] = bad
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity) at row 41, column 1"):
        model.fit(X)
    assert all(value is before[name] for name, value in vars(model).items())


def test_an_interrupt_leaves_the_old_model():
    """The moments fall into the path of the data, those of the references, and the fit."""
    X, other = (gaussians_apart(2, n=26, seed=seed)[0] for seed in (0, 1))
    assert auto().fit(X).n_clusters_ == 2
    # With helping threads the number of calls would change from fit to fit.
    assert_survives_interrupts(partial(auto, n_jobs=1), X, other, number=8)


def test_nothing_is_printed(three, capfd):
    auto().fit(three[0])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("d", [2, 20, 300])
def test_two_or_three_rows_are_one_cluster(n, d):
    X = np.random.RandomState(0).choice([-1.0, 1.0], size=(n, d))
    assert DPMeans(random_state=0).fit(X).n_clusters_ == 1


@pytest.mark.parametrize("d", [3, 4, 5])
def test_coin_flips_are_one_cluster_though_every_pattern_fits(d):
    """Sixteen patterns leave no remainder, but neither do those of other coin flips."""
    X = (np.random.RandomState(0).rand(800, d) < 0.5).astype(float)
    model = quiet_fit(auto(divergence="logistic"), X)
    assert model.n_clusters_ == 1
    assert (model.penalty_choice_["strength"] < 1).all()
