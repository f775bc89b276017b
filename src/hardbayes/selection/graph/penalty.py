"""The automatic penalty of graphs: at which the clusters describe the graph in the fewest nats.

Plateaus of the penalty fail on graphs: on large ones the number of clusters falls steadily.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csgraph

from hardbayes.executors.graph.protocol import Ids
from hardbayes.matrices import Floats
from hardbayes.problems.graph import GraphProblem
from hardbayes.selection.graph.description_length import description_length, links_per_weight
from hardbayes.selection.graph.fitting import best_fit

FIRST = 0.9  # of the lowest useful penalty: minus one, or minus the mean degree
FACTOR = 1.15  # between penalties
MOST_PENALTIES = 60
MAX_IN_VAIN = 6  # penalties in a row without a shorter description, after which the path ends
BATCH = 2  # penalties side by side
LARGE = 1 << 21  # links, each counted from both ends, above which a graph is made coarser
STEPS_OF_LARGE = 3  # of a fit to such a graph
# Of the nats saved that fewer clusters may give up: the best number is not that sharp.
TOLERANCE = 0.05
# Nats that the description with clusters may be longer than without. On graphs of some ten vertices
# clusters hardly pay for the labels: these are the odds, e^5 to 1, given to clusters beforehand.
ALLOWANCE = 5.0


class Candidate(NamedTuple):
    """Clusters at a penalty, and by how much they shorten the description of the graph."""

    excess: float  # nats, compared with one cluster: negative where clusters shorten it
    penalty: float  # in the user's units
    labels: Ids
    k: int


def choose_penalty(
    problem: GraphProblem, max_clusters: int, max_steps: int, rng: np.random.RandomState
) -> Candidate | None:
    """Return the clusters to choose of those at rising penalties; None where one is better.

    Of a large graph, the clusters at one penalty are the vertices at the next, until few links are
    left.
    """
    describe = Describer(problem)
    fewest = csgraph.connected_components(problem.links, directed=False)[0]
    grid = lowest_penalty(problem) * FACTOR ** -np.arange(MOST_PENALTIES, dtype=np.float64)
    fine = np.arange(len(problem.linked))  # the vertex of the coarser graph that each is in
    candidates: list[Candidate] = []
    least, in_vain, at = np.inf, 0, 0
    report = problem.pool.report
    report.stage("penalties")
    while at < len(grid) and in_vain < MAX_IN_VAIN:
        report.step("penalty", at, len(grid))
        is_large = problem.links.nnz > LARGE
        if is_large:
            max_steps = min(max_steps, STEPS_OF_LARGE)
        penalties = grid[at : at + (1 if is_large else BATCH)]
        found = _fits(problem, penalties, max_clusters, max_steps, rng)
        for penalty, labels in zip(penalties, found, strict=True):
            candidates.append(describe(labels[fine], float(penalty)))
            in_vain = 0 if candidates[-1].excess < least else in_vain + 1
            least = min(least, candidates[-1].excess)
        at += len(penalties)
        if candidates[-1].k <= fewest:
            break
        if is_large:
            problem, fine = problem.coarser(found[-1], candidates[-1].k), candidates[-1].labels
    return well_described(candidates)


def _fits(
    problem: GraphProblem,
    penalties: Floats,
    max_clusters: int,
    max_steps: int,
    rng: np.random.RandomState,
) -> list[Ids]:
    """Return labels (m,) at each of some penalties."""
    seeds = rng.randint(2**31 - 1, size=len(penalties))
    found: list[Ids] = [np.empty(0, np.int64)] * len(penalties)

    def fit(at: int, _worker: int) -> None:
        own = np.random.RandomState(seeds[at])
        end = best_fit(problem, float(penalties[at]), max_clusters, 1, max_steps, own)
        found[at] = end.labels

    problem.pool.run(fit, len(penalties))
    return found


class Describer:
    """Describes partitions of the linked vertices of a graph."""

    def __init__(self, problem: GraphProblem) -> None:
        self._graph, self._sizes = problem.degree_graph(), problem.sizes
        self._per_weight = links_per_weight(self._graph)
        self._whole = self._length(np.zeros(self._graph.n, np.int64), 1)

    def __call__(self, labels: Ids, penalty: float) -> Candidate:
        """Return labels (m,) as a candidate."""
        k = int(labels.max()) + 1
        return Candidate(self._length(labels, k) - self._whole, penalty, labels, k)

    def _length(self, labels: Ids, k: int) -> float:
        return description_length(self._graph, self._sizes, labels, k, self._per_weight)


def well_described(candidates: list[Candidate]) -> Candidate | None:
    """Return the fewest clusters, but two at least, with about the shortest description.

    None where one cluster is described better.
    """
    several = [each for each in candidates if each.k > 1]
    least = min((each.excess for each in several), default=0.0)
    enough = min(least - TOLERANCE * min(least, 0.0), ALLOWANCE)
    good = [each for each in several if each.excess <= enough]
    return min(good, key=lambda each: (each.k, each.excess), default=None)


def lowest_penalty(problem: GraphProblem) -> float:
    """Return the penalty, in the user's units, at which paths have the most clusters."""
    return -FIRST * (float(problem.degrees.mean()) * problem.cost_unit if problem.ratio else 1.0)
