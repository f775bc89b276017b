"""Numbers as a report prints them."""

import math


def short(number: float) -> str:
    """Return a number with four digits, and without an exponent where that is readable."""
    if not math.isfinite(number):
        return str(number)
    size = abs(number)
    if size and not 1e-4 <= size < 1e9:
        return f"{number:.3g}"
    if size >= 1000 or number == int(number):
        return f"{number:,.0f}"
    digits = max(0, 3 - math.floor(math.log10(size)))
    written = f"{number:.{digits}f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


def percent(share: float) -> str:
    """Return a share in per cent."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return f"{100 * share:.0f} %" if share >= 0.0995 or share == 0 else f"{100 * share:.1f} %"


def counted(number: float, noun: str) -> str:
    """Return a number of things, in the plural unless it is one."""
    return f"{short(number)} {noun}" + ("" if number == 1 else "s")


def signed(number: float) -> str:
    """Return a number with its sign and one digit after the point."""
    return f"{number:+.1f}".replace("-", "\N{MINUS SIGN}")


def listed(words: list[str]) -> str:
    """Return words as one phrase: "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
