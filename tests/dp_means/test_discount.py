"""Clusters that cost less the more there are."""

import numpy as np
import pytest

from hardbayes import DPMeans, load, penalty_path, row_blocks, save
from hardbayes.datasets import make_three_gaussians
from hardbayes.reports.solutions import reasons_for
from tests.conftest import quiet_fit
from tests.reference.brute_force import set_partitions

PARTITIONS = np.array(list(set_partitions(7)))
SIZES = PARTITIONS.max(axis=1) + 1
SEARCHES = [
    {"search": "paper"},
    {"search": "split-merge"},
    {"method": "collapsed"},
    {"search": "paper", "init": "farthest-first"},
]


def prices(penalty, discount, k):
    """What k clusters cost, one after the other."""
    return sum(penalty / j**discount for j in range(1, k + 1))


def drawn(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 2)) + 3 * rng.normal(size=(3, 2))[rng.integers(0, 3, 7)]
    return X, float(rng.uniform(0.3, 8)), float(rng.uniform(0.05, 0.95))


def spread(seed, n_clusters=20):
    """Clusters whose sizes follow a power law."""
    rng = np.random.default_rng(seed)
    sizes = np.ceil(60 * np.arange(1, n_clusters + 1) ** -1.2).astype(int)
    return np.concatenate([rng.normal(size=(s, 3)) + 9 * rng.normal(size=3) for s in sizes])


def fits_of(X):
    def of(rows):
        return ((rows - rows.mean(axis=0)) ** 2).sum()

    return np.array([sum(of(X[z == c]) for c in range(z.max() + 1)) for z in PARTITIONS])


@pytest.mark.parametrize("seed", range(12))
def test_finds_the_optimum_of_all_partitions(seed):
    X, penalty, discount = drawn(seed)
    paid = np.array([prices(penalty, discount, k) for k in range(8)])
    values = fits_of(X) + paid[SIZES]
    model = quiet_fit(DPMeans(penalty, discount=discount, random_state=0), X)
    assert model.objective_ == pytest.approx(values.min(), rel=1e-9)
    assert model.inertia_ + paid[model.n_clusters_] == pytest.approx(model.objective_, rel=1e-9)
    assert model.cluster_penalty_ == penalty


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_one_of_a_constant_penalty(seed):
    X, penalty, discount = drawn(seed)
    fits = fits_of(X)
    best = int(np.argmin(fits + [prices(penalty, discount, k) for k in SIZES]))
    k = SIZES[best]
    for price in (penalty / k**discount, penalty / (k + 1) ** discount):
        assert fits[best] + price * k <= (fits + price * SIZES).min() * (1 + 1e-12)


@pytest.mark.parametrize("options", SEARCHES)
@pytest.mark.parametrize("seed", range(3))
def test_never_rises(seed, options):
    X = spread(seed)
    weights = np.random.default_rng(seed).integers(0, 3, len(X)).astype(float)
    model = DPMeans(400.0, discount=0.6, n_init=2, random_state=seed, **options)
    quiet_fit(model, X, weights)
    assert (np.diff(model.objective_history_) <= 0).all()
    expected = model.inertia_ + prices(400.0, 0.6, model.n_clusters_)
    assert model.objective_ == pytest.approx(expected, rel=1e-9)
    if options.get("search") == "paper" or "method" in options:  # rows are at their nearest
        np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("max_iter", [1, 2, 3, 5])
def test_never_rises_where_steps_run_out(max_iter):
    X = np.random.default_rng(0).normal(size=(300, 4))
    model = DPMeans(5.0, discount=0.3, max_iter=max_iter, random_state=0)
    quiet_fit(model, X)
    assert (np.diff(model.objective_history_) <= 0).all()
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("options", SEARCHES)
def test_no_discount_changes_no_bit(options):
    X = spread(1)
    plain = quiet_fit(DPMeans(300.0, random_state=0, **options), X)
    none = quiet_fit(DPMeans(300.0, discount=0, random_state=0, **options), X)
    np.testing.assert_array_equal(plain.labels_, none.labels_)
    np.testing.assert_array_equal(plain.objective_history_, none.objective_history_)


@pytest.mark.parametrize("seed", range(3))
def test_a_higher_discount_gives_more_clusters(seed):
    X = spread(seed)
    numbers = [
        quiet_fit(DPMeans(2000.0, discount=d, random_state=0), X).n_clusters_
        for d in (0.0, 0.4, 0.8)
    ]
    assert numbers[0] < numbers[1] < numbers[2]


def test_weights_are_repetition_and_units_change_nothing():
    X, rng = spread(2), np.random.default_rng(0)
    weights = rng.integers(1, 4, len(X))
    how = {"discount": 0.5, "random_state": 0}
    repeated = quiet_fit(DPMeans(900.0, **how), np.repeat(X, weights, axis=0))
    weighted = quiet_fit(DPMeans(900.0, **how), X, weights)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-3)  # two descents
    scaled = quiet_fit(DPMeans(900.0 * 2.0**20, **how), X * 2.0**10, weights)
    np.testing.assert_array_equal(scaled.labels_, weighted.labels_)


def test_the_same_bits_by_block_and_for_any_number_of_threads(tmp_path):
    X = spread(3)
    how = {"discount": 0.5, "random_state": 0}
    one = quiet_fit(DPMeans(900.0, n_jobs=1, **how), X)
    two = quiet_fit(DPMeans(900.0, n_jobs=2, **how), X)
    blocks = quiet_fit(DPMeans(900.0, **how), row_blocks([X[:70], X[70:]]))
    for other in (two, blocks):
        np.testing.assert_array_equal(other.labels_, one.labels_)
        np.testing.assert_array_equal(other.objective_history_, one.objective_history_)
    save(one, tmp_path / "discounted.npz")
    read = load(tmp_path / "discounted.npz")
    far = np.array([[1e3, 0.0, 0.0]])
    assert read.predict(far, novelty=True)[0] == -1 and read.discount == 0.5


def test_novel_rows_cost_more_than_one_more_cluster():
    X = np.repeat([[0.0], [100.0], [200.0]], 5, axis=0)
    model = DPMeans(16.0, discount=0.5, random_state=0).fit(X)
    assert model.n_clusters_ == 3  # a fourth costs 8
    near, far = np.sqrt(8.0) * np.array([[0.999], [1.001]])
    np.testing.assert_array_equal(model.predict([near, far], novelty=True) == -1, [False, True])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cluster_penalty": "auto"}, "Pass a number as cluster_penalty"),
        ({"cluster_penalty": 1.0, "n_clusters": 2}, "n_clusters is told"),
        ({"cluster_penalty": 1.0, "divergence": "mixed"}, "mixed"),
        ({"cluster_penalty": 1.0, "discount": 1.0}, "discount"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*cluster_penalty.*is not used")
def test_errors_name_the_remedy(options, message):
    X, _ = make_three_gaussians(random_state=0)
    with pytest.raises(ValueError, match=message):
        DPMeans(**{"discount": 0.5, **options}).fit(X)


def test_a_path_has_constant_penalties():
    X = spread(0, n_clusters=6)
    discounted = DPMeans(300.0, discount=0.5, random_state=0)
    paths = [penalty_path(X, estimator=each) for each in (discounted, DPMeans(random_state=0))]
    np.testing.assert_array_equal(paths[0].penalties, paths[1].penalties)
    best = quiet_fit(discounted, X)
    assert best.n_clusters_ in paths[1].n_clusters
    assert reasons_for(best, "cluster", None) == [
        "The k-th cluster adds 300 / k^0.5 to the objective; penalty and discount were given."
    ]
