"""Fits of clusters of a graph: one, and the best of several starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hardbayes.core.centre_free import Ids, labelled
from hardbayes.core.centre_free_descent import Descent, Solution
from hardbayes.core.loop import say_nothing
from hardbayes.graph.problem import GraphProblem

if TYPE_CHECKING:
    from hardbayes.graph.clusters import Graph, GraphClusters

GraphSolution: TypeAlias = "Solution[GraphClusters]"

# Shares of the penalty at which starts form their first clusters, zero for one that splits the
# whole graph; after the last one, again.
SHARES = (0.6, 0.0, 1.0, 0.3)
# Those of graphs with more links than this, each counted from both ends: splits of the whole
# graph take too long, and so do those of the few clusters that a share of one begins with.
LARGE = 1 << 22
SHARES_OF_LARGE = (0.6, 0.3)
# Links, each counted from both ends, up to which exchanges of clusters are tried, and how often.
MAX_LINKS_OF_EXCHANGES = 1 << 15
MAX_EXCHANGES = 4
MAX_SPLITTING_STEPS = 20  # steps of a start that splits the whole graph


def best_fit(
    problem: GraphProblem,
    penalty: float,
    max_clusters: int,
    n_init: int,
    max_steps: int,
    rng: np.random.RandomState,
    given: Sequence[Ids] = (),
    report: Callable[[int, int, int], None] = say_nothing,
) -> GraphSolution:
    """Return the best of several starts, at a penalty in the user's units.

    ``given``: labels (m,) of linked vertices, each of which takes the place of one start.
    """
    working = penalty / problem.cost_unit
    usual = SHARES if problem.links.nnz <= LARGE else SHARES_OF_LARGE
    shares = [usual[number % len(usual)] for number in range(n_init)][len(given) :]
    starts = [problem.penalties(working, share) if share else () for share in shares]
    graph = problem.graph(working, max_clusters)
    return minimise(graph, starts, given, max_steps, rng, report)


def minimise(
    graph: Graph,
    starts: Sequence[tuple[float, ...]],
    given: Sequence[Ids],
    max_steps: int,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None] = say_nothing,
) -> GraphSolution:
    """Return the best of several fits, the first of equals.

    Starts are side by side on the threads of the pool, each with its own stream of random numbers.
    ``starts``: of each the rising penalties at which it forms groups and clusters of single
    vertices; none where it splits the whole graph. ``given`` are labels (n,) of further starts.
    """
    seeds = rng.randint(2**31 - 1, size=len(starts) + len(given))
    ends: list[GraphSolution | None] = [None] * len(seeds)

    def fit(start: int, _worker: int) -> None:
        own = np.random.RandomState(seeds[start])
        if start >= len(starts):
            labels = given[start - len(starts)]
        elif starts[start]:
            finer = replace(graph, penalties=starts[start], max_clusters=graph.n)
            labels = finer.regroup(None, own)
        else:
            labels = split_whole(graph, own)
        ends[start] = descend(graph, labels, max_steps, own, report if start == 0 else say_nothing)

    graph.pool.run(fit, len(seeds))
    return min((end for end in ends if end is not None), key=lambda end: end.objective)


def descend(
    graph: Graph,
    labels: Ids,
    max_steps: int,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None] = say_nothing,
    search: str = "split-merge",
) -> GraphSolution:
    """Return the fit from these labels (n,)."""
    graph = replace(graph, order=rng.permutation(graph.n))
    is_small = graph.n_links <= MAX_LINKS_OF_EXCHANGES
    start = labelled(graph, within_cap(graph, labels))
    descent = Descent(start, rng, report, MAX_EXCHANGES if is_small else 0)
    return descent.run(search, max_steps, checks_cap=True)


def split_whole(graph: Graph, rng: np.random.RandomState) -> Ids:
    """Return labels (n,) after a few rounds of splits of one cluster."""
    graph = replace(graph, order=rng.permutation(graph.n))
    start = labelled(graph, np.zeros(graph.n, np.int64))
    return Descent(start, rng).run("divide", MAX_SPLITTING_STEPS).labels


def within_cap(graph: Graph, labels: Ids) -> Ids:
    """Return labels (n,) of at most ``max_clusters`` clusters: the cheapest merges are made.

    Where no clusters are linked, those of least volume are merged.
    """
    while True:
        current = labelled(graph, labels)
        surplus = current.k - graph.max_clusters
        if surplus <= 0:
            return current.labels
        lefts, rights, _ = graph.merges(current.statistics)
        names, free = np.arange(current.k), np.ones(current.k, np.bool_)
        if not len(lefts):
            least = np.argsort(current.statistics.volumes, kind="stable")[: surplus + 1]
            names[least] = least[0]
        for left, right in zip(lefts, rights, strict=True):
            if surplus and free[left] and free[right]:
                free[[left, right]] = False
                names[right] = left
                surplus -= 1
        labels = names[current.labels]
