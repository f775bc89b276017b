"""Where matplotlib comes in, and what is said when it is absent."""

from __future__ import annotations

from typing import Any


def check_matplotlib(caller: str) -> None:
    """Raise an ImportError that says what to install if matplotlib cannot be imported."""
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'{caller} needs matplotlib. Install it with: pip install "hardbayes[plot]"'
        ) from error


def axes_or_new(ax: Any, caller: str) -> Any:
    """Return `ax`, or the axes of a new pyplot figure if it is None."""
    check_matplotlib(caller)
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(layout="constrained")
    return ax


# How text of the user's, such as a column's name, is shown: as it is. Dollars and backslashes would
# make it a formula, or an error where it is no valid one.
LITERAL = {"parse_math": False, "usetex": False}

# Okabe and Ito's colours, which people with any of the common colour blindnesses can tell apart,
# without their black (used for centres) and yellow (too pale on white).
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
# Once every colour is used, the next round of clusters gets the next shape.
MARKERS = ("o", "^", "s", "D", "v", "P", "<", ">")
