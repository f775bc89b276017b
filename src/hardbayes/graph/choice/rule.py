"""The automatic penalty: the modularity of the partitions of a path, where there are communities.

Plateaus of the penalty fail on graphs: on large ones the number of clusters falls steadily. So fits
at rising penalties give partitions, from many clusters to few, and one of them is chosen in four
steps. m is the number of links, q the share of them inside clusters, Q the modularity.

1. *Is there anything to divide?* Each connected component is asked by itself. It may be divided if
   some partition shortens its description (`description`). Else, if it is not tiny, its highest
   modularity is compared with that of rewired graphs (`random_graphs`), found in the same way. It
   stays whole as soon as one of these reaches as much; after `N_RANDOM` Student's t must be
   significant at 1 %. Descriptions do not know of space: graphs that may be of near rows are
   compared with those of one cloud, too, by modularity and by borders. One that has clear borders
   alone is divided only by borders lower than any of these. Components are never joined.
2. *Scale*: the fewest clusters whose Q is within three standard errors of the highest, one being
   ``sqrt(q (1 - q) / m)``. Where the shortest description has clusters that the code of a planted
   partition supports too, partitions with more clusters than it are left out.
3. *Resolution*: modularity joins small communities of large graphs (Fortunato & Barthelemy 2007).
   Of the finer partitions, that which the code of a planted partition likes best is taken, if this
   code prefers it to the choice, and if the links *between* its clusters do not support the unions
   that make the choice of it: they do where there are communities of communities, and do not where
   these links are random.
4. The choice goes down once more at the penalty it was found at. Other starts would lead to
   other partitions, which were not chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph, csr_array
from scipy.special import stdtrit

from hardbayes.core.arrays import Floats
from hardbayes.core.borders import highest_border
from hardbayes.core.centre_free import Ids
from hardbayes.core.loop import say_nothing
from hardbayes.core.plateaus import Columns
from hardbayes.graph.choice.description import (
    Blocks,
    blocks_of,
    lengths,
    links_per_weight,
    planted_saving,
    union_saving,
)
from hardbayes.graph.choice.random_graphs import cloud_like, rewired
from hardbayes.graph.problem import GraphProblem
from hardbayes.graph.search import GraphSolution, best_fit, descend

# Of a path: more take longer. NMI above Louvain's on the tuned half: .022 with 14, .026 with 24,
# .030 with 40 (benchmarks.communities).
N_PENALTIES = 40
# The first and last penalty, as shares of the lowest useful one: even steps of the logit between.
STEEPEST, FLATTEST = 0.93, 0.01
STEEP = 0.22  # random graphs have their highest modularity between this share and STEEPEST
THINNED = 3  # comparisons with random graphs take every third of these penalties
LARGE = 1 << 21  # links, each counted from both ends, above which a graph is made coarser
STEPS_OF_LARGE = 3  # of a fit to such a graph
N_RANDOM = 9  # random graphs that a component is compared with: more are surer and take longer
LEVEL = 0.01  # of Student's t of the comparison
# Fewest graphs of a cloud: after them the comparison may end, if modularity is far beyond theirs.
FEWEST_RANDOM = 3
# Vertices, beyond which components are not compared with clouds: graphs of 5,000 take as long as
# the fit.
LARGEST_CLOUD = 5000
LEAST_BORDER = 0.01  # lower ones say no more: a single link may make the difference
FEWEST_REWIRED = 10  # vertices: smaller components have too few links to exchange
# Standard errors below the highest modularity: more choose fewer clusters. NMI .004 with one, .013
# with three (benchmarks.communities).
ERRORS = 3.0
FEWEST = 4  # vertices: components of three are not divided

COLUMNS: Columns = {
    "n_clusters": np.int64,
    "penalty": np.float64,
    "modularity": np.float64,
    "within_error": np.bool_,
    "saved_nats": np.float64,
    "strength": np.float64,
    "chosen": np.bool_,
}


def penalties_of(problem: GraphProblem) -> Floats:
    """Return the penalties of a path, rising, in the user's units."""
    low, high = (np.log(share / (1 - share)) for share in (STEEPEST, FLATTEST))
    shares = 1 / (1 + np.exp(-np.linspace(low, high, N_PENALTIES)))
    return lowest_penalty(problem) * shares


