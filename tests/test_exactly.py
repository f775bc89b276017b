"""``n_clusters``: exactly so many clusters, of every partition model."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from hardbayes import (
    DPMeans,
    GaussianDPMeans,
    GraphDPMeans,
    HDPMeans,
    KernelDPMeans,
    MixedDPMeans,
    SpectralDPMeans,
    load,
    objective,
    penalty_path,
    row_blocks,
    save,
)
from hardbayes.datasets import load_karate_club, make_shared_gaussians
from tests.conftest import assert_same_bits
from tests.reference.brute_force import set_partitions

IRIS = load_iris(return_X_y=True)[0]
KARATE = load_karate_club()[0]
TWO = sparse.block_diag([KARATE, KARATE, sparse.csr_array((1, 1))]).tocsr()
ROWS = (DPMeans, GaussianDPMeans, KernelDPMeans, SpectralDPMeans, HDPMeans)
DIVERGENCES = ("kl", "poisson", "itakura_saito", "cosine", "logistic", "mixed")


def gaps(X, k, seed=0, **options):
    """By how much the inertia is above that of the best of ten KMeans, as a part of it."""
    ours = DPMeans(n_clusters=k, random_state=seed, **options).fit(X)
    assert ours.n_clusters_ == k == len(np.unique(ours.labels_))
    assert ours.inertia_ == pytest.approx(objective(X, ours.labels_, 0.0))
    with threadpool_limits(1):
        best = KMeans(k, n_init=10, random_state=seed).fit(X).inertia_
    return ours.inertia_ / best - 1.0


def told(model, k):
    """Check what holds of every fit with k clusters; return the model."""
    assert model.n_clusters_ == k == len(np.unique(model.labels_))
    assert model.converged_ and "asked for" in model.status_ and "cap" not in model.status_
    assert model.n_iter_ == len(model.objective_history_)
    assert (np.diff(model.objective_history_) <= 1e-9 * abs(model.objective_)).all()
    return model


# -- how good --------------------------------------------------------------------------------------


@pytest.mark.parametrize("load_table", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_as_low_as_the_best_of_ten_k_means(load_table):
    X = load_table(return_X_y=True)[0]
    scaled = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])
    assert gaps(X, 3) <= 1e-3
    assert gaps(scaled, 11) <= 1e-3


def test_many_rows_are_sampled_and_all_of_them_judge(monkeypatch):
    monkeypatch.setattr("hardbayes.dp_means.few_rows.MAX_ROWS", 100)
    monkeypatch.setattr("hardbayes.dp_means.choice.sample.MAX_ROWS", 300)
    monkeypatch.setattr("hardbayes.dp_means.choice.sample.MIN_ROWS", 100)
    monkeypatch.setattr("hardbayes.dp_means.exactly.PATH_ROWS", 100)
    rng = np.random.RandomState(0)
    X = rng.normal(size=(40, 3))[rng.randint(40, size=1500)] + 0.3 * rng.normal(size=(1500, 3))
    for seed in range(2):
        assert gaps(X, 12, seed) <= 1e-3
    # More clusters than the rows of a sample allow.
    assert told(DPMeans(n_clusters=170, random_state=0).fit(X), 170)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", [{}, {"init": "k-means++"}, {"n_init": 3}])
def test_the_optimum_of_a_handful_of_rows(seed, options):
    X = np.random.RandomState(seed).normal(size=(7, 2))
    best = np.full(8, np.inf)
    for labels in set_partitions(7):
        k = labels.max() + 1
        best[k] = min(best[k], objective(X, labels, 0.0))
    for k in range(1, 8):
        model = told(DPMeans(n_clusters=k, random_state=seed, **options).fit(X), k)
        assert model.inertia_ == pytest.approx(best[k], abs=1e-12)


def test_cuts_and_kernels_of_a_handful():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(7, 2))
    A = np.triu(rng.uniform(0.1, 1.0, (7, 7)), 1)
    A += A.T
    kernel = {"kernel": "precomputed"}
    for k in (2, 3, 4):
        parts = [labels for labels in set_partitions(7) if labels.max() + 1 == k]
        graph = GraphDPMeans(n_clusters=k, random_state=0).fit(A)
        cuts = [objective(A, labels, 0.0, cut="normalized") for labels in parts]
        assert graph.cut_ == pytest.approx(min(cuts))
        by_kernel = KernelDPMeans(n_clusters=k, random_state=0, **kernel).fit(X @ X.T)
        assert by_kernel.inertia_ == pytest.approx(min(objective(X, y, 0.0) for y in parts))


# -- the penalty -----------------------------------------------------------------------------------


def test_the_penalty_is_one_at_which_the_number_is_best():
    for k in (1, 2, 3):
        model = told(DPMeans(n_clusters=k, random_state=0).fit(IRIS), k)
        again = DPMeans(model.cluster_penalty_, random_state=0).fit(IRIS)
        assert again.n_clusters_ == k
        assert again.objective_ == pytest.approx(model.objective_)
    X = np.repeat(10.0 * np.eye(5), 16, axis=0)  # one and five are best, and no other number
    model = DPMeans(n_clusters=3, random_state=0).fit(X)
    assert model.cluster_penalty_ == pytest.approx(16 * 100)
    assert "best at no penalty, and nearest to it at" in model.status_
    assert model.objective_ == pytest.approx(model.inertia_ + 3 * model.cluster_penalty_)


def test_new_rows_are_compared_with_it():
    model = DPMeans(n_clusters=3, random_state=0).fit(IRIS)
    far = IRIS[:1] + np.sqrt(1.5 * model.cluster_penalty_)
    assert model.predict(far, novelty=True)[0] == -1
    assert (model.predict(IRIS, novelty=True) == model.labels_).all()
    assert model.predict(IRIS + 50.0, novelty=0.01).max() == -1


def test_the_path_of_a_told_estimator_is_that_of_another():
    told_path = penalty_path(IRIS, estimator=DPMeans(n_clusters=4, random_state=0), n_penalties=3)
    path = penalty_path(IRIS, estimator=DPMeans(random_state=0), n_penalties=3)
    np.testing.assert_array_equal(told_path.penalties, path.penalties)
    assert told_path.model(5).n_clusters_ == 5 and told_path.models[0].n_clusters is None
    graphs = penalty_path(KARATE, estimator=GraphDPMeans(n_clusters=4, random_state=0))
    assert graphs.model(3).n_clusters_ == 3


# -- every way -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{"search": "paper"}, {"method": "collapsed"}, {"init": "farthest-first"}, {"init": IRIS[:2]},
     *({"divergence": name} for name in DIVERGENCES)],
    ids=str,
)  # fmt: skip
def test_every_search_start_and_divergence(options):
    X = IRIS / 10.0 if options.get("divergence") == "logistic" else IRIS
    for k in (2, 6):
        model = DPMeans(n_clusters=k, random_state=0, **options).fit(X)
        assert model.n_clusters_ == k == len(np.unique(model.labels_))
        np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("kind", ROWS)
def test_every_model_of_rows(kind, tmp_path):
    X = make_moons(90, noise=0.05, random_state=0)[0]
    for k in (1, 2, 5):
        model = told(kind(n_clusters=k, random_state=0).fit(X), k)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert "n_clusters" in model.get_params() and clone(model).n_clusters == k
        save(model, tmp_path / f"{k}.hb")
        again = load(tmp_path / f"{k}.hb")
        assert again.n_clusters == k
        np.testing.assert_array_equal(again.predict(X), model.labels_)
    weights = np.random.RandomState(0).randint(1, 3, len(X))
    weighted = kind(n_clusters=3, random_state=0).fit(X, sample_weight=weights)
    assert weighted.n_clusters_ == 3


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_graphs(cut):
    for k in (1, 2, 4, 10, 34):
        model = told(GraphDPMeans(n_clusters=k, cut=cut, random_state=0).fit(KARATE), k)
        value = objective(KARATE, model.labels_, model.cluster_penalty_, cut=cut)
        assert model.objective_ == pytest.approx(value) and model.cluster_penalty_ <= 0.0
    for k in (3, 4, 8):
        model = told(GraphDPMeans(n_clusters=k, cut=cut, random_state=0).fit(TWO), k)
        component = np.repeat([0, 1, 2], [34, 34, 1])
        assert len({*zip(component.tolist(), model.labels_.tolist(), strict=True)}) == k
    with pytest.warns(
        UserWarning, match="3 clusters, not 2: connected components are never joined"
    ):
        model = GraphDPMeans(n_clusters=2, cut=cut).fit(TWO)
    assert model.n_clusters_ == 3


@pytest.mark.parametrize("local_penalty", ["auto", 0.0, 0.1, 5.0])
def test_clusters_that_groups_share(local_penalty):
    X, groups, _ = make_shared_gaussians(12, 15, random_state=0)
    for k in (1, 4, 9):
        model = HDPMeans(local_penalty, n_clusters=k, random_state=0).fit(X, groups=groups)
        told(model, k)
        if local_penalty != "auto":
            assert model.local_penalty_ == local_penalty
        n_local = model.n_local_clusters_.sum()
        value = model.inertia_ + model.local_penalty_ * n_local + model.global_penalty_ * k
        assert model.objective_ == pytest.approx(value)
        np.testing.assert_array_equal(model.predict(X, groups=groups), model.labels_)
    paper = HDPMeans(n_clusters=4, search="paper", random_state=0).fit(X, groups=groups)
    np.testing.assert_array_equal(paper.predict(X, groups=groups), paper.labels_)
    one, pooled = HDPMeans(n_clusters=4, random_state=0), DPMeans(n_clusters=4, random_state=0)
    assert one.fit(X).inertia_ == pooled.fit(X).inertia_


def test_gaussians_have_the_shapes_that_were_drawn():
    rng = np.random.RandomState(0)
    long = rng.normal(size=(150, 2)) * [8.0, 0.3]
    X = np.vstack([long, long + np.array([0.0, 4.0]), long - np.array([0.0, 4.0])])
    model = told(GaussianDPMeans(n_clusters=3, random_state=0).fit(X), 3)
    assert [len(np.unique(model.labels_[at : at + 150])) for at in (0, 150, 300)] == [1, 1, 1]
    again = GaussianDPMeans(
        model.cluster_penalty_, covariance_prior=model.covariance_prior_, random_state=0
    ).fit(X)
    assert again.n_clusters_ == 3
    # A prior that suits none of the rows, more clusters than the path has, and starts.
    given = GaussianDPMeans(n_clusters=4, covariance_prior=1e-3, random_state=0).fit(X)
    many = GaussianDPMeans(n_clusters=120, covariance_type="diag", random_state=0).fit(X)
    assert (given.n_clusters_, many.n_clusters_) == (4, 120)


# -- invariances -----------------------------------------------------------------------------------


def test_invariances():
    rng = np.random.RandomState(0)
    X, k = rng.normal(size=(150, 3)), 7
    model = DPMeans(n_clusters=k, random_state=0).fit(X)
    scaled = DPMeans(n_clusters=k, random_state=0).fit(8.0 * X)
    np.testing.assert_array_equal(scaled.labels_, model.labels_)
    assert scaled.cluster_penalty_ == 64.0 * model.cluster_penalty_
    order = rng.permutation(len(X))
    permuted = DPMeans(n_clusters=k, random_state=0).fit(X[order])
    assert permuted.inertia_ == pytest.approx(model.inertia_, rel=0.01)
    alone, together = (DPMeans(n_clusters=k, n_jobs=n, random_state=0).fit(X) for n in (1, 3))
    assert_same_bits(alone.set_params(n_jobs=None), together.set_params(n_jobs=None))
    dense = np.where(rng.uniform(size=X.shape) < 0.5, X, 0.0)
    rows = [
        DPMeans(n_clusters=k, random_state=0).fit(of(dense)) for of in (np.array, sparse.csr_array)
    ]
    assert rows[0].inertia_ == pytest.approx(rows[1].inertia_, rel=0.01)
    weights = rng.randint(1, 4, len(X))
    weighted = DPMeans(n_clusters=k, random_state=0).fit(X, sample_weight=weights)
    repeated = DPMeans(n_clusters=k, random_state=0).fit(np.repeat(X, weights, axis=0))
    assert weighted.inertia_ == pytest.approx(repeated.inertia_, rel=0.01)
    value = objective(X, weighted.labels_, weighted.cluster_penalty_, sample_weight=weights)
    assert weighted.objective_ == pytest.approx(value)


def test_rows_in_blocks(monkeypatch):
    X = np.random.RandomState(0).normal(size=(4000, 3))
    whole = DPMeans(n_clusters=6, random_state=0).fit(X)
    blocks = row_blocks(lambda: iter(np.array_split(X, 7)))
    small = DPMeans(n_clusters=6, random_state=0).fit(blocks)
    np.testing.assert_array_equal(small.labels_, whole.labels_)
    monkeypatch.setattr("hardbayes.dp_means.blocks.fit.most_taken", lambda *_: 1000)
    large = DPMeans(n_clusters=6, random_state=0).fit(blocks)
    assert large.n_clusters_ == 6 and large.inertia_ <= 1.01 * whole.inertia_
    assert large.objective_ == pytest.approx(large.inertia_ + 6 * large.cluster_penalty_)
    assert large.status_.endswith("with the 6 clusters asked for.")


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*ROWS, MixedDPMeans, GraphDPMeans])
def test_refusals(kind):
    X = KARATE if kind is GraphDPMeans else IRIS[::5]
    n, rows = X.shape[0], "vertices" if kind is GraphDPMeans else "rows"
    name = f"The 'n_clusters' parameter of {kind.__name__} must be"
    for options, what in (
        ({"n_clusters": 5, "max_clusters": 4}, f"{name} at most max_clusters=4. Got 5"),
        ({"n_clusters": n + 1}, f"{name} at most the number of {rows}, {n}. Got {n + 1}"),
        ({"n_clusters": 0}, "Got 0 instead"),
        ({"n_clusters": True}, "must not be a bool"),
    ):
        with pytest.raises(ValueError, match=what):
            kind(**options).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a mixed table may hold fewer
        assert kind(n_clusters=4, max_clusters=4).fit(X).n_clusters_ <= 4


@pytest.mark.parametrize("kind", [*ROWS, MixedDPMeans, GraphDPMeans])
def test_a_penalty_beside_a_number_is_not_used_and_that_is_told(kind):
    X = KARATE if kind is GraphDPMeans else IRIS[::5]
    name = "global_penalty" if kind is HDPMeans else "cluster_penalty"
    plain = kind(n_clusters=3, random_state=0).fit(X)
    both = kind(n_clusters=3, random_state=0).set_params(**{name: -0.5 if X is KARATE else 3.0})
    with pytest.warns(UserWarning, match=f"has n_clusters=3, so its '{name}' is not used"):
        both.fit(X)
    np.testing.assert_array_equal(both.labels_, plain.labels_)
    assert getattr(both, f"{name}_") == getattr(plain, f"{name}_")


def test_fewer_only_where_rows_are_equal():
    X = np.repeat(np.eye(3), 5, axis=0)
    for kind in (DPMeans, HDPMeans):
        with pytest.warns(UserWarning, match="Found 3 clusters, not 4: X has no more different"):
            model = kind(n_clusters=4, random_state=0).fit(X)
        assert model.n_clusters_ == 3 and model.inertia_ == 0.0
    with pytest.warns(UserWarning, match="Found 3 clusters, not 4: the kernel tells no more"):
        KernelDPMeans(n_clusters=4, random_state=0).fit(X)
    with pytest.warns(UserWarning, match="Found 3 clusters, not 5: the eigenvectors give no row"):
        SpectralDPMeans(n_clusters=5, kernel="linear", random_state=0).fit(IRIS[:, :2])
    with pytest.warns(UserWarning, match="Found 3 clusters, not 4"):
        GaussianDPMeans(n_clusters=4, random_state=0).fit(X)
    with pytest.warns(UserWarning, match="prior_weight=1e\\+06 keeps rows together; set it to 0"):
        DPMeans(n_clusters=9, divergence="kl", prior_weight=1e6, random_state=0).fit(IRIS)


def test_no_warnings_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DPMeans(n_clusters=3, random_state=0).fit(IRIS)
