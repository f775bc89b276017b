"""HTML written from Python, and what notebooks show of a fitted model.

Texts and attributes are escaped, markup is not; and so is text that spreadsheets read.
"""

from html import escape
from typing import Any

import numpy as np

_VOID = frozenset(
    {"br", "hr", "img", "input", "link", "meta", "source"}
)  # elements that have no end

# A spreadsheet takes text that begins with these for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")

_NOUNS = {"n_clusters_": "cluster", "n_topics_": "topic", "n_components_": "feature"}
_MAX_BARS = 40  # clusters that are drawn
_HEIGHT, _WIDTH, _GAP = 36, 10, 2  # of bars, in pixels (a convention)


class Markup(str):
    """Text that is markup already, and so is not escaped again."""

    __slots__ = ()


def harmless(cell: str) -> str:
    """Return text that a spreadsheet shows as it is: in front of formulas goes an apostrophe."""
    if not cell.startswith(FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell  # a number


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """Return an element.

    Parameters
    ----------
    name : str
        Its name.
    *children
        What it contains: `Markup` as it is, anything else as escaped text; lists are unpacked and
        None is left out.
    **attributes
        Its attributes; an underscore stands for a hyphen, and one at the end is dropped
        (``class_``). None and False leave an attribute out, True gives it no value.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: Any) -> Markup:
    """Return markup and texts, one after the other."""
    return Markup("".join(_written(child) for child in children))


def _written(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, list | tuple):
        return join(*child)
    return escape(str(child))


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    key = key.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{escape(str(value))}"'


def found_html(model: Any) -> Markup:
    """Return a line about a fitted model, with a picture of the sizes; nothing before the fit.

    Styles are written into the elements: notebooks drop style sheets.
    """
    status = getattr(model, "status_", None)
    attribute = next((name for name in _NOUNS if hasattr(model, name)), None)
    if status is None or attribute is None:
        return Markup("")
    number, noun = int(getattr(model, attribute)), _NOUNS[attribute]
    title = f"{number:,} {noun}{'' if number == 1 else 's'}"
    words = join(tag("strong", title, style="font-size:1.15em"), tag("br"), tag("span", status))
    return tag(
        "div",
        _bars(_sizes(model), noun),
        tag("div", words),
        style="display:flex;gap:1em;align-items:center;margin:0 0 .6em;line-height:1.4",
    )


def _sizes(model: Any) -> Any:
    """Return the size of each cluster, topic or feature."""
    for attribute in ("cluster_weights_", "topic_weights_"):
        if hasattr(model, attribute):
            return getattr(model, attribute)
    return model.membership_.sum(axis=0)


def _bars(sizes: Any, noun: str) -> Markup:
    """Return a bar chart of sizes, the largest first."""
    ranked = np.sort(np.asarray(sizes, np.float64))[::-1][:_MAX_BARS]
    heights = _HEIGHT * ranked / max(float(ranked.max(initial=0.0)), np.finfo(float).tiny)
    width = len(ranked) * (_WIDTH + _GAP)
    bars = [
        tag(
            "rect", x=at * (_WIDTH + _GAP), y=f"{_HEIGHT - height:.1f}", width=_WIDTH,
            height=f"{max(height, 1.0):.1f}", rx=1,
        )
        for at, height in enumerate(heights)
    ]  # fmt: skip
    label = f"sizes of the {noun}s, the largest first"
    return tag(
        "svg", tag("title", label), bars, viewBox=f"0 0 {max(width, 1)} {_HEIGHT}",
        width=max(width, 1), height=_HEIGHT, role="img", aria_label=label, fill="#4a86c5",
        style="flex:none",
    )  # fmt: skip
