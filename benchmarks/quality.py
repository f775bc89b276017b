"""How low the objective ends: every search beside the best of ten KMeans runs at every k."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import mean, median

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.contestants import Fit, delayed_births, dp_means, k_means
from benchmarks.options import Options
from benchmarks.report import Section, Target
from benchmarks.timing import Timed, interleave, progress, seconds
from hardbayes import objective, penalty_for

Table = NDArray[np.float64]

NOTES = """\
Standardised columns, constant ones dropped; penalties by `penalty_for(X, wished)`. The yardstick is
a sweep over k: `KMeans(k, n_init=10)` for k = 1, 2, ... until eight k in a row have not lowered the
objective at the smallest penalty of the data set; the lowest inertia plus penalty times k counts.
Its time is that of the whole sweep, which serves all five penalties. "To its own end" is the ratio
where the sweep stops by the same rule at the case's own penalty. Times here are CPU times with one
thread: data this small gains nothing from a second, and two that wait for each other take many
times as long where others use the machine.

A cell gives how far the objective is above the yardstick, in the mean of the seeds, with the worst
seed in brackets; the mean number of clusters; the median time. All fits have `n_init=1`.

- *Paper* is `search="paper"`, *collapsed* `method="collapsed"`, *default* `DPMeans(penalty)`.
- *Delayed births* is the published behaviour of pdc-dp-means (Dinari & Freifeld 2022) in a few
  lines of NumPy, without a seed, because the package cannot be installed beside a current
  scikit-learn: read its gap, not its time.

