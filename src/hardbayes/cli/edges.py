"""Edge lists: two columns of vertices, and perhaps weights."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hardbayes.cli.errors import CommandError, cannot_read
from hardbayes.cli.tables import import_polars
from hardbayes.cli.text_layout import open_binary

_COMMENTS = ("#", "%")
_HEADERS = ("source", "from", "src", "node1", "vertex1")
_LETTERS = ("u", "a", "i")  # a header where no other line has them


class Edges(NamedTuple):
    """Edges by the names of their vertices."""

    sources: list[str]
    targets: list[str]
    weights: list[float] | None
    notes: list[str]


def read_edges(name: str) -> Edges:
    """Return the edges in a file: two or three cells a line, by commas, semicolons or blanks."""
    path = Path(name)
    with open_binary(path) as file:
        content = file.read()
    if b"\0" in content:
        line = 1 + content.count(b"\n", 0, content.index(b"\0"))
        raise cannot_read(path, f"line {line} holds a NUL byte, so it is no text; save it as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + content.count(b"\n", 0, error.start)
        raise cannot_read(path, f"line {line} is not UTF-8; save it as UTF-8") from error
    sources: list[str] = []
    targets: list[str] = []
    weights: list[float] = []
    width = 0
    rows = list(_cells(text))
    notes = []
    for line, cells in rows:
        if not width:
            width = len(cells)
            if width not in (2, 3):
                raise CommandError(
                    f"{path}: line {line} has {width} cell(s); an edge is two vertices and perhaps "
                    "a weight"
                )
            if _is_header(cells, rows):
                notes.append(f"Line {line} is taken for names of columns: {', '.join(cells)}.")
                continue
        if len(cells) != width:
            raise CommandError(
                f"{path}: line {line} has {len(cells)} cell(s) and the first has {width}; correct "
                "it"
            )
        if not cells[0] or not cells[1]:
            raise CommandError(f"{path}: line {line} names no vertex; fill it in")
        if width == 3:
            weights.append(_weight(path, line, cells[2]))
        sources.append(cells[0])
        targets.append(cells[1])
    if not sources:
        raise cannot_read(path, "it has no edges; give two vertices a line")
    return Edges(sources, targets, weights if width == 3 else None, notes)


def as_frame(edges: Edges) -> Any:
    """Return edges as the data frame that `GraphDPMeans.fit` takes."""
    pl = import_polars(Path("the edges"))
    columns: dict[str, Any] = {"source": edges.sources, "target": edges.targets}
    if edges.weights is not None:
        columns["weight"] = edges.weights
    return pl.DataFrame(columns)


def _cells(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield lines and their cells, without comments and blank lines."""
    lines = text.splitlines()
    first = next((row for row in lines if row.strip() and not row.startswith(_COMMENTS)), "")
    separator = next((each for each in ("\t", ",", ";") if each in first), None)
    for number, row in enumerate(lines, start=1):
        if not row.strip() or row.startswith(_COMMENTS):
            continue
        if separator is None:
            yield number, row.split()
        else:
            cells = next(csv.reader([row], delimiter=separator), [])
            yield number, [cell.strip() for cell in cells]


def _is_header(cells: list[str], rows: list[tuple[int, list[str]]]) -> bool:
    """Whether the first line names columns: usual names, or a weight that is no number."""
    if len(cells) == 3:
        try:
            float(cells[2])
        except ValueError:
            return True
        return False
    name = cells[0].lower()
    is_letter = name in _LETTERS and not any(cells[0] in others[:2] for _, others in rows[1:])
    return name in _HEADERS or is_letter


def _weight(path: Path, line: int, cell: str) -> float:
    try:
        weight = float(cell)
    except ValueError:
        weight = float("nan")
    if not 0 <= weight < float("inf"):
        raise CommandError(
            f"{path}: line {line} has the weight {cell[:40]!r}; weights are numbers of zero or more"
        )
    return weight
