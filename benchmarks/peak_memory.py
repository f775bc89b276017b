"""A process that fits once and prints its peak memory beyond the data: see `benchmarks.memory`."""

import gc
import json
import sys
import time
from pathlib import Path

from benchmarks.contestants import dp_means
from benchmarks.data import mixture
from hardbayes import penalty_for

SWEEPS = 3


def main() -> None:
    """Read ``n_rows n_features wished`` from the command line."""
    n_rows, n_features, wished = map(int, sys.argv[1:])
    X = mixture(n_rows, n_features, wished, spread=0.3, decay=0.0, seed=0)
    some = X[:20_000].copy()
    penalty = penalty_for(some, wished)
    # Compiling takes memory of its own, once; it is no part of a fit.
    dp_means(some, penalty, random_state=0, max_iter=SWEEPS)
    gc.collect()
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak restarts from here
    begin = time.perf_counter()
    fit = dp_means(X, penalty, random_state=0, max_iter=SWEEPS)
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
