"""Why there are so many clusters: reasons, the path of penalties, and the rows in the plane."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.markup import Markup, tag
from hardbayes.reports.facts.plane import Plane
from hardbayes.reports.facts.solutions import Solutions
from hardbayes.reports.numbers import counted, short
from hardbayes.reports.sections.path import across_of, path_figure, path_table
from hardbayes.reports.sections.plane import plane_figure, point_size
from hardbayes.reports.sections.tables import Section, details, section, table

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"


def solutions_section(
    title: str,
    reasons: list[str],
    found: Solutions | None,
    plane: Plane | None,
    labels: NDArray[np.int64] | None,
    thing: str,
    choice: dict[str, Any] | None = None,
) -> Section:
    """Return the section.

    ``labels`` (m,): of the points of the plane under the fitted model; ``choice``: what an
    automatic penalty has compared.
    """
    chart = None if found is None else path_figure(found, thing)
    scatter = None
    if plane is not None and labels is not None:
        scatter = plane_figure(plane, labels, thing)
    both = None
    if chart or scatter:
        both = tag("div", chart, scatter, class_="pair" if chart and scatter else None)
    return section(
        "number",
        title,
        tag("ul", [tag("li", sentence) for sentence in reasons], class_="reasons"),
        both,
        None if found is None else path_table(found, thing),
        None if choice is None else _choice_table(choice),
    )


def script_data(found: Solutions | None, plane: Plane | None, thing: str) -> dict[str, Any]:
    """Return what the script needs to show other solutions."""
    if found is None:
        return {}
    across = across_of(found)
    most = max(max((len(step.sizes) for step in found.steps), default=0), 1)
    width = 1 if most <= len(ALPHABET) else 2
    return {
        "steps": [
            {
                "k": step.k,
                "low": step.low,
                "high": step.high,
                "at": step.at,
                "text": counted(step.k, thing),
                "objective": short(step.objective),
                "labels": None if step.labels is None else encoded(step.labels, width),
            }
            for step in found.steps
        ],
        "fitted": found.fitted,
        "sign": found.sign,
        "scale": list(across[:4]),
        "width": width,
        "points": [] if plane is None else plane.points.ravel().tolist(),
        "size": 0 if plane is None else point_size(plane),
        "total": 0 if plane is None else plane.n_rows,
    }


def encoded(labels: NDArray[np.int64], width: int) -> str:
    """Return labels as text, ``width`` digits each, in the base of the alphabet."""
    base = len(ALPHABET)
    digits = [labels // base**place % base for place in range(width)]
    letters = np.array(list(ALPHABET))
    return "".join(letters[np.column_stack(digits[::-1])].ravel().tolist())


def _choice_table(choice: dict[str, Any]) -> Markup:
    """Return the numbers of clusters that were compared, as ``penalty_choice_`` has them."""
    names = [name for name in choice if name != "chosen"]
    rows = [
        [short(float(choice[name][at])) for name in names] + ["yes" if choice["chosen"][at] else ""]
        for at in range(len(choice["chosen"]))
    ]
    head = [name.replace("_", " ") for name in names] + ["chosen"]
    caption = "Numbers of clusters that were compared; widths are logarithms of factors"
    return details("What the automatic choice compared", table(caption, head, rows))
