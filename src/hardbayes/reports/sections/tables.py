"""Tables and other pieces that all sections use."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hardbayes.markup import Markup, tag
from hardbayes.reports.svg import N_COLOURS, marks, picture


class Section(NamedTuple):
    """A section, and what the list of contents says of it."""

    name: str
    title: str
    content: Markup


def section(name: str, title: str, *content: Any) -> Section:
    """Return a section with a heading; ``name``: its address within the page."""
    heading = tag("h2", title, id=f"{name}-title")
    whole = tag("section", heading, *content, id=name, aria_labelledby=f"{name}-title")
    return Section(name, title, whole)


def table(
    caption: Any, head: Sequence[Any], rows: Sequence[Sequence[Any]], words: int = 1
) -> Markup:
    """Return a table whose rows begin with their names; the first ``words`` columns are no numbers.

    Cells are texts, markup, or complete ``td`` elements.
    """
    names = [
        tag("th", name, scope="col", class_=None if at < words else "number")
        for at, name in enumerate(head)
    ]
    lines = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            [
                cell
                if isinstance(cell, Markup) and cell.startswith("<td")
                else tag("td", cell, class_=None if at < words else "number")
                for at, cell in enumerate(row[1:], 1)
            ],
        )
        for row in rows
    ]
    whole = tag(
        "table", tag("caption", caption), tag("thead", tag("tr", names)), tag("tbody", lines)
    )
    # A wide table scrolls in its own frame, which the keyboard can reach.
    label = caption if isinstance(caption, str) and not isinstance(caption, Markup) else "table"
    return tag("div", whole, class_="scroll", tabindex=0, role="group", aria_label=label)


def details(summary: str, *content: Any) -> Markup:
    """Return content that opens on request; on paper it is open."""
    return tag("details", tag("summary", summary), *content)


def mark(number: int) -> Markup:
    """Return the mark that the points of a cluster have, with its number beside it."""
    drawn = marks(np.array([[10, 10]]), number, 14)
    return tag(
        "span",
        picture(20, 20, f"mark of cluster {number}", drawn, class_="mark"),
        str(number),
        class_="cluster",
    )


def colour(number: int) -> str:
    """Return the class of the colour of a cluster."""
    return f"c{number % N_COLOURS}"


def difference_bar(difference: float, widest: float) -> Markup:
    """Return a bar from the middle to the right where a difference is positive, else to the left.

    The number stands beside it, so it is hidden from readers of the screen.
    """
    half = 50 * min(1.0, abs(difference) / widest) if widest else 0.0
    begin = 50.0 if difference >= 0 else 50.0 - half
    return tag(
        "svg",
        tag("rect", x=f"{begin:.1f}", y=2, width=f"{half:.1f}", height=10,
            class_="high" if difference >= 0 else "low"),
        tag("line", x1=50, x2=50, y1=0, y2=14, class_="axis"),
        viewBox="0 0 100 14", class_="bar", preserveAspectRatio="none", aria_hidden="true",
    )  # fmt: skip


def share_bar(share: float, widest: float, class_: str = "high") -> Markup:
    """Return a bar from the left whose length is a share; the number stands beside it."""
    width = 100 * min(1.0, share / widest) if widest else 0.0
    return tag(
        "svg", tag("rect", x=0, y=2, width=f"{max(width, 0.5):.1f}", height=10, class_=class_),
        viewBox="0 0 100 14", class_="bar", preserveAspectRatio="none", aria_hidden="true",
    )  # fmt: skip
