"""Communities at the automatic penalty beside other programs, and graphs that have none."""

import time
import warnings
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks import graph_peers
from benchmarks.graph_data import Graph, Labels, graphs_of_files
from benchmarks.graph_sets import (
    GEOMETRIC,
    NEIGHBOURS,
    fuzzy_neighbour_graph,
    graph_sets,
    neighbour_graph,
    structureless_graphs,
)
from benchmarks.labelled_sets import sets_of
from benchmarks.options import Options
from benchmarks.processes import for_each
from benchmarks.report import NOTHING, TARGET_COLUMNS, Section, Target
from benchmarks.timing import progress
from hardbayes import GraphDPMeans

NOTES = """\
NMI and ARI with the true communities, over the vertices that have one: `GraphDPMeans()` without
arguments, igraph's Louvain (median of five seeds), Leiden, and METIS and scikit-learn's
SpectralClustering, which are told the true number. Graphs are generated, shipped with packages, or
join the nearest neighbours of tables. Constants of the rule were chosen on the families called
tuned alone. More graphs: `--graphs FILE ...`; `--sets FILE ...` for the graphs of 15 nearest
neighbours of at most 4,000 rows of tables, as they are and with the weights of UMAP. Then graphs
without communities: how many are left whole. `--draws N` sets how many."""

PEERS = ["Louvain", "Leiden", "METIS, told k", "spectral, told k"]
COLUMNS = ["graph", "half", "true k", "found", "GraphDPMeans", *PEERS, "seconds", *TARGET_COLUMNS]
LOUVAIN_SEEDS = 5
CLOSE = 0.01  # below Louvain's NMI
MOST_ROWS = 4000  # of tables whose neighbour graphs are compared
MOST_SPECTRAL = 50_000  # vertices
DRAWS, QUICK_DRAWS = 150, 15


class Result(NamedTuple):
    """NMI and ARI of one graph."""

    half: str
    is_of_neighbours: bool
    own: tuple[float, float]
    louvain: tuple[float, float] | None
    leiden: tuple[float, float] | None


def run(options: Options) -> Section:
    """Compare partitions with true communities; count graphs left whole."""
    section = Section("Communities", COLUMNS, NOTES, remarks=graph_peers.absent())
    results = []
    for _, (result, cells) in for_each(
        partial(_compare, options.quick), _labelled(options), options
    ):
        results.append(result)
        section.add(*cells)
    for half in ("tuned", "untuned", "file"):
        _add_means(section, half, [found for found in results if found.half == half])
    progress("communities, graphs without any")
    _add_structureless(section, QUICK_DRAWS if options.quick else options.draws or DRAWS, options)
    return section


def _labelled(options: Options) -> Iterator[tuple[str, str, Graph]]:
    """Yield halves, families and graphs."""
    for known in graph_sets():
        if not options.quick or known.links.shape[0] < 100:
            name = " ".join(filter(None, [known.family, known.name]))
            half = "tuned" if known.is_tuned else "untuned"
            yield half, known.family, Graph(name, known.links, known.labels)
    for graph in graphs_of_files(options):
        if graph.labels is not None:
            yield "file", "", graph
    for known in sets_of(options.sets):
        order = np.random.default_rng(0).permutation(len(known.X))[:MOST_ROWS]
        rows, labels = known.X[order], known.references[0][order]
        for kind, join in (("", neighbour_graph), (", weights of UMAP", fuzzy_neighbour_graph)):
            name = f"{NEIGHBOURS}{known.name}{kind}"
            yield "file", name, Graph(name, join(rows), labels)


