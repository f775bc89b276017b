"""What a long search shows on standard error while it runs: lines, or a bar.

These are reports that a pool of threads carries (`core.pool`).
"""

import sys
import time
from functools import cache
from importlib.util import find_spec

from hardbayes.core.pool import Report

BAR_WIDTH = 30  # letters
_ERASE = "\r\x1b[2K"  # to the begin of the line, which is cleared


class Lines(Report):
    """Writes lines to standard error, at most two a second."""

    seconds = 0.5  # between two lines

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
        if now - self._last >= self.seconds:
            self._last = now
            self._show(f"{now - self._begin:.1f} s, {self._stage}{what} {done} of {of}", done, of)

    def say(self, sentence: str) -> None:
        """Write a line at once."""
        print(f"[{self._name}] {sentence}", file=sys.stderr)  # noqa: T201 - verbose

    def _show(self, sentence: str, done: int, of: int) -> None:
        self.say(sentence)


class Bar(Lines):
    """Draws steps as a bar in the last line of a terminal, where the next line replaces it.

    Nothing is kept from one picture to the next, so that any other line may come between them.
    """

    seconds = 0.1  # between two pictures

    def say(self, sentence: str) -> None:
        """Write a line in place of the bar."""
        self.close()
        super().say(sentence)

    def close(self) -> None:
        """Take the bar away."""
        print(_ERASE, end="", file=sys.stderr, flush=True)  # noqa: T201 - verbose

    def _show(self, sentence: str, done: int, of: int) -> None:
        from rich.console import Console
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        line = Table.grid(padding=(0, 1))
        line.add_column(width=BAR_WIDTH)
        line.add_column(no_wrap=True, overflow="ellipsis")
        line.add_row(ProgressBar(of, min(done, of), BAR_WIDTH), Text(f"[{self._name}] {sentence}"))
        console = Console(stderr=True)
        with console.capture() as drawn:
            console.print(line, width=console.width - 1)
        picture = drawn.get().rstrip("\n")
        print(_ERASE + picture, end="\r", file=sys.stderr, flush=True)  # noqa: T201 - verbose


def to_standard_error(name: str) -> Lines:
    """Return a bar where standard error is a terminal and rich is installed, else lines."""
    is_terminal = getattr(sys.stderr, "isatty", lambda: False)()  # None where it is closed
    return (Bar if is_terminal and _has_rich() else Lines)(name)


@cache
def _has_rich() -> bool:
    return find_spec("rich") is not None
