"""Two threads against one."""

import numpy as np

from benchmarks.cases import CASES, Case
from benchmarks.options import Options
from benchmarks.problem import Problem
from benchmarks.report import TARGET_COLUMNS, Section, Target
from benchmarks.timing import interleave, paired_ratio, progress, seconds

NOTES = """\
The fit from the same start without births (see above), `n_jobs=1` and `n_jobs=2`. The labels
must be the same bits."""

COLUMNS = ["n x d", "k", "sweeps", "one thread", "two threads", "ratio", "labels", *TARGET_COLUMNS]
TARGET = Target(reach=1.7, moonshot=1.9)
MOST_ROWS = 200_000


def run(options: Options) -> Section:
    """Compare at the shapes that are fitted within seconds."""
    section = Section("Two threads against one", COLUMNS, NOTES)
    for case in CASES:
        if case.n_rows <= MOST_ROWS:
            _add(section, case.tiny() if options.quick else case, options)
    return section


def _add(section: Section, case: Case, options: Options) -> None:
    progress(f"threads, {case.shape}")
    problem = Problem.of(case)
    problem.plain()
    times = interleave(
        {"one": lambda _: problem.plain(n_jobs=1), "two": lambda _: problem.plain(n_jobs=2)},
        options.repeats,
    )
    one, two = times["one"][-1].result, times["two"][-1].result
    ratio = paired_ratio(times["one"], times["two"])
    section.add(
        case.shape,
        two.clusters,
        two.sweeps,
        f"{seconds(times['one']):.3f} s",
        f"{seconds(times['two']):.3f} s",
        ratio,
        "same" if np.array_equal(one.labels, two.labels) else "DIFFERENT",
        *TARGET.cells(ratio.median),
    )
