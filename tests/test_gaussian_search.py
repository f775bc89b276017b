"""The compiled passes of clusters with covariances against literal versions; how k is chosen."""

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import invgamma, norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from hardbayes import DPMeans, GaussianDPMeans
from hardbayes.engine.gaussian import restarts as gaussian_restarts
from hardbayes.engine.gaussian.descent import GaussianDescent
from hardbayes.engine.gaussian.likelihood import likelier, marginal_misfit, misfit
from hardbayes.engine.gaussian.restarts import one_cluster, say_nothing
from hardbayes.executors.gaussian import rows as gaussian_rows
from hardbayes.executors.gaussian.rows import GaussianRows
from hardbayes.pool import Pool
from hardbayes.structure.gaussians import GaussianPartition, Gaussians, united
from tests.conftest import quiet_fit
from tests.test_gaussian import KINDS, elongated, literal_objective


@pytest.fixture(params=KINDS)
def data(request, monkeypatch):
    """Rows with weights, some zero, cut into many tiles for two threads."""
    monkeypatch.setattr(gaussian_rows, "TILE", 50)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(90, 3)) * [3.0, 1.0, 0.5] + 4.0 * rng.integers(0, 3, (90, 1))
    weights = rng.integers(0, 3, 90).astype(float)
    with Pool(2) as pool:
        yield GaussianRows(rows, weights, request.param == "diag", pool)


def literal_scatter(data, labels, c):
    rows, w = data.rows[labels == c], data.weights[labels == c]
    gaps = rows - w @ rows / w.sum()
    scatter = (w[:, None] * gaps).T @ gaps
    return np.diag(np.diag(scatter)) if data.diagonal else scatter


def literal_value(data, labels):
    kind = "diag" if data.diagonal else "full"
    return literal_objective(data.rows, labels, data.weights, np.eye(data.d), 1.0, 0.0, kind)


def literal_distances(data, labels, k):
    out = []
    for c in range(k):
        w = np.where(labels == c, data.weights, 0.0)
        gaps = data.rows - w @ data.rows / w.sum()
        inverse = np.linalg.inv(np.eye(data.d) + literal_scatter(data, labels, c))
        out.append(np.einsum("id,de,ie->i", gaps, inverse, gaps))
    return np.array(out).T


def some_labels(data, k, seed=1):
    return np.random.default_rng(seed).integers(0, k, data.n)


def test_statistics_roots_and_distances(data):
    labels = some_labels(data, 4)
    clusters = Gaussians(*data.statistics(labels, 4))
    roots, logarithms = data.roots(clusters.scatters)
    for c in range(4):
        scatter = literal_scatter(data, labels, c)
        found = np.diag(clusters.scatters[c, 0]) if data.diagonal else clusters.scatters[c]
        np.testing.assert_allclose(found, scatter, rtol=1e-12, atol=1e-12)
        whole = np.eye(data.d) + scatter
        np.testing.assert_allclose(logarithms[c], np.linalg.slogdet(whole)[1], rtol=1e-12)
        root = np.diag(roots[c, 0]) if data.diagonal else roots[c]
        np.testing.assert_allclose(root.T @ root, np.linalg.inv(whole), rtol=1e-9, atol=1e-15)
        assert not np.triu(root, 1).any()
    apart = literal_distances(data, labels, 4)
    np.testing.assert_allclose(data.distances(clusters.means, roots), apart, rtol=1e-9)
    nearest, distances = data.nearest(clusters.means, roots)
    np.testing.assert_array_equal(nearest, apart.argmin(axis=1))
    np.testing.assert_allclose(distances, apart.min(axis=1), rtol=1e-9)
    offsets = np.array([3.0, -1.0, 0.0, 0.5])
    nearest, distances = data.nearest(clusters.means, roots, offsets)
    np.testing.assert_array_equal(nearest, (apart + offsets).argmin(axis=1))
    np.testing.assert_allclose(distances, (apart + offsets).min(axis=1), rtol=1e-9)