def lowest_penalty(problem: GraphProblem) -> float:
    """Return the penalty, in the user's units, below which nearly every vertex is a cluster."""
    return -float(problem.degrees.mean()) * problem.cost_unit if problem.ratio else -1.0


def trace(
    problem: GraphProblem,
    penalties: Floats,
    max_clusters: int,
    max_steps: int,
    rng: np.random.RandomState,
) -> list[Ids]:
    """Return labels (m,) at rising penalties, until the components alone are left.

    Each fit goes on from the last. Of a large graph, the clusters at one penalty are the vertices
    at the next, until few links are left.
    """
    report = problem.pool.report
    report.stage("penalties")
    fewest = csgraph.connected_components(problem.links, directed=False)[0]
    fine = np.arange(len(problem.linked))  # the vertex of the coarser graph that each is in
    found: list[Ids] = []
    given: list[Ids] = []
    for at, penalty in enumerate(penalties):
        report.step("penalty", at, len(penalties))
        is_large = problem.links.nnz > LARGE
        steps = min(max_steps, STEPS_OF_LARGE) if is_large else max_steps
        labels = best_fit(problem, float(penalty), max_clusters, 1, steps, rng, given).labels
        found.append(labels[fine])
        k = int(labels.max()) + 1
        if k <= fewest:
            break
        given = [labels]
        if is_large:
            problem, fine, given = problem.coarser(labels, k), labels[fine], [np.arange(k)]
    return found


@dataclass(frozen=True, eq=False)
class Partition:
    """Clusters found at a penalty, and what they say about the links."""

    penalty: float  # in the user's units
    labels: Ids  # (m,)
    blocks: Blocks
    components: Ids  # (k,): that of each cluster

    @property
    def k(self) -> int:
        """Number of clusters."""
        return len(self.components)

    @cached_property
    def modularity(self) -> float:
        """Modularity."""
        return self.blocks.modularity

    @cached_property
    def planted(self) -> float:
        """Nats saved by the code of a planted partition."""
        return planted_saving(self.blocks)

    @cached_property
    def lengths(self) -> tuple[Floats, Floats]:
        """Nats for the links and for the labels of each component."""
        return lengths(self.blocks, self.components)

    @property
    def length(self) -> float:
        """Nats of the whole description."""
        return float(sum(part.sum() for part in self.lengths))


class Comparison(NamedTuple):
    """The comparison of a component with random graphs."""

    highest: float  # modularity
    reached: float  # the highest of random graphs
    strength: float  # deviations from their mean, by those needed; zero where one reached as much
    clear: float = np.inf  # a partition counts only if its borders are lower
    is_cloud: bool = False  # whether these are graphs of near rows


