"""Why there are so many clusters, as a section: reasons, the path of penalties, how the fit went.

The path is a chart with a handle and a slider below it, beside the rows in the plane, and a table.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.html import Markup, join, tag
from hardbayes.core.loop import counted
from hardbayes.reports.pieces import (
    Scale,
    Section,
    details,
    frame,
    line,
    picture,
    polyline,
    section,
    short,
    table,
    text,
)
from hardbayes.reports.plane import LINE, Plane, cluster_names, plane_figure, point_size
from hardbayes.reports.solutions import Solution, Solutions

CHART = (640, 330)
_NAMED = 7  # plateaus that are labelled; more labels would overlap
_MIN_GAP = 18  # between two labels

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
_MAX_DOTS = 60


def across_of(found: Solutions) -> Scale:
    """Return the axis of penalties."""
    ends = [step.low for step in found.steps if step.low > 0]
    return Scale(min(ends), max(step.high for step in found.steps), 46, CHART[0] - 14, True)


def path_figure(found: Solutions, thing: str) -> Markup:
    """Return the chart and the slider, which appears where scripts run."""
    width, height = CHART
    across = across_of(found)
    most = max(step.k for step in found.steps)
    up = Scale(1, 1.15 * most + 0.3, height - 48, 34, most > 12)
    minus = "minus the " if found.sign < 0 else ""
    own = found.steps[found.fitted]
    parts = [
        frame(across, up, (f"{minus}penalty", f"{thing}s"), (6, 5)),
        [_reference(step, across, up) for step in found.steps],
        polyline(_staircase(found.steps, across, up), "stairs"),
        [
            tag(
                "rect", x=f"{across.at(step.low):.1f}", y=f"{up.at(step.k) - 3:.1f}",
                width=f"{max(across.at(step.high) - across.at(step.low), 1):.1f}", height=6, rx=3,
                class_="plateau chosen" if step is own else "plateau",
            )
            for step in found.steps
        ],
        tag(
            "g", line(0, up.end - 6, 0, up.begin, "handle"),
            tag("circle", cx=0, cy=f"{up.begin:.1f}", r=7, class_="knob"),
            id="handle",
            transform=f"translate({across.at(own.at):.1f} 0)",
        ),
        _plateau_names(found, across, up),
    ]  # fmt: skip
    label = (
        f"Number of {thing}s against the penalty: {counted(own.k, thing)} at the penalty of the "
        "fitted model. The numbers are in the table below."
    )
    caption = (
        "Each bar is a range of penalties at which one number is best; the marked one is the "
        "fitted model."
    )
    if any(step.reference for step in found.steps):
        caption += " Pale bars behind: how wide it would be without structure."
    if found.n_sampled is not None:
        caption += f" Traced on a sample of {short(found.n_sampled)} rows."
    drawn = picture(width, height, label, *parts, class_="chart", id="path")
    return tag("figure", drawn, _slider(across, own, thing), tag("figcaption", caption))


def _slider(across: Scale, own: Solution, thing: str) -> Markup:
    return tag(
        "div",
        tag("label", f"Penalty for each {thing}", for_="penalty"),
        tag("input", type="range", id="penalty", min=0, max=1000, step=1,
            value=round(1000 * _part(across, own.at))),
        tag("p", tag("output", id="shown", for_="penalty", aria_live="polite"),
            tag("button", "Back to the fitted model", type="button", id="back", disabled=True),
            class_="shown"),
        class_="slider", id="slider", hidden=True,
    )  # fmt: skip


def _reference(step: Solution, across: Scale, up: Scale) -> Markup | None:
    """Return how wide a range would be in data without structure, around its middle."""
    if not step.reference or step.k == 1:
        return None
    half = float(np.sqrt(step.reference))
    begin, end = across.at(_middle(step) / half), across.at(_middle(step) * half)
    return tag(
        "rect", x=f"{begin:.1f}", y=f"{up.at(step.k) - 8:.1f}", width=f"{max(end - begin, 1):.1f}",
        height=16, rx=4, class_="reference",
    )  # fmt: skip


def _plateau_names(found: Solutions, across: Scale, up: Scale) -> list[Markup]:
    """Return the numbers of the widest plateaus, that of the fitted model first."""
    own = found.steps[found.fitted]
    ranked = sorted(found.steps, key=lambda step: (step is not own, -step.factor))
    taken: list[float] = []
    names = []
    for step in ranked:
        x = across.at(_middle(step))
        if len(taken) < _NAMED and all(abs(x - other) > _MIN_GAP for other in taken):
            taken.append(x)
            kind = "count chosen" if step is own else "count"
            names.append(text(x, up.at(step.k) - 12, str(step.k), kind, "middle"))
    return names


def _staircase(steps: list[Solution], across: Scale, up: Scale) -> list[tuple[float, float]]:
    return [
        (across.at(end), up.at(step.k))
        for step in steps
        if step.high > step.low
        for end in (step.low, step.high)
    ]


def _middle(step: Solution) -> float:
    return float(np.sqrt(step.low) * np.sqrt(step.high))


def _part(across: Scale, penalty: float) -> float:
    return (across.at(penalty) - across.begin) / (across.end - across.begin)


def path_table(found: Solutions, thing: str) -> Markup:
    """Return all solutions, that of the largest penalty first."""
    own = found.steps[found.fitted]
    rows = []
    for step in found.steps[::-1]:
        low, high = sorted((found.sign * step.low, found.sign * step.high))
        width = "" if not 1 < step.factor < np.inf else short(step.factor)
        reference = "" if not step.reference else short(step.reference)
        name = join(step.k, " ", tag("em", "fitted")) if step is own else step.k
        rows.append((name, short(low), short(high), width, reference, short(step.objective)))
    head = (f"{thing}s", "penalty from", "to", "factor", "without structure", "objective")
    kept = [at for at in range(len(head)) if any(row[at] != "" for row in rows)]
    told = [[row[at] for at in kept] for row in rows]
    caption = f"Penalties at which each number of {thing}s is best"
    return details("All numbers of the path", table(caption, [head[at] for at in kept], told))


def solutions_section(
    title: str,
    reasons: list[str],
    found: Solutions | None,
    plane: Plane | None,
    labels: NDArray[np.int64] | None,
    thing: str,
    choice: dict[str, Any] | None = None,
    levels: Markup | None = None,
) -> Section:
    """Return the section.

    ``labels`` (m,): of the points of the plane under the fitted model; ``choice``: what an
    automatic penalty has compared; ``levels``: other numbers of clusters with evidence.
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
        levels,
        None if found is None else path_table(found, thing),
        None if choice is None else _choice_table(choice),
    )


