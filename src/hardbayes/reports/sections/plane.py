"""Rows, or the vertices of a small graph, in the plane."""

import numpy as np
from numpy.typing import NDArray

from hardbayes.markup import Markup, tag
from hardbayes.reports.facts.plane import HEIGHT, MARGINS, WIDTH, Plane
from hardbayes.reports.numbers import counted, percent, short
from hardbayes.reports.sections.tables import mark
from hardbayes.reports.svg import Scale, frame, marks, picture, text

_MOST_IN_LEGEND = 40


def point_size(plane: Plane) -> int:
    """Return how large points are drawn: small ones where there are many."""
    n = len(plane.points)
    return 22 if n <= 60 else 16 if n <= 300 else 11 if n <= 2000 else 7


def plane_figure(plane: Plane, labels: NDArray[np.int64], thing: str) -> Markup:
    """Return the scatter plot, and a legend whose buttons highlight a cluster."""
    left, top, right, bottom = MARGINS
    across = Scale(*plane.ranges[0], left, WIDTH - right)
    up = Scale(*plane.ranges[1], HEIGHT - bottom, top)
    sizes = np.bincount(labels)
    size = point_size(plane)
    numbers = [number for number in range(len(sizes)) if sizes[number]]
    few = len(numbers) <= _MOST_IN_LEGEND
    # The largest first, so that small clusters are not hidden.
    drawn = [
        marks(plane.points[labels == number], number, size)
        for number in sorted(numbers, key=lambda number: -sizes[number])
    ]
    names = []
    for number in numbers if few else []:
        x, y = np.median(plane.points[labels == number], axis=0)
        names.append(text(x, y + 9, str(number), "centre", "middle"))
    axes = None if plane.lines is not None else frame(across, up, plane.names, (6, 5), 2.0)
    shown = len(plane.rows)
    what = "vertices" if plane.lines is not None else "rows"
    caption = f"All {short(shown)} {what}"
    if shown < plane.n_rows:
        caption = (
            f"A sample of {short(shown)} of {short(plane.n_rows)} {what}, evenly spaced "
            f"({percent(shown / plane.n_rows)})"
        )
    if few:
        caption += f"; numbers stand in the middle of their {thing}s."
    else:
        caption += f"; {_MOST_IN_LEGEND} of {len(numbers)} {thing}s are listed."
    label = f"The {what} in the plane, by {thing}: {', '.join(plane.names)}"
    content = [
        axes, _links(plane), tag("g", drawn, id="points"), tag("g", names, id="centres"),
    ]  # fmt: skip
    return tag(
        "figure",
        picture(WIDTH, HEIGHT, label, *content, class_="chart plane", id="plane"),
        _legend(numbers, sizes, thing),
        tag("figcaption", caption),
    )


def _links(plane: Plane) -> Markup | None:
    if plane.lines is None:
        return None
    ends = plane.points[plane.lines].reshape(-1, 4).tolist()
    return tag("path", class_="links", d="".join(f"M{a} {b}L{c} {d}" for a, b, c, d in ends))


def _legend(numbers: list[int], sizes: NDArray[np.int64], thing: str) -> Markup:
    buttons = [
        tag(
            "button", mark(number), tag("span", short(int(sizes[number])), class_="count"),
            type="button", aria_pressed="false", data_cluster=number,
            aria_label=f"{thing} {number}, {counted(int(sizes[number]), 'point')}: highlight it",
        )
        for number in numbers[:_MOST_IN_LEGEND]
    ]  # fmt: skip
    return tag(
        "div", buttons, class_="legend", id="legend", role="group",
        aria_label=f"{thing}s: highlight one", data_thing=thing,
    )  # fmt: skip