class Judge:
    """Compares partitions of the linked vertices of a graph."""

    def __init__(self, problem: GraphProblem) -> None:
        self._problem = problem
        self._per_weight = links_per_weight(problem)
        self.names: Ids = csgraph.connected_components(problem.links, directed=False)[1]
        self.names = self.names.astype(np.int64)
        self.sizes: Floats = np.bincount(self.names, problem.sizes).astype(np.float64)
        self.zero = self.partition(0.0, self.names)

    def partition(self, penalty: float, labels: Ids) -> Partition:
        """Return labels (m,) as a partition; clusters across components are divided."""
        n_components = int(self.names.max()) + 1
        keys, labels = np.unique(labels * n_components + self.names, return_inverse=True)
        blocks = blocks_of(self._problem, labels, self._per_weight)
        return Partition(penalty, labels, blocks, keys % n_components)

    def without(self, partition: Partition, whole: NDArray[np.bool_]) -> Partition:
        """Return the partition with some components (C,) whole."""
        if not (whole[partition.components] & self._divided(partition)[partition.components]).any():
            return partition
        first = np.unique(partition.components, return_index=True)[1]
        is_whole = whole[self.names]
        labels = np.where(is_whole, first[self.names], partition.labels)
        return self.partition(partition.penalty, labels)

    def _divided(self, partition: Partition) -> NDArray[np.bool_]:
        """Return whether each component (C,) has several clusters."""
        return np.bincount(partition.components, minlength=len(self.sizes)) > 1

    def whole(
        self, partitions: list[Partition], rng: np.random.RandomState
    ) -> tuple[NDArray[np.bool_], dict[int, Comparison]]:
        """Return which components (C,) stay whole, and those compared with random graphs."""
        as_one = sum(self.zero.lengths)
        shortest = np.array(as_one)
        divided = np.zeros(len(self.sizes), np.bool_)
        for partition in partitions:
            shortest = np.minimum(shortest, sum(partition.lengths))
            divided |= self._divided(partition)
        whole = ~(shortest < as_one) | ~divided | (self.sizes < FEWEST)
        tests: dict[int, Comparison] = {}
        for c in np.flatnonzero(divided & (self.sizes >= FEWEST_REWIRED)):
            own = part(self._problem, self.names == c)
            if whole[c]:
                tests[int(c)] = beyond_chance(own, rng)
                whole[c] = not tests[int(c)].strength > 1.0
            if not whole[c] and self.sizes[c] <= LARGEST_CLOUD:
                labels = [each.labels[self.names == c] for each in partitions]
                test = beyond_clouds(own, labels, rng)
                tests |= {} if test is None else {int(c): test}
                whole[c] = test is not None and not test.strength > 1.0
        return whole, tests

    def unclear(self, partition: Partition, tests: dict[int, Comparison]) -> NDArray[np.bool_]:
        """Return which components (C,) have a border that is not clear enough."""
        found = np.zeros(len(self.sizes), np.bool_)
        for c, test in tests.items():
            if np.isfinite(test.clear):
                members = self.names == c
                links = self._problem.links[members][:, members]
                labels = np.unique(partition.labels[members], return_inverse=True)[1]
                found[c] = highest_border(links, labels) >= test.clear
        return found

    def best(self, partitions: list[Partition]) -> Partition:
        """Return the best of partitions from few clusters to many, the first being the zeroth."""
        free = self._not_too_fine(partitions)
        top = max(free, key=lambda each: each.modularity)
        chosen = min(
            (each for each in free if each.modularity >= top.modularity - margin_of(top)),
            key=lambda each: (each.k, -each.modularity),
        )
        finer = [each for each in partitions if each.k > chosen.k]
        if not finer or chosen.k == self.zero.k:
            return chosen
        best = max(finer, key=lambda each: each.planted)
        if best.planted <= max(chosen.planted, 0.0):
            return chosen
        joined = union_saving(best.blocks, _groups(best.labels, chosen.labels))
        return chosen if joined > 0 else best

    def _not_too_fine(self, partitions: list[Partition]) -> list[Partition]:
        shortest = min(partitions, key=lambda each: each.length)
        if shortest.k == self.zero.k or shortest.planted <= 0:
            return partitions
        return [each for each in partitions if each.k <= shortest.k]

    def strength(self, partition: Partition, tests: dict[int, Comparison]) -> float:
        """Return the evidence for a partition, of which 1 is needed.

        It is what the clusters save of the description of the links by what their labels cost; or
        the deviations by which a component is more modular than random graphs, of those needed, or
        by which its borders are clearer. Where clouds were compared, these alone.
        """
        if partition.k == self.zero.k:
            return 0.0
        (links, labels), (links_as_one, labels_as_one) = partition.lengths, self.zero.lengths
        paid = float(labels.sum() - labels_as_one.sum())
        saved = float(links_as_one.sum() - links.sum())
        divided = self._divided(partition)
        tested = [test for c, test in tests.items() if divided[c]]
        if tested and all(test.is_cloud for test in tested):
            return max(test.strength for test in tested)
        return max([0.0, saved / paid, *(test.strength for test in tested)])


def margin_of(partition: Partition) -> float:
    """Return by how much modularity may fall: standard errors of the share of links inside."""
    share = partition.blocks.inside_share
    return ERRORS * float(np.sqrt(max(share * (1 - share), 0.0) / partition.blocks.n_links))


