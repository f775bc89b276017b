"""Numbers as people write them: amounts of money, percentages, thousands, dates and times.

A column of text is taken for numbers only where one notation reads almost all of its cells. Dates
whose day and month cannot be told apart stay text: a guess would be wrong without a sign.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from hardbayes.cli.terminal import listed

#: A column of text with this share of cells in one notation is taken for numbers with mistakes.
MOSTLY_NUMBERS = 0.9

# Currencies: their signs, and the codes of those that are traded most.
_SIGN = (
    r"[$€£¥₹]|USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|BRL|MXN|ZAR|KRW|SGD|HKD"
)
_AMOUNT = r"^(\(?)([-+]?)\s*(?:{sign})?\s*([-+]?)({digits})\s*(?:%|{sign})?\)?$"
_DIGITS = r"(?:\d{{1,3}}(?:[{group}]\d{{3}})+|\d+)(?:[{point}]\d+)?"
_DATES = {
    "dates": ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y"),
    "day/month/year": ("%d/%m/%Y", "%d-%m-%Y"),
    "month/day/year": ("%m/%d/%Y", "%m-%d-%Y"),
}
_CLOCK = ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S", "T%H:%M:%SZ", " %H:%M:%S%.f", "T%H:%M:%S%.fZ")
_TIMES = ("%H:%M", "%H:%M:%S")
SECONDS_A_DAY = 86_400
_MICROSECONDS = 1_000_000


class Notation(NamedTuple):
    """A way to write numbers: its name, and a function from text cells to numbers or null."""

    name: str  # as notes say it
    read: Callable[[Any], Any]


def notation_of(pl: Any, cells: Any) -> Notation | None:
    """Return the notation of a column of text without missing cells; None where there is none."""
    if not len(cells):
        return None
    fitting = [each for each in _notations(pl) if _share_read(each, cells) >= MOSTLY_NUMBERS]
    orders = [each for each in fitting if "/" in each.name]
    if len(orders) > 1:
        whole = [each for each in orders if _share_read(each, cells) == 1.0]
        return whole[0] if len(whole) == 1 else None
    return fitting[0] if fitting else None


def sentences_on(notations: dict[str, Notation]) -> list[str]:
    """Return what to say of columns (name: notation) that are read as numbers."""
    names: dict[str, list[str]] = {}
    for column, notation in notations.items():
        names.setdefault(notation.name, []).append(column)
    return [f"Read as {name}: {listed(columns)}." for name, columns in names.items()]


def numbers_of_times(pl: Any, column: Any) -> Any:
    """Return a column of dates, times or durations as numbers: of days, or of hours."""
    kind = column.dtype
    if kind == pl.Date:
        return column.cast(pl.Float64)
    if kind == pl.Time:
        return column.cast(pl.Int64).cast(pl.Float64) / (3600 * 1e9)
    ticks = column.cast(pl.Duration("us") if kind == pl.Duration else pl.Datetime("us"))
    return ticks.cast(pl.Int64).cast(pl.Float64) / (SECONDS_A_DAY * _MICROSECONDS)


def _share_read(notation: Notation, cells: Any) -> float:
    return 1.0 - notation.read(cells).null_count() / len(cells)


def _notations(pl: Any) -> list[Notation]:
    amounts = [
        Notation("amounts", lambda cells: _amounts(pl, cells, ",' ", ".")),
        Notation("amounts with decimal commas", lambda cells: _amounts(pl, cells, ".' ", ",")),
    ]
    dates = [
        Notation(f"{name}, in days" if name == "dates" else f"dates ({name}), in days", reader)
        for name, reader in ((name, _date_reader(pl, formats)) for name, formats in _DATES.items())
    ]
    return [*amounts, *dates, Notation("times, in hours", lambda cells: _times(pl, cells))]


def _amounts(pl: Any, cells: Any, group: str, point: str) -> Any:
    """Return amounts as numbers: a percentage is the number before its sign."""
    digits = _DIGITS.format(group=group, point=point)
    pattern = _AMOUNT.format(sign=_SIGN, digits=digits)
    number = cells.str.extract(pattern, 4).str.replace_all(f"[{group}]", "")
    value = number.str.replace(point, ".", literal=True).cast(pl.Float64, strict=False)
    signs = [cells.str.extract(pattern, part) for part in (1, 2, 3)]
    is_negative = (signs[0] == "(") ^ (signs[1] == "-") ^ (signs[2] == "-")
    return pl.select(pl.when(is_negative).then(-value).otherwise(value)).to_series()


def _date_reader(pl: Any, formats: tuple[str, ...]) -> Callable[[Any], Any]:
    def read(cells: Any) -> Any:
        days = pl.Series([None] * len(cells), dtype=pl.Float64)
        for each in formats:
            for clock in _CLOCK:
                if not days.null_count():
                    return days
                kind, unit = (pl.Date, 1.0) if not clock else (pl.Datetime("us"), 86_400e6)
                found = cells.str.strptime(kind, each + clock, strict=False)
                days = days.fill_null(found.cast(pl.Int64).cast(pl.Float64) / unit)
        return days

    return read


def _times(pl: Any, cells: Any) -> Any:
    """Return times of the day in hours."""
    hours = pl.Series([None] * len(cells), dtype=pl.Float64)
    for each in _TIMES:
        found = cells.str.strptime(pl.Time, each, strict=False)
        hours = hours.fill_null(found.cast(pl.Int64).cast(pl.Float64) / 3600e9)
    return hours
