"""KernelDPMeans and SpectralDPMeans as a whole: references, invariances, inputs and corners."""

import os
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from hardbayes import (
    DPMeans,
    KernelDPMeans,
    SpectralDPMeans,
    load,
    objective,
    objective_lower_bound,
    penalty_path,
    save,
)
from hardbayes.kernel import clusters, search, spectral
from hardbayes.kernel import clusters as gram_model
from hardbayes.kernel import estimator as gram_estimator
from hardbayes.kernel import estimator as kernel_dp_means
from hardbayes.plot import ClustersDisplay
from tests.conftest import assert_same_bits, make_blobs, quiet_fit, run_check
from tests.interrupts import assert_survives_interrupts
from tests.reference.dp_means import same_partition
from tests.reference.graphs import kernel_objective
from tests.reference.mercer import literal_kernel_dp_means

MODELS = [KernelDPMeans, SpectralDPMeans]
MOONS, MOON = make_moons(150, noise=0.05, random_state=0)


@parametrize_with_checks(
    [
        KernelDPMeans(random_state=0),
        KernelDPMeans(kernel="linear", search="paper"),
        SpectralDPMeans(random_state=0),
    ]
)
def test_sklearn_checks(estimator, check):
    run_check(estimator, check)


# --- what is minimised -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_a_linear_kernel_is_dp_means(seed):
    X, _ = make_blobs(120, 3, 5, seed=seed)
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, 120)
    how = dict(search="paper", order="given")
    one = DPMeans(4.0, **how).fit(X, sample_weight=weights)
    other = KernelDPMeans(4.0, kernel="linear", **how).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.objective_history_[-1], other.objective_)
    one, other = DPMeans(4.0, random_state=0), KernelDPMeans(4.0, kernel="linear", random_state=0)
    values = [model.fit(X, sample_weight=weights).objective_ for model in (one, other)]
    assert values[1] <= 1.01 * values[0]


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_the_published_search_is_literal(kernel):
    X, _ = make_blobs(60, 2, 3, seed=1)
    model = KernelDPMeans(2.0, kernel=kernel, gamma=0.2, degree=2, search="paper", order="given")
    model.fit(X)
    K = model._model.values(X)[0]
    labels, history = literal_kernel_dp_means(K, np.ones(60), 2.0)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.objective_, history[-1])


@pytest.mark.parametrize("options", [{}, {"gamma": 0.5}, {"kernel": "poly"}, {"balance": True}])
@pytest.mark.parametrize("model", MODELS)
def test_attributes_agree_with_the_definition(model, options):
    rng = np.random.default_rng(0)
    X = make_moons(300, noise=0.05, random_state=0)[0]
    weights = rng.uniform(0.5, 1.5, 300) * (rng.uniform(size=300) < 0.9)
    fitted = quiet_fit(model(random_state=0, **options), X, sample_weight=weights)
    if not options:
        assert fitted.n_clusters_ == 2
    K, heavy = fitted._model.values(X)[0], weights > 0
    value = kernel_objective(
        K[np.ix_(heavy, heavy)], weights[heavy], fitted.labels_[heavy], fitted.cluster_penalty_
    )
    assert fitted.objective_ == pytest.approx(value, rel=1e-9)
    again = objective(
        X, fitted.labels_, fitted.cluster_penalty_, sample_weight=weights,
        **{"kernel": "rbf", **options},
    )  # fmt: skip
    assert again == pytest.approx(value, rel=1e-9)
    k = fitted.n_clusters_
    assert fitted.objective_ == pytest.approx(fitted.inertia_ + fitted.cluster_penalty_ * k)
    assert (np.diff(fitted.objective_history_) <= 0).all()
    np.testing.assert_array_equal(np.unique(fitted.labels_), np.arange(k))
    np.testing.assert_allclose(fitted.cluster_weights_, np.bincount(fitted.labels_, weights))
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    assert fitted.score(X, sample_weight=weights) == pytest.approx(-fitted.inertia_)
    if model is KernelDPMeans:
        nearest = fitted.transform(X).argmin(axis=1)
        np.testing.assert_array_equal(nearest, fitted.labels_)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_the_relaxation_is_below_every_fit(kernel):
    X = MOONS[:80]
    for penalty in (1.0, 10.0, 1e4):
        options = dict(kernel=kernel, gamma=0.7, random_state=0)
        relaxed = SpectralDPMeans(penalty, **options).fit(X)
        fitted = KernelDPMeans(penalty, **options).fit(X)
        assert relaxed.lower_bound_ <= fitted.objective_ <= relaxed.objective_ * (1 + 1e-9)
        assert (relaxed.eigenvalues_ > penalty).all()
        assert relaxed.n_eigenvectors_ == len(relaxed.eigenvalues_)
        centred = X - X.mean(axis=0)
        K = centred @ centred.T if kernel == "linear" else relaxed._model.values(X)[0]
        assert relaxed.n_eigenvectors_ == np.count_nonzero(np.linalg.eigvalsh(K) > penalty)
    assert relaxed.n_clusters_ == 1


