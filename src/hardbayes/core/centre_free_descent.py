"""The descent of models without centres: moves of rows and of whole clusters.

Rows move all at once or one by one, whole clusters by merges, splits and exchanges. Each of these
moves is a function that returns a proposal, or None, and changes nothing. `Descent` is the state of
a fit; its stages, which `core.loop` goes through, apply proposals.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, Self

import numpy as np

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import (
    CentreFreeModel,
    Ids,
    Labelled,
    S,
    Split,
    labelled,
    propose,
)
from hardbayes.core.loop import Proposal, Status, alternate, say_nothing

STAGES = {
    "paper": ("sweep",),
    "divide": ("move_rows", "merge", "split"),  # from one cluster to several
    # From clusters whose number is told.
    "rows": ("choose", "move_rows"),
    # From clusters that were chosen before: their number changes only if two had better be one.
    "local": ("choose", "move_rows", "merge"),
    # The same, for clusters that the objective was shown to keep while rows move all at once.
    "kept": ("choose", "merge"),
    # Splits come before births: they see whole clusters, and a cap is soon full.
    "split-merge": ("choose", "move_rows", "regroup", "merge", "split", "sweep", "exchange"),
}
MAX_EXCHANGES = 30  # of clusters in one fit, unless the caller says otherwise
MAX_REGROUPS = 10  # moves of groups, which end with the first that gains less than this part
MIN_GAIN = 1e-4  # of the objective
# By which a move must lower the objective: of the penalty and of the unit of costs; an exchange on
# large data, of the objective.
RELATIVE_TOLERANCE = 1e-9
MAX_PASSES = 8  # of single-row moves
MAX_TRIALS = 8  # exchanges tried, the most promising first
STEPS_OF_A_TRIAL = 6  # of rows, before an exchange is judged
# Multiply-adds of a pass over all rows above which an exchange is judged without such steps.
MAX_TRIAL_WORK = 1 << 24


class Splits:
    """The best split found of each cluster: a memo of the search, not a part of the fit.

    A cluster is split anew only after its rows, those with weight, have changed.
    """

    def __init__(self, rng: np.random.RandomState) -> None:
        self._rng = rng
        self._found: dict[bytes, Split] = {}

    def of(self, current: Labelled[S]) -> list[Split]:
        """Return a split of each cluster."""
        model, keys = current.model, current.keys
        new = [c for c, key in enumerate(keys) if key not in self._found]
        if new:
            found = model.split(current.members, current.statistics, new, self._rng)
            self._found |= {keys[c]: split for c, split in zip(new, found, strict=True)}
            self._found = {key: self._found[key] for key in keys}
        return [self._found[key] for key in keys]

    def correct(self, current: Labelled[S], c: int, saved: float) -> None:
        """Replace what the split of cluster c was estimated to save by what it does save."""
        key = current.keys[c]
        self._found[key] = self._found[key]._replace(saved=saved)


def choose(current: Labelled[S]) -> Proposal[Labelled[S]] | None:
    """Return the proposal that every row goes to its cheapest cluster."""
    return _relabel(current, current.model.choose(current.statistics))


def sweep(current: Labelled[S]) -> tuple[Proposal[Labelled[S]] | None, bool]:
    """Return the same with births, and whether the cap prevented one."""
    labels, capped = current.model.sweep(current.statistics) or (None, False)
    return _relabel(current, labels), capped


def move_rows(current: Labelled[S]) -> Proposal[Labelled[S]] | None:
    """Return the proposal of single-row moves, each of which lowers the objective."""
    labels, n_moves = current.model.move_rows(current.labels, current.statistics, MAX_PASSES)
    return propose(current, labels, n_moves) if n_moves else None


def regroup(current: Labelled[S], rng: np.random.RandomState) -> Proposal[Labelled[S]] | None:
    """Return the proposal that groups of rows move."""
    return _relabel(current, current.model.regroup(current.labels, rng))


def merge(current: Labelled[S]) -> Proposal[Labelled[S]] | None:
    """Return the proposal of the cheapest merges of disjoint pairs that lower the objective."""
    model = current.model
    if current.k < 2:
        return None
    limit = model.penalty * (1 - RELATIVE_TOLERANCE) - RELATIVE_TOLERANCE * model.unit
    names, free = np.arange(current.k), np.ones(current.k, bool)
    for left, right, cost in zip(*model.merges(current.statistics), strict=True):
        if not cost < limit:
            break
        if free[left] and free[right]:
            free[[left, right]] = False
            names[right] = left
    n_merges = int(np.count_nonzero(names != np.arange(current.k)))
    labels = names[current.labels]
    return propose(current, labels, n_merges, n_merges=n_merges) if n_merges else None


def split(current: Labelled[S], splits: Splits) -> Proposal[Labelled[S]] | None:
    """Return the proposal of splits that lower the objective, as all rows judge them."""
    model, k = current.model, current.k
    room = model.max_clusters - k
    if room <= 0:
        return None
    found = splits.of(current)
    chosen = sorted(worth_splitting(model, found), key=lambda c: -found[c].saved)[:room]
    names = np.arange(k + len(chosen))
    labels = current.labels.copy()
    for new, c in enumerate(chosen, k):
        _split_off(current, c, found[c], labels, new)
    costs = model.costs(model.statistics(labels, len(names))) if chosen else np.empty(0)
    for new, c in enumerate(chosen, k):
        saved = float(current.costs[c] - costs[c] - costs[new])
        if not saved > _least_saving(model):  # less than estimated
            names[new] = c
            splits.correct(current, c, saved)
    n_splits = int(np.count_nonzero(names[k:] >= k))
    return propose(current, names[labels], n_splits, n_splits=n_splits) if n_splits else None


def worth_splitting(model: CentreFreeModel[S], splits: list[Split]) -> list[int]:
    """Return the clusters whose splits are estimated to lower the objective."""
    least = _least_saving(model)
    return [c for c, split in enumerate(splits) if split.saved > least]


def exchange(current: Labelled[S], splits: Splits) -> Proposal[Labelled[S]] | None:
    """Return the proposal to merge two clusters and split a third, where only both pay."""
    model = current.model
    lefts, rights, costs = model.merges(current.statistics)
    found = splits.of(current)
    saved = np.array([split.saved for split in found])
    # A pair excludes two splits, so the best exchanges are among these columns.
    chosen = np.sort(np.argsort(-saved, kind="stable")[: MAX_TRIALS + 2])
    gains = saved[chosen] - costs[:, np.newaxis]
    gains[:, saved[chosen] <= 0] = -np.inf
    gains[(lefts[:, np.newaxis] == chosen) | (rights[:, np.newaxis] == chosen)] = -np.inf
    improves = model.work(current.k) <= MAX_TRIAL_WORK
    least = -np.inf if improves else RELATIVE_TOLERANCE * abs(current.objective)
    for at in np.argsort(-gains, axis=None, kind="stable")[:MAX_TRIALS]:
        pair, column = np.unravel_index(at, gains.shape)
        if not gains[pair, column] > least:
            break
        c = chosen[column]
        labels = np.where(current.labels == rights[pair], lefts[pair], current.labels)
        _split_off(current, int(c), found[c], labels, int(rights[pair]))
        if improves:
            labels = _improve(model, labels)
        n_changed = int(np.count_nonzero(labels != current.labels))
        proposal = propose(current, labels, n_changed, n_splits=1, n_merges=1)
        if proposal.change < 0:
            return proposal
    return None


def _relabel(current: Labelled[S], labels: Ids | None) -> Proposal[Labelled[S]] | None:
    if labels is None:
        return None
    n_changed = int(np.count_nonzero(labels != current.labels))
    return propose(current, labels, n_changed) if n_changed else None


def _least_saving(model: CentreFreeModel[S]) -> float:
    return model.penalty * (1 + RELATIVE_TOLERANCE) + RELATIVE_TOLERANCE * model.unit


def _split_off(current: Labelled[S], c: int, split: Split, labels: Ids, new: int) -> None:
    """IN/OUT labels (n,): the second half of cluster c becomes cluster ``new``."""
    ids = current.members[c]
    labels[ids[current.model.second_half(ids, split)]] = new


def _improve(model: CentreFreeModel[S], labels: Ids) -> Ids:
    """Return labels after a few steps of rows, all at once and then one by one."""
    trial, max_passes = labelled(model, labels), 1
    for _ in range(STEPS_OF_A_TRIAL):
        chosen = model.choose(trial.statistics)
        if chosen is None:
            max_passes = STEPS_OF_A_TRIAL
        if chosen is None or np.array_equal(chosen, trial.labels):
            break
        trial = labelled(model, chosen)
    return model.move_rows(trial.labels, trial.statistics, max_passes)[0]


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

    def moved_to(self, penalty: float) -> Self:
        """Return the end alone, of a fit at no penalty, as it is at this one."""
        k = int(self.labels.max()) + 1
        is_capped = self.status is Status.CAPPED
        status = Status.CONVERGED if is_capped else self.status
        return self._replace(history=self.history[-1:] + penalty * k, status=status)


class Descent(Generic[S]):
    """One fit on its way down; `apply` alone changes its state.

    Parameters
    ----------
    start : Labelled
        A partition, or clusters alone (`core.centre_free.unlabelled`).
    rng : RandomState
        For the splits that are tried.
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
        self.splits = Splits(rng)
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

    def apply(self, proposal: Proposal[Labelled[S]] | None) -> bool:
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
        return self.apply(choose(self.current))

    def move_rows(self) -> bool:
        """Rows move one by one."""
        return self.apply(move_rows(self.current))

    def merge(self) -> bool:
        """Pairs of clusters merge."""
        return self.apply(merge(self.current))

    def split(self) -> bool:
        """Clusters split in two."""
        return self.apply(split(self.current, self.splits))

    def sweep(self) -> bool:
        """Every row goes to its cheapest cluster, or opens one."""
        proposal, self.capped = sweep(self.current)
        return self.apply(proposal)

    def regroup(self) -> bool:
        """Move groups of rows."""
        if not self.regroups:
            return False
        proposal = regroup(self.current, self.rng)
        gains = proposal is not None and proposal.change < -MIN_GAIN * abs(self.history[-1])
        self.regroups = self.regroups - 1 if gains else 0
        return self.apply(proposal)

    def exchange(self) -> bool:
        """Two clusters merge and a third one splits."""
        if not self.exchanges or self.current.k < 3:
            return False
        self.exchanges -= 1
        return self.apply(exchange(self.current, self.splits))

    def _cap_prevents_splits(self) -> bool:
        current, model = self.current, self.current.model
        is_full = current.k >= model.max_clusters
        return is_full and bool(worth_splitting(model, self.splits.of(current)))
