"""How short a graph can be described once its clusters are given: the fewer nats, the better.

Degrees are given; a partition is worth its own description only if it shortens that of the links.
Of each connected component two codes are compared, and the shorter one counts:

- *blocks*: the number of links between every two clusters, then which vertices they join (the
  degree-corrected stochastic block model in its microcanonical form, Peixoto 2017);
- *communities*: the number of links inside each cluster, then how these and, for all clusters
  together, the remaining ends of links are paired. It has one number for each cluster, not for
  each pair, so it can tell many small clusters apart.

A third code knows less, and so is not misled by clusters of odd shapes:

- *planted partition*: how many of all m links are inside clusters. Where random links between
  vertices of these degrees would put a share e inside, and a share q is, it saves ``m KL(q || e)``.

Links count as often as their weights say, in units in which the graph has as many as an unweighted
one with the same spread of weights, ``(sum w)^2 / sum w^2``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, rel_entr

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids
from hardbayes.graph.problem import GraphProblem


class Blocks(NamedTuple):
    """Numbers of links inside clusters 0 to k-1 and between them, each from both ends."""

    inside: Floats  # (k,)
    degrees: Floats  # (k,)
    sizes: Floats  # (k,): numbers of vertices
    firsts: Ids  # (pairs,): the clusters of each two with links between them
    seconds: Ids  # (pairs,)
    between: Floats  # (pairs,)

    @property
    def n_links(self) -> float:
        """Number of links, each counted once."""
        return float(self.degrees.sum() / 2)

    @property
    def inside_share(self) -> float:
        """Share of the links that are inside clusters."""
        return float(self.inside.sum() / self.degrees.sum())

    @property
    def expected_share(self) -> float:
        """The same for random links between vertices of these degrees."""
        return float(np.square(self.degrees / self.degrees.sum()).sum())

    @property
    def modularity(self) -> float:
        """By how much the links inside clusters exceed those of random graphs."""
        return self.inside_share - self.expected_share


def links_per_weight(problem: GraphProblem) -> float:
    """Return the factor that turns weights into numbers of links."""
    data = problem.links.data
    return float(data.sum() / np.square(data).sum())


def blocks_of(problem: GraphProblem, labels: Ids, per_weight: float) -> Blocks:
    """Return the numbers of links of labels (m,), which are 0 to k-1 without empty clusters."""
    k = int(labels.max()) + 1
    clusters = problem.degree_graph().statistics(labels, k)
    between = clusters.coarser.links().tocoo()
    sizes: Floats = np.bincount(labels, problem.sizes, k).astype(np.float64)
    return Blocks(
        per_weight * clusters.inside, per_weight * clusters.volumes, sizes,
        between.row, between.col, per_weight * between.data,
    )  # fmt: skip


def lengths(blocks: Blocks, components: Ids) -> tuple[Floats, Floats]:
    """Return the nats for the links, up to a constant, and for the labels, of each component.

    ``components`` (k,): that of each cluster, 0 to C-1.
    """
    counts: Floats = np.bincount(components).astype(np.float64)
    n_components = len(counts)

    def total(values: Floats, of: Ids = components) -> Floats:
        found: Floats = np.bincount(of, values, n_components).astype(np.float64)
        return found

    inside, degrees, sizes = blocks.inside, blocks.degrees, blocks.sizes
    inner, ends, vertices = inside / 2, total(degrees), total(sizes)
    joined = total(log_factorial(degrees) - log_factorial(inner) - inner * np.log(2.0))
    joined -= total(log_factorial(blocks.between), components[blocks.firsts]) / 2
    # Degrees of clusters follow from those of vertices, which are given: their code is shorter.
    known = log_choices(vertices, ends) - total(log_choices(sizes, degrees))
    by_blocks = joined - known + log_choices(counts * (counts + 1) / 2, ends / 2)

    which = log_factorial(degrees) - log_factorial(inside) - log_factorial(degrees - inside)
    outer = np.maximum(ends / 2 - total(inner), 0.0)
    each = which + log_pairings(inner) + np.log1p(degrees / 2)
    by_communities = total(each) + log_pairings(outer)

    grouped = log_factorial(vertices) - total(log_factorial(sizes))
    grouped += _numbers_of_sizes(vertices, counts)
    return np.minimum(by_blocks, by_communities), grouped


def label_length(sizes: Floats) -> float:
    """Return the nats for labels: their number, the sizes, and which vertex is where."""
    n, k = sizes.sum(), len(sizes)
    which = log_factorial(n) - log_factorial(sizes).sum()
    return float(which + _numbers_of_sizes(n, k))


def _numbers_of_sizes(n: Floats | float, k: Floats | float) -> Floats:
    """Return the logarithm of the number of ways to cut n things in a row into k parts."""
    return log_factorial(n - 1.0) - log_factorial(k - 1.0) - log_factorial(n - k)


def planted_saving(blocks: Blocks) -> float:
    """Return the nats that the code of a planted partition saves, the labels paid."""
    saved = blocks.n_links * _divergence(blocks.inside_share, blocks.expected_share)
    return float(saved - label_length(blocks.sizes) - np.log1p(blocks.n_links))


def union_saving(blocks: Blocks, groups: Ids) -> float:
    """Return the nats that groups of clusters save of the links *between* clusters.

    The same code as `planted_saving`, of a graph whose vertices are the clusters and that has no
    links from a vertex to itself. Unions that leave random links between clusters save nothing.
    """
    n_groups = int(groups.max()) + 1
    out = np.bincount(blocks.firsts, blocks.between, len(blocks.sizes))
    n_ends = out.sum()
    if n_ends == 0:
        return -np.inf
    same = groups[blocks.firsts] == groups[blocks.seconds]
    kept = blocks.between[same].sum() / n_ends
    own = np.square(out).sum()
    by_group = np.bincount(groups, out, n_groups)
    possible = np.square(n_ends) - own
    expected = (np.square(by_group).sum() - own) / possible if possible > 0 else 1.0
    sizes = np.bincount(groups[out > 0], minlength=n_groups).astype(np.float64)
    saved = n_ends / 2 * _divergence(float(kept), float(expected))
    return float(saved - label_length(sizes[sizes > 0]) - np.log1p(n_ends / 2))


def _divergence(share: float, expected: float) -> float:
    """Return the Kullback-Leibler divergence of a share above the expected one, else zero."""
    if not 0 < expected < min(share, 1.0):
        return 0.0
    share = min(share, 1.0)
    return float(rel_entr(share, expected) + rel_entr(1 - share, 1 - expected))


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
