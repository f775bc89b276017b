"""Labelled graphs of many families, and graphs without communities of many kinds.

Families go by name into two halves: constants of the automatic penalty were chosen on the *tuned*
half alone, and the other was looked at afterwards.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse
from sklearn import datasets
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler

from benchmarks.graph_data import Labels, random_graph, rewired
from hardbayes.datasets import load_karate_club, make_planted_partition

#: The families on which constants were chosen.
TUNED = {
    "karate club", "planted partition", "LFR", "ring of cliques",
    "neighbours of digits", "neighbours of iris", "neighbours of blobs",
}  # fmt: skip
#: Kinds without communities that nevertheless have parts which few links leave.
GEOMETRIC = {"grid", "neighbours of a Gaussian", "neighbours of a cube"}
NEIGHBOURS = "neighbours of "  # begins the names of families of nearest-neighbour graphs
LFR_TRIES = 20


class GraphSet(NamedTuple):
    """A labelled graph of a family."""

    family: str
    name: str
    links: sparse.csr_array
    labels: Labels

    @property
    def is_tuned(self) -> bool:
        """Whether constants were chosen on this family."""
        return self.family in TUNED


def graph_sets() -> Iterator[GraphSet]:
    """Yield every generated or shipped labelled graph."""
    yield GraphSet("karate club", "", *load_karate_club())
    for k, size, outside in ((5, 30, 4.0), (10, 50, 8.0), (40, 60, 6.0)):
        drawn = make_planted_partition(k, size, degree_outside=outside, random_state=0)
        yield GraphSet("planted partition", f"{k} x {size}, {outside:g} links outside", *drawn)
    for cliques, size in ((12, 5), (40, 6)):
        yield GraphSet("ring of cliques", f"{cliques} of {size}", *_ring(cliques, size))
    for mixing in (0.1, 0.3, 0.5):
        yield GraphSet("LFR", f"mixing {mixing}", *_lfr(600, mixing, 3.0, 1.5))
    for mixing in (0.2, 0.4):
        yield GraphSet("LFR of steep sizes", f"mixing {mixing}", *_lfr(1000, mixing, 2.5, 2.0))
    for seed, contrast in enumerate((4.0, 8.0, 16.0)):
        rng = np.random.default_rng(seed)
        yield GraphSet("unequal blocks", f"contrast {contrast:g}", *_unequal(rng, contrast))
    for rewire in (0.1, 0.3):
        yield GraphSet("relaxed caveman", f"{rewire} rewired", *_caveman(20, 12, rewire))
    for mean in (20, 50):
        yield GraphSet("Gaussian sizes", f"mean {mean}", *_gaussian_sizes(400, mean))
    for name, rows, labels in _tables():
        for neighbours in (10, 15, 30):
            links = neighbour_graph(rows, neighbours)
            yield GraphSet(f"{NEIGHBOURS}{name}", f"{neighbours}", links, labels)


def neighbour_graph(rows: NDArray[Any], neighbours: int = 15) -> sparse.csr_array:
    """Return the graph of nearest neighbours; a link both of whose ends chose it counts double."""
    chosen = sparse.csr_array(kneighbors_graph(rows, min(neighbours, len(rows) - 1)))
    return sparse.csr_array(0.5 * (chosen + chosen.T))


def fuzzy_neighbour_graph(rows: NDArray[Any], neighbours: int = 15) -> sparse.csr_array:
    """Return the graph of nearest neighbours with the weights of UMAP, as for single cells."""
    near = sparse.csr_array(kneighbors_graph(rows, neighbours, mode="distance"))
    distances = near.data.reshape(len(rows), neighbours)
    beyond = distances - distances.min(axis=1, keepdims=True)
    low, high = np.zeros(len(rows)), np.full(len(rows), 1e3 * (1e-12 + beyond.max()))
    for _ in range(64):
        middle = (low + high) / 2
        is_wide = np.exp(-beyond / middle[:, np.newaxis]).sum(axis=1) > np.log2(neighbours)
        low, high = np.where(is_wide, low, middle), np.where(is_wide, middle, high)
    weights = np.exp(-beyond / high[:, np.newaxis]).ravel()
    one_way = sparse.csr_array((weights, near.indices, near.indptr), shape=near.shape)
    found = one_way + one_way.T - one_way * one_way.T
    return sparse.csr_array(found)


def _tables() -> Iterator[tuple[str, NDArray[Any], Labels]]:
    digits = datasets.load_digits(return_X_y=True)
    yield "digits", *digits
    yield "iris", *datasets.load_iris(return_X_y=True)
    yield "blobs", *datasets.make_blobs(800, 5, centers=8, cluster_std=2.0, random_state=0)
    for name, load in (("wine", datasets.load_wine), ("cancer", datasets.load_breast_cancer)):
        rows, labels = load(return_X_y=True)
        yield name, StandardScaler().fit_transform(rows), labels
    yield "moons", *datasets.make_moons(500, noise=0.08, random_state=0)
    yield "circles", *datasets.make_circles(500, noise=0.05, factor=0.4, random_state=0)
    spreads = [0.6, 1.0, 1.6, 2.2]
    yield (
        "uneven blobs",
        *datasets.make_blobs(
            [300, 200, 100, 60], 3, cluster_std=spreads, center_box=(-7, 7), random_state=3
        ),
    )


def _ring(cliques: int, size: int) -> tuple[sparse.csr_array, Labels]:
    return _read(import_module("networkx").ring_of_cliques(cliques, size)), np.repeat(
        np.arange(cliques), size
    )


def _caveman(cliques: int, size: int, rewire: float) -> tuple[sparse.csr_array, Labels]:
    graph = import_module("networkx").relaxed_caveman_graph(cliques, size, rewire, seed=0)
    return _read(graph), np.repeat(np.arange(cliques), size)


def _gaussian_sizes(n: int, mean: int) -> tuple[sparse.csr_array, Labels]:
    graph = import_module("networkx").gaussian_random_partition_graph(n, mean, 4, 0.3, 0.02, seed=0)
    labels = np.zeros(n, np.int64)
    for number, part in enumerate(graph.graph["partition"]):
        labels[list(part)] = number
    return _read(graph), labels


def _lfr(n: int, mixing: float, degrees: float, sizes: float) -> tuple[sparse.csr_array, Labels]:
    module = import_module("networkx")
    for seed in range(LFR_TRIES):
        try:
            graph = module.LFR_benchmark_graph(
                n, degrees, sizes, mixing, average_degree=12, max_degree=60,
                min_community=20, max_community=120, seed=seed, max_iters=300,
            )  # fmt: skip
            break
        except module.ExceededMaxIterations:
            continue
    else:
        raise RuntimeError("no LFR graph came about")
    parts = {frozenset(graph.nodes[vertex]["community"]) for vertex in graph}
    labels = np.zeros(n, np.int64)
    for number, part in enumerate(sorted(parts, key=min)):
        labels[list(part)] = number
    return _read(graph), labels


def _unequal(rng: Generator, contrast: float) -> tuple[sparse.csr_array, Labels]:
    """Return blocks whose sizes halve, with so many times more links inside than outside."""
    sizes = [200, 100, 50, 50, 25, 25]
    labels = np.repeat(np.arange(len(sizes)), sizes)
    n = len(labels)
    same = labels[:, np.newaxis] == labels
    probability = np.where(same, contrast, 1.0)
    probability *= 12 * n / probability.sum()
    upper = np.triu(rng.random((n, n)) < probability, 1).astype(float)
    return sparse.csr_array(upper + upper.T), labels


def _read(graph: Any) -> sparse.csr_array:
    links = import_module("networkx").to_scipy_sparse_array(graph, format="csr", dtype=float)
    links.setdiag(0.0)
    links.eliminate_zeros()
    return sparse.csr_array(links)


def structureless_graphs(n_draws: int) -> Iterator[tuple[str, sparse.csr_array]]:
    """Yield draws of one kind after the other, of 20 to 800 vertices."""
    for number in range(n_draws):
        rng = np.random.default_rng([number, 28])
        kind = list(KINDS)[number % len(KINDS)]
        n = int(np.exp(rng.uniform(*np.log([20, 801]))))
        yield kind, KINDS[kind](rng, n)


def _network(name: str, *arguments: Any) -> sparse.csr_array:
    return _read(getattr(import_module("networkx"), name)(*arguments))


def _seed(rng: Generator) -> int:
    return int(rng.integers(1 << 30))


def _rewired_real(rng: Generator, n: int) -> sparse.csr_array:
    networks = import_module("networkx")
    known = (load_karate_club()[0], _read(networks.les_miserables_graph()))
    links = known[n % 2].copy()
    links.data[:] = 1.0
    return rewired(links, rng)


def _power_law(rng: Generator, n: int) -> sparse.csr_array:
    """Return a random simple graph whose degrees follow a power law."""
    degrees = np.minimum(2 * rng.pareto(1.7, n) + 2, np.sqrt(6 * n))
    share = np.minimum(1.0, np.outer(degrees, degrees) / degrees.sum())
    upper = np.triu(rng.random((n, n)) < share, 1).astype(float)
    return sparse.csr_array(upper + upper.T)


def _tree(rng: Generator, n: int) -> sparse.csr_array:
    return _read(import_module("networkx").random_labeled_tree(n, seed=_seed(rng)))


def _star(rng: Generator, n: int) -> sparse.csr_array:
    return _network("star_graph", n - 1)


def _grid(rng: Generator, n: int) -> sparse.csr_array:
    side = max(3, round(np.sqrt(n)))
    return _network("grid_2d_graph", side, side)


def _bipartite(rng: Generator, n: int) -> sparse.csr_array:
    drawn = random_graph(n, 8.0, rng).tocoo()
    kept = (drawn.row < n // 2) != (drawn.col < n // 2)
    ends = (drawn.row[kept], drawn.col[kept])
    return sparse.csr_array(sparse.coo_array((drawn.data[kept], ends), shape=drawn.shape))


def _weighted(rng: Generator, n: int) -> sparse.csr_array:
    upper = sparse.triu(random_graph(n, 8.0, rng), 1)
    upper.data = rng.exponential(size=upper.nnz)
    return sparse.csr_array(upper + upper.T)


KINDS: dict[str, Callable[[Generator, int], sparse.csr_array]] = {
    "random": lambda rng, n: random_graph(n, rng.uniform(3.0, 10.0), rng),
    "preferential attachment": lambda rng, n: _network(
        "barabasi_albert_graph", n, int(rng.integers(1, 6)), _seed(rng)
    ),
    "regular": lambda rng, n: _network(
        "random_regular_graph", int(rng.integers(3, 9)), n + n % 2, _seed(rng)
    ),
    "rewired real": _rewired_real,
    "random tree": _tree,
    "power law": _power_law,
    "path": lambda rng, n: _network("path_graph", n),
    "cycle": lambda rng, n: _network("cycle_graph", n),
    "star": _star,
    "clique": lambda rng, n: _network("complete_graph", min(n, 100)),
    "random, weighted": _weighted,
    "random, bipartite": _bipartite,
    "grid": _grid,
    "neighbours of a Gaussian": lambda rng, n: neighbour_graph(
        rng.standard_normal((n, int(rng.integers(2, 20)))), 15
    ),
    "neighbours of a cube": lambda rng, n: neighbour_graph(
        rng.random((n, int(rng.integers(2, 10)))), 15
    ),
}
