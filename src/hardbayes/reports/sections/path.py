"""The path of penalties: a chart with a handle, a slider below it, and a table."""

import numpy as np

from hardbayes.markup import Markup, join, tag
from hardbayes.reports.facts.solutions import Solution, Solutions
from hardbayes.reports.numbers import counted, short
from hardbayes.reports.sections.tables import details, table
from hardbayes.reports.svg import Scale, frame, line, picture, polyline, text

CHART = (640, 330)
_NAMED = 7  # plateaus that are labelled; more labels would overlap
_LEAST_GAP = 18  # between two labels


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
        if len(taken) < _NAMED and all(abs(x - other) > _LEAST_GAP for other in taken):
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
