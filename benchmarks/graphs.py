"""Cuts of graphs beside Louvain, Leiden, METIS and spectral clustering, where these are installed.

Graphs are generated; HARDBAYES_GRAPHS names a folder of others, ``.npz`` files with ``n``,
``edges`` (m, 2) and perhaps ``labels``, -1 where there is none.
"""

import os
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.cluster import SpectralClustering
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.options import Options
from benchmarks.report import TARGET_COLUMNS, Section, Target
from benchmarks.timing import progress
from hardbayes import GraphDPMeans, objective
from hardbayes.datasets import load_karate_club, make_planted_partition

NOTES = """\
**Objective**: normalised cut plus penalty at penalties that give 2 to 50 clusters, each compared
with the best of all peers' partitions (all resolutions and numbers of clusters) under the same
objective. Printed is the worst and the median difference in percent; negative is better.

**Automatic**: normalised mutual information with the true communities, `GraphDPMeans()` without
arguments beside Louvain (median of ten seeds).

**Time**: CPU seconds of `GraphDPMeans()`, the choice of the penalty included, beside one call of
SpectralClustering that is told the number of clusters found."""

COLUMNS = ["graph", "what", "ours", "peer", "measured", *TARGET_COLUMNS]
RESOLUTIONS = (0.1, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 4.0, 8.0, 16.0)
NUMBERS = (2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50)
MOST_SPECTRAL = 6000  # vertices, above which spectral clustering at every number takes too long

Labels = NDArray[np.integer]


def run(options: Options) -> Section:
    """Compare objectives, automatic choices and times."""
    section = Section("Graphs", COLUMNS, NOTES)
    peers = {name: make for name, make in PEERS.items() if find_spec(name)}
    for name in sorted(set(PEERS) - set(peers)):
        section.remarks.append(f"{name} is not installed and was left out.")
    for name, links, labels in graphs(options):
        progress(f"graphs, {name}")
        partitions = [found for make in peers.values() for found in make(links, options)]
        partitions += spectral(links, options)
        _add_objective(section, name, links, partitions, options)
        _add_automatic(section, name, links, labels, options)
    return section


def graphs(options: Options) -> Iterator[tuple[str, sparse.csr_array, Labels | None]]:
    """Yield names, links of the largest component, and true communities."""
    yield "karate club", *load_karate_club()
    sizes = [(5, 30)] if options.quick else [(10, 50), (40, 100)]
    for k, size in sizes:
        for outside in (4.0, 8.0):
            links, labels = make_planted_partition(k, size, degree_outside=outside, random_state=0)
            yield f"{k} x {size} planted, {outside:g} links outside", links, labels
    folder = os.environ.get("HARDBAYES_GRAPHS")
    for path in sorted(Path(folder).glob("*.npz")) if folder else []:
        with np.load(path, allow_pickle=False) as file:
            n, edges = int(file["n"]), file["edges"]
            labels = file.get("labels")
        half = sparse.coo_array((np.ones(len(edges)), (*edges.T,)), shape=(n, n)).tocsr()
        component = csgraph.connected_components(half, directed=False)[1]
        kept = np.flatnonzero(component == np.bincount(component).argmax())
        links = sparse.csr_array(half + half.T)[kept][:, kept]
        yield path.stem, links, None if labels is None else labels[kept]


# -- peers: each returns partitions of its own -----------------------------------------------------


def louvain(links: sparse.csr_array, options: Options) -> list[Labels]:
    """Return partitions at several resolutions."""
    nx = import_module("networkx")
    graph = nx.from_scipy_sparse_array(links)
    values = (1.0,) if options.quick else RESOLUTIONS
    return [_louvain(nx, graph, value, 0) for value in values]


def _louvain(nx: object, graph: object, resolution: float, seed: int) -> Labels:
    parts = nx.community.louvain_communities(graph, resolution=resolution, seed=seed)  # type: ignore[attr-defined]
    labels = np.empty(sum(map(len, parts)), np.int64)
    for number, part in enumerate(parts):
        labels[list(part)] = number
    return labels