@pytest.mark.parametrize("seed", range(6))
def test_a_certificate_for_dp_means(seed):
    rng = np.random.default_rng(seed)
    n, d = [(40, 3), (12, 30), (60, 1)][seed % 3]
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-3, 3) + 1e3 * rng.normal()
    weights = rng.uniform(0.1, 3.0, n)
    penalty = float(np.var(X) * d * 10 ** rng.uniform(-2, 2))
    bound = objective_lower_bound(X, penalty, sample_weight=weights)
    model = DPMeans(penalty, random_state=0).fit(X, sample_weight=weights)
    assert 0 <= bound <= model.objective_
    assert bound <= objective(X, np.arange(n), penalty, sample_weight=weights)
    # Sparse rows are not centred: more is subtracted for rounding.
    not_centred = objective_lower_bound(sparse.csr_array(X), penalty, sample_weight=weights)
    assert 0.9 * bound <= not_centred <= bound * (1 + 1e-9)
    huge = 1e9 * penalty
    one = objective(X, np.zeros(n), huge, sample_weight=weights)
    assert objective_lower_bound(X, huge, sample_weight=weights) == pytest.approx(one)


def test_a_certificate_that_holds_where_rounding_matters():
    X = np.repeat([[0.0], [1.0], [3.0]], 50, axis=0) + 1e8
    exact = 3 * 1e-3
    bound = objective_lower_bound(X, 1e-3)
    assert bound <= exact and objective_lower_bound(np.ones((5, 2)), 2.0) == 2.0
    with pytest.raises(ValueError, match="cluster_penalty"):
        objective_lower_bound(X, -1.0)


# --- shapes and invariances ------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_shapes_without_arguments(model):
    rings, ring = make_circles(200, noise=0.05, factor=0.4, random_state=0)
    for X, y in ((MOONS, MOON), (rings, ring)):
        fitted = model(random_state=0).fit(X)
        assert adjusted_rand_score(y, fitted.labels_) == 1.0
        assert adjusted_rand_score(y, fitted.predict(X + 0.01)) == 1.0


@pytest.mark.parametrize("model", MODELS)
def test_invariances(model):
    plain = model(random_state=0).fit(MOONS)
    shuffled = np.random.default_rng(0).permutation(150)
    for X in (1000.0 * MOONS + 5.0, MOONS @ [[0.6, -0.8], [0.8, 0.6]]):
        assert same_partition(plain.labels_, model(random_state=0).fit(X).labels_)
    moved = model(random_state=0).fit(MOONS[shuffled])
    assert same_partition(plain.labels_[shuffled], moved.labels_)
    narrow = model(random_state=0).fit(MOONS.astype(np.float32))
    assert same_partition(plain.labels_, narrow.labels_)
    for penalty, kernel in (("auto", "rbf"), (5.0, "linear")):
        dense = model(penalty, kernel=kernel, random_state=0).fit(MOONS)
        wide = model(penalty, kernel=kernel, random_state=0).fit(sparse.csr_array(MOONS))
        assert same_partition(dense.labels_, wide.labels_)
        assert wide.objective_ == pytest.approx(dense.objective_)


@pytest.mark.parametrize("model", MODELS)
def test_kernels_by_name_by_function_and_as_a_matrix_agree(model):
    K = rbf_kernel(MOONS, gamma=1.5)
    plain = model(3.0, gamma=1.5, random_state=0).fit(MOONS)
    code = model(
        3.0,
        kernel=lambda x, y, gamma: float(np.exp(-gamma * ((x - y) ** 2).sum())),
        kernel_params={"gamma": 1.5},
        random_state=0,
    ).fit(MOONS)
    for other, X in (
        (code, MOONS),
        (model(3.0, kernel="precomputed", random_state=0).fit(K), K),
        (model(3.0, kernel="precomputed", random_state=0).fit(sparse.csr_array(K)), K),
    ):
        assert other.objective_ == pytest.approx(plain.objective_)
        np.testing.assert_array_equal(plain.labels_, other.labels_)
        np.testing.assert_array_equal(other.predict(X[:20]), plain.labels_[:20])
        np.testing.assert_allclose(other.transform(X[:5]), plain.transform(MOONS[:5]), atol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_the_same_bits_for_any_number_of_threads(model, monkeypatch):
    monkeypatch.setattr(clusters, "MAX_IN_SLAB", 16)
    one, three = (model(random_state=0, n_jobs=n).fit(MOONS) for n in (1, 3))
    assert_same_bits(one, three)


def test_landmarks():
    X, _ = make_blobs(300, 2, 4, seed=0, spread=0.3)
    for model in MODELS:
        fitted = model(20.0, gamma=0.05, n_landmarks=40, random_state=0).fit(X)
        exact = model(20.0, gamma=0.05, random_state=0).fit(X)
        assert "Nystroem features of 40 landmarks" in fitted.status_
        assert fitted.objective_ == pytest.approx(exact.objective_, rel=1e-3)
        np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)


