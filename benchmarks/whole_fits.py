"""Whole fits: from the same centres, and as people call the libraries."""

from collections.abc import Callable
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.cases import CASES, NOISE, Case
from benchmarks.contestants import (
    FAISS_IS_INSTALLED,
    Fit,
    dp_means,
    faiss_fit,
    faiss_from,
    k_means,
    k_means_from,
)
from benchmarks.options import Options
from benchmarks.problem import Problem, Runs
from benchmarks.report import TARGET_COLUMNS, Section, Target
from benchmarks.timing import Timed, interleave, paired_ratio, progress

NOTES = """\
`search="paper"`. Overlapping Gaussian mixtures (smooth grey images at d = 784), float32. A cell
gives time, sweeps, clusters, objective. "Ratio" is the peer's time over ours, "a sweep" the same
with each time divided by its sweeps, "objective" how far ours is above the peer's: faster to a
worse objective is not faster.

- **Same start**: all begin at the centres that one sweep of DPMeans leaves (births included,
  then means), run until the labels repeat (tol = 0, at most 300 sweeps); scikit-learn's Lloyd
  holds BLAS to one thread inside. *Births allowed* keeps the penalty, so DPMeans may open
  clusters and take other sweeps than KMeans. *No births* sets a penalty that no row exceeds: the
  sweeps are then Lloyd's, the same work for both. Objectives are all at the case's penalty.
- **faiss** has no test of convergence: it runs as many sweeps as ours took without births.
- **As called**: `DPMeans(penalty, search="paper")` from the data's mean against `KMeans(k)` at our
  k with its defaults (k-means++, tol = 1e-4), another seed each turn. k-means++ calls a threaded
  BLAS, which suffers where others use the machine: the last line of each shape holds it to one
  thread.
- **Mostly noise**: isotropic noise of twice the deviation of the means, so that bounds skip little.
  Rows drawn at random are the start, no births, at most 100 sweeps: how the ratio depends on
  structure in the data."""

COLUMNS = ["n x d", "comparison", "hardbayes", "peer", "ratio", "a sweep", "objective"]
COLUMNS += TARGET_COLUMNS
# The k-means++ start at hundreds of clusters is most of the time of the whole run.
MOST_REPEATS_AS_CALLED = 3
AGAINST_FAISS = Target(reach=1.3, moonshot=2)


def run(options: Options) -> Section:
    """Run every case."""
    section = Section("Whole fits", COLUMNS, NOTES)
    for case in [*CASES, *NOISE]:
        chosen = case.tiny() if options.quick else case
        progress(f"whole fits, {chosen.shape}")
        run_case(chosen, options, section)
    if not FAISS_IS_INSTALLED:
        section.remarks.append("faiss is not installed: its lines are left out.")
    return section


def run_case(case: Case, options: Options, section: Section) -> None:
    """Add the lines of one case."""
    problem = Problem.of(case)
    repeats = options.repeats_up_to(case.most_repeats)
    _same_start(case, problem, repeats, section)
    if not case.noisy:
        _as_called(case, problem, min(repeats, MOST_REPEATS_AS_CALLED), section)


def _same_start(case: Case, problem: Problem, repeats: int, section: Section) -> None:
    X, start = problem.X, problem.start
    rounds: dict[str, Callable[[int], Any]] = {
        "plain": lambda _: problem.plain(),
        "lloyd": lambda _: k_means_from(X, start, max_iter=problem.max_sweeps),
    }
    labels = {"plain": "no births"}
    if not case.noisy:
        rounds["births"] = lambda _: dp_means(X, problem.penalty, init=start, random_state=0)
        labels = {"births": "births allowed", **labels}
        rounds["births"](0)
    sweeps = rounds["plain"](0).sweeps
    k_means_from(X, start, max_iter=2)
    if FAISS_IS_INSTALLED:
        faiss_from(X, start, 2)
        rounds["faiss"] = lambda _: faiss_from(X, start, sweeps)
    times = interleave(rounds, repeats)
    for name, label in labels.items():
        comparison = f"scikit-learn, same start, {label}"
        _add(section, case, comparison, problem, times[name], times["lloyd"], case.like_for_like)
    if FAISS_IS_INSTALLED:
        fit = faiss_fit(times["faiss"][-1].result, X, sweeps)
        runs = [Timed(timed.seconds, fit) for timed in times["faiss"]]
        comparison = "faiss, same start, equal sweeps"
        _add(section, case, comparison, problem, times["plain"], runs, AGAINST_FAISS)


def _as_called(case: Case, problem: Problem, repeats: int, section: Section) -> None:
    X, penalty = problem.X, problem.penalty
    k_means(X, len(problem.start), random_state=0, max_iter=2)
    clusters: dict[int, int] = {}

    def ours(turn: int) -> Fit:
        fit = dp_means(X, penalty, random_state=turn)
        clusters[turn] = fit.clusters
        return fit

    def theirs(turn: int) -> Fit:
        return k_means(X, clusters[turn], random_state=turn)

    def theirs_with_one_blas_thread(turn: int) -> Fit:
        with threadpool_limits(1, user_api="blas"):
            return theirs(turn)

    times = interleave(
        {"ours": ours, "theirs": theirs, "one": theirs_with_one_blas_thread}, repeats
    )
    comparison = "scikit-learn, as called"
    _add(section, case, comparison, problem, times["ours"], times["theirs"], case.as_called)
    comparison = "the same, BLAS held to one thread"
    _add(section, case, comparison, problem, times["ours"], times["one"], Target())


def _add(
    section: Section,
    case: Case,
    comparison: str,
    problem: Problem,
    ours: Runs,
    theirs: Runs,
    target: Target,
) -> None:
    ratio = paired_ratio(theirs, ours)
    progress(f"  {comparison}: {ratio}")
    section.add(
        case.shape,
        comparison,
        problem.describe(ours),
        problem.describe(theirs),
        ratio,
        paired_ratio(theirs, ours, work=lambda fit: fit.sweeps),
        problem.gap(ours, theirs),
        *target.cells(ratio.median),
    )
