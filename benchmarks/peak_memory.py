"""A process that fits once and prints its peak memory beyond the data: see `benchmarks.memory`."""

import gc
import json
import sys
import time
from pathlib import Path

from benchmarks.cases import MAX_SWEEPS
from benchmarks.contestants import dp_means
from benchmarks.data import mixture
from hardbayes import penalty_for

SWEEPS = 3
SAMPLE = 20_000
ENOUGH = 100_000  # rows for threads to share everything that they share
# In the default search a cluster is paid for by all its rows: its penalty is so many times that of
# the farthest-first rule on the sample, and grows with the rows.
DEARER = 8


def main() -> None:
    """Read ``n_rows n_features wished search`` from the command line."""
    n_rows, n_features, wished = map(int, sys.argv[1:4])
    X = mixture(n_rows, n_features, wished, spread=0.3, decay=0.0, seed=0)
    some = X[:SAMPLE].copy()
    penalty = penalty_for(some, wished)
    search, max_iter = sys.argv[4], SWEEPS
    if search == "split-merge":
        penalty, max_iter = DEARER * penalty, MAX_SWEEPS
    # Compiling takes memory of its own, once; it is no part of a fit.
    dp_means(X[:ENOUGH], penalty, search=search, random_state=0, max_iter=max_iter)
    if search == "split-merge":
        penalty *= n_rows / SAMPLE
    gc.collect()
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak restarts from here
    begin = time.perf_counter()
    fit = dp_means(X, penalty, search=search, random_state=0, max_iter=max_iter)
    taken = time.perf_counter() - begin
    beyond = _status("VmHWM") - before
    print(
        json.dumps(
            {
                "beyond": beyond,
                "data": X.nbytes,
                "k": fit.clusters,
                "sweeps": fit.sweeps,
                "s": taken,
            }
        )
    )


def _status(key: str) -> int:
    """Return a line of Linux's account of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return 1024 * int(line.split()[1])
    raise KeyError(key)


if __name__ == "__main__":
    main()
