"""More rows than memory: peak memory, sweeps against those in memory, Dask, peers, a model."""

import sys
import tempfile
import time
import warnings
from itertools import islice
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.cluster import Birch, MiniBatchKMeans
from sklearn.metrics import pairwise_distances_argmin

from benchmarks.child import run_module
from benchmarks.options import Options
from benchmarks.report import NOTHING, TARGET_COLUMNS, Section, Target
from benchmarks.scale_fit import BLOCK_ROWS, WORKERS, rows_of
from benchmarks.timing import Ratio, progress
from hardbayes import DPMeans, row_blocks

NOTES = """\
Rows of float32 in 16 columns around 20 centres, in a `.npy` file that the system has cached. A
fresh process fits a part of them, which compiles, and then all: `beyond` is the peak of its memory
less what it held before; for rows in memory it leaves them out. The published algorithm starts at
20 centres that lie apart from the true ones and stops after six sweeps; a step is the time of the
fit, the fastest of three, over its sweeps, the first pass included. Its ratio to that in memory is
one of times; where `processor` is said, one of seconds of the processor, reading included, by turns
in one process: what else runs on the machine disturbs these less. `processors` are those of the
workers, the scheduler and the client. `split-merge` is the default
search from one cluster, for forty steps. One thread, and `dask`: two worker processes of one thread
each that keep the rows. Peers read the same blocks and are given 20 clusters and our start.

The model of a pass is `max(4 n d / r, 2 n d K / g)`: r bytes read a second, g operations of the
assignment a second, both measured on eight blocks."""

COLUMNS = ["rows", "how", "k", "steps", "passes", "time", "a step", "ratio", "beyond",
           "inertia a row", *TARGET_COLUMNS]  # fmt: skip
COLUMNS_OF_ROWS, CENTRES = 16, 20
SWEEPS = 6
TURNS = 7  # of fits in memory and by Dask
STEPS = 40  # of the default search, which goes on for longer
MB = 1e6
#: Megabytes beyond the warm process, by rows.
MEMORY = {8_000_000: Target(reach=160, lower_is_better=True, unit=" MB"),
          50_000_000: Target(reach=300, lower_is_better=True, unit=" MB")}  # fmt: skip
SWEEP = Target(reach=1.3, lower_is_better=True)
DASK = Target(reach=1.0, lower_is_better=True)
DEFAULT_ROWS = (100_000, 1_000_000, 4_000_000, 8_000_000)
# A penalty that twenty centres pay for and many more do not, a row.
PENALTY = 0.02
NO_BIRTHS = 1e6  # no row is so far from its centre
BIRCH_ROWS = 100_000  # more take it minutes
BIRCH_RADIUS = 3.0  # smaller ones keep most rows of 16 columns apart, and the tree in memory
WORTH_DASK = 4_000_000  # rows from which two workers should be faster than one thread


def run(options: Options) -> Section:
    """Fit files of several sizes in memory, by block and by Dask."""
    section = Section("More rows than memory", COLUMNS, NOTES)
    if sys.platform != "linux":
        section.remarks.append("Peak memory is read from Linux's account of processes.")
        return section
    sizes = options.rows or ((20_000, 700_000) if options.quick else DEFAULT_ROWS)
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            progress(f"scale, {n:,} rows")
            path = write_rows(Path(folder) / "rows.npy", n)
            blocks = _sizes(section, path, n)
            section.remarks.append(_model(path, n, blocks))
            if n <= BIRCH_ROWS or n == max(sizes):
                _peers(section, path, n)
            if n == max(sizes):
                _search(section, path, n)
    return section


