"""Where rows, or the vertices of a small graph, are drawn in the plane."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.html import Markup, tag
from hardbayes.core.loop import counted
from hardbayes.core.summaries import moments
from hardbayes.plot._drawing import comparable_rows, project
from hardbayes.reports.pieces import Scale, frame, mark, marks, percent, picture, short, text

MAX_POINTS = 10_000
WIDTH, HEIGHT = 1200, 900  # of the picture, in units of coordinates
MARGINS = (90, 60, 30, 90)  # left, top, right, bottom

MAX_IN_LEGEND = 40  # clusters; of more no list can be read
LETTER = (27, 46)  # width and height of a letter on the narrowest screens, in units of coordinates
LINE = 12  # from the middle of a word down to its line
N_RINGS = 9  # around a point on which a free place is looked for
_SHORTEN = 16  # letters from which on a name is cut


class Plane(NamedTuple):
    """Points of the picture, and what its axes are."""

    rows: NDArray[np.intp]  # numbers of the rows that are drawn
    n_rows: int  # of all rows
    points: NDArray[np.int64]  # (m, 2) coordinates in the picture
    ranges: tuple[tuple[float, float], tuple[float, float]]  # of the axes
    names: tuple[str, str]
    lines: NDArray[np.intp] | None = None  # (l, 2) pairs of points that are linked
    called: list[str] | None = None  # names of the points, where they are few enough to be shown


def plane_of_rows(model: Any, rows: Any, columns: list[str] | None) -> Plane:
    """Return the plane of two columns, or of the first two principal components of more."""
    n = rows.shape[0]
    kept = spaced(n, MAX_POINTS)
    shown = comparable_rows(model, rows[kept])
    points, _, names = project(shown, np.zeros((1, rows.shape[1])))
    if rows.shape[1] > 2:
        total = float(moments(shown, slice(None), None).variances.sum())
        shares = points.var(axis=0) / total if total else np.zeros(2)
        first, second = (f"component {at + 1}: {percent(shares[at])}" for at in range(2))
        names = (f"{first} of the variance", f"{second} of it")
    elif columns is not None:
        names = (columns[0], columns[1] if rows.shape[1] == 2 else names[1])
    return placed(points, kept, n, names)


def placed(
    points: NDArray[np.float64],
    rows: NDArray[np.intp],
    n_rows: int,
    names: tuple[str, str],
    lines: NDArray[np.intp] | None = None,
    called: list[str] | None = None,
) -> Plane:
    """Return points (m, 2) stretched over the picture."""
    left, top, right, bottom = MARGINS
    low, high = points.min(axis=0), points.max(axis=0)
    low, high = low - 0.02 * (high - low), high + 0.02 * (high - low)
    width = np.where(high > low, high - low, 1.0)
    part = np.where(high > low, (points - low) / width, 0.5)
    across = left + part[:, 0] * (WIDTH - left - right)
    down = HEIGHT - bottom - part[:, 1] * (HEIGHT - top - bottom)
    ends = np.column_stack([low, high]).tolist()
    coordinates = np.rint(np.column_stack([across, down])).astype(np.int64)
    ranges = tuple(ends[0]), tuple(ends[1])
    return Plane(rows, n_rows, coordinates, ranges, names, lines, called)


def spaced(n: int, most: int) -> NDArray[np.intp]:
    """Return the numbers of at most so many of n rows, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))


def point_size(plane: Plane) -> int:
    """Return how large points are drawn: small ones where there are many."""
    n = len(plane.points)
    return 22 if n <= 60 else 16 if n <= 300 else 11 if n <= 2000 else 7


class Name(NamedTuple):
    """A word in the picture, and the point that it belongs to."""

    word: str
    x: int  # the middle of the word
    y: int  # its line
    own_x: int
    own_y: int

    @property
    def is_away(self) -> bool:
        """Whether it stands so far from its point that a line has to join them."""
        return abs(self.x - self.own_x) + abs(self.y - LINE - self.own_y) > LETTER[1]

    def told(self) -> list[str | int]:
        """Return what the script needs to write it."""
        line = (self.own_x, self.own_y) if self.is_away else ()
        return [self.word, self.x, self.y, *line]


