"""Overlapping features: one run, many restarts, and sweeps against their own matrix product."""

import time
from collections.abc import Callable
from statistics import median

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from benchmarks.options import THREADS, Options
from benchmarks.report import TARGET_COLUMNS, Section, Target
from benchmarks.timing import Timed, interleave, paired_ratio, progress, seconds
from hardbayes import BPMeans, KFeatures
from hardbayes.core.pool import Pool
from hardbayes.datasets import make_tabletop
from hardbayes.features.memory import MemoryFeatureRows
from hardbayes.features.rows import Allocation
from hardbayes.features.tiles import Tiles

NOTES = """\
**Fits**: generated tabletop pictures, 100 x 100 after PCA as in Broderick, Kulis & Jordan 2013,
whose MATLAB runs took 100 ms (K-features), 360 ms (BP-means) and 11 s (collapsed). Whole calls of
`fit`, with validation; one run on one thread in CPU time, restarts on two threads in wall-clock
time. Beside them scikit-learn's KMeans with five centres and as many starts, in the same turns.

**Sweeps**: 8 features of a million rows of 32 columns, each feature in two rows of five, and noise.
A sweep decides every row and sums up for the refit. It is divided by the time of `X @ A.T` plus
that of `X.sum(axis=0)`, in the dtype of X and on as many threads (BLAS's for the product, ours for
the sum): CPU time on one thread, wall-clock time on two. Converged: no row changes; first: all rows
begin without features. With noise of 0.1 rows are near their sums of features; with 1.0 noise is as
large as an entry of a feature, and for many rows all subsets are compared."""

COLUMNS = ["work", "time", "features, objective", "peer", "measured", *TARGET_COLUMNS]
PENALTY = 15.0


def run(options: Options) -> Section:
    """Time fits at the size of the paper's pictures, and sweeps over many rows."""
    section = Section("Overlapping features", COLUMNS, NOTES)
    pictures, _ = make_tabletop(100, random_state=0)
    X = PCA(100, svd_solver="full").fit_transform(pictures)
    restarts = 50 if options.quick else 1000
    one, many = {"n_init": 1, "n_jobs": 1}, {"n_init": restarts, "n_jobs": THREADS}
    fits: dict[str, tuple[KFeatures | BPMeans, float]] = {
        "K-features, one run": (KFeatures(5, **one), 1.0),
        "BP-means, one run": (BPMeans(PENALTY, **one), 2.0),
        "collapsed BP-means, one run": (BPMeans(PENALTY, method="collapsed", **one), 20.0),
        f"K-features, {restarts} restarts": (KFeatures(5, **many), 2000.0),
        f"BP-means, {restarts} restarts": (BPMeans(PENALTY, **many), 2000.0),
    }
    for name, (model, target) in fits.items():
        progress(f"features, {name}")
        _add_fit(section, name, model, X, target, options)
    n = 100_000 if options.quick else 1_000_000
    for dtype in (np.float64, np.float32):
        for noise in (0.1, 1.0):
            for n_threads in (1, THREADS):
                progress(f"features, sweeps, {dtype.__name__}, noise {noise}, {n_threads} threads")
                _add_sweeps(section, n, dtype, noise, n_threads, options)
    return section


def _add_fit(
    section: Section,
    name: str,
    model: KFeatures | BPMeans,
    X: NDArray[np.float64],
    target: float,
    options: Options,
) -> None:
    peer = KMeans(5, n_init=model.n_init)

    def fit(estimator: KFeatures | BPMeans | KMeans) -> Callable[[int], float]:
        def run(turn: int) -> float:
            estimator.set_params(random_state=turn)
            begin = time.process_time()
            estimator.fit(X)
            return time.process_time() - begin

        return run

    is_one = model.n_init == 1
    with threadpool_limits(model.n_jobs):
        fit(model)(0)  # compiled and warm
        times = interleave(
            {"fit": fit(model), "peer": fit(peer)},
            20 * options.repeats if is_one else options.repeats_up_to(2),
        )
    cpu, cpu_beside = (1e3 * median(run.result for run in times[who]) for who in ("fit", "peer"))
    wall, wall_beside = (1e3 * seconds(times[who]) for who in ("fit", "peer"))
    taken, beside = (cpu, cpu_beside) if is_one else (wall, wall_beside)
    found = f"{model.n_components_}, {model.objective_:.5g}"
    verdict = Target(reach=target, lower_is_better=True, unit=" ms").cells(taken)
    both = f"{wall:.2f} ms, CPU {cpu:.2f} ms"
    section.add(name, both, found, f"{beside:.2f} ms", f"{taken:.2f} ms", *verdict)


def _add_sweeps(
    section: Section,
    n: int,
    dtype: type[np.floating],
    noise: float,
    n_threads: int,
    options: Options,
) -> None:
    rng = np.random.default_rng(0)
    components = rng.standard_normal((8, 32))
    X = (rng.random((n, 8)) < 0.4) @ components + noise * rng.standard_normal((n, 32))
    X, A, scaled = X.astype(dtype), components.astype(dtype).T.copy(), components / 2
    names = ("default", "paper")
    converged = {name: Allocation(scaled, np.zeros((n, 8), np.uint8)) for name in names}
    start = Allocation(scaled, np.zeros((n, 8), np.uint8))
    with Pool(n_threads) as pool, threadpool_limits(n_threads):
        rows = MemoryFeatureRows(Tiles(X, np.zeros(32), 0.5, np.ones(1)), pool)

        def last(name: str) -> Callable[[int], float]:
            return lambda _: rows.sweep(converged[name], literal=name == "paper").fit

        def first(name: str) -> Callable[[int], float]:
            def sweep(_: int) -> float:
                start.membership[:] = 0
                return rows.sweep(start, literal=name == "paper").fit

            return sweep

        for name, allocation in converged.items():
            while rows.sweep(allocation, literal=name == "paper").changed:
                pass
        contestants = {
            "bound": lambda _: _product_and_pass(X, A, pool),
            "default search, converged": last("default"),
            "paper, converged": last("paper"),
            "default search, first": first("default"),
            "paper, first": first("paper"),
        }
        clock = time.process_time if n_threads == 1 else time.perf_counter
        times = interleave(contestants, 2 * options.repeats, clock)
    bound = times.pop("bound")
    for name, sweeps in times.items():
        work = f"{name}: {n:,} {np.dtype(dtype)}, noise {noise}, threads {n_threads}"
        _add_sweep(section, work, sweeps, bound)


def _product_and_pass(X: NDArray, A: NDArray, pool: Pool) -> float:
    product = X @ A
    parts = np.array_split(X, pool.n_threads)
    totals = np.empty((pool.n_threads, X.shape[1]))

    def add(part: int, _worker: int) -> None:
        totals[part] = parts[part].sum(axis=0)

    pool.run(add, pool.n_threads)
    return float(product[0, 0] + totals.sum())


def _add_sweep(
    section: Section, work: str, sweeps: list[Timed[float]], bound: list[Timed[float]]
) -> None:
    ratio = paired_ratio(sweeps, bound)
    verdict = Target(reach=2, moonshot=1, lower_is_better=True).cells(ratio.median)
    taken, least = f"{1e3 * seconds(sweeps):.0f} ms", f"{1e3 * seconds(bound):.0f} ms"
    section.add(work, taken, f"8, {4 * sweeps[-1].result:.5g}", least, ratio, *verdict)
