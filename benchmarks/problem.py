"""What the contestants of one case share: rows, penalty and start."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from benchmarks.cases import Case
from benchmarks.contestants import Fit, dp_means
from benchmarks.data import Rows
from benchmarks.options import THREADS
from benchmarks.timing import Timed, seconds
from hardbayes import objective

Runs = Sequence[Timed[Fit]]


@dataclass(frozen=True)
class Problem:
    """Rows, their penalty and a start: what the contestants of one case share."""

    X: Rows
    penalty: float
    start: Rows
    max_sweeps: int
    #: No row is ever this far from a centre: births are priced out.
    no_births: float
    known: dict[bytes, float] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, case: Case) -> "Problem":
        """Generate the rows and find the start."""
        X = case.rows()
        penalty = case.penalty(X)
        if case.noisy:
            rng = np.random.default_rng(case.seed)
            start = X[rng.choice(len(X), size=case.wished, replace=False)]
        else:
            start = dp_means(X, penalty, random_state=0, max_iter=1).centres.astype(X.dtype)
        farthest = max(
            float(np.square(tile - X.mean(axis=0)).sum(axis=1).max())
            for tile in np.array_split(X, 1 + len(X) // 10_000)
        )
        return cls(X, penalty, start, case.max_sweeps, 4.0 * farthest)

    def plain(self, n_jobs: int = THREADS) -> Fit:
        """Fit from the start, without births."""
        return dp_means(
            self.X,
            self.no_births,
            init=self.start,
            max_iter=self.max_sweeps,
            random_state=0,
            n_jobs=n_jobs,
        )

    def objective(self, fit: Fit) -> float:
        """Return the objective at the case's penalty; equal labels are looked at once."""
        key = fit.labels.astype(np.int32).tobytes()
        if key not in self.known:
            self.known[key] = objective(self.X, fit.labels, self.penalty)
        return self.known[key]

    def gap(self, ours: Runs, theirs: Runs) -> str:
        """Return by how much our objective is above theirs, in the median of the turns."""
        pairs = zip(ours, theirs, strict=True)
        gaps = [self.objective(a.result) / self.objective(b.result) - 1.0 for a, b in pairs]
        return f"{100 * median(gaps):+.2f} %"

    def describe(self, runs: Runs) -> str:
        """Return the cell of one contestant: medians where the runs differ."""
        fits = [run.result for run in runs]
        value = median(self.objective(fit) for fit in fits)
        sweeps = median(fit.sweeps for fit in fits)
        clusters = median(fit.clusters for fit in fits)
        return f"{seconds(runs):.3f} s, {sweeps:g} sweeps, k {clusters:g}, {value:.5g}"