def names_apart(words: list[str], points: NDArray[np.float64]) -> list[Name]:
    """Return words near their points (k, 2), none over another; those that find no place are out.

    In their order each takes the nearest free place, on rings around its point.
    """
    taken: list[tuple[float, float, float, float]] = []
    found = []
    for word, (own_x, own_y) in zip(words, points.tolist(), strict=True):
        width, height = LETTER[0] * len(word) + 10, LETTER[1]
        for ring in range(N_RINGS):
            turns = 2 * np.pi * np.arange(max(1, 6 * ring)) / max(1, 6 * ring) - np.pi / 2
            places = np.column_stack([np.cos(turns), np.sin(turns)]) * ring * 0.6 * height
            places += [own_x, own_y]
            free = [
                (x, y)
                for x, y in places.tolist()
                if width / 2 <= x <= WIDTH - width / 2 and height / 2 <= y <= HEIGHT - height / 2
                and all(abs(x - a) >= (width + w) / 2 or abs(y - b) >= (height + h) / 2
                        for a, b, w, h in taken)
            ]  # fmt: skip
            if free:
                x, y = free[0]
                taken.append((x, y, width, height))
                found.append(Name(word, round(x), round(y) + LINE, round(own_x), round(own_y)))
                break
    return found


def cluster_names(plane: Plane, labels: NDArray[np.int64]) -> list[Name]:
    """Return the numbers of the clusters of points (m,), each near the middle of its points.

    None where points have names of their own, or there are too many clusters.
    """
    sizes = np.bincount(labels)
    numbers = np.flatnonzero(sizes)
    if plane.called is not None or len(numbers) > MAX_IN_LEGEND:
        return []
    numbers = numbers[np.argsort(-sizes[numbers], kind="stable")]
    middles = [np.median(plane.points[labels == number], axis=0) for number in numbers]
    return names_apart([str(number) for number in numbers], np.array(middles))


def name_marks(names: list[Name], class_: str) -> list[Markup]:
    """Return words, with lines to those points that are not beside them."""
    lines = [
        tag("path", class_="leader", d=f"M{each.own_x} {each.own_y}L{each.x} {each.y - LINE}")
        for each in names
        if each.is_away
    ]
    return [*lines, *(text(each.x, each.y, each.word, class_, "middle") for each in names)]


def plane_figure(plane: Plane, labels: NDArray[np.int64], thing: str) -> Markup:
    """Return the scatter plot, and a legend whose buttons highlight a cluster."""
    left, top, right, bottom = MARGINS
    across = Scale(*plane.ranges[0], left, WIDTH - right)
    up = Scale(*plane.ranges[1], HEIGHT - bottom, top)
    sizes = np.bincount(labels)
    size = point_size(plane)
    numbers = [number for number in range(len(sizes)) if sizes[number]]
    few = len(numbers) <= MAX_IN_LEGEND
    # The largest first, so that small clusters are not hidden.
    drawn = [
        marks(plane.points[labels == number], number, size)
        for number in sorted(numbers, key=lambda number: -sizes[number])
    ]
    names = name_marks(cluster_names(plane, labels), "centre")
    called: list[Markup] = []
    if plane.called is not None:
        words = [each if len(each) <= _SHORTEN else f"{each[:_SHORTEN]}…" for each in plane.called]
        called = name_marks(
            names_apart(words, plane.points + np.array([0.0, -0.5 * LETTER[1]])), "vertex"
        )
    axes = None if plane.lines is not None else frame(across, up, plane.names, (6, 5), 2.0)
    shown = len(plane.rows)
    what = "vertices" if plane.lines is not None else "rows"
    caption = f"All {short(shown)} {what}"
    if shown < plane.n_rows:
        caption = (
            f"A sample of {short(shown)} of {short(plane.n_rows)} {what}, evenly spaced "
            f"({percent(shown / plane.n_rows)})"
        )
    if plane.called is not None:
        caption += f", with their names; colours and marks are those of their {thing}s."
    elif few:
        caption += f"; numbers stand in the middle of their {thing}s, or a line leads there."
    else:
        caption += f"; {MAX_IN_LEGEND} of {len(numbers)} {thing}s are listed."
    label = f"The {what} in the plane, by {thing}: {', '.join(plane.names)}"
    content = [
        axes, _links(plane), tag("g", drawn, id="points"), tag("g", names, id="centres"),
        tag("g", called),
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
        for number in numbers[:MAX_IN_LEGEND]
    ]  # fmt: skip
    return tag(
        "div", buttons, class_="legend", id="legend", role="group",
        aria_label=f"{thing}s: highlight one", data_thing=thing,
    )  # fmt: skip
