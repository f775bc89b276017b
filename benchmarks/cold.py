"""Cold start: the first fit ever, and the first fit of a later process."""

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_iris

from benchmarks.child import run_module
from benchmarks.contestants import dp_means
from benchmarks.data import mixture
from benchmarks.options import Options
from benchmarks.report import TARGET_COLUMNS, Section, Target
from benchmarks.timing import Timed, interleave, progress, seconds
from hardbayes import penalty_for

NOTES = """\
Seconds inside a fresh process, from its first statement until after one fit: imports and reading
the rows included, the interpreter's own start not. *First ever* has an empty folder for compiled
code (`NUMBA_CACHE_DIR`), *later* the folder that the first left. scikit-learn's `KMeans(k)`
stands beside it. Medians, with extremes in brackets. The default search, `split-merge`, has more
to compile than `paper`, and the automatic penalty more again; the other estimators have kernels of
their own, and are called without arguments."""

COLUMNS = ["data", "hardbayes, first ever", *TARGET_COLUMNS, "hardbayes, later"]
COLUMNS += [*TARGET_COLUMNS, "scikit-learn"]
FIRST_EVER = Target(reach=8, moonshot=4, lower_is_better=True, unit=" s")
SEARCHES = ("paper", "split-merge")
LATER = Target(reach=2, moonshot=1.2, lower_is_better=True, unit=" s")


def run(options: Options) -> Section:
    """Start processes on iris, and on rows that are many enough for the kernels of large data."""
    section = Section("Cold start", COLUMNS, NOTES)
    iris = load_iris(return_X_y=True)[0]
    _add(section, "iris, float64", iris, 3, "split-merge", FIRST_EVER, LATER, options)
    large = mixture(20_000, 32, 30, spread=0.5, decay=0.5, seed=0)
    if not options.quick:
        _add(section, "iris, float64", iris, None, "split-merge", FIRST_EVER, LATER, options)
        _add(section, "iris, float64", iris, 3, "paper", FIRST_EVER, LATER, options)
        _add(section, "20,000 x 32, float32", large, 30, "paper", Target(), Target(), options)
        for name in ("GaussianDPMeans", "BPMeans"):
            _add(section, "iris, float64", iris, None, name, FIRST_EVER, LATER, options)
    return section


def _add(
    section: Section,
    name: str,
    X: NDArray[np.floating],
    wished: int | None,
    search: str,
    first_target: Target,
    later_target: Target,
    options: Options,
) -> None:
    penalty = "auto" if wished is None else penalty_for(X, wished)
    # What KMeans is told, where another estimator counts otherwise.
    k = dp_means(X, penalty, search=search, random_state=0).clusters if search in SEARCHES else 3
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npy"
        np.save(rows, X)

        def ours(cache: Path) -> float:
            environment = {"NUMBA_CACHE_DIR": str(cache)}
            return run_module("first_fit", rows, search, penalty, environment=environment)

        progress(f"cold start, {name}, {search}: first fit ever")
        times = interleave(
            {"first": lambda turn: ours(Path(folder) / f"cache-{turn}")}, options.repeats_up_to(3)
        )
        progress(f"cold start, {name}, {search}: later fits")
        times |= interleave(
            {
                "later": lambda _: ours(Path(folder) / "cache-0"),
                "theirs": lambda _: run_module("first_fit", rows, "scikit-learn", k),
            },
            options.repeats,
        )
    inside = {key: [Timed(run.result, None) for run in runs] for key, runs in times.items()}
    section.add(
        f"{name}, k {k}, `{search}`{', automatic' if wished is None else ''}",
        _show(inside["first"]),
        *first_target.cells(seconds(inside["first"])),
        _show(inside["later"]),
        *later_target.cells(seconds(inside["later"])),
        _show(inside["theirs"]),
    )


def _show(runs: list[Timed[None]]) -> str:
    each = [run.seconds for run in runs]
    return f"{seconds(runs):.2f} s ({min(each):.2f}-{max(each):.2f})"
