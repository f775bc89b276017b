"""Kernel and number of clusters, chosen without being told, on a tuned and an untuned half."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, SpectralClustering

from benchmarks.choosers import n_found, quiet
from benchmarks.clouds import Labels, Table
from benchmarks.kernel_sets import is_tuned, kernel_sets
from benchmarks.labelled_sets import LabelledSet, sets_of, with_one_reference
from benchmarks.options import Options
from benchmarks.processes import for_each
from benchmarks.report import NOTHING, TARGET_COLUMNS, Section, Target
from benchmarks.structureless import structureless
from benchmarks.timing import progress
from hardbayes import DPMeans, KernelDPMeans, SpectralDPMeans

NOTES = """\
Generated shapes and round clusters, tables that scikit-learn ships (standardised), and the sets of
files (`--sets FILE ...`), of which at most 3,000 rows are taken. A cell gives the k found, the
adjusted Rand index and CPU seconds. `KernelDPMeans()`, `SpectralDPMeans()`, `DPMeans()` and
`HDBSCAN()` have their defaults; `SpectralClustering` is told k and uses ten nearest neighbours.
Families are divided into two halves by name (`benchmarks/kernel_sets.py`): constants were chosen on
the tuned half alone. Then draws without structure (`--draws N`), up to 2,000 rows of each."""

MOST_ROWS = 3_000
MOST_ROWS_OF_DRAWS = 2_000
DRAWS = 100
QUICK_DRAWS = 4
QUICK_SETS = ("blobs, 3 in 2 columns", "moons, .05", "linked rings", "pair in 16 columns")

Chooser = Callable[[Table, int], Labels]


def _fitted(make: Callable[[], Any], X: Table, k: int) -> Labels:
    labels: Labels = make().fit(X).labels_
    return labels


def _spectral_clustering(X: Table, k: int) -> Labels:
    told = SpectralClustering(k, affinity="nearest_neighbors", random_state=0)
    labels: Labels = told.fit(X).labels_
    return labels


CHOOSERS: dict[str, Chooser] = {
    "KernelDPMeans()": partial(_fitted, partial(KernelDPMeans, random_state=0)),
    "SpectralDPMeans()": partial(_fitted, partial(SpectralDPMeans, random_state=0)),
    "DPMeans()": partial(_fitted, partial(DPMeans, random_state=0)),
    "HDBSCAN()": partial(_fitted, partial(HDBSCAN, copy=True)),
    "told k": _spectral_clustering,
}
OURS = ("KernelDPMeans()", "SpectralDPMeans()", "DPMeans()")


def run(options: Options) -> Section:
    """Fit every set once with every method, then draws without structure."""
    section = Section("Choosing kernels", ["data", "k", *CHOOSERS, *TARGET_COLUMNS], NOTES)
    halves: dict[str, list[dict[str, tuple[int, float, float]]]] = defaultdict(list)
    for known, cells in for_each(_fits, _sets(options), options):
        half = "tuned" if is_tuned(known.name) else "untuned"
        halves[half].append(cells)
        shown = (f"{k}, {index:.2f}, {seconds:.1f}" for k, index, seconds in cells.values())
        numbers = " or ".join(map(str, known.numbers))
        section.add(f"{known.name} ({half})", numbers, *shown, *[NOTHING] * 3)
    for half, found in halves.items():
        _add_means(section, half, found)
    _add_draws(section, QUICK_DRAWS if options.quick else options.draws or DRAWS, options)
    return section


def _sets(options: Options) -> Iterator[LabelledSet]:
    for known in map(with_one_reference, kernel_sets()):
        if not options.quick or known.name in QUICK_SETS:
            yield known
    for known in sets_of(options.sets):
        some = np.random.RandomState(0).permutation(len(known.X))[:MOST_ROWS]
        yield LabelledSet(known.name, known.X[some], [y[some] for y in known.references])


def _fits(known: LabelledSet) -> dict[str, tuple[int, float, float]]:
    progress(f"choosing kernels, {known.name}")
    return {name: _fit(method, known) for name, method in CHOOSERS.items()}


def _fit(method: Chooser, known: LabelledSet) -> tuple[int, float, float]:
    begin = time.process_time()
    labels = quiet(method, known.X, known.numbers[-1])
    return n_found(labels), known.score(labels), time.process_time() - begin


def _add_means(
    section: Section, half: str, found: list[dict[str, tuple[int, float, float]]]
) -> None:
    columns = {name: np.array([cells[name] for cells in found]) for name in CHOOSERS}
    means = {name: float(column[:, 1].mean()) for name, column in columns.items()}
    target = Target(reach=0.64, unit="").cells(means["KernelDPMeans()"])
    shown = (f"{mean:.3f}" for mean in means.values())
    section.add(f"mean ARI, {len(found)} sets, {half}", "", *shown, *target)
    ones = (str(int((column[:, 0] == 1).sum())) for column in columns.values())
    section.add(f"answered 1, {half}", "", *ones, *[NOTHING] * 3)
    seconds = (f"{np.median(column[:, 2]):.2f}" for column in columns.values())
    section.add(f"median CPU seconds, {half}", "", *seconds, *[NOTHING] * 3)


def _are_divided(draw: tuple[str, Table]) -> list[bool]:
    X = draw[1][:MOST_ROWS_OF_DRAWS]
    return [n_found(quiet(CHOOSERS[name], X, 1)) > 1 for name in OURS]


def _add_draws(section: Section, n_draws: int, options: Options) -> None:
    alarms: dict[str, dict[str, list[bool]]] = {name: defaultdict(list) for name in OURS}
    for (kind, _), divided in for_each(_are_divided, structureless(n_draws), options):
        for name, is_divided in zip(OURS, divided, strict=True):
            alarms[name][kind].append(is_divided)
    every = {name: [*chain(*kinds.values())] for name, kinds in alarms.items()}
    share = float(np.mean(every["KernelDPMeans()"]))
    cells = [f"{sum(found)} of {len(found)}" for found in every.values()]
    target = Target(reach=0.02, lower_is_better=True, unit="").cells(share)
    rest = [NOTHING] * (len(CHOOSERS) - len(OURS))
    section.add("structureless, more than 1", 1, *cells, *rest, *target)
    for kind in alarms[OURS[0]]:
        own = [alarms[name][kind] for name in OURS]
        if any(map(any, own)):
            shown = (f"{sum(found)} of {len(found)}" for found in own)
            section.add(f"of these: {kind}", 1, *shown, *rest, *[NOTHING] * 3)