def _compare(is_quick: bool, task: tuple[str, str, Graph]) -> tuple[Result, list[Any]]:
    """Return the scores of a graph, and the cells of its line."""
    half, family, (name, links, labels) = task
    progress(f"communities, {name}")
    assert labels is not None
    known = labels >= 0
    k = len(np.unique(labels[known]))

    def scores(found: Labels) -> tuple[float, float]:
        pair = labels[known], found[known]
        return float(normalized_mutual_info_score(*pair)), float(adjusted_rand_score(*pair))

    begin = time.process_time()
    model = quietly(links)
    taken = time.process_time() - begin
    own, louvain, leiden = scores(model.labels_), None, None
    cells, verdict = [NOTHING] * len(PEERS), Target().cells(own[0])
    if find_spec("igraph"):
        seeds = range(2 if is_quick else LOUVAIN_SEEDS)
        found = [scores(graph_peers.louvain(links, seed=seed)) for seed in seeds]
        louvain = (median(each[0] for each in found), median(each[1] for each in found))
        cells[0] = _shown(louvain)
        verdict = Target(reach=round(louvain[0] - CLOSE, 3), unit="").cells(round(own[0], 3))
    if find_spec("leidenalg"):
        leiden = scores(graph_peers.leiden(links))
        cells[1] = _shown(leiden)
    if find_spec("pymetis"):
        cells[2] = _shown(scores(graph_peers.metis(links, k)))
    if links.shape[0] <= MOST_SPECTRAL and not is_quick:
        cells[3] = _shown(scores(graph_peers.spectral(links, k)))
    line = [name, half, k, model.n_clusters_, _shown(own), *cells, f"{taken:.2f}", *verdict]
    return Result(half, family.startswith(NEIGHBOURS), own, louvain, leiden), line


def quietly(links: sparse.csr_array) -> GraphDPMeans:
    """Return the fit without the warning that there is one cluster."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GraphDPMeans(random_state=0).fit(links)


def _shown(scores: tuple[float, float]) -> str:
    return " ".join(f"{score:.3f}" for score in scores)


def _add_means(section: Section, half: str, results: list[Result]) -> None:
    """Add by how much the NMI is above Louvain's, and the ARI of neighbour graphs Leiden's."""
    blank = [NOTHING] * (len(PEERS) + 1)
    ahead = [each.own[0] - each.louvain[0] for each in results if each.louvain]
    if ahead:
        share = float(np.mean([each >= -CLOSE for each in ahead]))
        verdict = Target(reach=0.8, unit="").cells(share)
        what = f"NMI at most {CLOSE} below Louvain's, of {len(ahead)}"
        section.add(what, half, NOTHING, NOTHING, f"{share:.2f}", *blank, *verdict)
        verdict = Target(reach=0.0, unit="").cells(float(np.mean(ahead)))
        section.add(
            "NMI above Louvain's, mean", half, NOTHING, NOTHING, f"{np.mean(ahead):+.3f}", *blank,
            *verdict,
        )  # fmt: skip
    beyond = [
        each.own[1] - each.leiden[1] for each in results if each.leiden and each.is_of_neighbours
    ]
    if beyond:
        verdict = Target(reach=0.0, unit="").cells(float(np.mean(beyond)))
        what = f"ARI above Leiden's, mean of {len(beyond)} neighbour graphs"
        section.add(what, half, NOTHING, NOTHING, f"{np.mean(beyond):+.3f}", *blank, *verdict)


def _is_whole(draw: tuple[str, sparse.csr_array]) -> bool:
    """Return whether each component is one cluster."""
    components = csgraph.connected_components(draw[1], directed=False)[0]
    return bool(quietly(draw[1]).n_clusters_ == components)


def _add_structureless(section: Section, draws: int, options: Options) -> None:
    """Add for each kind how many graphs are left whole."""
    whole: dict[str, list[bool]] = {}
    for (kind, _), is_whole in for_each(_is_whole, structureless_graphs(draws), options):
        whole.setdefault(kind, []).append(is_whole)
    blank = [NOTHING] * (len(PEERS) + 1)
    usual = [each for kind, found in whole.items() if kind not in GEOMETRIC for each in found]
    verdict = Target(reach=0.98, unit="").cells(float(np.mean(usual)))
    what = f"one cluster in {sum(usual)}"
    section.add(f"{len(usual)} without structure", NOTHING, 1, what, *blank, NOTHING, *verdict)
    for kind, found in whole.items():
        cells = [f"one cluster in {sum(found)}", *blank, NOTHING, *[NOTHING] * 3]
        section.add(
            f"of these: {len(found)} {kind}" if kind not in GEOMETRIC else f"{len(found)} {kind}",
            NOTHING,
            1,
            *cells,
        )
