"""Peak memory of a fit with many rows and many clusters."""

import sys

from benchmarks.child import run_module
from benchmarks.options import Options
from benchmarks.report import NOTHING, TARGET_COLUMNS, Section, Target
from benchmarks.timing import progress

NOTES = """\
Resident memory of a fresh process at its peak during a fit, less what it held just before: the rows
(float32), the libraries and the compiled code of a fit to 20,000 of the rows. `paper` stops after
three sweeps, births included; the default search, `split-merge`, goes on for up to 300 steps, at a
penalty that gives fewer clusters. The bound is 64 MB and two copies of the centres in float64; an
n x k array would be the last column."""

COLUMNS = ["n x d", "search", "k", "steps", "time", "data", "beyond data", *TARGET_COLUMNS, "n x k"]
MB = 1e6
# Features, the wish on 20,000 of the rows that gives about a thousand clusters on all of them with
# Algorithm 1, and the search.
WISHED = [(4, 385, "paper"), (8, 530, "paper"), (4, 385, "split-merge")]
QUICK = [(4, 40, "paper"), (4, 40, "split-merge")]


def run(options: Options) -> Section:
    """Measure at two numbers of features, and with the default search."""
    section = Section("Memory", COLUMNS, NOTES)
    if sys.platform != "linux":
        section.remarks.append("Left out: the peak is read from Linux's /proc.")
        return section
    n_rows = 50_000 if options.quick else 2_000_000
    for n_features, wished, search in QUICK if options.quick else WISHED:
        progress(f"memory, {n_rows:,} x {n_features}, {search}")
        found = run_module("peak_memory", n_rows, n_features, wished, search)
        beyond = found["beyond"] / MB
        bound = 64 + 2 * 8 * found["k"] * n_features / MB
        target = Target(reach=round(bound, 1), lower_is_better=True, unit=" MB")
        section.add(
            f"{n_rows:,} x {n_features}",
            f"`{search}`",
            found["k"],
            found["sweeps"],
            f"{found['s']:.1f} s",
            f"{found['data'] / MB:.0f} MB",
            f"{beyond:.1f} MB",
            *target.cells(beyond),
            f"{4 * n_rows * found['k'] / MB:,.0f} MB" if found["k"] else NOTHING,
        )
    return section
