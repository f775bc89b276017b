"""The fits of `benchmarks.fingerprints`, by family."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_moons,
)
from sklearn.preprocessing import StandardScaler

import hardbayes
from hardbayes import (
    BPMeans,
    DPMeans,
    GaussianDPMeans,
    GraphDPMeans,
    HDPMeans,
    HDPTopics,
    KernelDPMeans,
    KFeatures,
    SpectralDPMeans,
    penalty_path,
)
from hardbayes.core.geometry import Mahalanobis
from hardbayes.datasets import (
    make_bars,
    make_planted_partition,
    make_shared_gaussians,
    make_word_histograms,
)

#: What is hashed of a fitted estimator, where it has it.
ATTRIBUTES = (
    "labels_", "cluster_centers_", "cluster_weights_", "cluster_penalty_", "prior_weight_",
    "inertia_", "objective_", "objective_history_", "n_iter_", "n_splits_", "n_merges_",
    "converged_", "plateau_width_", "plateau_reference_", "covariances_", "components_",
    "membership_", "component_penalty_", "local_labels_", "group_cluster_weights_",
    "local_penalty_", "global_penalty_", "cuts_per_cluster_", "eigenvalues_", "lower_bound_",
    "topic_weights_", "topic_documents_", "relevance_",
)  # fmt: skip
DIVERGENCES = ("squared_euclidean", "kl", "poisson", "itakura_saito", "logistic", "cosine")

Case = tuple[str, Callable[[], tuple[list[Any], float]]]


def fitted(model: Any, X: Any, new: Any = None, **options: Any) -> tuple[list[Any], float]:
    """Fit, and return what is hashed, with what is predicted for new rows."""
    model.fit(X, **options)
    values = [getattr(model, name) for name in ATTRIBUTES if hasattr(model, name)]
    if new is not None:
        names = [name for name in ("transform", "score_samples") if hasattr(model, name)]
        values += [getattr(model, name)(new) for name in names]
        if hasattr(model, "predict"):
            values += [model.predict(new), model.predict(new, novelty=True)]
    return values, float(model.objective_)


def traced(X: Any, estimator: Any, **options: Any) -> tuple[list[Any], float]:
    """Trace a path, and return what is hashed."""
    path = penalty_path(X, estimator=estimator, **options)
    values: list[Any] = [path.penalties, path.n_clusters, path.objectives, path.suggest()]
    values += [(p.k, p.low, p.high) for p in path.plateaus]
    for model in path.models[:: max(1, len(path.models) // 8)]:
        values += [getattr(model, name) for name in ATTRIBUTES if hasattr(model, name)]
    return values, float(path.objectives.sum())


# -- data --------------------------------------------------------------------------------------


def blobs(n: int, d: int, k: int, seed: int, spread: float = 1.0) -> np.ndarray:
    return make_blobs(n, d, centers=k, cluster_std=spread, random_state=seed)[0]


def rows_for(divergence: str, n: int, d: int, seed: int) -> np.ndarray:
    """Return rows in the domain of a divergence."""
    rng = np.random.RandomState(seed)
    kind = rng.randint(5, size=n)
    if divergence in ("kl", "poisson", "cosine"):
        rates = rng.gamma(0.4, 4.0, (5, d))
        X = rng.poisson(rates[kind]).astype(float)
        X[X.sum(axis=1) == 0, 0] = 1.0
        return X
    if divergence == "itakura_saito":
        return rng.gamma(2.0, rng.gamma(1.0, 3.0, (5, d))[kind]) + 1e-3
    if divergence == "logistic":
        return (rng.random_sample((n, d)) < rng.beta(0.5, 0.5, (5, d))[kind]).astype(float)
    return rng.normal(size=(n, d)) + 4.0 * rng.normal(size=(5, d))[kind]


def heavy(n: int, d: int, seed: int) -> np.ndarray:
    return np.random.RandomState(seed).lognormal(0.0, 1.5, (n, d))


# -- cases -------------------------------------------------------------------------------------


def partitions() -> Iterator[Case]:
    """Yield fits of partitions: searches, weights, caps, types, starts."""
    shapes = ((60, 2, 3), (400, 3, 8), (1500, 8, 12), (6000, 4, 20), (3000, 24, 30), (2500, 60, 9))
    for n, d, k in shapes:
        X = blobs(n, d, k, n, 1.5)
        unit = float(X.var(axis=0).sum())
        weights = np.random.RandomState(n).randint(0, 4, n).astype(float)
        weights[0] = 1.0
        for factor in (0.1, 1.0, 8.0):
            penalty = factor * unit
            for search in ("paper", "split-merge", "collapsed"):
                for weight in (None, weights):
                    for dtype in (np.float64, np.float32):
                        if search == "collapsed" and n > 1500:
                            continue
                        name = f"{n}x{d} {search} {factor} w{weight is not None} {dtype.__name__}"
                        yield name, _one(X.astype(dtype), penalty, search, weight)
        yield f"{n}x{d} capped", _one(X, 0.1 * unit, "split-merge", None, max_clusters=5)
        yield f"{n}x{d} capped at 0", _one(X, 0.0, "split-merge", None, max_clusters=k)
        yield f"{n}x{d} capped paper", _one(X, 0.1 * unit, "paper", None, max_clusters=5)
        yield f"{n}x{d} prior", _one(X, unit, "split-merge", weights, prior_weight=3.0)
        yield f"{n}x{d} prior paper", _one(X, unit, "paper", None, prior_weight=3.0)
        yield f"{n}x{d} starts", _one(X, unit, "split-merge", None, n_init=3)
        yield f"{n}x{d} short", _one(X, unit, "split-merge", None, max_iter=4)
        for init in ("farthest-first", "k-means++"):
            yield f"{n}x{d} {init}", _one(X, unit, "paper", None, init=init, order="given")
        yield f"{n}x{d} given", _one(X, unit, "split-merge", None, init=X[:7])
    for name, load in TABLES.items():
        X = load()
        for wished in (3, 12):
            penalty = hardbayes.penalty_for(X, wished)
            for search in ("paper", "split-merge"):
                yield f"{name} {wished} {search}", _one(X, penalty, search, None)
        yield f"{name} auto", _one(X, "auto", "split-merge", None)
    for n, d in ((4000, 9), (20000, 6)):
        X = heavy(n, d, n)
        for search in ("paper", "split-merge"):
            yield f"heavy {n}x{d} {search}", _one(X, 60.0, search, None)
    for offset in (1e6, 1e-6):
        X = blobs(900, 5, 6, 4) + offset
        yield f"offset {offset}", _one(X.astype(np.float32), 40.0, "split-merge", None)
    X = np.random.RandomState(0).randint(0, 3, (700, 4)).astype(float)
    for penalty in (0.0, 0.5, 2.0):
        for search in ("paper", "split-merge", "collapsed"):
            yield f"grid {penalty} {search}", _one(X, penalty, search, None)


def _table(load: Callable[..., Any]) -> Callable[[], np.ndarray]:
    return lambda: StandardScaler().fit_transform(load(return_X_y=True)[0])


TABLES = {
    "iris": _table(load_iris), "wine": _table(load_wine), "cancer": _table(load_breast_cancer),
    "digits": lambda: load_digits(return_X_y=True)[0],
}  # fmt: skip


def _one(X: Any, penalty: Any, search: str, weights: Any, **options: Any) -> Callable[..., Any]:
    if search == "collapsed":
        options |= {"method": "collapsed"}
    else:
        options |= {"search": search}
    new = X[: min(200, X.shape[0])] * 0.99 if not sparse.issparse(X) else X[:200]

    def run() -> tuple[list[Any], float]:
        model = DPMeans(penalty, random_state=3, **options)
        return fitted(model, X, new, sample_weight=weights)

    return run


def divergences() -> Iterator[Case]:
    """Yield fits with other divergences, dense and sparse, with weights and priors."""
    for divergence in DIVERGENCES:
        for n, d in ((150, 6), (900, 15), (2500, 40)):
            X = rows_for(divergence, n, d, n)
            weights = np.random.RandomState(n).random_sample(n) + 0.5
            scale = {"kl": 0.3, "cosine": 0.2}.get(divergence, 2.0) * d
            kinds = [("dense", X), ("float32", X.astype(np.float32))]
            if divergence != "itakura_saito":
                kinds.append(("sparse", sparse.csr_matrix(X)))
            for kind, data in kinds:
                for search in ("paper", "split-merge"):
                    for weight in (None, weights):
                        name = f"{divergence} {n}x{d} {kind} {search} w{weight is not None}"
                        options = {"divergence": divergence}
                        yield name, _one(data, scale, search, weight, **options)
            if n < 2500:
                options = {"divergence": divergence, "prior_weight": 2.0}
                yield f"{divergence} {n}x{d} prior", _one(X, scale, "split-merge", None, **options)
                options = {"divergence": divergence}
                yield (
                    f"{divergence} {n}x{d} collapsed",
                    _one(X, scale, "collapsed", None, **options),
                )
            if n == 150:
                yield f"{divergence} {n}x{d} auto", _one(X, "auto", "split-merge", None, **options)
    X = rows_for("squared_euclidean", 500, 4, 1)
    matrix = np.cov(X.T) + np.eye(4)
    options = {"divergence": Mahalanobis(matrix)}
    yield "mahalanobis", _one(X, 900.0, "split-merge", None, **options)
    yield "mahalanobis paper", _one(X, 900.0, "paper", None, **options)


def paths() -> Iterator[Case]:
    """Yield paths of penalties."""
    for n, d, k in ((60, 2, 3), (500, 3, 8), (3000, 6, 15)):
        X = blobs(n, d, k, n + 1, 1.2)
        weights = np.random.RandomState(n).randint(1, 4, n).astype(float)
        yield f"path {n}x{d}", lambda X=X: traced(X, DPMeans(random_state=0))
        yield (
            f"path {n}x{d} weights",
            lambda X=X, w=weights: traced(X, DPMeans(random_state=0), sample_weight=w),
        )
        yield (
            f"path {n}x{d} capped",
            lambda X=X: traced(X, DPMeans(random_state=0, max_clusters=4)),
        )
        yield (
            f"path {n}x{d} given",
            lambda X=X: traced(X, DPMeans(random_state=0), penalties=[500.0, 50.0, 5.0, 0.5]),
        )
    X = blobs(300, 3, 5, 9)
    for options in ({"search": "paper"}, {"method": "collapsed"}, {"prior_weight": 2.0}):
        yield f"path {options}", lambda o=options: traced(X, DPMeans(random_state=0, **o))
    for divergence in DIVERGENCES[1:]:
        rows = rows_for(divergence, 200, 8, 2)
        yield (
            f"path {divergence}",
            lambda r=rows, v=divergence: traced(r, DPMeans(divergence=v, random_state=0)),
        )
    X = np.random.RandomState(1).random_sample((80, 12))
    yield "path features", lambda: traced(X, BPMeans(random_state=0, n_init=2))


def gaussians() -> Iterator[Case]:
    """Yield fits of clusters with covariances."""
    for n, d, k in ((80, 2, 2), (600, 3, 5), (5000, 4, 4)):
        X = blobs(n, d, k, n + 2, 1.3)
        X[:, 0] *= 3.0
        weights = np.random.RandomState(n).randint(1, 3, n).astype(float)
        for kind in ("full", "diag"):
            for search in ("paper", "split-merge"):
                for weight in (None, weights):
                    options = {
                        "covariance_type": kind, "search": search, "covariance_prior": 60.0,
                        "cluster_penalty": 30.0,
                    }  # fmt: skip
                    name = f"gaussian {n}x{d} {kind} {search} w{weight is not None}"
                    yield name, _gaussian(X, weight, options)
            if n < 5000:
                yield f"gaussian {n}x{d} {kind} auto", _gaussian(X, None, {"covariance_type": kind})
        options = {"covariance_prior": 60.0, "cluster_penalty": 3.0, "max_clusters": 3}
        yield f"gaussian {n}x{d} capped", _gaussian(X, None, options)
        options = {"covariance_prior": 60.0, "cluster_penalty": 30.0, "n_init": 3}
        yield f"gaussian {n}x{d} starts", _gaussian(X, None, options)


def _gaussian(X: np.ndarray, weights: Any, options: dict[str, Any]) -> Callable[..., Any]:
    return lambda: fitted(
        GaussianDPMeans(random_state=1, **options), X, X[:50] * 1.02, sample_weight=weights
    )


def features() -> Iterator[Case]:
    """Yield fits of overlapping features."""
    rng = np.random.RandomState(5)
    for n, d, k in ((30, 6, 2), (120, 16, 4), (700, 36, 6)):
        Z, A = rng.random_sample((n, k)) < 0.4, rng.normal(size=(k, d)) * 3.0
        X = Z @ A + 0.3 * rng.normal(size=(n, d))
        weights = rng.randint(1, 4, n).astype(float)
        for method in ("joint", "collapsed", "stepwise"):
            for search in ("paper", "split-merge"):
                if n == 700 and method != "joint":
                    continue
                for weight in (None, weights):
                    options = {"method": method, "search": search, "n_init": 3}
                    name = f"features {n}x{d} {method} {search} w{weight is not None}"
                    yield name, _features(BPMeans, X, weight, component_penalty=20.0, **options)
        sparse_X = sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0.0))
        yield f"features {n}x{d} sparse", _features(BPMeans, sparse_X, None, n_init=2)
        for search in ("paper", "split-merge"):
            yield (
                f"k-features {n}x{d} {search}",
                _features(KFeatures, X, None, n_components=k, search=search, n_init=3),
            )
        if n < 700:
            yield f"features {n}x{d} auto", _features(BPMeans, X, None, n_init=2)


def _features(kind: Any, X: Any, weights: Any, **options: Any) -> Callable[..., Any]:
    new = X[:20]
    return lambda: fitted(kind(random_state=2, **options), X, new, sample_weight=weights)


def groups() -> Iterator[Case]:
    """Yield fits of clusters that groups share."""
    X, of, _ = make_shared_gaussians(random_state=0)
    weights = np.random.RandomState(0).randint(0, 3, len(X)).astype(float)
    for penalties in ((), (0.1, 0.25), (0.0, 0.3)):
        for search in ("paper", "split-merge"):
            for weight in (None, weights):
                model = HDPMeans(*penalties, search=search, random_state=1)
                name = f"groups {penalties} {search} w{weight is not None}"
                yield name, _of(model, X, X[:50] * 1.1, groups=of, sample_weight=weight)
    counts, _ = make_word_histograms(random_state=0)
    for divergence in ("kl", "poisson", "cosine"):
        for kind, rows in (("dense", counts), ("sparse", sparse.csr_matrix(counts))):
            model = HDPMeans(5.0, 10.0, divergence=divergence, random_state=1)
            in_four = np.arange(len(counts)) % 4
            yield f"groups {divergence} {kind}", _of(model, rows, rows[:30], groups=in_four)


def kernels() -> Iterator[Case]:
    """Yield fits of clusters in the space of a kernel."""
    tables = {"moons": make_moons(250, noise=0.06, random_state=0)[0], "iris": TABLES["iris"]()}
    settings: tuple[dict[str, Any], ...] = (
        {}, {"gamma": 5.0}, {"kernel": "linear"}, {"n_landmarks": 60, "gamma": 3.0},
        {"cluster_penalty": 0.3}, {"cluster_penalty": 0.01, "max_clusters": 2},
    )  # fmt: skip
    for name, X in tables.items():
        for kind in (KernelDPMeans, SpectralDPMeans):
            for options in settings:
                model = kind(random_state=1, **options)
                yield f"{kind.__name__} {name} {options}", _of(model, X, X[:40] * 1.01)
        model = KernelDPMeans(0.3, search="paper", random_state=1)
        yield f"KernelDPMeans {name} paper", _of(model, X, X[:40])
    many = make_moons(9000, noise=0.05, random_state=0)[0]
    yield "KernelDPMeans 9000", _of(KernelDPMeans(random_state=1), many, many[:40])


def graphs() -> Iterator[Case]:
    """Yield clusters of graphs."""
    for k, size in ((4, 30), (8, 25), (3, 200)):
        links, _ = make_planted_partition(k, size, random_state=0)
        for cut, penalty in itertools.product(("normalized", "ratio"), ("auto", -0.4, -2.0)):
            model = GraphDPMeans(penalty, cut=cut, random_state=1)
            yield f"graph {k}x{size} {cut} {penalty}", _of(model, links, links[:10])


def topics() -> Iterator[Case]:
    """Yield topics of documents."""
    corpora = {"bars": make_bars(random_state=0)[0]}
    corpora["words"] = make_word_histograms(sparse=True, random_state=0)[0]
    settings: tuple[dict[str, Any], ...] = (
        {}, {"n_topics": 4}, {"background": False, "weighting": "counts"}, {"max_topics": 2},
        {"local_penalty": 5.0, "global_penalty": 30.0},
        {"local_penalty": 5.0, "global_penalty": 30.0, "search": "paper"},
    )  # fmt: skip
    for name, X in corpora.items():
        for options in settings:
            yield f"topics {name} {options}", _of(HDPTopics(random_state=1, **options), X, X[:20])


def _of(model: Any, X: Any, new: Any, **options: Any) -> Callable[..., Any]:
    return lambda: fitted(model, X, new, **options)


def functions() -> Iterator[Case]:
    """Yield what functions beside the estimators return."""
    X = blobs(300, 4, 6, 0)
    labels = np.random.RandomState(0).randint(0, 9, 300)
    weights = np.random.RandomState(0).random_sample(300)
    for divergence in DIVERGENCES:
        rows = rows_for(divergence, 300, 7, 3)
        for eta in (0.0, 2.0):
            value = {"divergence": divergence, "prior_weight": max(eta, 1e-3)}

            def run(rows: Any = rows, value: Any = value) -> tuple[list[Any], float]:
                found = hardbayes.objective(rows, labels, 3.0, sample_weight=weights, **value)
                return [found], found

            yield f"objective {divergence} {eta}", run

        def penalty(rows: Any = rows, divergence: str = divergence) -> tuple[list[Any], float]:
            found = [hardbayes.penalty_for(rows, k, divergence=divergence) for k in (1, 4, 20)]
            return found, found[0]

        yield f"penalty_for {divergence}", penalty

    def grouped() -> tuple[list[Any], float]:
        found = hardbayes.local_global_penalties_for(X, labels, 2, 3)
        return list(found), found[0]

    yield "local_global_penalties_for", grouped


FAMILIES = (
    partitions, divergences, paths, gaussians, features, groups, kernels, graphs, topics, functions,
)  # fmt: skip
