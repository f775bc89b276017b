"""What a long search tells while it runs: the seam between the search and what is shown.

Engine and selection call `stage` and `step` of the report that their pool of threads carries. They
neither print nor measure time: a report does, as seldom as it likes.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

SECONDS = 0.5  # between two lines


class Report(Protocol):
    """Hears of stages, such as "reference 2 of 6", and of steps within them."""

    def stage(self, name: str) -> None:
        """Begin a stage."""

    def step(self, what: str, done: int, of: int) -> None:
        """Tell how much of the stage is done; ``of``: how much there is in all."""


class Silent:
    """Reports nothing."""

    def stage(self, name: str) -> None:
        """Do nothing."""

    def step(self, what: str, done: int, of: int) -> None:
        """Do nothing."""


class Lines:
    """Writes lines to standard error, at most two a second."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._stage = ""
        self._begin = self._last = time.monotonic()

    def stage(self, name: str) -> None:
        """Begin a stage; it is named with its first step that is told."""
        self._stage = f"{name}: "

    def step(self, what: str, done: int, of: int) -> None:
        """Write a line, unless the last one was a moment ago."""
        now = time.monotonic()
        if now - self._last >= SECONDS:
            self._last = now
            self.say(f"{now - self._begin:.1f} s, {self._stage}{what} {done} of {of}")

    def say(self, sentence: str) -> None:
        """Write a line at once."""
        print(f"[{self._name}] {sentence}", file=sys.stderr)  # noqa: T201 - verbose


SILENT = Silent()
_SHOWN: ContextVar[Report] = ContextVar("shown", default=SILENT)


@contextmanager
def shown_by(report: Report) -> Iterator[None]:
    """Give searches within the block a report, unless they are verbose: that of the command."""
    token = _SHOWN.set(report)
    try:
        yield
    finally:
        _SHOWN.reset(token)


def shown() -> Report:
    """Return the report of searches that are not verbose."""
    return _SHOWN.get()