def write_rows(path: Path, n: int) -> Path:
    """Write rows around centres, some at a time, and centres to start from beside them."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((CENTRES, COLUMNS_OF_ROWS), np.float32)
    np.save(path.with_name("start.npy"), centres + 0.5 * rng.standard_normal(centres.shape))
    out = np.lib.format.open_memmap(path, "w+", np.float32, (n, COLUMNS_OF_ROWS))
    for start in range(0, n, BLOCK_ROWS):
        m = min(BLOCK_ROWS, n - start)
        noise = rng.standard_normal((m, COLUMNS_OF_ROWS), np.float32)
        out[start : start + m] = centres[rng.integers(CENTRES, size=m)] + noise
    out.flush()
    return path


def _fit(
    path: Path, how: str, search: str = "paper", n: int = 1, steps: int = SWEEPS, repeats: int = 3
):
    penalty = NO_BIRTHS if search == "paper" else PENALTY * n
    return run_module(
        "scale_fit", path, how, search, penalty, steps, path.with_name("start.npy"), repeats
    )


def _sizes(section: Section, path: Path, n: int) -> dict[str, float]:
    memory = _fit(path, "memory")
    _add(section, n, "memory", memory)
    blocks = _fit(path, "blocks")
    if blocks["inertia"] != memory["inertia"]:
        raise RuntimeError("Blocks and memory give different results.")
    _add(section, n, "blocks", blocks, memory)
    _add_ratio(
        section, n, "blocks, processor", _fit(path, "memory and blocks")["processors"], SWEEP
    )
    if n in MEMORY:
        beyond = blocks["beyond"] / MB
        cells = [*[NOTHING] * 6, f"{beyond:.0f} MB", NOTHING, *MEMORY[n].cells(beyond)]
        section.add(f"{n:,}", "blocks, peak memory", *cells)
    if n >= WORTH_DASK:
        dask = _fit(path, "dask")
        if dask["inertia"] != memory["inertia"]:
            raise RuntimeError("Dask and memory give different results.")
        _add(section, n, f"dask, {WORKERS} processes", dask, memory)
        both = _fit(path, "memory and dask", repeats=TURNS)
        _add_ratio(section, n, "dask, by turns", both["times"], DASK)
        _add_ratio(section, n, "dask, processors", both["processors"])
        section.remarks.append(
            f"{n:,} rows, Dask: {1e3 * both['beside']:.1f} ms a pass beside its work, least of 30 "
            "in which workers did nothing."
        )
    return blocks


def _add_ratio(section, n, how, ratios, target=None) -> None:
    ratio = Ratio(median(ratios), min(ratios), max(ratios))
    last = [NOTHING] * 3 if target is None else target.cells(ratio.median)
    section.add(f"{n:,}", how, *[NOTHING] * 5, ratio, *[NOTHING] * 2, *last)


def _search(section: Section, path: Path, n: int) -> None:
    _add(section, n, "blocks, split-merge", _fit(path, "blocks", "split-merge", n, STEPS, 1))


def _add(section, n, how, fit, against=None, target=None) -> None:
    step = fit["s"] / fit["steps"]
    ratio = None if against is None else step / (against["s"] / against["steps"])
    section.add(
        f"{n:,}", how, fit["k"], fit["steps"], fit["passes"] or NOTHING, f"{fit['s']:.2f} s",
        f"{step:.3f} s", NOTHING if ratio is None else f"{ratio:.2f}",
        f"{fit['beyond'] / MB:.0f} MB", f"{fit['inertia'] / n:.4f}",
        *([NOTHING] * 3 if target is None or ratio is None else target.cells(ratio)),
    )  # fmt: skip


def _peers(section: Section, path: Path, n: int) -> None:
    """Add libraries that read rows in parts, and dask-ml where it is there."""
    start = np.load(path.with_name("start.npy")).astype(np.float32)
    peers = {
        "MiniBatchKMeans, one pass": MiniBatchKMeans(CENTRES, init=start, n_init=1),
    }
    if n <= BIRCH_ROWS:
        peers["Birch, one pass"] = Birch(threshold=BIRCH_RADIUS, n_clusters=CENTRES)
    for name, peer in peers.items():
        progress(f"scale, {name}")
        begin = time.perf_counter()
        for raw in row_blocks(path, block_bytes=64 * BLOCK_ROWS).blocks():
            peer.partial_fit(raw.rows)
        if isinstance(peer, Birch):
            peer.partial_fit()  # the global step
        taken = time.perf_counter() - begin
        _add_peer(section, path, n, name, taken, 1, peer.predict)
    try:
        from dask_ml.cluster import KMeans
    except ImportError as error:
        section.remarks.append(f"dask-ml is left out: {error}.")
        return
    progress("scale, dask-ml")
    with rows_of(path, "dask") as rows:
        X = rows(None)
        begin = time.perf_counter()
        fit = KMeans(CENTRES, init=start, max_iter=SWEEPS, tol=0.0).fit(X)
        taken = time.perf_counter() - begin
        name = f"dask-ml KMeans, {WORKERS} processes"
        _add_peer(section, path, n, name, taken, int(fit.n_iter_), _nearest(fit.cluster_centers_))


def _nearest(centres):
    return lambda rows: pairwise_distances_argmin(rows, np.asarray(centres, rows.dtype))


def _add_peer(section, path, n, name, taken, steps, predict) -> None:
    """Add a row with the least sum of squares that the peer's labels allow."""
    sums, counts = np.zeros((CENTRES, COLUMNS_OF_ROWS)), np.zeros(CENTRES)
    squares = 0.0
    for raw in row_blocks(path).blocks():
        labels = predict(raw.rows)
        rows = raw.rows.astype(np.float64)
        squares += float((rows**2).sum())
        counts += np.bincount(labels, minlength=CENTRES)
        sums += [rows[labels == k].sum(axis=0) for k in range(CENTRES)]
    inertia = squares - float(((sums**2).sum(axis=1) / np.maximum(counts, 1)).sum())
    section.add(
        f"{n:,}", name, int((counts > 0).sum()), steps, NOTHING, f"{taken:.2f} s",
        f"{taken / steps:.3f} s", NOTHING, NOTHING, f"{inertia / n:.4f}", *[NOTHING] * 3,
    )  # fmt: skip


def _model(path: Path, n: int, measured: dict[str, float]) -> str:
    """Return the model of a pass, its measured rates, and what it predicts of a fit by block."""
    some = list(islice(row_blocks(path).blocks(), 8))
    begin = time.perf_counter()
    for _ in islice(row_blocks(path).blocks(), 8):
        pass
    reading = (time.perf_counter() - begin) / sum(raw.rows.nbytes for raw in some)
    rows = some[0].rows
    start = np.load(path.with_name("start.npy"))
    fit = DPMeans(NO_BIRTHS, search="paper", init=start, max_iter=1, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit.fit(rows)
    begin = time.perf_counter()
    for raw in some:
        fit.predict(raw.rows)
    work = 2 * sum(raw.rows.size for raw in some) * fit.n_clusters_
    computing = (time.perf_counter() - begin) / work
    size = n * COLUMNS_OF_ROWS
    read, compute = 4 * size * reading, 2 * size * measured["k"] * computing
    predicted = max(read, compute)
    found = measured["s"] / measured["passes"]
    return (
        f"The model of a pass over {n:,} rows: reading {read:.2f} s ({1e-9 / reading:.2f} GB a "
        f"second), computing {compute:.2f} s ({1e-9 / computing:.2f} billion operations a second), "
        f"so {predicted:.2f} s; measured {found:.2f} s a pass, {found / predicted:.2f} times that."
    )
