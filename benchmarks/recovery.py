"""Do fits find the clusters the rows were drawn from, at a penalty at which they are right?"""

from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from benchmarks.contestants import Fit, dp_means, k_means
from benchmarks.data import plane
from benchmarks.options import Options
from benchmarks.report import Section
from benchmarks.timing import Timed, interleave, progress, seconds
from hardbayes import objective, penalty_for

Table = NDArray[np.float64]
Labels = NDArray[np.intp]

NOTES = """\
Round Gaussians in the plane, generated, of the kind of the benchmark sets S1, A1, D31 and Birch1.
The penalty is the geometric middle between the dearest split and the cheapest merge of the true
clusters: what the best two-means split of one of them saves at most, and what uniting two costs at
least. "Right" counts the seeds with the true number of clusters and a centroid index of 0 (each
found centre is the nearest of one true centre, and the other way round). A cell gives that, the
median number of clusters, the median time. At that penalty few rows or none are dear enough to
open a cluster, so Algorithm 1 finds too few; `penalty_for(X, k)` is the penalty meant for it."""

COLUMNS = ["data", "dearest split", "cheapest merge", "default", "paper, same penalty"]
COLUMNS += ["paper, `penalty_for(X, k)`"]


@dataclass(frozen=True)
class Gaussians:
    """A set of Gaussians with deviation 1 in the plane."""

    name: str
    n_rows: int
    components: int
    gap: float
    grid: bool = False


SETS = [
    Gaussians("like S1", 5_000, 15, gap=5.0),
    Gaussians("like A1", 3_000, 20, gap=6.0),
    Gaussians("like D31", 3_100, 31, gap=5.0),
    Gaussians("like Birch1", 100_000, 100, gap=4 * 2**0.5, grid=True),
]
QUICK = [Gaussians("like S1", 600, 15, gap=6.0)]


def run(options: Options) -> Section:
    """Fit every set with many seeds."""
    section = Section("Recovery of known clusters", COLUMNS, NOTES)
    for known in QUICK if options.quick else SETS:
        progress(f"recovery, {known.name}")
        _add(section, known, 4 * options.repeats)
    return section


def _add(section: Section, known: Gaussians, n_seeds: int) -> None:
    X, member = plane(known.n_rows, known.components, gap=known.gap, grid=known.grid, seed=0)
    true = np.array([X[member == c].mean(axis=0) for c in range(known.components)])
    lowest, highest = penalty_interval(X, member, true)
    penalty = (lowest * highest) ** 0.5
    papers = penalty_for(X, known.components)
    rounds = {
        "default": lambda s: dp_means(X, penalty, search="split-merge", random_state=s),
        "same": lambda s: dp_means(X, penalty, random_state=s),
        "papers": lambda s: dp_means(X, papers, random_state=s),
    }
    for contestant in rounds.values():
        contestant(0)
    times = interleave(rounds, n_seeds)
    section.add(
        f"{known.name}: {known.n_rows:,} x 2, k {known.components}",
        f"{lowest:.4g}",
        f"{highest:.4g}",
        *(_cell(runs, true) for runs in times.values()),
    )


def penalty_interval(X: Table, member: Labels, true: Table) -> tuple[float, float]:
    """Return between which penalties no true cluster is worth splitting and no two worth merging.

    ``member`` (n,): the true cluster of each row; ``true`` (k, d): their means.
    """
    saved = []
    for c in range(len(true)):
        rows = X[member == c]
        halves = k_means(rows, 2, n_init=3, random_state=0).labels
        saved.append(objective(rows, np.zeros(len(rows)), 0.0) - objective(rows, halves, 0.0))
    sizes = np.bincount(member)
    rises = cdist(true, true, "sqeuclidean") * np.outer(sizes, sizes) / np.add.outer(sizes, sizes)
    return max(saved), float(rises[np.triu_indices(len(true), 1)].min())


def centroid_index(found: NDArray[np.floating], true: Table) -> int:
    """Return how many centres are missing or too many, wherever they should be (Fränti 2014)."""
    costs = cdist(found, true)
    return max(
        len(true) - len(np.unique(costs.argmin(axis=1))),
        len(found) - len(np.unique(costs.argmin(axis=0))),
    )


def _cell(runs: list[Timed[Fit]], true: Table) -> str:
    fits = [run.result for run in runs]
    right = sum(
        fit.clusters == len(true) and centroid_index(fit.centres, true) == 0 for fit in fits
    )
    clusters = median(fit.clusters for fit in fits)
    return f"{right} of {len(fits)} right, k {clusters:g}, {1e3 * seconds(runs):.3g} ms"
