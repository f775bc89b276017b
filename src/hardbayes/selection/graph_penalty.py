"""The automatic penalty of graphs: at which the clusters describe the graph in the fewest nats.

Plateaus of the penalty fail on graphs: on large ones the number of clusters falls steadily.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csgraph

from hardbayes.executors.graph.protocol import Ids
from hardbayes.matrices import Floats
from hardbayes.problems.graph import GraphProblem
from hardbayes.selection.description_length import description_length, links_per_weight
from hardbayes.selection.graph_fitting import best_fit

FIRST = 0.9  # of the largest useful penalty below zero
FACTOR = 1.15  # between penalties
MOST_PENALTIES = 60
MAX_IN_VAIN = 6  # penalties in a row without a shorter description, after which the path ends
BATCH = 2  # penalties side by side
# Of the nats saved that fewer clusters may give up: the best number is not that sharp.
TOLERANCE = 0.05
# Nats that the description with clusters may be longer than without. On graphs of some ten vertices
# clusters hardly pay for the labels: these are the odds, e^5 to 1, given to clusters beforehand.
ALLOWANCE = 5.0


class Candidate(NamedTuple):
    """Clusters at a penalty, and by how much they shorten the description of the graph."""

    excess: float  # nats, compared with one cluster: negative where clusters shorten it
    penalty: float  # in units of the problem
    labels: Ids
    k: int


def choose_penalty(
    problem: GraphProblem, max_clusters: int, max_steps: int, rng: np.random.RandomState
) -> Candidate | None:
    """Return the fewest clusters, but two at least, with about the shortest description.

    None where one cluster is described better.
    """
    one = np.zeros(len(problem.linked), np.int64)
    graph = problem.degree_graph()
    per_weight = links_per_weight(graph)
    whole = description_length(graph, one, 1, per_weight)
    fewest = csgraph.connected_components(problem.links, directed=False)[0]

    def fits(penalties: Floats) -> list[Candidate]:
        seeds = rng.randint(2**31 - 1, size=len(penalties))
        found: list[Candidate | None] = [None] * len(penalties)

        def fit(at: int, _worker: int) -> None:
            penalty, own = float(penalties[at]), np.random.RandomState(seeds[at])
            in_units = penalty * problem.cost_unit
            labels = best_fit(problem, in_units, max_clusters, 1, max_steps, own).labels
            k = int(labels.max()) + 1
            excess = description_length(graph, labels, k, per_weight) - whole
            found[at] = Candidate(excess, penalty, labels, k)

        problem.pool.run(fit, len(penalties))
        return [each for each in found if each is not None]

    first = -FIRST * (float(problem.degrees.mean()) if problem.ratio else 1.0)
    grid = first * FACTOR ** -np.arange(MOST_PENALTIES, dtype=np.float64)
    several: list[Candidate] = []
    least, in_vain = np.inf, 0
    for penalties in np.split(grid, MOST_PENALTIES // BATCH):
        found = fits(penalties)
        for each in found:
            in_vain = 0 if each.excess < least else in_vain + 1
            least = min(least, each.excess)
        several += [each for each in found if each.k > 1]
        if in_vain >= MAX_IN_VAIN or found[-1].k <= fewest:
            break
    least = min((each.excess for each in several), default=0.0)
    enough = least - TOLERANCE * min(least, 0.0)
    good = [each for each in several if each.excess <= min(enough, ALLOWANCE)]
    return min(good, key=lambda each: (each.k, each.excess), default=None)