def test_many_rows_have_the_eigenvectors_of_a_sample(monkeypatch):
    monkeypatch.setattr(spectral, "MAX_DENSE", 100)
    monkeypatch.setattr(gram_estimator, "MAX_ANCHORS", 200)
    X, moon = make_moons(300, noise=0.05, random_state=0)
    fitted = SpectralDPMeans(random_state=0).fit(X)
    assert "sample of " in fitted.status_
    assert adjusted_rand_score(moon, fitted.labels_) > 0.7
    other = KernelDPMeans(fitted.cluster_penalty_, random_state=0).fit(X)
    assert fitted.cluster_penalty_ < fitted.lower_bound_ < other.objective_ <= fitted.objective_
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)


def test_no_bound_is_given_where_none_is_certain(monkeypatch, tmp_path):
    monkeypatch.setattr(spectral, "MAX_DENSE", 100)
    monkeypatch.setattr(gram_estimator, "MAX_ANCHORS", 80)
    fitted = SpectralDPMeans(2.0, kernel=lambda x, y: np.exp(-((x - y) ** 2).sum())).fit(MOONS)
    assert fitted.lower_bound_ == -np.inf and "no lower_bound_" in fitted.status_
    fitted = quiet_fit(SpectralDPMeans(2.0, kernel="sigmoid", random_state=0), MOONS)
    assert fitted.lower_bound_ == -np.inf
    save(fitted, tmp_path / "model")
    assert load(tmp_path / "model").lower_bound_ == -np.inf


def test_many_rows_say_that_they_were_sampled(monkeypatch):
    for module in (kernel_dp_means, search, gram_model):
        monkeypatch.setattr(module, "MANY_ROWS", 100)
    for penalty in ("auto", 0.99):
        fitted = KernelDPMeans(penalty, random_state=0).fit(MOONS)
        assert "found on a sample" in fitted.status_
    paper = KernelDPMeans(0.99, search="paper", random_state=0).fit(MOONS)
    assert "sample" not in paper.status_


@pytest.mark.parametrize("model", MODELS)
def test_outliers(model):
    fitted = model(random_state=0).fit(MOONS)
    far = [[30.0, 30.0]]
    assert fitted.predict(far, novelty=True)[0] == -1 and fitted.predict(far)[0] >= 0
    assert (fitted.predict(MOONS, novelty=True) >= 0).mean() > 0.9
    assert 0 < (fitted.predict(MOONS, novelty=0.1) == -1).mean() < 0.2


# --- what is refused, and what is said -------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_bad_inputs_are_refused_in_one_sentence(model):
    K = rbf_kernel(MOONS)
    skew = K.copy()
    skew[3, 5] += 0.1
    given = model(3.0, kernel="precomputed")
    with pytest.raises(ValueError, match="must be symmetric"):
        given.fit(skew)
    with pytest.raises(ValueError, match="square matrix"):
        given.fit(MOONS)
    with pytest.raises(ValueError, match="NaN"):
        given.fit(np.where(np.eye(150) > 0, np.nan, K))
    with pytest.raises(ValueError, match=r"X has 149 features, but .* is expecting 150"):
        given.fit(K).predict(K[:, 1:])
    with pytest.raises(ValueError, match="needs rows and a kernel function"):
        model(3.0, kernel="precomputed", n_landmarks=5).fit(K)
    with pytest.raises(ValueError, match="cannot be balanced"):
        model(3.0, kernel="linear", balance=True).fit(MOONS)
    with pytest.raises(ValueError, match="landmarks cannot be balanced"):
        model(3.0, balance=True, n_landmarks=5).fit(MOONS)
    with pytest.raises(ValueError, match="Distances of new rows need"):
        given.fit(MOONS @ MOONS.T).transform(MOONS @ MOONS.T)


