"""Import of matplotlib, and the colours and markers of all plots."""

from typing import Any

from sklearn.utils.validation import check_is_fitted


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


def check_estimator(estimator: Any, attribute: str, caller: str, instead: str) -> None:
    """Raise unless it can be drawn: matplotlib is there, and a fitted estimator has an attribute.

    ``instead``: what to do where it has not.
    """
    check_matplotlib(caller)
    if not hasattr(estimator, "fit"):
        raise TypeError(f"{caller} takes a fitted estimator. Got {type(estimator).__name__}.")
    if hasattr(estimator, "steps"):
        raise TypeError(
            f"{caller} takes an estimator, not a pipeline. Pass its last step, pipeline[-1], and "
            "the rows that this sees, pipeline[:-1].transform(X)."
        )
    check_is_fitted(estimator)
    if not hasattr(estimator, attribute):
        raise TypeError(
            f"{caller} needs an estimator with {attribute}, which {type(estimator).__name__} does "
            f"not have. {instead}"
        )


def check_at_least_one(name: str, number: int, caller: str) -> None:
    """Raise unless a parameter is one or more."""
    if number < 1:
        raise ValueError(
            f"The {name!r} parameter of {caller} must be at least 1. Got {number!r} instead."
        )


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if it is not one."""
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"


# For text from the user, such as column names: dollar signs and backslashes are not parsed as
# formulas.
LITERAL = {"parse_math": False, "usetex": False}

# Okabe and Ito's colours, distinct for the common types of colour blindness, without their black
# (used for centres) and yellow (too pale on white). Then those farthest from all before, in CIELAB.
COLORS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9",
    "#0000FF", "#00E100", "#FF00E1", "#694BD2", "#FF005A", "#695A1E", "#B4D25A", "#871E1E",
    "#FFA587", "#008700", "#1E5A5A", "#870078", "#F087FF", "#FF3CA5",
)  # fmt: skip
# When all colours are used, the next clusters get the next marker.
MARKERS = ("o", "^", "s", "D", "v", "P", "<", ">")