def _groups(fine: Ids, coarse: Ids) -> Ids:
    """Return the coarse cluster (k,) that most vertices of each fine one are in."""
    keys, counts = np.unique(fine * (coarse.max() + 1) + coarse, return_counts=True)
    order = np.lexsort((-counts, keys // (coarse.max() + 1)))
    owners = keys[order] // (coarse.max() + 1)
    found: Ids = (keys[order] % (coarse.max() + 1))[np.diff(owners, prepend=-1) > 0]
    return np.unique(found, return_inverse=True)[1]


def part(problem: GraphProblem, members: NDArray[np.bool_]) -> GraphProblem:
    """Return the problem of some of the components, members (m,) being their vertices."""
    ids = np.flatnonzero(members)
    if len(ids) == len(members):
        return problem
    return replace(
        problem, links=problem.links[ids][:, ids], degrees=problem.degrees[ids],
        loops=problem.loops[ids], sizes=problem.sizes[ids], linked=np.arange(len(ids)),
        isolated=np.empty(0, np.int64),
    )  # fmt: skip


def beyond_chance(problem: GraphProblem, rng: np.random.RandomState) -> Comparison:
    """Compare the highest modularity of a connected graph with that of rewired ones."""
    penalties = penalties_of(problem)
    penalties = penalties[penalties <= STEEP * lowest_penalty(problem)][::THINNED]

    def highest(of: GraphProblem) -> float:
        return _modularity(Judge(of), trace(of, penalties, len(of.linked), 300, rng))

    own, others = highest(problem), []
    for _ in range(N_RANDOM):
        others.append(highest(_with_links(problem, rewired(problem.links, rng))))
        if others[-1] >= own:
            return Comparison(own, max(others), 0.0)
    return Comparison(own, max(others), _beyond(own, others, 1e-9))


def beyond_clouds(
    problem: GraphProblem, found: list[Ids], rng: np.random.RandomState
) -> Comparison | None:
    """Compare partitions of a connected graph with those of neighbour graphs of one cloud.

    Their modularity may be higher, or one of them have clearer borders; ``found`` are labels (n,).
    None for graphs that are not like those of a cloud.
    """
    cloud = cloud_like(problem.links, rng)
    if cloud is None:
        return None
    penalties = penalties_of(problem)[::THINNED]
    judge = Judge(problem)
    top = max((judge.partition(0.0, labels) for labels in found), key=lambda each: each.modularity)
    own, error = top.modularity, margin_of(top) / ERRORS
    others: list[float] = []
    drawn: list[tuple[GraphProblem, list[Ids]]] = []
    borders: list[float] = []
    border = np.inf
    for number in range(1, N_RANDOM + 1):
        links = cloud.links(rng)
        random = _with_links(part(problem, np.arange(cloud.n) < links.shape[0]), links)
        drawn.append((random, trace(random, penalties, cloud.n, 300, rng)))
        others.append(_modularity(Judge(random), drawn[-1][1]))
        if own > max(others):
            strength = _beyond(own, others, error) if number >= FEWEST_RANDOM else 0.0
            if strength > 1.0:
                return Comparison(own, max(others), strength, is_cloud=True)
        if own <= max(others) or number == N_RANDOM:
            border = border if borders else _clearest(problem, found)
            borders += [_clearest(*each) for each in drawn[len(borders) :]]
            if border >= min(borders):
                return Comparison(own, max(others), 0.0, is_cloud=True)
    logs = [-float(np.log(each)) for each in borders if np.isfinite(each)]
    if len(logs) < FEWEST_RANDOM:
        return Comparison(own, max(others), 0.0, is_cloud=True)
    strength = _beyond(-float(np.log(border)), logs, 1e-9)
    return Comparison(own, max(others), strength, min(borders), is_cloud=True)


def _with_links(problem: GraphProblem, links: csr_array) -> GraphProblem:
    degrees = np.asarray(links.sum(axis=1)).ravel() + problem.loops
    return replace(problem, links=links, degrees=degrees)


def _modularity(judge: Judge, found: list[Ids]) -> float:
    """Return the highest modularity of labels."""
    return max(judge.partition(0.0, labels).modularity for labels in found)


def _clearest(problem: GraphProblem, found: list[Ids]) -> float:
    """Return the least of the highest borders of labels; infinite where there is none."""
    least = np.inf
    for labels in sorted(found, key=lambda labels: int(labels.max())):
        names = np.unique(labels, return_inverse=True)[1]
        least = min(least, highest_border(problem.links, names, least))
    return max(least, LEAST_BORDER)


def _needed(n: int) -> float:
    """Return the deviations from n random graphs that one more has in one case of a hundred."""
    return float(stdtrit(n - 1, 1.0 - LEVEL) * np.sqrt(1.0 + 1.0 / n))


def _beyond(own: float, others: list[float], least: float) -> float:
    """Return the deviations from others, ``least`` or more each, by those needed."""
    deviation = max(float(np.std(others, ddof=1)), least)
    return float(own - np.mean(others)) / deviation / _needed(len(others))


class Choice(NamedTuple):
    """The choice among the partitions of a path."""

    chosen: Partition | None  # None where every component stays whole
    nearest: Partition | None  # what would have been chosen of components that stay whole
    components: Ids  # (m,): of each vertex
    whole: NDArray[np.bool_]  # (C,)
    sizes: Floats  # (C,): numbers of vertices
    tests: dict[int, Comparison]
    table: Sequence[tuple[float, ...]]  # rows of `COLUMNS`


def choose(
    problem: GraphProblem, max_clusters: int, max_steps: int, rng: np.random.RandomState
) -> Choice:
    """Return the choice among partitions of a path of its own."""
    penalties = penalties_of(problem)
    found = trace(problem, penalties, max_clusters, max_steps, rng)
    return choose_among(problem, list(zip(penalties, found, strict=False)), max_clusters, rng)


def choose_among(
    problem: GraphProblem,
    found: list[tuple[float, Ids]],
    max_clusters: int,
    rng: np.random.RandomState,
) -> Choice:
    """Return the choice among labels (m,) found at penalties."""
    judge = Judge(problem)
    candidates = [judge.zero]
    for penalty, labels in sorted(found, key=lambda each: -each[0]):
        partition = judge.partition(float(penalty), labels)
        is_new = not np.array_equal(partition.labels, candidates[-1].labels)
        if judge.zero.k < partition.k <= max_clusters and is_new:
            candidates.append(partition)
    candidates[1:] = sorted(candidates[1:], key=lambda each: each.k)
    whole, tests = judge.whole(candidates[1:], rng)
    guarded = [judge.without(each, whole | judge.unclear(each, tests)) for each in candidates]
    guarded = [judge.zero, *(each for each in guarded[1:] if each.k > judge.zero.k)]
    chosen = judge.best(guarded)
    whole = whole | judge.unclear(chosen, tests)
    is_whole = chosen.k == judge.zero.k
    nearest = judge.best(candidates) if is_whole and len(candidates) > 1 else None
    if nearest is not None and nearest.k == judge.zero.k:
        nearest = max(candidates[1:], key=lambda each: each.modularity)
    shown = candidates if is_whole else guarded
    top = max(shown, key=lambda each: each.modularity)
    table = [
        (
            each.k, each.penalty, each.modularity,
            each.modularity >= top.modularity - margin_of(top),
            judge.zero.length - each.length, judge.strength(each, tests), each is chosen,
        )
        for each in shown
    ]  # fmt: skip
    return Choice(
        None if is_whole else chosen, nearest, judge.names, whole, judge.sizes, tests, table
    )


def refit(
    problem: GraphProblem,
    choice: Choice,
    max_clusters: int,
    max_steps: int,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None] = say_nothing,
) -> GraphSolution:
    """Return the fit that starts from the choice; some components stay whole."""
    assert choice.chosen is not None
    penalty, labels = choice.chosen.penalty, choice.chosen.labels
    free = ~choice.whole[choice.components]
    n_whole = int(np.count_nonzero(choice.whole))
    own = np.unique(labels[free], return_inverse=True)[1]
    graph = part(problem, free).graph(penalty / problem.cost_unit, max_clusters - n_whole)
    end = descend(graph, own, max_steps, rng, report, search="local")
    if not n_whole:
        return end
    k = int(end.labels.max()) + 1
    every = np.empty(len(free), np.int64)
    every[free] = end.labels
    every[~free] = k + np.unique(choice.components[~free], return_inverse=True)[1]
    paid = n_whole * penalty / problem.cost_unit  # whole components have no cut
    return end._replace(labels=every, history=end.history + paid)
