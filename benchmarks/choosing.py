"""Who finds the number of clusters without being told?"""

import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import BayesianGaussianMixture

from benchmarks.data import plane
from benchmarks.options import Options
from benchmarks.recovery import QUICK, SETS, Gaussians, Labels, Table
from benchmarks.report import Section
from benchmarks.timing import progress
from hardbayes import DPMeans

NOTES = """\
The Gaussians of "recovery", raw coordinates, every method with its defaults: `DPMeans()`,
`HDBSCAN()`, `BayesianGaussianMixture(n_components=2k)` (which must be given a bound; components
that no row chooses are not counted), and the best silhouette of `KMeans(k)` for k from 2 to twice
the truth (on a sample of 2,000 rows). A cell gives the k found, the adjusted Rand index, the time
in seconds. Sets of more than 10,000 rows are left to `DPMeans` alone."""

COLUMNS = ["data", "k", "DPMeans()", "HDBSCAN", "BayesianGaussianMixture", "silhouette sweep"]
MANY = 10_000


def run(options: Options) -> Section:
    """Fit every set once with every method."""
    section = Section("Choosing the number of clusters", COLUMNS, NOTES)
    for known in QUICK if options.quick else SETS:
        progress(f"choosing, {known.name}")
        _add(section, known)
    return section


def _add(section: Section, known: Gaussians) -> None:
    X, member = plane(known.n_rows, known.components, gap=known.gap, grid=known.grid, seed=0)
    bound = 2 * known.components
    methods: list[Callable[[], Labels]] = [
        lambda: DPMeans(random_state=0).fit(X).labels_,
        lambda: HDBSCAN().fit(X).labels_,
        lambda: BayesianGaussianMixture(n_components=bound, random_state=0).fit_predict(X),
        lambda: best_silhouette(X, bound),
    ]
    if known.n_rows > MANY:
        methods = methods[:1]
    cells = [_cell(method, member) for method in methods]
    cells += ["-"] * (len(COLUMNS) - 2 - len(cells))
    section.add(f"{known.name}: {known.n_rows:,} x 2", known.components, *cells)


def best_silhouette(X: Table, most: int) -> Labels:
    """Return the labels of the k-means fit with the best silhouette, up to so many clusters."""
    fits = [KMeans(k, n_init=1, random_state=0).fit(X).labels_ for k in range(2, most + 1)]
    size = min(2_000, len(X))
    return max(
        fits, key=lambda labels: silhouette_score(X, labels, sample_size=size, random_state=0)
    )


def _cell(method: Callable[[], Labels], member: Labels) -> str:
    begin = time.perf_counter()
    with warnings.catch_warnings():  # that a mixture has not converged is part of the answer
        warnings.simplefilter("ignore")
        labels = method()
    elapsed = time.perf_counter() - begin
    found = len(np.unique(labels[labels >= 0]))
    return f"{found}, {adjusted_rand_score(member, labels):.3f}, {elapsed:.2f}"
