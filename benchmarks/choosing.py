"""The number of clusters, chosen by several methods without being told."""

import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from benchmarks.choosers import (
    Method,
    best_silhouette,
    dp_means,
    full_mixture,
    gaussian_dp_means,
    hdbscan,
    k_means,
    n_found,
    quiet,
    spherical_mixture,
)
from benchmarks.clouds import Table, generated, shipped
from benchmarks.labelled_sets import LabelledSet, sets_of, with_one_reference
from benchmarks.options import Options
from benchmarks.processes import for_each
from benchmarks.report import NOTHING, Section
from benchmarks.structureless import structureless
from benchmarks.timing import progress

NOTES = """\
Tables that scikit-learn ships and generated groups, or the sets of files (`--sets FILE ...`).
`DPMeans()`, `GaussianDPMeans()` and `HDBSCAN()` have their defaults. The silhouette sweep takes the
best of `KMeans(k)` for k from 2 to twice the true number, the mixtures the best BIC of
`GaussianMixture(k)` for k from 1 on; both are told a range from the truth. `KMeans` is told k. A
cell gives the k found, the adjusted Rand index, the time in seconds; sets of more than 20,000 rows
or a million entries are left to `DPMeans` and `KMeans`. Of several reference partitions the nearest
counts, for each method. Then means of the sets on which `KMeans` told k reaches an index of 0.3,
and how often draws of many kinds without structure (50 to 5,000 rows, 1 to 50 columns) were given
more than one cluster; there sweeps go up to 10. `--draws N` sets how many draws there are."""

METHODS: dict[str, Method] = {
    "DPMeans()": dp_means,
    "GaussianDPMeans()": gaussian_dp_means,
    "KMeans(k)": k_means,
    "silhouette sweep": best_silhouette,
    "mixtures, BIC": spherical_mixture,
    "full mixtures, BIC": full_mixture,
    "HDBSCAN()": hdbscan,
}
OURS = ("DPMeans()", "GaussianDPMeans()")

MANY_ROWS = 20_000
MANY_ENTRIES = 1_000_000
AGREES = 0.3  # the least index of k-means on a set that counts in the means
DRAWS = 250
QUICK_DRAWS = 6
# Structureless draws that the others are compared on, and entries of each.
MOST_COMPARED = 60
MOST_COMPARED_ENTRIES = 20_000
WITHOUT_STRUCTURE = 10

Cells = dict[str, tuple[int, float, float] | None]  # k, index and seconds of each method


def run(options: Options) -> Section:
    """Fit every set once with every method."""
    section = Section("Choosing the number of clusters", ["data", "k", *METHODS], NOTES)
    sets = [with_one_reference(known) for known in (*shipped(), *generated())]
    if options.sets:
        sets = list(sets_of(options.sets))
    counted = []
    for known, cells in for_each(_fits, sets[1:5:3] if options.quick else sets, options):
        shown = (f"{c[0]}, {c[1]:.3f}, {c[2]:.2f}" if c else NOTHING for c in cells.values())
        numbers = " or ".join(map(str, known.numbers))
        section.add(f"{known.name}: {known.X.shape[0]:,} x {known.X.shape[1]}", numbers, *shown)
        told = cells["KMeans(k)"]
        if told and told[1] >= AGREES:
            counted.append((known, cells))
    _add_means(section, "", [pair for pair in counted if None not in pair[1].values()])
    _add_means(section, ", large sets too", counted)
    _add_alarms(section, QUICK_DRAWS if options.quick else options.draws or DRAWS, options)
    return section


def _fits(known: LabelledSet) -> Cells:
    progress(f"choosing, {known.name}")
    return {name: _fit(method, known) for name, method in METHODS.items()}


def _fit(method: Method, known: LabelledSet) -> tuple[int, float, float] | None:
    """Return the number of clusters, the index and the time; None for a peer on a large set."""
    rows, columns = known.X.shape
    is_large = rows > MANY_ROWS or rows * columns > MANY_ENTRIES
    if is_large and method not in (dp_means, k_means):
        return None
    begin = time.perf_counter()
    numbers = known.numbers if method is k_means else known.numbers[-1:]
    fits = [quiet(method, known.X, k) for k in numbers]
    elapsed = (time.perf_counter() - begin) / len(fits)
    labels = max(fits, key=known.score)
    return n_found(labels), known.score(labels), elapsed


def _add_means(section: Section, which: str, counted: list[tuple[LabelledSet, Cells]]) -> None:
    means, exact, ones = [], [], []
    for name in METHODS:
        found = [(known, cells[name]) for known, cells in counted]
        fits = [(known, cell) for known, cell in found if cell]
        if not fits or len(fits) < len(found):
            means, exact, ones = ([*cells, NOTHING] for cells in (means, exact, ones))
            continue
        means.append(f"{np.mean([cell[1] for _, cell in fits]):.3f}")
        exact.append(str(sum(cell[0] in known.numbers for known, cell in fits)))
        ones.append(str(sum(cell[0] == 1 for _, cell in fits)))
    for what, cells in (("mean ARI", means), ("k exact", exact), ("answered 1", ones)):
        section.add(f"{what}, {len(counted)} sets{which}", "", *cells)


class Draw(NamedTuple):
    """Rows without clusters."""

    kind: str
    X: Table
    methods: list[str]


def _draws(n_draws: int) -> Iterator[Draw]:
    n_compared = 0
    for number, (kind, X) in enumerate(structureless(n_draws)):
        if number % 50 == 0:
            progress(f"choosing, structureless, {number}")
        is_compared = n_compared < MOST_COMPARED and X.size <= MOST_COMPARED_ENTRIES
        n_compared += is_compared
        choosers = [name for name, method in METHODS.items() if method is not k_means]
        yield Draw(kind, X, choosers if is_compared else list(OURS))


def _are_divided(draw: Draw) -> list[bool]:
    half = WITHOUT_STRUCTURE // 2
    return [n_found(quiet(METHODS[name], draw.X, half)) > 1 for name in draw.methods]


def _add_alarms(section: Section, n_draws: int, options: Options) -> None:
    """Add the structureless draws with more than one cluster, of each kind and of all."""
    alarms: dict[str, dict[str, list[bool]]] = {name: defaultdict(list) for name in METHODS}
    for draw, divided in for_each(_are_divided, _draws(n_draws), options):
        for name, is_divided in zip(draw.methods, divided, strict=True):
            alarms[name][draw.kind].append(is_divided)
    every = {name: [*chain(*kinds.values())] for name, kinds in alarms.items()}
    shown = (f"{sum(e)} of {len(e)}" if e else NOTHING for e in every.values())
    section.add("structureless, more than 1", 1, *shown)
    for kind in alarms[OURS[0]]:
        ours = [alarms[name][kind] for name in OURS]
        if any(map(any, ours)):
            cells = (f"{sum(found)} of {len(found)}" for found in ours)
            section.add(f"of these: {kind}", 1, *cells, *[NOTHING] * (len(METHODS) - len(OURS)))
