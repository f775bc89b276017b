"""A fit of a label-first model: its state, and the stages that `engine.loop` goes through."""

from collections.abc import Callable
from typing import Generic, NamedTuple

import numpy as np

from hardbayes.engine.loop import alternate
from hardbayes.engine.status import Status, say_nothing
from hardbayes.matrices import Floats
from hardbayes.moves.label_first import moves
from hardbayes.moves.label_first.labelling import Labelled, Proposal
from hardbayes.moves.label_first.model import Ids, S

STAGES = {
    "paper": ("sweep",),
    "divide": ("move_rows", "merge", "split"),  # from one cluster to several
    # From clusters that were chosen before: their number changes only if two had better be one.
    "local": ("choose", "move_rows", "merge"),
    # Splits come before births: they see whole clusters, and a cap is soon full.
    "split-merge": ("choose", "move_rows", "regroup", "merge", "split", "sweep", "exchange"),
}
MAX_EXCHANGES = 30
MAX_REGROUPS = 10  # moves of groups, which end with the first that gains less than this part
LEAST_GAIN = 1e-4


class Solution(NamedTuple, Generic[S]):
    """Where a fit ended."""

    labels: Ids  # (n,)
    statistics: S  # of the clusters
    history: Floats  # (steps,): the objective after each
    status: Status
    n_splits: int
    n_merges: int
    fit: float = np.nan  # sum of the weighted costs of the rows, where rows have costs

    @property
    def objective(self) -> float:
        """What was minimised."""
        return float(self.history[-1])


class Descent(Generic[S]):
    """One fit on its way down; `apply` alone changes its state.

    Parameters
    ----------
    start : Labelled
        A partition, or clusters alone (`moves.label_first.labelling.unlabelled`).
    rng : RandomState
        For the divisions that are tried.
    report : callable
        ``report(step, clusters, changed)`` is called after every step.
    exchanges : int
        Number of times that exchanges are tried.
    """

    def __init__(
        self,
        start: Labelled[S],
        rng: np.random.RandomState,
        report: Callable[[int, int, int], None] = say_nothing,
        exchanges: int = MAX_EXCHANGES,
    ) -> None:
        self.current = start
        self.report = report
        self.exchanges = exchanges
        self.regroups = MAX_REGROUPS
        self.rng = rng
        self.divisions = moves.Divisions(rng)
        self.history: list[float] = []
        self.n_splits = self.n_merges = 0
        self.capped = False

    def run(
        self,
        search: str,
        max_steps: int,
        checks_cap: bool = False,
        least_gain: float | None = None,
    ) -> Solution[S]:
        """Minimise by the stages of a search.

        ``checks_cap``: whether the status tells of splits that ``max_clusters`` prevents;
        ``least_gain``: the fit ends with the first step that gains no more than this part of the
        objective.
        """

        def is_slow() -> bool:
            if least_gain is None or len(self.history) < 2:
                return False
            before, now = self.history[-2:]
            return before - now <= least_gain * abs(now)

        if self.current.k:
            self.apply(Proposal(-np.inf, self.current, len(self.current.labels)))
        stages = [getattr(self, name) for name in STAGES[search]]
        if alternate(stages, lambda: len(self.history) < max_steps and not is_slow()):
            capped = self.capped or (checks_cap and self._cap_prevents_splits())
            status = Status.CAPPED if capped else Status.CONVERGED
        else:
            status = Status.CONVERGED if is_slow() else Status.OUT_OF_STEPS
        end, history = self.current, np.array(self.history)
        return Solution(end.labels, end.statistics, history, status, self.n_splits, self.n_merges)

    def apply(self, proposal: Proposal[S] | None) -> bool:
        """Carry out a proposal if it is the first or lowers the objective; return whether it did.

        Its outcome has no empty clusters, statistics summed anew and the objective they give.
        """
        if proposal is None or (self.history and not proposal.change < 0):
            return False
        self.current = proposal.outcome
        self.history.append(proposal.outcome.objective)
        self.n_splits += proposal.n_splits
        self.n_merges += proposal.n_merges
        self.report(len(self.history), proposal.outcome.k, proposal.n_changed)
        return True

    # -- stages: each returns whether it lowered the objective -------------------------------------

    def choose(self) -> bool:
        """Every row goes to its cheapest cluster."""
        return self.apply(moves.choose(self.current))

    def move_rows(self) -> bool:
        """Rows move one by one."""
        return self.apply(moves.move_rows(self.current))

    def merge(self) -> bool:
        """Pairs of clusters unite."""
        return self.apply(moves.merge(self.current))

    def split(self) -> bool:
        """Clusters divide in two."""
        return self.apply(moves.split(self.current, self.divisions))

    def sweep(self) -> bool:
        """Every row goes to its cheapest cluster, or opens one."""
        proposal, self.capped = moves.sweep(self.current)
        return self.apply(proposal)

    def regroup(self) -> bool:
        """Move groups of rows."""
        if not self.regroups:
            return False
        proposal = moves.regroup(self.current, self.rng)
        gains = proposal is not None and proposal.change < -LEAST_GAIN * abs(self.history[-1])
        self.regroups = self.regroups - 1 if gains else 0
        return self.apply(proposal)

    def exchange(self) -> bool:
        """Two clusters unite and a third one divides."""
        if not self.exchanges or self.current.k < 3:
            return False
        self.exchanges -= 1
        return self.apply(moves.exchange(self.current, self.divisions))

    def _cap_prevents_splits(self) -> bool:
        current, model = self.current, self.current.model
        is_full = current.k >= model.max_clusters
        return is_full and bool(moves.worth_dividing(model, self.divisions.of(current)))