def leiden(links: sparse.csr_array, options: Options) -> list[Labels]:
    """Return partitions at several resolutions."""
    ig, module = import_module("igraph"), import_module("leidenalg")
    half = sparse.triu(links, 1).tocoo()
    graph = ig.Graph(links.shape[0], np.column_stack([half.row, half.col]).tolist())
    kind = module.RBConfigurationVertexPartition
    found = [
        module.find_partition(graph, kind, resolution_parameter=value, seed=0)
        for value in ((1.0,) if options.quick else RESOLUTIONS)
    ]
    return [np.array(each.membership) for each in found]


def metis(links: sparse.csr_array, options: Options) -> list[Labels]:
    """Return partitions of several numbers of clusters."""
    module = import_module("pymetis")
    neighbours = np.split(links.indices, links.indptr[1:-1])
    lists = [each.tolist() for each in neighbours]
    return [np.array(module.part_graph(k, adjacency=lists)[1]) for k in _numbers(links, options)]


def spectral(links: sparse.csr_array, options: Options) -> list[Labels]:
    """Return partitions of several numbers of clusters."""
    if links.shape[0] > MOST_SPECTRAL:
        return []
    return [_spectral(links, k) for k in _numbers(links, options)]


def _spectral(links: sparse.csr_array, k: int) -> Labels:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SpectralClustering(k, affinity="precomputed", random_state=0)
        return model.fit_predict(sparse.csr_matrix(links))


def _numbers(links: sparse.csr_array, options: Options) -> list[int]:
    return [k for k in ((2, 4) if options.quick else NUMBERS) if k < links.shape[0] // 2]


PEERS: dict[str, Callable[[sparse.csr_array, Options], list[Labels]]] = {
    "networkx": louvain,
    "leidenalg": leiden,
    "pymetis": metis,
}


# -- rows ------------------------------------------------------------------------------------------


def _add_objective(
    section: Section,
    name: str,
    links: sparse.csr_array,
    partitions: list[Labels],
    options: Options,
) -> None:
    """Compare with the best peer at penalties that give 2 to 50 clusters."""
    cuts = [(objective(links, each, 0.0, cut="normalized"), each.max() + 1) for each in partitions]
    differences, numbers = [], []
    for penalty in -np.geomspace(0.9, 0.005, 4 if options.quick else 16):
        model = GraphDPMeans(float(penalty), random_state=0).fit(links)
        if 2 <= model.n_clusters_ <= 50:
            best = min(cut + penalty * k for cut, k in cuts)
            differences.append(100 * (model.objective_ - best) / abs(best))
            numbers.append(model.n_clusters_)
    if not differences:
        return
    worst, middle = max(differences), median(differences)
    verdict = Target(reach=0.5, lower_is_better=True, unit=" %").cells(worst)
    what = f"objective at {len(numbers)} penalties, {min(numbers)} to {max(numbers)} clusters"
    section.add(
        name, what, f"median {middle:+.2f} %", f"best of {len(cuts)}", f"{worst:+.2f} %", *verdict
    )


def _add_automatic(
    section: Section, name: str, links: sparse.csr_array, labels: Labels | None, options: Options
) -> None:
    begin = time.process_time()
    model = GraphDPMeans(random_state=0).fit(links)
    taken = time.process_time() - begin
    begin, k = time.process_time(), max(2, model.n_clusters_)
    _spectral(links, k)
    beside = time.process_time() - begin
    verdict = Target(reach=beside, lower_is_better=True, unit=" s").cells(taken)
    found = f"{model.n_clusters_} clusters, penalty {model.cluster_penalty_:.3f}"
    section.add(name, "time", found, f"{beside:.2f} s", f"{taken:.2f} s", *verdict)
    if labels is None or not find_spec("networkx"):
        return
    nx = import_module("networkx")
    graph, known = nx.from_scipy_sparse_array(links), labels >= 0
    scores = [
        normalized_mutual_info_score(labels[known], _louvain(nx, graph, 1.0, seed)[known])
        for seed in range(2 if options.quick else 10)
    ]
    own = normalized_mutual_info_score(labels[known], model.labels_[known])
    verdict = Target(reach=median(scores), unit="").cells(own)
    section.add(name, "automatic", found, f"Louvain {median(scores):.3f}", f"{own:.3f}", *verdict)
