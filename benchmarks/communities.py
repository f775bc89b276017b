"""Communities at the automatic penalty beside other programs, and graphs that have none."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from statistics import median

import numpy as np
from scipy import sparse
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    normalized_mutual_info_score,
)

from benchmarks import graph_peers
from benchmarks.graph_data import Graph, Labels, graphs, random_graph, rewired
from benchmarks.options import Options
from benchmarks.report import NOTHING, TARGET_COLUMNS, Section, Target
from benchmarks.timing import progress
from hardbayes import GraphDPMeans

NOTES = """\
NMI, AMI and ARI with the true communities, over the vertices that have one: `GraphDPMeans()`
without arguments, igraph's Louvain (median of ten seeds), Leiden, and METIS and scikit-learn's
SpectralClustering, which are told the true number. Then random graphs, and graphs rewired with the
degrees of those above: the number that `GraphDPMeans()` leaves as one cluster. More graphs:
`--graphs FILE ...`."""

PEERS = ["Louvain", "Leiden", "METIS, told k", "spectral, told k"]
COLUMNS = ["graph", "true k", "found", "GraphDPMeans", *PEERS, *TARGET_COLUMNS]
SCORES: tuple[Callable[[Labels, Labels], float], ...] = (
    normalized_mutual_info_score,
    adjusted_mutual_info_score,
    adjusted_rand_score,
)
MOST_SPECTRAL = 50_000  # vertices
MOST_REWIRED = 50_000  # links of a graph


def run(options: Options) -> Section:
    """Compare partitions with true communities; count graphs left whole."""
    section = Section("Communities", COLUMNS, NOTES, remarks=graph_peers.absent())
    ahead: list[float] = []  # by how much the NMI is above Louvain's
    shapes = []
    for graph in graphs(options):
        if graph.labels is not None:
            progress(f"communities, {graph.name}")
            _add_graph(section, graph, options, ahead)
        if graph.links.nnz <= 2 * MOST_REWIRED:
            shapes.append(graph.links)
    if ahead:
        share, middle = np.mean([each >= 0 for each in ahead]), median(ahead)
        blank = [NOTHING] * (len(PEERS) + 1)
        verdict = Target(reach=0.9, unit="").cells(float(share))
        section.add("NMI not below Louvain's", NOTHING, f"{share:.2f}", *blank, *verdict)
        verdict = Target(reach=0.02, unit="").cells(middle)
        section.add("NMI above Louvain's, median", NOTHING, f"{middle:+.3f}", *blank, *verdict)
    progress("communities, graphs without any")
    _add_whole(section, "random", list(_random_graphs(5 if options.quick else 20)))
    each = 1 if options.quick else max(1, -(-20 // len(shapes)))
    seeds = [np.random.default_rng(seed) for seed in range(each)]
    _add_whole(section, "rewired", [rewired(links, rng) for rng in seeds for links in shapes])
    return section


def _add_graph(section: Section, graph: Graph, options: Options, ahead: list[float]) -> None:
    name, links, labels = graph
    assert labels is not None
    known = labels >= 0
    k = len(np.unique(labels[known]))

    def scores(found: Labels) -> list[float]:
        return [float(score(labels[known], found[known])) for score in SCORES]

    model = GraphDPMeans(random_state=0).fit(links)
    own = scores(model.labels_)
    cells, verdict = [NOTHING] * len(PEERS), Target().cells(own[0])
    if find_spec("igraph"):
        seeds = range(2 if options.quick else 10)
        found = [scores(graph_peers.louvain(links, seed=seed)) for seed in seeds]
        middle = np.median(found, axis=0).tolist()
        cells[0] = _shown(middle)
        ahead.append(round(own[0] - middle[0], 3))
        verdict = Target(reach=round(middle[0], 3), unit="").cells(round(own[0], 3))
    if find_spec("leidenalg"):
        cells[1] = _shown(scores(graph_peers.leiden(links)))
    if find_spec("pymetis"):
        cells[2] = _shown(scores(graph_peers.metis(links, k)))
    if links.shape[0] <= MOST_SPECTRAL:
        cells[3] = _shown(scores(graph_peers.spectral(links, k)))
    section.add(name, k, model.n_clusters_, _shown(own), *cells, *verdict)


def _shown(scores: list[float]) -> str:
    return " ".join(f"{score:.3f}" for score in scores)


def _random_graphs(count: int) -> Iterator[sparse.csr_array]:
    rng = np.random.default_rng(0)
    for n in np.geomspace(20, 1000, count).astype(int):
        yield random_graph(int(n), rng.uniform(4.0, 10.0), rng)


def _add_whole(section: Section, kind: str, drawn: list[sparse.csr_array]) -> None:
    whole = sum(GraphDPMeans(random_state=0).fit(links).n_clusters_ == 1 for links in drawn)
    verdict = Target(reach=0.95, unit="").cells(whole / len(drawn))
    name = f"{len(drawn)} {kind} graphs"
    blank = [NOTHING] * (len(PEERS) + 1)
    section.add(name, 1, f"one cluster in {whole}", *blank, *verdict)