def plane_data(plane: Plane | None) -> dict[str, Any]:
    """Return what the script needs to draw points of other clusters."""
    return {
        "points": [] if plane is None else plane.points.ravel().tolist(),
        "size": 0 if plane is None else point_size(plane),
        "line": LINE,
    }


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
                "names": []
                if plane is None or step.labels is None
                else [each.told() for each in cluster_names(plane, step.labels)],
            }
            for step in found.steps
        ],
        "fitted": found.fitted,
        "sign": found.sign,
        "scale": list(across[:4]),
        "width": width,
    } | plane_data(plane)


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


def trace_section(model: Any) -> Section:
    """Return the objective after each step, and how the fit ended."""
    history = np.asarray(model.objective_history_, np.float64)
    sentence = tag("p", model.status_)
    if len(history) < 2 or history[0] == history[-1]:
        value = tag("p", f"The objective is {short(model.objective_)}.")
        return section("objective", "How the fit went", sentence, value)
    low, high = float(history.min()), float(history.max())
    margin = 0.06 * (high - low) or abs(high) or 1.0
    across = Scale(1, len(history), 70, 626)
    up = Scale(low - margin, high + margin, 170, 30)
    points = [(across.at(step), up.at(value)) for step, value in enumerate(history, 1)]
    dots = [
        tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3.5, class_="knob")
        for x, y in points[: _MAX_DOTS if len(points) <= _MAX_DOTS else 0]
    ]
    label = (
        f"The objective fell from {short(history[0])} to {short(history[-1])} in "
        f"{counted(len(history), 'step')}"
    )
    steps = min(6, len(history) - 1)
    drawn = picture(
        640, 212, label, frame(across, up, ("step", "objective"), (steps, 4)),
        polyline(points, "curve"), dots, class_="chart",
    )  # fmt: skip
    return section(
        "objective",
        "How the fit went",
        sentence,
        tag("figure", drawn, tag("figcaption", label, ".")),
    )
