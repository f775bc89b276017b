"""Exactly so many clusters of a graph: at a penalty so low that every division pays, with a cap."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csgraph

from hardbayes.core.centre_free import Ids
from hardbayes.core.exact_number import ToldPenalty, told_penalty
from hardbayes.core.loop import say_nothing
from hardbayes.core.plateaus import CutPlateau
from hardbayes.graph.choice.rule import penalties_of, trace
from hardbayes.graph.problem import GraphProblem
from hardbayes.graph.search import GraphSolution, best_fit

FEWER = "no division of them was found"
JOINED = "connected components are never joined"


def n_components(problem: GraphProblem) -> int:
    """Return the number of connected components: there are at least as many clusters."""
    n_linked: int = csgraph.connected_components(problem.links, directed=False)[0]
    return n_linked + len(problem.isolated)


def lowest_of(problem: GraphProblem) -> float:
    """Return a penalty, in the user's units, at which every division pays."""
    return -2.0 * problem.sigma(0.0) * problem.cost_unit


def fit_at_most(
    problem: GraphProblem,
    n_clusters: int,
    starts: list[Ids],
    max_steps: int,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None] = say_nothing,
) -> GraphSolution:
    """Return the best fit at that penalty from labels (m,), with so many clusters of all vertices.

    Its history is that of the cut plus so much for each of the clusters of linked vertices.
    """
    n_linked = max(1, n_clusters - len(problem.isolated))
    lowest = lowest_of(problem)
    return best_fit(problem, lowest, n_linked, len(starts), max_steps, rng, starts, report)


def fit_exactly(
    problem: GraphProblem,
    n_clusters: int,
    n_init: int,
    max_steps: int,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None],
) -> tuple[GraphSolution, ToldPenalty]:
    """Return a solution with so many clusters of all vertices, and a penalty for it."""
    n_linked = max(1, n_clusters - len(problem.isolated))
    penalties = penalties_of(problem)
    found = trace(problem, penalties, len(problem.linked), max_steps, rng)
    numbers = [int(labels.max()) + 1 for labels in found]
    starts = [labels for labels, k in zip(found, numbers, strict=True) if k == n_linked]
    more = [at for at, k in enumerate(numbers) if k > n_linked]
    starts.append(found[more[-1]] if more else np.arange(len(problem.linked)))
    near = float(penalties[more[-1]] if more else penalties[0])
    starts.append(best_fit(problem, near, n_linked, n_init, max_steps, rng).labels)
    end = fit_at_most(problem, n_clusters, starts, max_steps, rng, report)
    points = [_point(problem, labels) for labels in [*found, end.labels]]
    return end, _penalty_of(problem, points, int(end.labels.max()) + 1 + len(problem.isolated))


def _point(problem: GraphProblem, labels: Ids) -> tuple[int, float]:
    """Return the number of clusters of all vertices, and the cut in the user's units."""
    k = int(labels.max()) + 1
    graph = problem.graph(0.0, k)
    cut = float(graph.costs(graph.statistics(labels, k)).sum()) + problem.sigma(0.0) * k
    return k + len(problem.isolated), problem.cost_unit * cut


def _penalty_of(problem: GraphProblem, points: list[tuple[int, float]], k: int) -> ToldPenalty:
    """Return the penalty for k clusters: those of graphs are below zero, and are shifted."""
    shift = -lowest_of(problem)
    told = told_penalty([(number, cut - shift * number) for number, cut in points], k)
    told = told.scaled(1.0, -shift)
    if not told.is_best:
        return told
    high = min(told.high, 0.0)
    return ToldPenalty(CutPlateau(k, min(told.low, 0.0), high).middle, told.low, high)
