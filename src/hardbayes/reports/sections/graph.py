"""Clusters of a graph: the ordered adjacency matrix and tables."""

from hardbayes.markup import Markup, tag
from hardbayes.reports.facts.graph import Graph
from hardbayes.reports.numbers import percent, short
from hardbayes.reports.sections.tables import Section, colour, mark, section, share_bar, table
from hardbayes.reports.svg import cells, picture


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
        table(
            "The most doubtful vertices", ("vertex", "cluster", "next", "links inside"), borders, 3
        )
        if borders
        else None,
    )
