"""A line that shows that work goes on, where someone looks at a terminal."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hardbayes.progress import Report, shown_by

SECONDS = 0.1  # between two changes of the line


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
