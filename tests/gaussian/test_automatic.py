"""`GaussianDPMeans()` without arguments, from end to end."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from hardbayes import GaussianDPMeans, load, save
from tests.conftest import quiet_fit
from tests.gaussian.test_estimator import KINDS
from tests.gaussian.test_search import four_round_ones, three_long_ones

X, TRUE = four_round_ones(0)


def ring_around_a_core(seed=0):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, 2 * np.pi, 400)
    ring = 6.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.3 * rng.normal(size=(400, 2))
    return np.vstack([ring, 0.3 * rng.normal(size=(200, 2))])


def same_table(table, other):
    assert list(table) == list(other)
    for name, column in table.items():
        np.testing.assert_array_equal(column, other[name])


def same(model, other):
    np.testing.assert_array_equal(model.labels_, other.labels_)
    assert model.objective_ == other.objective_
    same_table(model.penalty_choice_, other.penalty_choice_)


# --- what is found -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_the_clusters_are_found(kind, seed):
    rows, true = three_long_ones(seed) if kind == "full" else four_round_ones(seed)
    model = GaussianDPMeans(covariance_type=kind).fit(rows)
    assert model.n_clusters_ == true.max() + 1
    assert adjusted_rand_score(true, model.labels_) > 0.9


def test_two_round_gaussians_in_sixteen_columns():
    rng = np.random.default_rng(0)
    true = np.arange(1500) % 2
    rows = rng.normal(size=(1500, 16)) + 4.5 / np.sqrt(16) * true[:, None]
    model = GaussianDPMeans().fit(rows)
    assert model.n_clusters_ == 2 and adjusted_rand_score(true, model.labels_) > 0.9


def test_a_hundred_clusters_on_a_grid():
    rng = np.random.default_rng(0)
    centres = 8.0 * np.array([[i, j] for i in range(10) for j in range(10)])
    true = np.repeat(np.arange(100), 50)
    rows = centres[true] + rng.normal(size=(5000, 2))
    model = GaussianDPMeans().fit(rows)
    assert model.n_clusters_ == 100 and adjusted_rand_score(true, model.labels_) > 0.98


def test_what_is_told_of_the_choice():
    model = GaussianDPMeans().fit(X)
    table = model.penalty_choice_
    assert table["n_clusters"][table["chosen"]] == [model.n_clusters_] == [4]
    assert table["evidence"][table["chosen"]] > 0
    assert not hasattr(GaussianDPMeans(0.5).fit(X), "penalty_choice_")


# --- what it does not depend on ------------------------------------------------------------------


def test_seeds_starts_and_visiting_order_do_not_matter():
    first = GaussianDPMeans(random_state=0).fit(X)
    same(first, GaussianDPMeans(random_state=1, n_init=3, order="given").fit(X))


def test_the_order_of_the_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(len(X))
    first, other = GaussianDPMeans().fit(X), GaussianDPMeans().fit(X[order])
    np.testing.assert_array_equal(other.labels_, first.labels_[order])
    same_table(first.penalty_choice_, other.penalty_choice_)
    np.testing.assert_allclose(first.objective_, other.objective_, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_repetition(kind):
    weights = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = GaussianDPMeans(covariance_type=kind).fit(X, sample_weight=weights.astype(float))
    copied = GaussianDPMeans(covariance_type=kind).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(np.repeat(weighted.labels_, weights), copied.labels_)
    np.testing.assert_allclose(weighted.objective_, copied.objective_, rtol=1e-9)
    np.testing.assert_allclose(weighted.cluster_penalty_, copied.cluster_penalty_, rtol=1e-9)


def test_float32():
    model = GaussianDPMeans().fit(X.astype(np.float32))
    assert model.cluster_centers_.dtype == np.float32
    np.testing.assert_array_equal(model.labels_, GaussianDPMeans().fit(X).labels_)


# --- one cluster ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d"), [(30, 60), (25, 90), (15, 30)])
def test_rows_too_few_for_full_covariances(n, d):
    """Diagonal covariances tell of three clusters where the rows allow one full matrix."""
    rng = np.random.default_rng(0)
    true = np.repeat(np.arange(3), n)
    rows = 2.5 * rng.normal(size=(3, d))[true] + rng.normal(size=(3 * n, d))
    model = GaussianDPMeans().fit(rows)
    assert model.n_clusters_ == 3 and adjusted_rand_score(true, model.labels_) == 1.0
    assert model.covariances_.shape == (3, d, d)
    order = rng.permutation(len(rows))
    assert adjusted_rand_score(true[order], GaussianDPMeans().fit(rows[order]).labels_) == 1.0


def test_few_skewed_rows_in_many_columns_are_one_cluster():
    rng = np.random.default_rng(5)
    for rows in (rng.exponential(size=(300, 39)), rng.lognormal(size=(150, 40))):
        assert quiet_fit(GaussianDPMeans(), rows).n_clusters_ == 1


def test_one_cluster_is_told_with_what_came_nearest():
    rows = np.random.default_rng(0).normal(size=(300, 3))
    with pytest.warns(UserWarning, match="Nearest came") as caught:
        model = GaussianDPMeans().fit(rows)
    assert len(caught) == 1 and str(caught[0].message) == model.status_
    assert model.n_clusters_ == 1 and model.converged_
    k = int(model.status_.split("GaussianDPMeans(n_clusters=")[1].split(")")[0])
    assert GaussianDPMeans(n_clusters=k).fit(rows).n_clusters_ == k


def test_too_few_rows_are_one_cluster_without_a_warning():
    model = GaussianDPMeans().fit(np.eye(4))
    assert model.n_clusters_ == 1 and "too few" in model.status_


# --- with other parameters -----------------------------------------------------------------------


def test_clusters_that_only_a_cap_keeps_are_told_without_a_warning():
    rows = ring_around_a_core()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GaussianDPMeans().fit(rows)
    k = model.n_clusters_
    assert k > 1 and f"pass max_clusters={k} with it" in model.status_
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_cap(most):
    assert quiet_fit(GaussianDPMeans(max_clusters=most), X).n_clusters_ <= most


@pytest.mark.parametrize("kind", KINDS)
def test_a_given_prior(kind):
    prior = [400.0, 300.0] if kind == "diag" else np.diag([400.0, 300.0])
    model = GaussianDPMeans(covariance_type=kind, covariance_prior=prior).fit(X)
    np.testing.assert_array_equal(model.covariance_prior_, prior)
    assert model.n_clusters_ == 4


def test_the_unit_of_costs():
    plain, scaled = GaussianDPMeans().fit(X), GaussianDPMeans(covariance_penalty=7.0).fit(X)
    np.testing.assert_array_equal(plain.labels_, scaled.labels_)
    np.testing.assert_allclose(scaled.cluster_penalty_, 7.0 * plain.cluster_penalty_)


def test_given_centres_and_the_published_search():
    centres = [X[c == TRUE].mean(axis=0) for c in range(4)]
    for options in (dict(init=centres), dict(search="paper"), dict(search="paper", init=centres)):
        model = quiet_fit(GaussianDPMeans(random_state=0, **options), X)
        assert (np.diff(model.objective_history_) <= 0).all()
        assert model.penalty_choice_["chosen"].any()


def test_verbose_reports_what_was_found(capsys):
    GaussianDPMeans(verbose=1).fit(X)
    told = capsys.readouterr().err
    assert "plateau has 4 clusters" in told
    assert "rows held out thin out between clusters: 4 clusters" in told


@pytest.mark.parametrize("kind", KINDS)
def test_files(kind, tmp_path):
    model = GaussianDPMeans(covariance_type=kind).fit(X)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    same(model, again)
    assert list(again.penalty_choice_) == ["n_clusters", "evidence", "p_value", "chosen"]
    assert again.status_ == model.status_


@pytest.mark.parametrize("kind", KINDS)
def test_odd_rows(kind):
    rng = np.random.default_rng(0)
    line = np.outer(rng.normal(size=40), [1.0, 2.0, 0.0])
    line[:, 2] = 7.0
    with np.errstate(all="raise"):
        for rows in (
            np.vstack([line, np.repeat(line[:2] + 30.0, 10, axis=0)]),
            rng.normal(size=(12, 30)),
            np.repeat(rng.normal(size=(30, 2)), 100, axis=0),
            rng.integers(0, 3, (200, 2)),
        ):
            model = quiet_fit(GaussianDPMeans(covariance_type=kind), rows)
            assert np.isfinite(model.objective_) and np.isfinite(model.covariances_).all()
            np.testing.assert_array_equal(model.predict(rows), model.labels_)
