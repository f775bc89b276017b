"""A process that fits the rows of a file once and tells what it took: see `benchmarks.scale`."""

import gc
import json
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.peak_memory import _status
from hardbayes import DPMeans, row_blocks
from hardbayes.core.dask_rows import DaskMapper
from hardbayes.dp_means.blocks.mapping import Call

WARM_ROWS = 600_000  # more than are read into memory: the passes over blocks are compiled as well
BLOCK_ROWS = 1 << 18  # of a chunk of Dask, and of what peers are given at a time
WORKERS = 2


def main() -> None:
    """Read ``file how search penalty max_iter centres repeats`` from the command line."""
    path, how, search, penalty, max_iter, centres, repeats = sys.argv[1:8]
    init = np.load(centres)
    warnings.simplefilter("ignore", ConvergenceWarning)

    def model(steps: int) -> DPMeans:
        return DPMeans(
            float(penalty),
            search=search,
            init=init if search == "paper" else "mean",
            max_iter=steps,
            random_state=0,
            n_jobs=1,
        )

    if how.startswith("memory and "):
        how = how.removeprefix("memory and ")
        compare(Path(path), how, lambda X: model(int(max_iter)).fit(X), int(repeats))
        return
    with rows_of(Path(path), how) as rows:
        model(3).fit(rows(WARM_ROWS))
        X = rows(None)
        gc.collect()
        before = _status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak restarts from here
        times = []
        for _ in range(int(repeats)):
            begin = time.perf_counter()
            fit = model(int(max_iter)).fit(X)
            times.append(time.perf_counter() - begin)
        beyond = _status("VmHWM") - before
        print(
            json.dumps(
                {
                    "s": min(times),
                    "beyond": beyond,
                    "k": int(fit.n_clusters_),
                    "steps": int(fit.n_iter_),
                    "passes": int(getattr(fit, "n_passes_", 0)),
                    "inertia": fit.inertia_,
                }
            )
        )


def compare(path: Path, how: str, fit, repeats: int) -> None:
    """Print ratios of fits to those in memory, turn by turn: of seconds, and of the processors'."""
    with rows_of(path, how) as other, rows_of(path, "memory") as memory:
        both = other(None), memory(None)
        for _ in range(2):
            fit(other(WARM_ROWS)), fit(memory(WARM_ROWS))
        found = []
        for _ in range(repeats):
            taken = []
            for X in both:
                before, begin = _processors(how), time.perf_counter()
                fit(X)
                taken.append((time.perf_counter() - begin, _processors(how) - before))
            found.append([ours / theirs for ours, theirs in zip(*taken, strict=True)])
        beside = _seconds_beside(both[0]) if how == "dask" else 0.0
    times, processors = zip(*found, strict=True)
    print(json.dumps({"times": times, "processors": processors, "beside": beside}))


def _processors(how: str) -> float:
    """Return the seconds of the processor of this process and of workers."""
    workers = 0.0
    if how == "dask":
        from distributed import get_client

        workers = sum(get_client().run(time.process_time).values())
    return workers + time.process_time()


def _seconds_beside(X, repeats: int = 30) -> float:
    """Return how long a pass takes in which workers do nothing, at least."""
    mapper = DaskMapper(X)
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        list(mapper.map(_nothing, [Call(number, ()) for number in range(X.numblocks[0])], "none"))
        times.append(time.perf_counter() - begin)
    return min(times)


def _nothing(X, weights) -> None:
    """Do nothing with a block."""


@contextmanager
def rows_of(path: Path, how: str):
    """Yield a function that returns so many rows of a file, or all: in memory, blocks, of Dask."""
    whole = np.load(path, mmap_mode="r")
    if how == "dask":
        import dask.array as da
        from distributed import Client, LocalCluster

        options = dict(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None)
        with LocalCluster(**options) as cluster, Client(cluster) as client:

            def chunks(n):
                return client.persist(da.concatenate(list(delayed_blocks(path, n or len(whole)))))

            yield chunks
    elif how == "blocks":
        yield lambda n: row_blocks(whole[:n])
    else:
        yield lambda n: np.array(whole[:n])


def delayed_blocks(path: Path, n: int):
    """Yield blocks of a file that workers read."""
    import dask
    import dask.array as da

    d = np.load(path, mmap_mode="r").shape[1]
    for start in range(0, n, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, n)
        part = dask.delayed(part_of)(path, start, stop)
        yield da.from_delayed(part, (stop - start, d), np.float32)


def part_of(path: Path, start: int, stop: int) -> np.ndarray:
    """Return some rows of a file."""
    return np.array(np.load(path, mmap_mode="r")[start:stop])


if __name__ == "__main__":
    main()
