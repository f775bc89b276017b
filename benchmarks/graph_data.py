"""Graphs of the benchmarks: generated, or read from files named on the command line.

``--graphs FILE ...`` takes edge lists as `hardbayes graph` does: two vertices a line and perhaps a
weight. True communities stand in a file of the same name that ends in ``.labels``: a vertex and its
community a line, vertices without one left out. An ``.npz`` file has ``n``, ``edges`` (m, 2) and
perhaps ``labels`` (n,), -1 where there is none.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from benchmarks.options import Options
from hardbayes.cli.graph import read_edges
from hardbayes.datasets import load_karate_club, make_planted_partition

Labels = NDArray[np.integer]
ROUNDS = 40  # in which every link is offered an exchange


class Graph(NamedTuple):
    """A graph, and its true communities where they are given."""

    name: str
    links: sparse.csr_array
    labels: Labels | None  # (n,): -1 where a vertex has none


def graphs(options: Options) -> Iterator[Graph]:
    """Yield generated graphs, and the largest components of those in files."""
    yield Graph("karate club", *load_karate_club())
    sizes = [(5, 30)] if options.quick else [(10, 50), (40, 100)]
    for k, size in sizes:
        for outside in (4.0, 8.0):
            planted = make_planted_partition(k, size, degree_outside=outside, random_state=0)
            yield Graph(f"{k} x {size} planted, {outside:g} links outside", *planted)
    for name, links, labels in graphs_of_files(options):
        component = csgraph.connected_components(links, directed=False)[1]
        kept = np.flatnonzero(component == np.bincount(component).argmax())
        own = sparse.csr_array(links[kept][:, kept])
        yield Graph(name, own, None if labels is None else labels[kept])


def graphs_of_files(options: Options) -> Iterator[Graph]:
    """Yield the whole graphs of files."""
    for path in options.graphs:
        yield Graph(path.stem, *(_from_npz(path) if path.suffix == ".npz" else _from_text(path)))


def _from_npz(path: Path) -> tuple[sparse.csr_array, Labels | None]:
    with np.load(path, allow_pickle=False) as file:
        n, edges, labels = int(file["n"]), file["edges"], file.get("labels")
    return _symmetric(edges[:, 0], edges[:, 1], np.ones(len(edges)), n), labels


def _from_text(path: Path) -> tuple[sparse.csr_array, Labels | None]:
    edges = read_edges(str(path))
    names, ends = np.unique(edges.sources + edges.targets, return_inverse=True)
    weights = np.ones(len(edges.sources)) if edges.weights is None else np.array(edges.weights)
    links = _symmetric(*np.split(ends, 2), weights, len(names))
    beside = path.with_suffix(".labels")
    if not beside.exists():
        return links, None
    community = dict(line.split(maxsplit=1) for line in beside.read_text("utf-8").splitlines())
    kinds = {kind: number for number, kind in enumerate(sorted(set(community.values())))}
    return links, np.array([kinds.get(community.get(name, ""), -1) for name in names])


def _symmetric(sources: Labels, targets: Labels, weights: NDArray, n: int) -> sparse.csr_array:
    half = sparse.coo_array((weights, (sources, targets)), shape=(n, n)).tocsr()
    half.setdiag(0.0)
    links = sparse.csr_array(half + half.T)
    links.eliminate_zeros()
    return links


def random_graph(n: int, degree: float, rng: np.random.Generator) -> sparse.csr_array:
    """Return a graph whose links are equally probable."""
    upper = np.triu(rng.uniform(size=(n, n)) < degree / (n - 1), 1).astype(float)
    return sparse.csr_array(upper + upper.T)


def rewired(links: sparse.csr_array, rng: np.random.Generator) -> sparse.csr_array:
    """Return a random graph with the same degrees: two links at a time exchange their ends."""
    half = sparse.triu(links, 1).tocoo()
    n = links.shape[0]
    ends = np.column_stack([half.row, half.col]).astype(np.int64)
    for _ in range(ROUNDS):
        turned = rng.uniform(size=len(ends)) < 0.5
        ends[turned] = ends[turned, ::-1]
        one, other = np.split(rng.permutation(len(ends))[: len(ends) // 2 * 2], 2)
        new = np.stack([ends[[one, other], 0], ends[[other, one], 1]])  # (vertex, link, pair)
        keys = new.min(axis=0) * n + new.max(axis=0)
        before = ends.min(axis=1) * n + ends.max(axis=1)
        _, place, count = np.unique(keys, return_inverse=True, return_counts=True)
        free = (count == 1)[place].reshape(keys.shape) & ~np.isin(keys, before)
        kept = (free & (new[0] != new[1])).all(axis=0)
        for at, link in enumerate((one, other)):
            ends[link[kept]] = new[:, at, kept].T
    return _symmetric(ends[:, 0], ends[:, 1], np.ones(len(ends)), n)
