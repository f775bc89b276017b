"""The number of clusters, chosen by several methods without being told."""

import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import GaussianMixture

from benchmarks.clouds import Labelled, Labels, Table, generated, shipped, structureless
from benchmarks.options import Options
from benchmarks.report import Section
from benchmarks.timing import progress
from hardbayes import DPMeans

NOTES = """\
Tables that scikit-learn ships and generated groups. `DPMeans()` has its defaults, as has
`HDBSCAN()`. The silhouette sweep takes the best of `KMeans(k)` for k from 2 to twice the true
number, the mixtures the best BIC of spherical `GaussianMixture(k)` for k from 1 on; both are told a
range from the truth. `KMeans` is told k. A cell gives the k found, the adjusted Rand index, the
time in seconds; sets of more than 20,000 rows are left to `DPMeans` and `KMeans`. Then the means of
the sets that all methods had, and how often draws of twelve kinds without structure (50 to 3,000
rows, 1 to 30 columns) were given more than one cluster; there sweeps go up to 10."""

MANY = 20_000
MOST_COMPARED = 60  # structureless draws that the others are compared on
WITHOUT_STRUCTURE = 10


def run(options: Options) -> Section:
    """Fit every set once with every method."""
    section = Section("Choosing the number of clusters", ["data", "k", *METHODS], NOTES)
    sets = [*shipped(), *generated()]
    scores: dict[str, list[float]] = {name: [] for name in METHODS}
    for known in sets[1:5:3] if options.quick else sets:
        progress(f"choosing, {known.name}")
        k = len(np.unique(known.member))
        found = [_cell(method, known, k, scores[name]) for name, method in METHODS.items()]
        section.add(f"{known.name}: {known.X.shape[0]:,} x {known.X.shape[1]}", k, *found)
    section.add("mean ARI", "", *(f"{np.mean(found):.3f}" for found in scores.values()))
    section.add("structureless, more than 1", 1, *_alarms(1 if options.quick else 10))
    return section


def dp_means(X: Table, k: int) -> Labels:
    """Return the labels of the defaults."""
    return np.asarray(DPMeans(random_state=0).fit(X).labels_)


def best_silhouette(X: Table, k: int) -> Labels:
    """Return the labels of the k-means fit with the best silhouette, up to 2 k clusters."""
    fits = [KMeans(q, n_init=1, random_state=0).fit(X).labels_ for q in range(2, 2 * k + 1)]
    size = min(2_000, len(X))
    return max(
        fits, key=lambda labels: silhouette_score(X, labels, sample_size=size, random_state=0)
    )


def best_mixture(X: Table, k: int) -> Labels:
    """Return the labels of the spherical mixture with the best BIC, up to 2 k components."""
    fits = [
        GaussianMixture(q, covariance_type="spherical", random_state=0).fit(X)
        for q in range(1, 2 * k + 1)
    ]
    return np.asarray(min(fits, key=lambda fit: fit.bic(X)).predict(X))


def k_means(X: Table, k: int) -> Labels:
    """Return the labels of k-means with the true number."""
    return np.asarray(KMeans(k, random_state=0).fit(X).labels_)


def hdbscan(X: Table, k: int) -> Labels:
    """Return the labels of the defaults."""
    return np.asarray(HDBSCAN(copy=True).fit(X).labels_)


METHODS: dict[str, Callable[[Table, int], Labels]] = {
    "DPMeans()": dp_means,
    "KMeans(k)": k_means,
    "silhouette sweep": best_silhouette,
    "mixtures, BIC": best_mixture,
    "HDBSCAN()": hdbscan,
}


def _cell(
    method: Callable[[Table, int], Labels], known: Labelled, k: int, scores: list[float]
) -> str:
    if len(known.X) > MANY and method not in (dp_means, k_means):
        return "-"
    begin = time.perf_counter()
    labels = quiet(method, known.X, k)
    elapsed = time.perf_counter() - begin
    score = adjusted_rand_score(known.member, labels)
    if len(known.X) <= MANY:
        scores.append(score)
    return f"{_found(labels)}, {score:.3f}, {elapsed:.2f}"


def _alarms(n_draws: int) -> list[str]:
    """Return the part of structureless draws with more than one cluster, for each method."""
    cells = []
    for name, method in METHODS.items():
        progress(f"choosing, structureless, {name}")
        draws = list(structureless(n_draws))
        if method is k_means:
            cells.append("-")
            continue
        if method is not dp_means:
            draws = draws[:: max(1, len(draws) // MOST_COMPARED)]
        half = WITHOUT_STRUCTURE // 2
        more = [_found(quiet(method, X, half)) > 1 for _, X in draws]
        cells.append(f"{sum(more)} of {len(more)}")
    return cells


def _found(labels: Labels) -> int:
    return len(np.unique(labels[labels >= 0]))


def quiet(method: Callable[[Table, int], Labels], X: Table, k: int) -> Labels:
    """Return the labels of a method, without its warnings."""
    with warnings.catch_warnings():  # that no number stood out is part of the answer
        warnings.simplefilter("ignore")
        return method(X, k)