def test_equal_clusters_the_first_one_wins(data):
    means, roots = np.zeros((3, data.d)), np.ones((3, data.height, data.d))
    assert not data.nearest(means, np.tril(roots) if not data.diagonal else roots)[0].any()


def test_single_rows_move_as_the_objective_says(data):
    """One pass over restless rows, each move judged by the objective computed anew."""
    labels = some_labels(data, 4)
    clusters = Gaussians(*data.statistics(labels, 4))
    members = np.bincount(labels[data.weights > 0], minlength=4)
    roots = data.roots(clusters.scatters)[0]
    restless = data.restless(labels, clusters.weights, members, clusters.means, roots)
    start = literal_value(data, labels)
    expected = labels.copy()
    for i in range(data.n):
        gains = []
        for c in range(4):
            moved = labels.copy()
            moved[i] = c
            gains.append(start - literal_value(data, moved))
        assert (i in restless) == (data.weights[i] > 0 and max(gains) > 1e-9)
    for i in restless:
        values = []
        for c in range(4):
            moved = expected.copy()
            moved[i] = c
            values.append(literal_value(data, moved))
        if min(values) < values[expected[i]] - 1e-9:
            expected[i] = int(np.argmin(values))
    found = labels.copy()
    n_moves = data.relocate(found, *clusters, 1)
    np.testing.assert_array_equal(found, expected)
    assert n_moves == np.count_nonzero(found != labels) > 0


@pytest.mark.parametrize("most", [1, 5, 100])
def test_births_are_those_of_the_serial_loop(data, most):
    labels = np.zeros(data.n, np.int64)
    clusters = Gaussians(*data.statistics(labels, 1))
    labels, distances = data.nearest(clusters.means, data.roots(clusters.scatters)[0])
    order = np.random.default_rng(2).permutation(data.n)
    price = float(np.quantile(distances, 0.2))
    expected, left, k = labels.copy(), distances.copy(), 1
    for turn, row in enumerate(order):
        if data.weights[row] * left[row] > price and k - 1 < most:
            for other in order[turn:]:
                apart = ((data.rows[other] - data.rows[row]) ** 2).sum()
                if apart < left[other]:
                    expected[other], left[other] = k, apart
            k += 1
    wants_more = data.births(order, labels, distances, 1, price, most)
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_allclose(distances, left, rtol=1e-12)
    assert wants_more == bool((data.weights * left > price).any())
    assert k > 1


def test_a_division_saves_what_it_says(data):
    labels = np.zeros(data.n, np.int64)
    whole = literal_value(data, labels)
    rng = np.random.RandomState(0)
    starts = [(data.rows[:, 0] > row).astype(np.uint8) for row in rng.permutation(data.rows[:, 0])]
    halves = data.bisect(np.arange(data.n), 1.0, starts, whole)
    sides = data.second_half(np.arange(data.n), halves).astype(int)
    # Rows may have one step more to go when rounds are over: that only saves more.
    assert halves.saved > 0
    assert whole - literal_value(data, sides) >= halves.saved - 1e-9


