"""Scales and pieces of which the pictures of a report are made."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.markup import Markup, join, tag
from hardbayes.reports.numbers import short

N_COLOURS = 8  # of the style sheet; then the next shape begins


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
