"""Fits of clusters of a graph: one, and the best of several starts.

The fit of a graph at a given penalty.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from hardbayes.core.centre_free import Ids, labelled
from hardbayes.core.centre_free_descent import Descent, Solution
from hardbayes.core.loop import say_nothing
from hardbayes.core.pool import Pool
from hardbayes.graph.clusters import GraphClusters, GraphModel, regroup
from hardbayes.graph.problem import GraphProblem
from hardbayes.graph.rows import Graph

GraphSolution: TypeAlias = Solution[GraphClusters]

# Links, each counted from both ends, up to which exchanges of clusters are tried, and how often.
MOST_LINKS_OF_EXCHANGES = 1 << 15
MAX_EXCHANGES = 4
MAX_DIVISIONS = 20  # steps of a start that divides the whole graph


class Search(NamedTuple):
    """How a fit is made."""

    penalties: tuple[float, ...]  # rising: for groups of vertices, the last for clusters
    # Of each start the penalties at which it forms groups and clusters of single vertices; none
    # where it divides the whole graph.
    starts: tuple[tuple[float, ...], ...]
    max_clusters: int
    max_steps: int


def minimise(
    graph: Graph,
    search: Search,
    given: Sequence[Ids],
    rng: np.random.RandomState,
    pool: Pool,
    report: Callable[[int, int, int], None] = say_nothing,
) -> GraphSolution:
    """Return the best of several fits, the first of equals.

    Starts are side by side on the threads of the pool, each with its own stream of random numbers.
    ``given`` are labels (n,) of further starts.
    """
    seeds = rng.randint(2**31 - 1, size=len(search.starts) + len(given))
    ends: list[GraphSolution | None] = [None] * len(seeds)

    def fit(start: int, _worker: int) -> None:
        own = np.random.RandomState(seeds[start])
        if start >= len(search.starts):
            labels = given[start - len(search.starts)]
        elif search.starts[start]:
            labels = regroup(graph, search.starts[start], graph.n, own)
        else:
            labels = divided(graph, search, own)
        ends[start] = descend(graph, search, labels, own, report if start == 0 else say_nothing)

    pool.run(fit, len(seeds))
    return min((end for end in ends if end is not None), key=lambda end: end.objective)


def descend(
    graph: Graph,
    search: Search,
    labels: Ids,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None] = say_nothing,
) -> GraphSolution:
    """Return the fit from these labels (n,)."""
    model = GraphModel(graph, search.penalties, search.max_clusters, rng.permutation(graph.n))
    is_small = graph.n_links <= MOST_LINKS_OF_EXCHANGES
    start = labelled(model, within_cap(model, labels))
    descent = Descent(start, rng, report, MAX_EXCHANGES if is_small else 0)
    return descent.run("split-merge", search.max_steps, checks_cap=True)


def divided(graph: Graph, search: Search, rng: np.random.RandomState) -> Ids:
    """Return labels (n,) after a few rounds of divisions of one cluster."""
    order = rng.permutation(graph.n)
    model = GraphModel(graph, search.penalties, search.max_clusters, order)
    start = labelled(model, np.zeros(graph.n, np.int64))
    return Descent(start, rng).run("divide", MAX_DIVISIONS).labels


def within_cap(model: GraphModel, labels: Ids) -> Ids:
    """Return labels (n,) of at most ``max_clusters`` clusters: the cheapest unions are made.

    Where no clusters are linked, those of least volume are united.
    """
    while True:
        current = labelled(model, labels)
        surplus = current.k - model.max_clusters
        if surplus <= 0:
            return current.labels
        lefts, rights, _ = model.unions(current.statistics)
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


# Shares of the penalty at which starts form their first clusters, zero for one that divides the
# whole graph; after the last one, again.
SHARES = (0.6, 0.0, 1.0, 0.3)
# Those of graphs with more links than this, each counted from both ends: divisions of the whole
# graph take too long, and so do those of the few clusters that a share of one begins with.
LARGE = 1 << 22
SHARES_OF_LARGE = (0.6, 0.3)


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
    starts = tuple(problem.penalties(working, share) if share else () for share in shares)
    search = Search(problem.penalties(working), starts, max_clusters, max_steps)
    return minimise(problem.graph(working), search, given, rng, problem.pool, report)
