"""Fits of topics: the stages that `core.loop` goes through, several starts, about so many topics.

And the published algorithm for words: Kulis & Jordan's Algorithm 2 with the KL divergence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.random import RandomState

from hardbayes.core.arrays import Topics
from hardbayes.core.loop import Proposal, Status, alternate
from hardbayes.topics import moves
from hardbayes.topics.problem import NEVER, SharedTopics, no_topics
from hardbayes.topics.state import TopicState, propose, sweep_documents

if TYPE_CHECKING:
    from hardbayes.topics.memory import Collected, Documents

Report = Callable[[int, int, float], None]

STAGES = ("sweep", "merge", "split", "delete", "add_background", "converge")
# Sweeps that lower the objective by a smaller share of it wait until no topic can be split.
SMALL_FALL = 1e-4
MAX_PENALTIES = 8  # tried for a number of topics
NEAR = 0.05  # share of that number by which it may be missed
FAR = 0.1  # and the share from which that is said
STEP = 2.0  # least factor between penalties before there is one on either side
STEEPNESS = 1.5  # on text, penalties fall about with this power of the number of topics


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
        For the splits that are tried.
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

    def apply(self, proposal: Proposal[TopicState] | None) -> bool:
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
        proposal = self._propose_sweep()
        self.apply(proposal)
        return proposal is not None and proposal.change < -SMALL_FALL * abs(self.current.objective)

    def converge(self) -> bool:
        """Sweep as long as the objective falls at all."""
        return self.apply(self._propose_sweep())

    def merge(self) -> bool:
        """Unite pairs of topics."""
        return self.apply(moves.merge(self.current))

    def split(self) -> bool:
        """Divide topics in two."""
        most = self.limits.max_topics - self.current.n_topics
        return self.apply(moves.split(self.current, most, self.rng))

    def delete(self) -> bool:
        """Drop a topic."""
        return self.apply(moves.delete(self.current))

    def add_background(self) -> bool:
        """Add a background."""
        wanted = self.limits.may_add_background
        return wanted and self.apply(moves.add_background(self.current))

    def _propose_sweep(self) -> Proposal[TopicState] | None:
        return propose(self.current, self.current.sets, self.current.totals)

    def _cap_prevents_splits(self) -> bool:
        if self.current.n_topics < self.limits.max_topics:
            return False
        saved = moves.find_splits(self.current, self.rng).saved
        return bool(saved.max() > self.current.structure.global_penalty)


def best_of_starts(
    starts: Sequence[TopicState], rng: RandomState, limits: Limits, report: Report
) -> TopicSolution:
    """Return the solution with the lowest objective, the first of equals."""
    solutions = [TopicDescent(start, rng, limits, report).run() for start in starts]
    return min(solutions, key=lambda solution: solution.objective)


def with_about_n_topics(
    n_topics: int, start: TopicState, rng: RandomState, limits: Limits, report: Report
) -> TopicSolution:
    """Return a solution with about ``n_topics`` topics, by a search over global penalties.

    A descent begins where the one before it ended if that had too many topics, and at the start if
    it had too few: merges are found more surely than splits. Where the number jumps past the wished
    one from penalty to penalty, the last descent is one with that many topics at most.
    """
    state = start
    low, high = 0.0, float("inf")  # the last penalties with too many topics, and with too few
    lowest = float("inf")  # of all with too many
    best: TopicSolution | None = None
    for _ in range(MAX_PENALTIES):
        solution = TopicDescent(state, rng, limits, report).run()
        state = solution.state
        missed = state.n_topics - n_topics
        if best is None or abs(missed) < abs(best.state.n_topics - n_topics):
            best = solution
        penalty = state.structure.global_penalty
        if abs(missed) <= NEAR * n_topics or penalty == 0.0:
            break
        if missed > 0:
            low, lowest = penalty, min(penalty, lowest)
        else:
            high = penalty
        if low and high < float("inf"):
            penalty = (low * high) ** 0.5
        else:
            ratio = (state.n_topics / n_topics) ** STEEPNESS
            penalty *= max(STEP, ratio) if missed > 0 else min(1 / STEP, ratio)
        state = at_penalty(state if missed > 0 else start, penalty)
    assert best is not None  # there is at least one descent
    if _is_far(best, n_topics) and low:
        limits = limits._replace(max_topics=n_topics)
        best = TopicDescent(at_penalty(start, lowest), rng, limits, report).run()
    if _is_far(best, n_topics):
        return best._replace(status=Status.CAPPED)
    return best._replace(status=Status.CONVERGED) if best.status is Status.CAPPED else best


def _is_far(solution: TopicSolution, n_topics: int) -> bool:
    return abs(solution.state.n_topics - n_topics) > FAR * n_topics


def as_one_topic(
    solution: TopicSolution, rng: RandomState, limits: Limits, report: Report
) -> TopicSolution:
    """Return one topic, at twice the penalty from which it is better than a solution with more."""
    state = solution.state
    words = np.asarray(state.totals.sum(axis=1, keepdims=True), np.float64)
    structure = replace(state.structure, has_background=False)
    sets = no_topics(state.documents.n_documents)
    one = sweep_documents(state.documents, structure, sets, words)
    saved = (one.objective - state.objective) / (state.n_topics - 1)
    one = at_penalty(one, 2.0 * (structure.global_penalty + max(0.0, saved)))
    found = TopicDescent(one, rng, limits, report).run()
    is_done = found.status is not Status.OUT_OF_STEPS
    return found._replace(status=Status.REMARKED) if is_done else found


def at_penalty(state: TopicState, penalty: float) -> TopicState:
    """Return the state under another global penalty."""
    structure = replace(state.structure, global_penalty=penalty)
    objective = structure.objective(state.totals, state.documents.penalties, state.sets.sizes)
    return replace(state, structure=structure, objective=objective)


class LiteralDescent:
    """Passes until the words are together as before (Jiang, Kulis & Jordan 2012, section 4).

    Local clusters without words are dropped, and those of a document with the same topic merged, at
    the end of each pass; so are topics without words.
    """

    def __init__(self, documents: Documents, structure: SharedTopics, report: Report) -> None:
        self.documents = documents
        self.structure = structure
        self.report = report
        self.history: list[float] = []
        self._keep(documents.collect(documents.one_cluster_each(), 1))

    def run(self, max_steps: int) -> TopicSolution:
        """Minimise."""
        converged = alternate([self.sweep], lambda: len(self.history) < max_steps)
        status = Status.CONVERGED if converged else Status.OUT_OF_STEPS
        _, _, totals, sets = self.found
        state = TopicState(
            self.documents, self.structure, Topics(self.structure.costs(totals), 0), sets, totals,
            np.zeros(totals.shape[1]), self.history[-1],
        )  # fmt: skip
        return TopicSolution(state, self.history, status, 0, 0)

    def sweep(self) -> bool:
        """Make one pass; return whether it changed which words are together."""
        labels, n_topics = self.documents.published_pass(
            self.structure.costs(self.found.totals), NEVER, self.structure.global_penalty,
            self.found.labels,
        )  # fmt: skip
        found = self.documents.collect(labels, n_topics)
        if same_partition(self.found.topics, found.topics):
            return False
        self._keep(found)
        return True

    def _keep(self, found: Collected) -> None:
        """Record where a pass ended, and the objective there."""
        self.found = found
        totals, penalties = found.totals, self.documents.penalties
        self.history.append(self.structure.objective(totals, penalties, found.sets.sizes))
        self.report(len(self.history), totals.shape[1], self.history[-1])


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two labellings group the same words, whatever the names of the groups."""
    pairs = np.unique(np.stack([one, other]), axis=1).shape[1]
    return bool(pairs == len(np.unique(one)) == len(np.unique(other)))
