"""Sections, their tables and targets, as Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass, field

NOTHING = "-"


@dataclass(frozen=True)
class Target:
    """What a number should reach, and what it could reach with a lot of work."""

    reach: float | None = None
    moonshot: float | None = None
    lower_is_better: bool = False
    unit: str = "x"

    def cells(self, measured: float) -> list[str]:
        """Return the cells of the columns `TARGET_COLUMNS`."""
        return [self._show(self.reach), self._show(self.moonshot), self._verdict(measured)]

    def _show(self, value: float | None) -> str:
        return NOTHING if value is None else f"{value:g}{self.unit}"

    def _met(self, value: float | None, measured: float) -> bool:
        if value is None:
            return False
        return measured <= value if self.lower_is_better else measured >= value

    def _verdict(self, measured: float) -> str:
        if self.reach is None and self.moonshot is None:
            return NOTHING
        if self._met(self.moonshot, measured):
            return "moonshot"
        return "reached" if self._met(self.reach, measured) else "below"


TARGET_COLUMNS = ["reach", "moonshot", "verdict"]


@dataclass
class Section:
    """One table with what a reader must know to read it."""

    title: str
    columns: Sequence[str]
    notes: str = ""
    rows: list[list[str]] = field(default_factory=list)
    #: What was left out, and why.
    remarks: list[str] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        """Append a row, one cell for each column."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{self.title}: {len(cells)} cells for {len(self.columns)} columns.")
        self.rows.append([str(cell) for cell in cells])

    def to_markdown(self) -> str:
        """Return the section with its heading."""
        parts = [f"## {self.title}", self.notes]
        if self.rows:
            lines = [self.columns, ["---"] * len(self.columns), *self.rows]
            parts.append("\n".join(_line(cells) for cells in lines))
        parts.extend(self.remarks)
        return "\n\n".join(part for part in parts if part)


def to_markdown(header: str, sections: Sequence[Section]) -> str:
    """Return the whole report."""
    return "\n\n".join([header, *(section.to_markdown() for section in sections)]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
