"""Numbers, lists and names as words."""

import math
from collections.abc import Sequence

from hardbayes.cli.errors import one_line

MOST_LISTED = 8


def listed(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """Return names as text, the first ones of many."""
    shown = ", ".join(shown_name(name) for name in names[:most])
    more = len(names) - most
    return f"{shown} and {more:,} more" if more > 0 else shown


def shown_name(name: str, width: int = 40) -> str:
    """Return a name in one line and not too long."""
    name = one_line(name)
    return name if len(name) <= width else f"{name[: width - 3]}..."


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun, in the plural where needed."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def rounded(value: float) -> str:
    """Return a number with four digits, without an exponent where that is readable."""
    if value == 0 or not 1e-4 <= abs(value) < 1e9:
        return f"{value:.4g}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
