"""Clusters of a graph: the ordered adjacency matrix, cuts, central and doubtful vertices."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hardbayes.core.html import Markup, tag
from hardbayes.graph.estimator import graph_of_fit
from hardbayes.plot.graph import ordered_cells, positions
from hardbayes.reports.pieces import (
    Section,
    cells,
    colour,
    mark,
    percent,
    picture,
    section,
    share_bar,
    short,
    table,
)
from hardbayes.reports.plane import Plane, placed

MAX_CELLS = 240  # of the matrix, along a side
MAX_DRAWN = 150  # vertices of a graph that is drawn as points and lines
MAX_NAMED = 50  # vertices of a drawing with names
# Of the weight of links inside: a vertex with less to any other cluster is in no doubt.
IN_DOUBT = 0.5
MAX_CLUSTERS = 60
N_CENTRAL = 4
N_DOUBTFUL = 12
LEVELS = 5


class Community(NamedTuple):
    """A cluster of vertices."""

    cluster: int
    size: int
    cut: float  # weight of the links that leave it, divided by its volume
    central: list[str]  # vertices with most links inside
    begin: float  # where its square begins in the matrix, as a share of the side
    end: float


class Border(NamedTuple):
    """A vertex with many links to another cluster."""

    name: str
    cluster: int
    other: int
    inside: float  # share of its links that stay in its cluster


class Graph(NamedTuple):
    """What a report says about a graph."""

    n_vertices: int
    n_links: int
    communities: list[Community]  # the largest first
    n_clusters: int
    borders: list[Border]
    matrix: NDArray[np.int64]  # levels of the cells of the ordered adjacency matrix
    plane: Plane | None  # a drawing, where the graph is small
    names: list[str]  # (n,): of the vertices


def graph_of(model: Any, X: Any, row_names: list[str] | None) -> Graph:
    """Return the clusters of the graph of a fit."""
    links = graph_of_fit(model, X)
    labels = np.asarray(model.labels_)
    n = len(labels)
    names = [str(name) for name in model.vertex_names_] if row_names is None else row_names
    k = int(model.n_clusters_)
    member = sparse.csr_array((np.ones(n), (np.arange(n), labels)), shape=(n, k))
    towards = sparse.csr_array(links @ member)  # (n, k): weights of links to each cluster
    degrees = np.asarray(links.sum(axis=1)).ravel()
    inside = np.asarray(towards.multiply(member).sum(axis=1)).ravel()
    sizes = np.bincount(labels, minlength=k)
    ranked = np.argsort(-sizes, kind="stable")
    ends = np.concatenate([[0], np.cumsum(sizes[ranked])]) / n
    communities = []
    for place, cluster in enumerate(ranked[:MAX_CLUSTERS]):
        members = np.flatnonzero(labels == cluster)
        central = members[np.argsort(-inside[members], kind="stable")[:N_CENTRAL]]
        communities.append(
            Community(
                int(cluster), int(sizes[cluster]), float(model.cuts_per_cluster_[cluster]),
                [names[vertex] for vertex in central], float(ends[place]), float(ends[place + 1]),
            )
        )  # fmt: skip
    places = np.empty(k, np.int64)
    places[ranked] = np.arange(k)
    order = np.lexsort((-degrees, places[labels]))
    borders = _borders(towards, member, degrees, inside, labels, names)
    drawing = _drawing(links, names if n <= MAX_NAMED else None) if n <= MAX_DRAWN else None
    matrix = _matrix(links, order)
    return Graph(n, links.nnz // 2, communities, k, borders, matrix, drawing, names)


def _borders(
    towards: Any, member: Any, degrees: Any, inside: Any, labels: Any, names: list[str]
) -> list[Border]:
    """Return the vertices of whose links the smallest share stays inside."""
    linked = degrees > 0
    shares = np.where(linked, inside / np.where(linked, degrees, 1.0), np.inf)
    outside = sparse.csr_array(towards - towards.multiply(member))
    found = []
    for vertex in np.argsort(shares, kind="stable")[:N_DOUBTFUL]:
        beyond = outside[[vertex]].toarray().ravel()
        other = int(beyond.argmax())
        if shares[vertex] < 1 and beyond[other] >= IN_DOUBT * inside[vertex]:
            found.append(Border(names[vertex], int(labels[vertex]), other, float(shares[vertex])))
    return found


def _matrix(links: Any, order: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return levels 0 to 5 of the cells of the ordered matrix, by the logarithm of their weight."""
    weights = ordered_cells(links, order, MAX_CELLS)
    largest = float(weights.max(initial=0.0))
    if not largest:
        return np.zeros(weights.shape, np.int64)
    with np.errstate(divide="ignore"):
        depth = 1.0 + np.log(weights / largest) / np.log(100.0)
    levels = np.ceil(LEVELS * np.clip(depth, 0.15, 1.0)).astype(np.int64)
    return np.where(weights > 0, levels, 0)


def _drawing(links: Any, names: list[str] | None) -> Plane:
    upper = sparse.triu(links, 1).tocoo()
    n = links.shape[0]
    pairs = np.column_stack([upper.row, upper.col]).astype(np.intp)
    return placed(positions(links), np.arange(n), n, ("vertices", "links"), pairs, names)


def matrix_section(found: Graph) -> Section:
    """Return the adjacency matrix in the order of the clusters."""
    side = len(found.matrix)
    squares = [
        tag(
            "rect", x=f"{side * each.begin:.2f}", y=f"{side * each.begin:.2f}",
            width=f"{side * (each.end - each.begin):.2f}",
            height=f"{side * (each.end - each.begin):.2f}",
            class_=f"{colour(each.cluster)} block", stroke_width=f"{side / 240:.2f}",
        )
        for each in found.communities
    ]  # fmt: skip
    label = (
        "The adjacency matrix, vertices ordered by cluster, the largest cluster first: links "
        "inside clusters lie in the squares on the diagonal"
    )
    drawn = picture(side, side, label, cells(found.matrix), squares, class_="matrix")
    caption = f"{label}. Darker cells have more links."
    if found.n_vertices > side:
        caption += f" Each cell stands for about {found.n_vertices / side:.0f} vertices a side."
    return section("matrix", "The links", tag("figure", drawn, tag("figcaption", caption)))


def communities_section(found: Graph) -> Section:
    """Return sizes, cuts and vertices of the clusters."""
    widest = max(each.size for each in found.communities)
    rows = [
        (mark(each.cluster), ", ".join(each.central), short(each.size),
         percent(each.size / found.n_vertices),
         tag("td", share_bar(each.size, widest, colour(each.cluster))), short(each.cut))
        for each in found.communities
    ]  # fmt: skip
    head = ("cluster", "central vertices", "size", "share", "", "cut")
    note: Markup | None = None
    if found.n_clusters > len(found.communities):
        text = f"The {len(found.communities)} largest of {found.n_clusters:,} clusters are listed."
        note = tag("p", text)
    borders = [
        (each.name, mark(each.cluster), mark(each.other), percent(each.inside))
        for each in found.borders
    ]
    return section(
        "clusters",
        "The clusters and their vertices",
        tag(
            "p",
            "Central vertices have most links inside their cluster. The cut is what part of a "
            "cluster's links leaves it, by volume or by number of vertices.",
        ),
        note,
        table("Clusters, the largest first", head, rows, 2),
        table("Vertices in doubt", ("vertex", "cluster", "next", "links inside"), borders, 3)
        if borders
        else tag("p", "No vertex is in doubt: none has half as many links to another cluster."),
    )
