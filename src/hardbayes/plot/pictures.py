"""Colours, and pictures of figures for light and dark pages."""

import io
from collections.abc import Callable
from typing import Any

from hardbayes.plot._drawing import COLORS, check_matplotlib

__all__ = ["COLORS", "picture_of"]

_DPI = 110
#: What a dark page has in place of black on white: the colours of its style sheet.
_DARK: dict[Any, Any] = {
    "text.color": "#e8ecf3", "axes.labelcolor": "#e8ecf3", "axes.edgecolor": "#a4afc0",
    "xtick.color": "#a4afc0", "ytick.color": "#a4afc0", "axes.facecolor": "#12161d",
    "figure.facecolor": "#12161d", "legend.facecolor": "#12161d", "legend.edgecolor": "#313a48",
}  # fmt: skip


def picture_of(
    draw: Callable[[Any], None], *, size: tuple[float, float] = (10.5, 3.6), dark: bool = False
) -> bytes:
    """Return as PNG what a function draws on a new figure, for a light or a dark page."""
    check_matplotlib("A picture")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {"font.size": 9.0, "axes.titlesize": 10.0}
    style |= _DARK if dark else {"figure.facecolor": "white"}
    with mpl.rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        written = io.BytesIO()
        figure.savefig(written, format="png", dpi=_DPI)
    return written.getvalue()
