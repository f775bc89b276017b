"""A fit of topics: its state, and the stages that `engine.loop` goes through."""

from collections.abc import Callable
from typing import NamedTuple

from numpy.random import RandomState

from hardbayes.engine.loop import alternate
from hardbayes.engine.status import Status
from hardbayes.moves.topics import background, merges, splits
from hardbayes.moves.topics.state import Proposal, TopicState, propose

Report = Callable[[int, int, float], None]

STAGES = ("sweep", "merge", "split", "delete", "add_background", "converge")
# Sweeps that lower the objective by a smaller share of it wait until no topic can be split.
SMALL_FALL = 1e-4


class Limits(NamedTuple):
    """How far a descent may go."""

    max_topics: int
    max_steps: int
    may_add_background: bool  # where that lowers the objective


class TopicSolution(NamedTuple):
    """Where a fit ended."""

    state: TopicState
    history: list[float]  # the objective after each step
    status: Status
    n_splits: int
    n_merges: int

    @property
    def objective(self) -> float:
        """What was minimised."""
        return self.history[-1]


class TopicDescent:
    """One fit on its way down; `apply` alone changes its state.

    Parameters
    ----------
    start : TopicState
    rng : RandomState
        For the divisions that are tried.
    limits : Limits
    report : callable
        ``report(step, topics, objective)`` is called after every step.
    """

    def __init__(
        self, start: TopicState, rng: RandomState, limits: Limits, report: Report = lambda *_: None
    ) -> None:
        self.current = start
        self.rng = rng
        self.limits = limits
        self.report = report
        self.history = [start.objective]
        self.n_splits = self.n_merges = 0

    def run(self) -> TopicSolution:
        """Minimise."""
        status = Status.OUT_OF_STEPS
        stages = [getattr(self, name) for name in STAGES]
        if alternate(stages, lambda: len(self.history) < self.limits.max_steps):
            status = Status.CAPPED if self._cap_prevents_splits() else Status.CONVERGED
        return TopicSolution(self.current, self.history, status, self.n_splits, self.n_merges)

    def apply(self, proposal: Proposal | None) -> bool:
        """Carry out a proposal; return whether there is one."""
        if proposal is None:
            return False
        self.current = proposal.outcome
        self.history.append(self.current.objective)
        self.n_splits += proposal.n_splits
        self.n_merges += proposal.n_merges
        self.report(len(self.history), self.current.n_topics, self.current.objective)
        return True

    # -- stages: each returns whether it lowered the objective -------------------------------------

    def sweep(self) -> bool:
        """Documents choose topics, and topics follow; a small fall does not count as one."""
        proposal = self._swept()
        self.apply(proposal)
        return proposal is not None and proposal.change < -SMALL_FALL * abs(self.current.objective)

    def converge(self) -> bool:
        """Sweep as long as the objective falls at all."""
        return self.apply(self._swept())

    def merge(self) -> bool:
        """Unite pairs of topics."""
        return self.apply(merges.merge(self.current))

    def split(self) -> bool:
        """Divide topics in two."""
        most = self.limits.max_topics - self.current.n_topics
        return self.apply(splits.split(self.current, most, self.rng))

    def delete(self) -> bool:
        """Drop a topic."""
        return self.apply(merges.delete(self.current))

    def add_background(self) -> bool:
        """Add a background."""
        wanted = self.limits.may_add_background
        return wanted and self.apply(background.add_background(self.current))

    def _swept(self) -> Proposal | None:
        return propose(self.current, self.current.sets, self.current.totals)

    def _cap_prevents_splits(self) -> bool:
        if self.current.n_topics < self.limits.max_topics:
            return False
        saved = splits.divisions(self.current, self.rng).saved
        return bool(saved.max() > self.current.structure.global_penalty)