@pytest.mark.parametrize("model", MODELS)
def test_an_indefinite_kernel_works_and_says_what_it_loses(model):
    K = rbf_kernel(MOONS) - 0.5 * np.eye(150)
    with pytest.warns(UserWarning, match="negative eigenvalues, such as"):
        fitted = model(3.0, kernel="precomputed", random_state=0).fit(K)
    value = kernel_objective(K, np.ones(150), fitted.labels_, 3.0)
    assert fitted.objective_ == pytest.approx(value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bound = SpectralDPMeans(3.0, kernel="precomputed").fit(K).lower_bound_
    assert bound <= fitted.objective_


def test_corners():
    for model in MODELS:
        assert model().fit([[1.0, 2.0]]).n_clusters_ == 1
        assert model().fit(np.ones((9, 2))).n_clusters_ == 1
        assert model(0.0, gamma=1.0).fit(MOONS[:9]).n_clusters_ == 9
        assert quiet_fit(model(0.0, gamma=1.0, max_clusters=3), MOONS[:40]).n_clusters_ <= 3
    with pytest.warns(UserWarning, match="cap"):
        KernelDPMeans(0.1, gamma=1.0, max_clusters=2, random_state=0).fit(MOONS)


# --- files, paths, pictures, interrupts ------------------------------------------------------


@pytest.mark.parametrize(
    "fitted",
    [
        KernelDPMeans(random_state=0),
        KernelDPMeans(2.0, kernel="poly", degree=2),
        KernelDPMeans(2.0, gamma=1.0, n_landmarks=30, random_state=0),
        SpectralDPMeans(random_state=0),
        SpectralDPMeans(kernel="linear"),
        SpectralDPMeans(2.0, gamma=1.0, n_landmarks=30, random_state=0),
    ],
)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_files(fitted, kind, tmp_path):
    X = kind(MOONS)
    quiet_fit(fitted, X)
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.labels_, fitted.labels_)
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(again.score_samples(X), fitted.score_samples(X))
    assert again.status_ == fitted.status_


def test_files_of_matrices_and_functions(tmp_path):
    K = rbf_kernel(MOONS)
    fitted = quiet_fit(KernelDPMeans(kernel="precomputed", balance=True, random_state=0), K)
    save(fitted, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(K), fitted.labels_)
    code = KernelDPMeans(3.0, kernel=lambda x, y: float(x @ y)).fit(MOONS[:20])
    with pytest.raises(ValueError, match="Cannot save this KernelDPMeans"):
        save(code, tmp_path / "code")


@pytest.mark.parametrize("estimator", [KernelDPMeans(gamma=1.0), SpectralDPMeans(gamma=1.0)])
def test_paths(estimator):
    X, _ = make_blobs(120, 2, 3, seed=0, spread=0.15)
    estimator.set_params(random_state=0)
    path = penalty_path(X, estimator=estimator, n_penalties=10)
    assert path.n_clusters[0] == 1 and path.n_clusters[-1] > 3
    assert (np.diff(path.penalties) < 0).all() and (np.diff(path.n_clusters) >= 0).all()
    assert type(estimator)(path.suggest(), gamma=1.0).fit(X).n_clusters_ == 3
    assert path.model(4).n_clusters_ == 4
    for penalty, model, value in zip(path.penalties, path.models, path.objectives, strict=True):
        again = objective(X, model.labels_, penalty, kernel="rbf", gamma=1.0)
        assert value == pytest.approx(again)
    assert list(path.to_frame().columns) == ["penalty", "n_clusters", "objective", "inertia"]


def test_pictures_have_no_centres():
    fitted = KernelDPMeans(random_state=0).fit(MOONS)
    display = ClustersDisplay.from_estimator(fitted, MOONS)
    assert len(display.scatters_) == 2 and len(display.centers) == 0


@pytest.mark.filterwarnings("ignore:Converged:UserWarning")
@pytest.mark.parametrize("model", MODELS)
def test_interrupts(model):
    assert_survives_interrupts(
        lambda: model(random_state=0, n_jobs=1), MOONS[:60], MOONS[60:100], number=8
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kernels_and_graphs_after_a_fork(run_python):
    out = run_python(
        """
        import os, signal
        from sklearn.datasets import make_moons
        from hardbayes import GraphDPMeans, KernelDPMeans, SpectralDPMeans
        from hardbayes.datasets import load_karate_club

        X, links = make_moons(150, noise=0.05, random_state=0)[0], load_karate_club()[0]

        def fits():
            models = [KernelDPMeans, SpectralDPMeans, GraphDPMeans]
            fitted = [m(random_state=0, n_jobs=2).fit(d) for m, d in zip(models, (X, X, links))]
            return [model.labels_.tolist() for model in fitted]

        expected = fits()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            os._exit(0 if fits() == expected else 3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), fits() == expected)
        """,
        timeout=120,
    )
    assert out.split() == ["0", "True"]


def test_a_report(capfd):
    KernelDPMeans(random_state=0, verbose=1).fit(MOONS)
    said = capfd.readouterr().err
    assert "[KernelDPMeans] fit of 150 rows" in said and "2 clusters, by kernel" in said
    assert "step 1" in said
