"""Partitions of graphs by other programs."""

import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from random import Random
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import SpectralClustering

from benchmarks.graph_data import Labels
from benchmarks.options import Options

RESOLUTIONS = (0.1, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 4.0, 8.0, 16.0)
NUMBERS = (2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50)
MOST_SPECTRAL = 6000  # vertices, above which spectral clustering at every number takes too long
#: Packages that may be missing, by what they give.
PACKAGES = {"Louvain": "igraph", "Leiden": "leidenalg", "METIS": "pymetis"}


def absent() -> list[str]:
    """Return a line for each peer that is not installed."""
    missing = {peer: name for peer, name in PACKAGES.items() if not find_spec(name)}
    return [f"{peer}: left out, {name} is not installed." for peer, name in missing.items()]


def louvain(links: sparse.csr_array, resolution: float = 1.0, seed: int = 0) -> Labels:
    """Return igraph's Louvain partition."""
    import_module("igraph").set_random_number_generator(Random(seed))
    graph, weights = _igraph(links)
    found = graph.community_multilevel(weights=weights, resolution=resolution)
    return np.array(found.membership)


def leiden(links: sparse.csr_array, resolution: float = 1.0) -> Labels:
    """Return leidenalg's partition by modularity."""
    module, (graph, weights) = import_module("leidenalg"), _igraph(links)
    kind = module.RBConfigurationVertexPartition
    how = dict(weights=weights, resolution_parameter=resolution, seed=0)
    return np.array(module.find_partition(graph, kind, **how).membership)


def _igraph(links: sparse.csr_array) -> tuple[Any, list[float]]:
    half = sparse.triu(links, 1).tocoo()
    edges = np.column_stack([half.row, half.col]).tolist()
    return import_module("igraph").Graph(links.shape[0], edges), half.data.tolist()


def metis(links: sparse.csr_array, k: int) -> Labels:
    """Return the better of METIS' two partitions by its cut, of links without weights."""
    module = import_module("pymetis")
    neighbours = [each.tolist() for each in np.split(links.indices, links.indptr[1:-1])]
    ways = [module.part_graph(k, adjacency=neighbours, recursive=way) for way in (True, False)]
    return np.array(min(ways, key=lambda found: found[0])[1])


def spectral(links: sparse.csr_array, k: int) -> Labels:
    """Return scikit-learn's spectral clustering."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SpectralClustering(k, affinity="precomputed", random_state=0)
        return model.fit_predict(sparse.csr_matrix(links))


def many_partitions(links: sparse.csr_array, options: Options) -> list[Labels]:
    """Return partitions of all peers at several resolutions and numbers of clusters."""
    resolutions = (1.0,) if options.quick else RESOLUTIONS
    numbers = [k for k in ((2, 4) if options.quick else NUMBERS) if k < links.shape[0] // 2]
    calls: list[Callable[[], Labels]] = []
    if find_spec("igraph"):
        calls += [partial(louvain, links, value) for value in resolutions]
    if find_spec("leidenalg"):
        calls += [partial(leiden, links, value) for value in resolutions]
    if find_spec("pymetis"):
        calls += [partial(metis, links, k) for k in numbers]
    if links.shape[0] <= MOST_SPECTRAL:
        calls += [partial(spectral, links, k) for k in numbers]
    return [call() for call in calls]