Targets of the default search: a gap of at most 0.8 % in every case and of -0.7 % in the median, and
50 times the speed of the sweep; moonshots: never above the yardstick, 200 times."""

COLUMNS = ["data, wished", "penalty", "KMeans at every k", "paper", "collapsed", "delayed births"]
COLUMNS += ["default", "gap is", "speed-up", "to its own end", "speed-up is"]
SETS = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
}
WISHED = (2, 4, 8, 16, 30)
GAP = Target(reach=0.8, moonshot=0.0, lower_is_better=True, unit=" %")
MEDIAN_GAP = Target(reach=-0.7, lower_is_better=True, unit=" %")
SPEED = Target(reach=50, moonshot=200)
# The sweep ends when so many k in a row have not lowered the objective.
IN_VAIN = 8


@dataclass
class Sweep:
    """The best of several KMeans runs at every k, and when each was there."""

    fit_terms: list[float] = field(default_factory=list)
    clusters: list[int] = field(default_factory=list)
    elapsed: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, X: Table, penalty: float, n_init: int) -> "Sweep":
        """Go on until the rule stops it at this penalty."""
        sweep = cls()
        begin = time.process_time()
        while len(sweep.fit_terms) < len(X) and not sweep.ends_at(penalty):
            fit = k_means(X, len(sweep.fit_terms) + 1, n_init=n_init, random_state=0)
            sweep.elapsed.append(time.process_time() - begin)
            sweep.fit_terms.append(objective(X, fit.labels, 0.0))
            sweep.clusters.append(len(np.unique(fit.labels)))
        return sweep

    def values(self, penalty: float) -> Table:
        """Return the objective at every k."""
        return np.array(self.fit_terms) + penalty * np.array(self.clusters)

    def ends_at(self, penalty: float) -> int:
        """Return how many k the rule asks for at this penalty; 0 where more are needed."""
        best = np.minimum.accumulate(self.values(penalty))
        for k in range(IN_VAIN, len(best)):
            if best[k] == best[k - IN_VAIN]:
                return k + 1
        return 0

    def seconds_until(self, penalty: float) -> float:
        """Return the time of the sweep that stops at this penalty."""
        return self.elapsed[self.ends_at(penalty) - 1]


@dataclass(frozen=True)
class Case:
    """What one line of the table is about."""

    name: str
    X: Table
    penalty: float
    sweep: Sweep


@dataclass
class Gaps:
    """Of each contestant, how far it was above the yardstick: mean and worst of every case."""

    means: dict[str, list[float]] = field(default_factory=dict)
    worst: dict[str, list[float]] = field(default_factory=dict)
    speed_ups: list[float] = field(default_factory=list)
    to_own_end: list[float] = field(default_factory=list)

    def summary(self) -> str:
        """Return the medians over the cases, and how they stand to the targets."""
        middle = [f"{name} {median(gaps):+.2f} %" for name, gaps in self.means.items()]
        ours = self.means["default"]
        reach, _, verdict = MEDIAN_GAP.cells(median(ours))
        above = sum(gap > 0 for gap in ours)
        return (
            f"Median gap over {len(ours)} cases: {', '.join(middle)}. "
            f"The default search: reach {reach} in the median, {verdict}; largest mean gap "
            f"{max(ours):+.2f} %, worst seed of all {max(self.worst['default']):+.2f} %, "
            f"cases above the yardstick: {above}. Its speed-up over the sweep: "
            f"median {median(self.speed_ups):.0f}x, least {min(self.speed_ups):.0f}x; over sweeps "
            f"that stop at their own end {median(self.to_own_end):.0f}x and "
            f"{min(self.to_own_end):.0f}x."
        )


def run(options: Options) -> Section:
    """Run every data set at every penalty."""
    section = Section("Quality of the minimum", COLUMNS, NOTES)
    gaps = Gaps()
    n_init = 2 if options.quick else 10
    with threadpool_limits(1):
        _run(section, options, n_init, gaps)
    section.remarks.append(gaps.summary())
    return section


def _run(section: Section, options: Options, n_init: int, gaps: Gaps) -> None:
    for name, load in list(SETS.items())[: 1 if options.quick else None]:
        X = load(return_X_y=True)[0]
        X = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])
        penalties = {k: penalty_for(X, k) for k in (WISHED[:3] if options.quick else WISHED)}
        progress(f"quality, {name}: KMeans at every k")
        sweep = Sweep.of(X, min(penalties.values()), n_init)
        for wished, penalty in penalties.items():
            progress(f"quality, {name}, {wished} wished")
            case = Case(f"{name} {len(X):,} x {X.shape[1]}, {wished}", X, penalty, sweep)
            _add(section, case, 2 * options.repeats, gaps)


def _add(section: Section, case: Case, n_seeds: int, gaps: Gaps) -> None:
    X, penalty, sweep = case.X, case.penalty, case.sweep

    def ours(seed: int, **parameters: str) -> Fit:
        return dp_means(X, penalty, random_state=seed, n_jobs=1, **parameters)

    rounds: dict[str, Callable[[int], Fit]] = {
        "paper": ours,
        "collapsed": lambda seed: ours(seed, method="collapsed"),
        "delayed births": lambda _: delayed_births(X, penalty),
        "default": lambda seed: ours(seed, search="split-merge"),
    }
    for contestant in rounds.values():
        contestant(0)
    times = interleave(rounds, n_seeds, clock=time.process_time)
    values = sweep.values(penalty)
    best = int(values.argmin())
    cells = [f"{values[best]:.5g}, k {sweep.clusters[best]}, {sweep.elapsed[-1]:.1f} s"]
    for name, runs in times.items():
        above = [100 * (objective(X, r.result.labels, penalty) / values[best] - 1) for r in runs]
        gaps.means.setdefault(name, []).append(mean(above))
        gaps.worst.setdefault(name, []).append(max(above))
        cells.append(_cell(above, runs))
    taken = seconds(times["default"])
    gaps.speed_ups.append(sweep.elapsed[-1] / taken)
    gaps.to_own_end.append(sweep.seconds_until(penalty) / taken)
    section.add(
        case.name,
        f"{penalty:.4g}",
        *cells,
        GAP.cells(gaps.means["default"][-1])[-1],
        f"{gaps.speed_ups[-1]:.0f}x",
        f"{gaps.to_own_end[-1]:.0f}x",
        SPEED.cells(gaps.speed_ups[-1])[-1],
    )


def _cell(above: list[float], runs: list[Timed[Fit]]) -> str:
    worst = f" ({max(above):+.2f})" if max(above) > min(above) else ""
    clusters = mean(run.result.clusters for run in runs)
    return f"{mean(above):+.2f} %{worst}, k {clusters:.4g}, {1e3 * seconds(runs):.3g} ms"
