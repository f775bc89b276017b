"""What people see of a command: errors in one line, numbers as words, a line while work goes on."""

import argparse
import math
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from hardbayes.core.pool import Report, shown_by

MAX_LISTED = 8
SECONDS = 0.1  # between two changes of the line
_T = TypeVar("_T")
_CELL = re.compile(r"row (\d+), column (\d+)")


class CommandError(Exception):
    """Invalid input: the text is printed as one line, and the exit code is 2."""


def inputs_of(options: argparse.Namespace) -> list[str]:
    """Return what a command reads, as it was typed: some take several tables."""
    if hasattr(options, "tables"):
        return list(options.tables)
    return [options.table] if hasattr(options, "table") else []


def cannot_read(path: Path | str, reason: str | Exception) -> CommandError:
    """Return the error for a file that cannot be read, with the reason."""
    return CommandError(f"cannot read {str(path)!r}: {_words(reason)}")


def cannot_write(path: Path | str, reason: str | Exception) -> CommandError:
    """Return the error for a file that cannot be written, with the reason."""
    return CommandError(f"cannot write {str(path)!r}: {_words(reason)}")


def _words(reason: str | Exception) -> str:
    if isinstance(reason, Exception):
        reason = (getattr(reason, "strerror", None) or str(reason)).lower()
    return one_line(reason)


def one_line(text: str) -> str:
    """Return text with line breaks and other control characters replaced by blanks."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def listed(names: Sequence[str], most: int = MAX_LISTED) -> str:
    """Return names as text, the first ones of many."""
    shown = ", ".join(shown_name(name) for name in names[:most])
    more = len(names) - most
    return f"{shown} and {more:,} more" if more > 0 else shown


def shown_name(name: str, width: int = 40) -> str:
    """Return a name in one line and not too long."""
    name = one_line(name)
    return name if len(name) <= width else f"{name[: width - 3]}..."


def rounded(value: float) -> str:
    """Return a number with four digits, without an exponent where that is readable."""
    if value == 0 or not 1e-4 <= abs(value) < 1e9:
        return f"{value:.4g}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show what is done on a terminal, if rich is installed; else nothing."""
    console = _terminal()
    if console is None:
        yield
        return
    with console.status(_line(what)) as status, shown_by(Spinner(status, what)):
        yield


class Spinner(Report):
    """Writes stages and steps of a search into a line that turns."""

    def __init__(self, status: Any, what: str) -> None:
        self._status = status
        self._what = self._stage = what
        self._last = 0.0

    def stage(self, name: str) -> None:
        """Begin a stage."""
        self._stage = f"{self._what}: {name}"

    def step(self, what: str, done: int, of: int) -> None:
        """Show how much of the stage is done."""
        now = time.monotonic()
        if now - self._last >= SECONDS:
            self._last = now
            self._status.update(_line(f"{self._stage}, {what} {done} of {of}"))


def _line(what: str) -> Any:
    from rich.text import Text

    return Text(f"{what} (Ctrl-C stops)")  # as it is: brackets in names are no markup


def _terminal() -> Any:
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(stderr=True)


def computed(
    path: Path | str, compute: Callable[[], _T], cell: Callable[[int, int], str] | None = None
) -> tuple[_T, list[str]]:
    """Return what a function of the library returns, and its warnings as lines.

    Its errors on data become one line that names the file; ``cell`` gives the words for a row and
    a column, which the library counts from 0.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Names of columns are matched by the command.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        try:
            with working("computing"):
                value = compute()
        except MemoryError as error:
            raise CommandError(f"{path}: not enough memory; use fewer rows or columns") from error
        except (ValueError, TypeError, ArithmeticError) as error:
            text = one_line(str(error))
            if cell is not None:
                text = _CELL.sub(lambda found: cell(int(found[1]), int(found[2])), text)
            raise CommandError(f"{path}: {text}") from error
    return value, list(dict.fromkeys(one_line(str(w.message)) for w in caught))
