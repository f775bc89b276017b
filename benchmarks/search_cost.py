"""What the default search costs on large data: beside Algorithm 1, at as many clusters."""

from statistics import median

from benchmarks.cases import CASES, ROWS_FOR_PENALTY
from benchmarks.contestants import Fit, dp_means
from benchmarks.data import Rows
from benchmarks.options import Options
from benchmarks.report import TARGET_COLUMNS, Section, Target
from benchmarks.timing import Timed, interleave, paired_ratio, progress, seconds
from hardbayes import objective

NOTES = f"""\
`DPMeans(penalty)` against `DPMeans(penalty, search="paper")`, float32, a mixture with structure.
The same penalty means more clusters once it is minimised well, so each has its own: *paper* that of
the whole fits, *default* one at which it finds about as many clusters, tried out on
{ROWS_FOR_PENALTY:,} rows and scaled to all. A cell gives time, steps, clusters, and the objective
at the default's penalty; in medians. The ratio is the default's time over the paper's."""

COLUMNS = ["n x d", "penalty, paper", "paper", "penalty, default", "default", "ratio", "objective"]
COLUMNS += TARGET_COLUMNS
TARGET = Target(reach=4, lower_is_better=True)
# The number of clusters may be wrong by this part.
NEAR = 0.02
TRIES = 12


def run(options: Options) -> Section:
    """Compare on the largest shape."""
    section = Section("Cost of the default search", COLUMNS, NOTES)
    case = max(CASES, key=lambda case: case.n_rows)
    if options.quick:
        case = case.tiny()
    progress(f"search cost, {case.shape}: the penalty")
    X = case.rows()
    papers = case.penalty(X)
    first = dp_means(X, papers, random_state=0)
    inertia = objective(X, first.labels, 0.0)
    penalty = penalty_of_default(X, first.clusters, inertia / first.clusters)
    dp_means(X, penalty, search="split-merge", random_state=0, max_iter=3)
    progress(f"search cost, {case.shape}: the fits")
    times = interleave(
        {
            "paper": lambda turn: dp_means(X, papers, random_state=turn),
            "default": lambda turn: dp_means(X, penalty, search="split-merge", random_state=turn),
        },
        options.repeats_up_to(case.most_repeats),
    )
    ratio = paired_ratio(times["default"], times["paper"])
    values = {
        name: median(objective(X, run.result.labels, penalty) for run in runs)
        for name, runs in times.items()
    }
    section.add(
        case.shape,
        f"{papers:.4g}",
        _cell(times["paper"], values["paper"]),
        f"{penalty:.4g}",
        _cell(times["default"], values["default"]),
        ratio,
        f"{100 * (values['default'] / values['paper'] - 1):+.2f} %",
        *TARGET.cells(ratio.median),
    )
    return section


def penalty_of_default(X: Rows, clusters: int, guess: float) -> float:
    """Return a penalty at which the default search finds about so many clusters."""
    some = X[:ROWS_FOR_PENALTY]
    share = len(some) / len(X)
    low, high = guess / 64, 4 * guess
    for _ in range(TRIES):
        penalty = (low * high) ** 0.5
        found = dp_means(some, share * penalty, search="split-merge", random_state=0).clusters
        if abs(found - clusters) <= NEAR * clusters:
            break
        low, high = (penalty, high) if found > clusters else (low, penalty)
    return penalty


def _cell(runs: list[Timed[Fit]], value: float) -> str:
    fits = [run.result for run in runs]
    steps, clusters = (
        median(getattr(fit, name) for fit in fits) for name in ("sweeps", "clusters")
    )
    return f"{seconds(runs):.2f} s, {steps:g} steps, k {clusters:g}, {value:.5g}"
