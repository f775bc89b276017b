"""How the objective fell."""

from typing import Any

import numpy as np

from hardbayes.markup import tag
from hardbayes.reports.numbers import counted, short
from hardbayes.reports.sections.tables import Section, section
from hardbayes.reports.svg import Scale, frame, picture, polyline

_MOST_DOTS = 60


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
        for x, y in points[: _MOST_DOTS if len(points) <= _MOST_DOTS else 0]
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
