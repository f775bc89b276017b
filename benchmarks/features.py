"""Overlapping features: one run, many restarts, and a sweep against its own matrix product."""

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from benchmarks.options import THREADS, Options
from benchmarks.report import TARGET_COLUMNS, Section, Target
from benchmarks.timing import interleave, paired_ratio, progress, seconds
from hardbayes import BPMeans, KFeatures
from hardbayes.datasets import make_tabletop
from hardbayes.executors.allocator import Allocator
from hardbayes.executors.frame import Frame
from hardbayes.executors.pool import Pool
from hardbayes.executors.tiles import Tiles

NOTES = """\
Generated tabletop pictures, 100 x 100 after PCA as in Broderick, Kulis & Jordan 2013, whose times
were 100 ms (K-features), 360 ms (BP-means) and 11 s (collapsed) a run. Whole calls of `fit`, with
validation. The last row is one sweep of 8 features beside X A' plus one pass over X."""

COLUMNS = ["work", "time", "features, objective", "measured", *TARGET_COLUMNS]
PENALTY = 15.0


def run(options: Options) -> Section:
    """Time fits at the size of the paper's pictures, and a sweep over many rows."""
    section = Section("Overlapping features", COLUMNS, NOTES)
    pictures, _ = make_tabletop(100, random_state=0)
    X = PCA(100, svd_solver="full").fit_transform(pictures)
    restarts = 50 if options.quick else 1000
    fits = {
        "K-features, one run": (KFeatures(5, n_init=1, n_jobs=1), 1.0),
        "BP-means, one run": (BPMeans(PENALTY, n_init=1, n_jobs=1), 2.0),
        "collapsed BP-means, one run": (
            BPMeans(PENALTY, method="collapsed", n_init=1, n_jobs=1),
            20.0,
        ),
        f"K-features, {restarts} restarts": (KFeatures(5, n_init=restarts, n_jobs=THREADS), 2000.0),
    }
    for name, (model, target) in fits.items():
        progress(f"features, {name}")
        _add_fit(section, name, model, X, target, options)
    progress("features, a sweep")
    _add_sweep(section, 100_000 if options.quick else 1_000_000, options)
    return section


def _add_fit(
    section: Section,
    name: str,
    model: KFeatures | BPMeans,
    X: NDArray[np.float64],
    target: float,
    options: Options,
) -> None:
    model.set_params(random_state=0).fit(X)  # compiled and warm
    runs = interleave(
        {"fit": lambda turn: model.set_params(random_state=turn).fit(X)}, 4 * options.repeats
    )["fit"]
    taken = 1e3 * seconds(runs)
    found = f"{model.n_components_}, {model.objective_:.5g}"
    verdict = Target(reach=target, lower_is_better=True, unit=" ms").cells(taken)
    section.add(name, f"{taken:.2f} ms", found, f"{taken:.2f} ms", *verdict)


def _add_sweep(section: Section, n: int, options: Options) -> None:
    rng = np.random.default_rng(0)
    components = rng.standard_normal((8, 32))
    X = (rng.random((n, 8)) < 0.4) @ components + 0.1 * rng.standard_normal((n, 32))
    membership = np.zeros((n, 8), np.uint8)
    with Pool(THREADS) as pool:
        rows = Allocator(Tiles(X, Frame(np.zeros(32), 0.5), np.ones(1)), pool)
        halved = components / 2
        rows.sweep(halved, membership)
        times = interleave(
            {
                "sweep": lambda _: rows.sweep(halved, membership).fit,
                "bound": lambda _: (X @ components.T).shape and float(X.sum(axis=0)[0]),
            },
            4 * options.repeats,
        )
    ratio = paired_ratio(times["sweep"], times["bound"])
    verdict = Target(reach=2, moonshot=1, lower_is_better=True).cells(ratio.median)
    fit = f"8, {4 * times['sweep'][-1].result:.5g}"
    taken = f"{1e3 * seconds(times['sweep']):.0f} ms"
    section.add(f"a sweep, {n:,} x 32", taken, fit, ratio, *verdict)