def test_unions(data):
    labels = some_labels(data, 2)
    pair = Gaussians(*data.statistics(labels, 2))
    one = one_cluster(data)
    for found, expected in zip(united(pair.pick([0]), pair.pick([1])), one, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_every_stage_lowers_the_objective(data):
    partition = GaussianPartition(0.4, 1.5, 100)
    order = np.random.default_rng(3).permutation(data.n)
    rng = np.random.RandomState(0)
    descent = GaussianDescent(data, partition, order, rng, say_nothing)
    solution = descent.run(one_cluster(data), "split-merge", 300)
    assert (np.diff(solution.history) <= 0).all()
    kind = "diag" if data.diagonal else "full"
    value = literal_objective(
        data.rows, solution.labels, data.weights, np.eye(data.d), 1.5, 0.4, kind
    )
    np.testing.assert_allclose(solution.history[-1], value, rtol=1e-9)


# --- likelihoods ---------------------------------------------------------------------------------


def test_marginal_misfit_is_the_integral_over_mean_and_variance():
    """One column, so that the integral is over two numbers of each cluster."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(9, 1)), np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])
    rows[labels == 1] += 3.0
    with Pool(1) as pool:
        clusters = Gaussians(*GaussianRows(rows, np.ones(9), False, pool).statistics(labels, 2))
    pooled = clusters.scatters.sum() / 9
    logarithm = 0.0
    for c in range(2):
        x = rows[labels == c, 0]
        variance = np.exp(np.linspace(-8.0, 8.0, 800))[:, None]
        mean = x.mean() + np.sqrt(variance) * np.linspace(-8.0, 8.0, 800)
        density = invgamma.pdf(variance, 2.0, scale=pooled)  # 4 rows, matrix 2 pooled
        density = density * norm.pdf(mean, rows.mean(), np.sqrt(variance / 0.01))
        for each in x:
            density *= norm.pdf(each, mean, np.sqrt(variance))
        inner = np.trapezoid(density, mean, axis=1)
        logarithm += np.log(np.trapezoid(inner, variance[:, 0]))
    shares = gammaln([5.5, 4.5]).sum() - 2 * gammaln(0.5)
    shares += gammaln(1.0) - gammaln(10.0)
    expected = -2.0 * (logarithm + shares + 4.5 * np.log(np.pi))
    found = marginal_misfit(clusters, np.zeros((1, 1)))
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_misfit_is_the_classification_likelihood(data):
    """Of many rows: then the pull towards the pooled covariance is next to nothing."""
    labels = some_labels(data, 3)
    many = GaussianRows(data.rows, 1e9 * data.weights, data.diagonal, data.pool)
    clusters = Gaussians(*many.statistics(labels, 3))
    n, expected = many.weights.sum(), 0.0
    for c in range(3):
        size = many.weights[labels == c].sum()
        covariance = literal_scatter(many, labels, c) / size
        expected += size * (np.linalg.slogdet(covariance)[1] - 2 * np.log(size / n))
    found = misfit(clusters, np.zeros((data.height, data.d)))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_likelier_is_likelier(data):
    labels, floor = some_labels(data, 3), 1e-6 * np.ones((1, data.d))
    floor = floor if data.diagonal else np.diag(floor[0])
    ends = likelier(data, labels, floor)
    values = [
        misfit(Gaussians(*data.statistics(each, int(each.max()) + 1)), floor)
        for each in (labels, ends)
    ]
    assert values[1] < values[0]


# --- numbers of clusters -------------------------------------------------------------------------


def three_long_ones(seed, n=150):
    rng = np.random.RandomState(seed)
    centres = np.array([[0.0, 0.0], [14.0, 3.0], [4.0, 15.0]])
    rows = []
    for centre in centres:
        axes, _ = np.linalg.qr(rng.normal(size=(2, 2)))
        rows.append(rng.normal(size=(n, 2)) * [4.0, 0.7] @ axes + centre)
    return np.vstack(rows), np.repeat(np.arange(3), n)


def four_round_ones(seed, n=100):
    rng = np.random.RandomState(seed)
    centres = 12.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]]) + rng.normal(size=(4, 2))
    sizes = [0.5, 1.0, 1.5, 2.5]
    rows = [c + s * rng.normal(size=(n, 2)) for c, s in zip(centres, sizes, strict=True)]
    return np.vstack(rows), np.repeat(np.arange(4), n)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("draw", [three_long_ones, four_round_ones])
def test_automatic_penalty_finds_the_clusters(draw, seed):
    X, y = draw(seed)
    model = GaussianDPMeans(random_state=seed).fit(X)
    assert model.n_clusters_ == y.max() + 1
    assert adjusted_rand_score(y, model.labels_) > 0.9
    # The penalty that it found does the same when it is given.
    again = GaussianDPMeans(
        model.cluster_penalty_, covariance_prior=model.covariance_prior_, random_state=0
    ).fit(X)
    assert again.n_clusters_ == model.n_clusters_


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_automatic_penalty_sees_one_where_there_is_one(seed, kind):
    rng = np.random.default_rng(seed)
    blob = rng.normal(size=(200, 3)) * [5.0, 1.0, 0.2]
    square = rng.uniform(size=(300, 2))
    for X in (blob, square):
        model = GaussianDPMeans(covariance_type=kind, random_state=0).fit(X)
        assert model.n_clusters_ == 1


def test_automatic_penalty_respects_a_given_prior_and_cap():
    X, _ = four_round_ones(0)
    prior = np.diag([400.0, 300.0])
    model = quiet_fit(GaussianDPMeans(covariance_prior=prior, random_state=0), X)
    assert model.n_clusters_ == 4
    np.testing.assert_array_equal(model.covariance_prior_, prior)
    assert quiet_fit(GaussianDPMeans(max_clusters=2, random_state=0), X).n_clusters_ == 2


def test_beats_round_clusters_in_every_draw():
    for seed in range(20):
        X, y = elongated(seed)
        round_ones = quiet_fit(DPMeans(0.0, max_clusters=4, n_init=10, random_state=0), X)
        shaped = quiet_fit(GaussianDPMeans(0.0, max_clusters=4, random_state=0), X)
        ours, theirs = (adjusted_rand_score(y, m.labels_) for m in (shaped, round_ones))
        assert ours > theirs, seed


# --- any way of running it -----------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["auto", 0.3])
def test_any_number_of_threads_gives_the_same_bits(penalty, monkeypatch):
    monkeypatch.setattr(gaussian_rows, "TILE", 2000)
    monkeypatch.setattr(gaussian_restarts, "MOST_ROWS", 200)
    X, _ = elongated(3)
    models = [
        quiet_fit(GaussianDPMeans(penalty, random_state=0, n_jobs=jobs), X) for jobs in (1, 2, 5)
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(other.labels_, models[0].labels_)
        np.testing.assert_array_equal(other.covariances_, models[0].covariances_)
        np.testing.assert_array_equal(other.objective_history_, models[0].objective_history_)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prior", ["auto", 60.0])
def test_more_rows_than_a_sample_holds(kind, prior, monkeypatch):
    X, _ = four_round_ones(1, n=200)
    monkeypatch.setattr(gaussian_restarts, "MOST_ROWS", 150)
    model = GaussianDPMeans(
        0.4, covariance_type=kind, covariance_prior=prior, random_state=0, max_clusters=30
    )
    quiet_fit(model, X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert (np.diff(model.objective_history_) <= 0).all()
    full = model.covariance_prior_ if kind == "full" else np.diag(model.covariance_prior_)
    expected = literal_objective(X, model.labels_, np.ones(len(X)), full, 1.0, 0.4, kind)
    np.testing.assert_allclose(model.objective_, expected, rtol=1e-7)
    assert quiet_fit(GaussianDPMeans(random_state=0), X).n_clusters_ == 4


def test_an_interrupted_refit_keeps_the_old_model():
    class Impatient(GaussianDPMeans):
        patient = False

        def _report(self, step, n_clusters, n_changed):
            if not self.patient:
                raise KeyboardInterrupt

    X, _ = elongated(0, n=30)
    model = Impatient(0.3, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert not hasattr(model, "labels_") and not hasattr(model, "n_features_in_")
    model.patient = True
    model.fit(X)
    model.patient = False
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :3])
    for name, value in vars(model).items():
        if name.endswith("_"):
            assert value is before[name], name
    model.predict(X)


def test_weights_are_repetition():
    X, _ = four_round_ones(2, n=40)
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    repeated = np.repeat(X, weights, axis=0)
    weighted = quiet_fit(GaussianDPMeans(0.4, random_state=0), X, weights.astype(float))
    copied = quiet_fit(GaussianDPMeans(0.4, random_state=0), repeated)
    labels = np.repeat(weighted.labels_, weights)
    assert adjusted_rand_score(labels, copied.labels_) == 1.0
    prior = dict(covariance_prior=100.0, random_state=0)
    weighted = quiet_fit(GaussianDPMeans(0.4, **prior), X, weights.astype(float))
    copied = quiet_fit(GaussianDPMeans(0.4, **prior), repeated)
    np.testing.assert_allclose(weighted.objective_, copied.objective_, rtol=1e-9)


@pytest.mark.parametrize("penalty", ["auto", 0.5])
def test_units_offsets_and_weights_as_a_whole_do_not_matter(penalty):
    X, _ = four_round_ones(3, n=25)
    plain = quiet_fit(GaussianDPMeans(penalty, random_state=0), X)
    for rows, weights in [
        (3.7 * X, None),
        (X * [1e-6, 1e9], None),
        (X + 1e8, None),
        (X, np.full(len(X), 1.0 / len(X))),
        (X, np.full(len(X), 1e-200)),
    ]:
        other = quiet_fit(GaussianDPMeans(penalty, random_state=0), rows, weights)
        np.testing.assert_array_equal(other.labels_, plain.labels_)
        np.testing.assert_allclose(other.objective_, plain.objective_, rtol=1e-5)
    single = quiet_fit(GaussianDPMeans(penalty, random_state=0), (X + 1e4).astype(np.float32))
    np.testing.assert_array_equal(single.labels_, plain.labels_)
    assert single.cluster_centers_.dtype == np.float32


@pytest.mark.parametrize("penalty", ["auto", 0.5])
@pytest.mark.parametrize("prior", ["auto", 1.0])
@pytest.mark.parametrize("factor", [1e160, 1e-200])
def test_scales_beyond_float64_are_refused_or_right(factor, prior, penalty):
    """A covariance of such rows is no number. Beside a given prior they may be one point."""
    X, _ = four_round_ones(0, n=20)
    model = GaussianDPMeans(penalty, covariance_prior=prior, random_state=0)
    if factor < 1 and prior == 1.0 and penalty == 0.5:
        assert quiet_fit(model, factor * X).n_clusters_ == 1
    else:
        with pytest.raises(ValueError, match="do not fit float64"):
            quiet_fit(model, factor * X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("penalty", ["auto", 0.5])
def test_nothing_is_raised_on_singular_data(kind, penalty):
    rng = np.random.default_rng(0)
    base = rng.normal(size=(30, 2))
    with np.errstate(all="raise"):
        for X in [
            np.ones((9, 2)),
            np.ones((1, 3)),
            np.array([[0.0, 0.0], [1.0, 1.0]]),
            base[:, :1],
            np.column_stack([base, base[:, 0], np.full(30, 0.1)]),
            rng.normal(size=(8, 20)),
            np.repeat(5 * base[:3], 20, axis=0),
            rng.integers(0, 3, (60, 3)),
        ]:
            model = quiet_fit(GaussianDPMeans(penalty, covariance_type=kind, random_state=0), X)
            assert np.isfinite(model.objective_) and np.isfinite(model.covariances_).all()
            assert (np.diff(model.objective_history_) <= 0).all()
            np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_a_cap_that_keeps_out_splits_is_told():
    centres = np.array([(0, 0), (20, 0), (0, 20), (20, 20)])
    X = np.repeat(centres, 100, axis=0) + np.random.RandomState(0).randn(400, 2)
    options = dict(covariance_prior=1000.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="at the cap of 2 clusters"):
        model = GaussianDPMeans(0.5, max_clusters=2, **options).fit(X)
    assert model.converged_
    free = GaussianDPMeans(0.5, **options).fit(X)
    assert free.n_clusters_ > 2
    at_most = GaussianDPMeans(0.5, max_clusters=free.n_clusters_, **options).fit(X)
    assert "cap" not in at_most.status_
