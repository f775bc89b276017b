"""What an experiment is asked, and what it answers: a table, claims that were tested, a figure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hardbayes.core.pool import Report


@dataclass(frozen=True)
class Asked:
    """How an experiment is run."""

    #: Fewer repetitions and smaller data: whether all of it works, not what it measures.
    quick: bool = False
    #: The folder with data that cannot be shipped.
    data: Path | None = None
    progress: Report = field(default_factory=Report)
    #: Lines about data that an experiment went without; IN/OUT.
    missing: list[str] = field(default_factory=list)

    def either(self, whole: int, quick: int) -> int:
        """Return how often something is done."""
        return quick if self.quick else whole

    def file(self, name: str, source: str) -> Path | None:
        """Return a file or folder of the data; None, with a line about it, where there is none."""
        if self.data is not None and (self.data / name).exists():
            return self.data / name
        where = "pass --data DIR, a folder with" if self.data is None else f"{self.data} has no"
        self.missing.append(f"{where} {name}: {source}")
        return None


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and whether the measurement bears it out."""

    says: str
    holds: bool
    #: Why not, where it does not hold.
    because: str = ""


@dataclass(frozen=True)
class Result:
    """What was measured."""

    #: Names of the columns of the table.
    head: tuple[str, ...]
    #: Cells, as text; a row begins with what it is about.
    rows: Sequence[tuple[str, ...]]
    claims: Sequence[Claim]
    #: Where the data come from.
    data: str
    seed: int
    #: How it was done, and how to read it.
    notes: str
    #: Draws on a figure of matplotlib, which it is given.
    draw: Callable[[Any], None]
    #: What the figure shows.
    caption: str
    missing: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.head):
                raise ValueError(f"A row needs {len(self.head)} cells. Got {row!r}.")

    def after(self, seconds: float, missing: list[str]) -> "Result":
        """Return the result with the time it took and what was missing."""
        return replace(self, seconds=seconds, missing=missing)

    @property
    def verdict(self) -> str:
        """One line: reproduces or does not, because."""
        failed = [claim for claim in self.claims if not claim.holds]
        if not failed:
            return f"Reproduces: {'; '.join(claim.says for claim in self.claims)}."
        reasons = "; ".join(f"{claim.says} ({claim.because})" for claim in failed)
        held = len(self.claims) - len(failed)
        if not held:
            return f"Does not reproduce: {reasons}."
        return f"Reproduces in {held} of {len(self.claims)} statements, but not: {reasons}."


def number(value: float, digits: int = 2) -> str:
    """Return a number of a table as the papers print it: ".89" for 0.89."""
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def span(values: Any, digits: int = 0) -> str:
    """Return the least and the greatest of some numbers, or the one that they all are."""
    low, high = (number(bound, digits) for bound in (min(values), max(values)))
    return low if low == high else f"{low}-{high}"


def clock(seconds: float) -> str:
    """Return a time with two digits."""
    if seconds < 1e-3:
        return f"{1e6 * seconds:.0f} us"
    if seconds < 1:
        return f"{1e3 * seconds:.2g} ms" if seconds < 0.0995 else f"{1e3 * seconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:,.0f} s"
