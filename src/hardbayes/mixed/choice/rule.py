"""The rule for the number of clusters: more evidence than tables without clusters have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hardbayes.core.arrays import Floats
from hardbayes.core.plateaus import Columns, plateaus
from hardbayes.mixed.choice.evidence import Scored, most_evidence, trace
from hardbayes.mixed.choice.references import Spike, references
from hardbayes.mixed.clusters import Labels
from hardbayes.mixed.search import Found, Problem, pose

# The evidence must be larger than that of any table without clusters, and than none, by so much,
# in nats a row: less divides tables whose dependences the references do not quite have, more misses
# real clusters (`benchmarks.mixed`).
MORE = 0.02
EACH = 0.02  # nats a row that each further cluster must add (`benchmarks.mixed`)
DRAWS = 4  # references of each kind: more cost time, fewer miss the largest
MAX_CLUSTERS = 16  # that are looked for: more cost time, where evidence goes on growing
SAMPLE = 2000  # rows that the number is chosen on

COLUMNS: Columns = {
    "n_clusters": np.int64,
    "penalty": np.float64,
    "evidence": np.float64,
    "reference": np.float64,
    "chosen": np.bool_,
}


class Candidate(NamedTuple):
    """A number of clusters, and the evidence for it."""

    k: int
    penalty: float  # at which it is best, for the sample
    evidence: float  # nats a row
    reference: float  # the largest of tables without clusters, for as many at most


class Choice(NamedTuple):
    """A number of clusters, and why."""

    k: int
    candidates: list[Candidate]
    problem: Problem  # of the sample
    found: dict[int, Scored]

    @property
    def nearest(self) -> Candidate | None:
        """The candidate with the most evidence beyond references, but one cluster."""
        others = [each for each in self.candidates if each.k > 1]
        return max(others, key=lambda each: each.evidence - each.reference, default=None)


def take_sample(weights: Floats, rng: np.random.RandomState) -> Labels:
    """Return the numbers of rows that the number of clusters is chosen on: those that count."""
    ids = np.flatnonzero(weights > 0)
    return ids if len(ids) <= SAMPLE else np.sort(rng.permutation(ids)[:SAMPLE])


def choose(
    problem: Problem, spikes: list[Spike], most: int, rng: np.random.RandomState, n_init: int = 1
) -> Choice:
    """Return the number of clusters of a sample."""
    found = trace(problem, most, rng, n_init=n_init)
    largest, reference = most_evidence(found), 0.0
    drawn: list[dict[int, Scored]] = []
    if largest > MORE:
        for rows in references(problem, spikes, DRAWS, rng):
            drawn.append(trace(pose(rows, problem.prior), max(found), rng))
            reference = max(reference, most_evidence(drawn[-1]))
            if largest <= reference + MORE:  # others may have more, but none changes the answer
                break
    others = sorted(k for k in found if k > 1)
    up_to = {k: max([0.0, *(most_evidence(each, k) for each in drawn)]) for k in others}
    penalties = penalties_of({k: each.found for k, each in found.items()})
    candidates = [Candidate(k, penalties[k], found[k].evidence, up_to[k]) for k in others]
    if largest <= reference + MORE:
        return Choice(1, candidates, problem, found)
    scores = {
        k: found[k].hard - EACH * (k - 1) - _mean_hard(drawn, k)
        for k in others
        if found[k].is_division
    }
    best = max(scores, key=lambda k: (scores[k], -k))
    return Choice(best, candidates, problem, found)


def _mean_hard(drawn: list[dict[int, Scored]], up_to: int) -> float:
    """Return what so many clusters at most gain without clusters, in the mean of references."""
    each = [
        max([0.0, *(one.hard for k, one in found.items() if 1 < k <= up_to)]) for found in drawn
    ]
    return float(np.mean(each))


def penalties_of(found: dict[int, Found]) -> dict[int, float]:
    """Return a penalty for each number of clusters: one at which it is best, where there is one.

    Else it is that at which the numbers beside it are equally good. That of one cluster is twice
    the largest at which others are better.
    """
    values = {k: each.value for k, each in found.items()}
    slopes = [(values[1] - values[k]) / (k - 1) for k in values if k > 1]
    penalties = {1: max(0.0, 2.0 * max(slopes, default=0.0))}
    penalties |= {each.k: each.middle for each in plateaus(sorted(values.items()))}
    numbers = sorted(values)
    for at, k in enumerate(numbers):
        if k not in penalties:
            low, high = numbers[at - 1], numbers[min(at + 1, len(numbers) - 1)]
            penalties[k] = max(0.0, (values[low] - values[high]) / (high - low))
    return penalties
