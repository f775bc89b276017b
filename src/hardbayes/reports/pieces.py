"""Pieces of which all sections are made: numbers, tables, scales and bars."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.html import Markup, join, tag

N_COLOURS = 8  # of the style sheet; then the next shape begins


def short(number: float) -> str:
    """Return a number with four digits, and without an exponent where that is readable."""
    if not math.isfinite(number):
        return str(number)
    size = abs(number)
    if size and not 1e-4 <= size < 1e9:
        return f"{number:.3g}"
    if size >= 1000 or number == int(number):
        return f"{number:,.0f}"
    digits = max(0, 3 - math.floor(math.log10(size)))
    written = f"{number:.{digits}f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


def percent(share: float) -> str:
    """Return a share in per cent."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return f"{100 * share:.0f} %" if share >= 0.0995 or share == 0 else f"{100 * share:.1f} %"


def signed(number: float) -> str:
    """Return a number with its sign and one digit after the point."""
    return f"{number:+.1f}".replace("-", "\N{MINUS SIGN}")


def listed(words: list[str]) -> str:
    """Return words as one phrase: "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


class Scale(NamedTuple):
    """Places numbers from ``low`` to ``high`` between two coordinates."""

    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False

    def at(self, number: float) -> float:
        """Return the coordinate of a number; one beyond an end is at that end."""
        low, high = self._transformed(self.low), self._transformed(self.high)
        if high <= low:
            return (self.begin + self.end) / 2
        part = (self._transformed(number) - low) / (high - low)
        return self.begin + min(max(part, 0.0), 1.0) * (self.end - self.begin)

    def ticks(self, about: int = 5) -> list[float]:
        """Return about so many round numbers."""
        if self.logarithmic:
            return self._powers(about)
        gap = (self.high - self.low) / max(about, 1)
        if gap <= 0:
            return [self.low]
        unit = 10.0 ** math.floor(math.log10(gap))
        step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= gap * 0.999)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]

    def _powers(self, about: int) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for factors in ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
            found = [f * 10.0**p for p in range(first, last + 1) for f in factors]
            found = [each for each in found if self.low <= each * 1.000001 <= self.high * 1.00001]
            if len(found) <= about:
                return found
        return found[:: -(-len(found) // about)]

    def _transformed(self, number: float) -> float:
        return math.log(max(number, 1e-300)) if self.logarithmic else number


def picture(width: float, height: float, label: str, *content: Any, **attributes: Any) -> Markup:
    """Return an SVG that fills the width it is given; ``label`` describes it to who cannot see."""
    return tag(
        "svg", *content, viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=label,
        **attributes,
    )  # fmt: skip


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Return a straight line."""
    ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return tag("line", class_=class_, **{name: f"{at:.1f}" for name, at in ends.items()})


def text(x: float, y: float, words: str, class_: str = "", anchor: str = "start") -> Markup:
    """Return words; ``anchor``: "start", "middle" or "end"."""
    return tag(
        "text", words, x=f"{x:.1f}", y=f"{y:.1f}", class_=class_ or None,
        text_anchor=None if anchor == "start" else anchor,
    )  # fmt: skip


def frame(
    across: Scale, up: Scale, names: tuple[str, str], n_ticks: tuple[int, int], unit: float = 1.0
) -> Markup:
    """Return grid lines, their numbers and the names of the two axes.

    ``unit``: how many units of coordinates a twelfth of the height of the letters is.
    """
    parts = []
    for number in up.ticks(n_ticks[1]):
        y = up.at(number)
        parts.append(line(across.begin, y, across.end, y, "grid"))
        parts.append(text(across.begin - 6 * unit, y + 4 * unit, short(number), anchor="end"))
    for number in across.ticks(n_ticks[0]):
        x = across.at(number)
        parts.append(line(x, up.begin, x, up.begin + 4 * unit, "axis"))
        parts.append(text(x, up.begin + 17 * unit, short(number), anchor="middle"))
    parts.append(line(across.begin, up.begin, across.end, up.begin, "axis"))
    middle = (across.begin + across.end) / 2
    parts.append(text(middle, up.begin + 35 * unit, names[0], "name", "middle"))
    parts.append(text(across.begin - 30 * unit, up.end - 12 * unit, names[1], "name"))
    return join(*parts)


def polyline(points: Iterable[tuple[float, float]], class_: str) -> Markup:
    """Return a line through points."""
    return tag("polyline", class_=class_, points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points))


def shape_of(number: int) -> int:
    """Return which shape the points of a cluster have: dots first, then other marks."""
    return number // N_COLOURS % 4


def marks(points: NDArray[np.int64], number: int, size: int) -> Markup:
    """Return the points (n, 2) of a cluster as one path; the script draws them in the same way."""
    shape = shape_of(number)
    half, reach = f"{size / 2:g}", f"{size / 2 + 0.5:g}"
    drawn = (
        "h0",
        f"m0-{reach}l{half} {size}h-{size}z",
        f"m-{half}-{half}h{size}v{size}h-{size}z",
        f"m0-{reach}l{reach} {reach}-{reach} {reach}-{reach}-{reach}z",
    )[shape]
    return tag(
        "path", d="".join(f"M{x} {y}{drawn}" for x, y in points.tolist()), stroke_width=size,
        class_=f"c{number % N_COLOURS} {'dots' if shape == 0 else 'shapes'}",
        data_cluster=number,
    )  # fmt: skip


def cells(levels: NDArray[np.int64]) -> list[Markup]:
    """Return a picture (h, w) of levels as paths with the classes p1, p2, ... and n1, n2, ...

    Positive and negative levels are colours of two kinds; zero is not drawn. Cells of one level
    that lie side by side are one stroke.
    """
    strokes: dict[int, list[str]] = {}
    for y, row in enumerate(levels.tolist()):
        begin = 0
        for x in range(1, len(row) + 1):
            if x == len(row) or row[x] != row[begin]:
                if row[begin]:
                    strokes.setdefault(row[begin], []).append(f"M{begin} {y}.5h{x - begin}")
                begin = x
    return [
        tag("path", class_=f"cell {'p' if level > 0 else 'n'}{abs(level)}", d="".join(found))
        for level, found in sorted(strokes.items())
    ]


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
