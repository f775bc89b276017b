"""How short a graph can be described once its clusters are given: the fewer nats, the better.

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

import numpy as np
from scipy.special import gammaln

from hardbayes.executors.graph.protocol import Graph, Ids
from hardbayes.matrices import Floats


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
    inside, degrees = (per_weight * total for total in graph.statistics(labels, k))
    counts: Floats = np.bincount(labels, sizes, k).astype(np.float64)
    between = per_weight * graph.coarser(labels, k).links().data
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
