"""The automatic penalty of graphs: at which the clusters describe the graph in the fewest nats.

Plateaus of the penalty fail on graphs: on large ones the number of clusters falls steadily. But
the fewer nats it takes to describe the graph once its clusters are given, the better these are.

Degrees are given; a partition is worth its own description only if it shortens that of the links.
Two codes are compared, and the shorter one counts:

- *blocks*: the number of links between every two clusters, then which vertices they join (the
  degree-corrected stochastic block model in its microcanonical form, Peixoto 2017);
- *communities*: the number of links inside each cluster, then how these and, for all clusters
  together, the remaining ends of links are paired. It has one number for each cluster, not for
  each pair, so it can tell many small clusters apart.

Links count as often as their weights say, in units in which the graph has as many as an unweighted
one with the same spread of weights, ``(sum w)^2 / sum w^2``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csgraph
from scipy.special import gammaln

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids
from hardbayes.graph.problem import GraphProblem
from hardbayes.graph.search import best_fit

if TYPE_CHECKING:
    from hardbayes.graph.clusters import Graph

FIRST = 0.9  # of the lowest useful penalty: minus one, or minus the mean degree
FACTOR = 1.15  # between penalties
MAX_PENALTIES = 60
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
    grid = lowest_penalty(problem) * FACTOR ** -np.arange(MAX_PENALTIES, dtype=np.float64)
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


# -- lengths of descriptions ----------------------------------------------------------------------


def links_per_weight(graph: Graph) -> float:
    """Return the factor that turns weights into numbers of links."""
    data = graph.links().data
    return float(data.sum() / np.square(data).sum())


def description_length(
    graph: Graph, sizes: Floats, labels: Ids, k: int, per_weight: float
) -> float:
    """Return the length in nats, up to a constant, of a graph whose volumes are degrees.

    Labels (n,) are 0 to k-1, without empty clusters; sizes (n,) are numbers of vertices, for a
    vertex may stand for several.
    """
    clusters = graph.statistics(labels, k)
    inside, degrees = per_weight * clusters.inside, per_weight * clusters.volumes
    counts: Floats = np.bincount(labels, sizes, k).astype(np.float64)
    between = per_weight * clusters.coarser.links().data
    codes = _blocks(inside, degrees, counts, between), _communities(inside, degrees)
    return min(codes) + _partition(counts)


def _blocks(inside: Floats, degrees: Floats, sizes: Floats, between: Floats) -> float:
    """``between``: the links of each two clusters, from both ends."""
    k, n_links = len(sizes), degrees.sum() / 2
    inner = inside / 2
    joined = log_factorial(degrees).sum() - log_factorial(between).sum() / 2
    joined -= (log_factorial(inner) + inner * np.log(2.0)).sum()
    # Degrees of clusters follow from those of vertices, which are given: their code is shorter.
    known = log_choices(sizes.sum(), 2 * n_links) - log_choices(sizes, degrees).sum()
    return float(joined - known + log_choices(k * (k + 1) / 2, n_links))


def _communities(inside: Floats, degrees: Floats) -> float:
    inner = inside / 2
    outer = degrees.sum() / 2 - inner.sum()
    which_ends = log_factorial(degrees) - log_factorial(inside) - log_factorial(degrees - inside)
    paired = log_pairings(inner).sum() + log_pairings(outer)
    return float(which_ends.sum() + paired + np.log1p(degrees / 2).sum())


def _partition(sizes: Floats) -> float:
    """Return the length of the labels: their number, the sizes, and which vertex is where."""
    n, k = sizes.sum(), len(sizes)
    which = log_factorial(n) - log_factorial(sizes).sum()
    return float(which + log_factorial(n - 1) - log_factorial(k - 1) - log_factorial(n - k))


def log_factorial(x: Floats | float) -> Floats:
    """Return ``log x!``, also between integers."""
    found: Floats = gammaln(np.asarray(x) + 1.0)
    return found


def log_choices(n: Floats | float, k: Floats | float) -> Floats:
    """Return the logarithm of the number of ways to share out k equal things among n."""
    return log_factorial(n + k - 1.0) - log_factorial(n - 1.0) - log_factorial(k)


def log_pairings(n: Floats | float) -> Floats:
    """Return the logarithm of the number of ways to pair ``2 n`` things: ``(2n - 1)!!``."""
    return log_factorial(2.0 * n) - log_factorial(n) - n * np.log(2.0)
