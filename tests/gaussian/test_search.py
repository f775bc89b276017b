"""Clusters with covariances from end to end: how many there are, and any way of running it."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from hardbayes import DPMeans, GaussianDPMeans
from hardbayes.gaussian import clusters as gaussian_clusters
from hardbayes.gaussian import search as gaussian_restarts
from hardbayes.gaussian.choice import sample
from tests.conftest import quiet_fit
from tests.gaussian.test_estimator import KINDS, elongated, literal_objective

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
        with pytest.warns(UserWarning, match="No other number of clusters stood out"):
            model = GaussianDPMeans(covariance_type=kind).fit(X)
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
    monkeypatch.setattr(gaussian_clusters, "TILE", 2000)
    monkeypatch.setattr(gaussian_restarts, "MAX_SAMPLE", 200)
    monkeypatch.setattr(sample, "MAX_ROWS", 200)
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
    monkeypatch.setattr(gaussian_restarts, "MAX_SAMPLE", 150)
    monkeypatch.setattr(sample, "MAX_ROWS", 300)
    monkeypatch.setattr(sample, "MAX_DIP_ROWS", 400)
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

        def _report_changes(self, step, n_clusters, n_changed):
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
