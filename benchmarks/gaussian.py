"""Clusters with covariances: `GaussianDPMeans()` beside a sweep of mixtures chosen by BIC."""

import time
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from benchmarks.data import plane
from benchmarks.options import Options
from benchmarks.report import TARGET_COLUMNS, Section, Target
from benchmarks.timing import Timed, interleave, paired_ratio, progress, seconds
from hardbayes import GaussianDPMeans

MAX_COMPONENTS = 20
NOTES = f"""\
Raw coordinates, full covariances. `GaussianMixture` is fitted with 1 to {MAX_COMPONENTS} components
(one start each, scikit-learn's defaults), and the number with the least BIC is taken. A cell gives
the number of clusters found, the adjusted Rand index and CPU seconds of one thread, medians over
rounds in which both take turns. The ratio is our time over the whole sweep's, round by round. Where
there is one cluster the index is 1 for one cluster and 0 for more."""
COLUMNS = ["data", "k", "GaussianDPMeans()", "GaussianMixture, BIC", "time ratio", *TARGET_COLUMNS]
TIME = Target(reach=3, moonshot=1, lower_is_better=True)

Table = NDArray[np.float64]
Labels = NDArray[np.integer]


class Known(NamedTuple):
    """Rows and their true labels."""

    name: str
    rows: Table
    labels: Labels


def run(options: Options) -> Section:
    """Fit every set with both."""
    section = Section("Clusters with covariances", COLUMNS, NOTES)
    scores = []
    for known in quick_sets() if options.quick else sets():
        progress(f"gaussian, {known.name}")
        scores.append(_add(section, known, options.repeats_up_to(3)))
    ours, theirs = np.mean(scores, axis=0)
    section.remarks.append(
        f"Mean adjusted Rand index: {ours:.3f} for `GaussianDPMeans()`, {theirs:.3f} for the sweep."
    )
    return section


def sets() -> Iterator[Known]:
    """Yield what scikit-learn ships, generated clusters of several kinds, and clouds of one."""
    for name, load in (
        ("iris", load_iris),
        ("wine", load_wine),
        ("breast cancer", load_breast_cancer),
    ):
        yield Known(name, *load(return_X_y=True))
    yield Known("round, plane", *plane(5_000, 15, gap=5.0, grid=False, seed=0))
    yield Known("round, on a grid", *plane(3_200, 16, gap=6.0, grid=True, seed=0))
    yield Known("two round ones", *round_ones(2_048, 16, 2, gap=4.5, seed=0))
    yield Known("long ones", *long_ones(2_000, 5, 4, seed=0))
    yield Known("long ones", *long_ones(5_000, 3, 5, seed=1))
    yield Known("long ones", *long_ones(20_000, 6, 5, seed=2))
    yield from clouds(1_000)


def quick_sets() -> Iterator[Known]:
    """Yield two small sets."""
    yield Known("iris", *load_iris(return_X_y=True))
    yield Known("long ones", *long_ones(300, 2, 3, seed=0))


def round_ones(n: int, d: int, k: int, *, gap: float, seed: int) -> tuple[Table, Labels]:
    """Return Gaussians of deviation 1 whose centres lie on a line, `gap` apart."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    return rng.normal(size=(n, d)) + gap / np.sqrt(d) * labels[:, np.newaxis], labels


def long_ones(n: int, d: int, k: int, *, seed: int) -> tuple[Table, Labels]:
    """Return Gaussians of unequal sizes, each long in a direction of its own."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(k, n, p=rng.dirichlet(np.full(k, 5.0)))
    rows = np.empty((n, d))
    for c in range(k):
        mine = labels == c
        axes = np.linalg.qr(rng.normal(size=(d, d)))[0]
        widths = np.geomspace(4.0, 0.5, d)
        rows[mine] = rng.normal(size=(mine.sum(), d)) * widths @ axes + 6.0 * rng.normal(size=d)
    return rows, labels


def clouds(n: int) -> Iterator[Known]:
    """Yield rows without clusters."""
    rng = np.random.default_rng(0)
    one = np.zeros(n, np.intp)
    yield Known("a uniform square", rng.uniform(size=(n, 2)), one)
    yield Known("an exponential cloud", rng.exponential(size=(n, 3)), one)


def mixture_by_bic(rows: Table) -> Labels:
    """Return the labels of the mixture with the least BIC."""
    most = min(MAX_COMPONENTS, len(rows) // 2)
    fits = [GaussianMixture(k, random_state=0).fit(rows) for k in range(1, most + 1)]
    labels: Labels = min(fits, key=lambda fit: fit.bic(rows)).predict(rows)
    return labels


def _add(section: Section, known: Known, repeats: int) -> tuple[float, float]:
    """Add a row; return the adjusted Rand indices of both."""
    name, rows, true = known
    # Threads of a mixture's k-means wait actively, which would count as CPU time.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one cluster, and of mixtures that have not converged
        GaussianDPMeans().fit(rows[:50])  # compiled before anything is timed
        times = interleave(
            {
                "ours": lambda turn: GaussianDPMeans(random_state=turn, n_jobs=1).fit(rows).labels_,
                "theirs": lambda _: mixture_by_bic(rows),
            },
            repeats,
            time.process_time,
        )
    ratio = paired_ratio(times["ours"], times["theirs"])
    size = f"{name}: {len(rows):,} x {rows.shape[1]}"
    cells = [_cell(times[key], true) for key in ("ours", "theirs")]
    section.add(size, len(np.unique(true)), *cells, ratio, *TIME.cells(ratio.median))
    return _score(times["ours"], true), _score(times["theirs"], true)


def _cell(runs: list[Timed[Labels]], true: Labels) -> str:
    found = len(np.unique(runs[0].result))
    return f"{found}, {_score(runs, true):.3f}, {seconds(runs):.2f}"


def _score(runs: list[Timed[Labels]], true: Labels) -> float:
    return float(np.median([adjusted_rand_score(true, run.result) for run in runs]))
