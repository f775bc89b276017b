"""HTML and SVG written from Python: texts and attributes are escaped, markup is not."""

from html import escape
from typing import Any

_VOID = frozenset({"br", "hr", "input", "link", "meta"})  # elements that have no end


class Markup(str):
    """Text that is markup already, and so is not escaped again."""

    __slots__ = ()


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
