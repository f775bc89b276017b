"""The numbers that rules depend on: ``python -m benchmarks.constants``.

Every number with a name at the top of a module: its value, what it trades, and what set it. The
text is the comment beside the number or above it; one above a run of numbers is for all of them
that have none of their own. Prints those without; ``--page`` prints the page of the manual, which
is made from the same list.
"""

import ast
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "hardbayes"
# What people look at: no result depends on numbers there.
LEFT_OUT = {"cli", "datasets", "plot", "reports"}
# Constraints on parameters, types, and what files may hold.
NO_NUMBERS = {"Interval", "IntType", "schema"}
# What a name or a comment may say of the reason for a number, but for a benchmark.
REASONS = {
    "rounding": r"rounding|epsilon|float64|float32|overflow|underflow|infinity|cancel",
    "memory, cache, patience": r"memory|\bcaches?\b|bytes\b|\bMB\b|interrupt|\bseconds?\b"
    r"|milliseconds|at a time|at once|are held|multiply-adds|side by side",
    "measured, as the text says": r"\b(is|are|was|were) measured\b|\bsee docs/",
    "literature": r"\b(19|20)\d\d\b|\bet al\b",
    "convention": r"\bconventions?\b",
}
HEADER = """# The numbers that rules depend on

The {n} numbers with a name in the source that a result can depend on: the value, what it is or
trades, and what set it, as the comment beside it says.

- `benchmarks.NAME`: a measurement that `python -m benchmarks.NAME` repeats ({measured} of them).
- *rounding*: far above what float64 rounds, and far below what matters.
- *memory, cache, patience*: quality does not depend on it, or hardly.
- *literature*: as the publication has it.
- *not measured*: a judgement, which a measurement may better.
"""


class Constant(NamedTuple):
    """A number, or some of them, with a name."""

    path: str  # below the source
    line: int
    name: str
    value: str
    comment: str

    @property
    def benchmarks(self) -> list[str]:
        """Modules of the benchmarks that the comment names."""
        return re.findall(r"\bbenchmarks\.(\w+)", self.comment)

    @property
    def reason(self) -> str:
        """What set the value, as far as the comment says."""
        if self.benchmarks:
            return ", ".join(f"`benchmarks.{name}`" for name in self.benchmarks)
        text = f"{self.name.lower()} {self.comment}"
        named = [reason for reason, pattern in REASONS.items() if re.search(pattern, text)]
        return ", ".join(named) or "not measured"


def constants() -> list[Constant]:
    """Return the numbers of all modules that results depend on, in the order of the source."""
    paths = [p for p in SOURCE.rglob("*.py") if p.relative_to(SOURCE).parts[0] not in LEFT_OUT]
    paths.sort()
    return [one for path in paths for one in read(path.read_text(encoding="utf-8"), path)]


def read(text: str, path: Path) -> Iterator[Constant]:
    """Yield the numbers of a module."""
    lines = text.splitlines()
    above, last = "", -1  # the comment above a run of numbers; the line where that run ends so far
    for node in ast.parse(text).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        first, end = node.lineno - 1, node.end_lineno or node.lineno
        while lines[first - 1].startswith("# fmt:"):
            first -= 1
        comment = _above(lines, first)
        if comment or first != last:
            above = comment
        last = end
        names, value = _target(node)
        if value is None or not _has_number(value):
            continue
        beside = re.sub(r"^(noqa|fmt|type): .*", "", _beside(lines[first:end]))
        where = str(path.relative_to(SOURCE))
        source = ast.get_source_segment(text, value) or ""
        shown = " ".join(source.split())
        shown = shown if len(shown) <= 40 else shown[:37] + "..."
        yield Constant(where, node.lineno, ", ".join(names), shown, beside or above)


def _target(node: ast.Assign | ast.AnnAssign) -> tuple[list[str], ast.expr | None]:
    """Return the names that a statement gives, and the value if they are in capitals."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    parts = [part for target in targets for part in ast.walk(target)]
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    in_capitals = bool(names) and all(re.fullmatch(r"_?[A-Z][A-Z0-9_]*", name) for name in names)
    return names, node.value if in_capitals else None


def _has_number(value: ast.expr) -> bool:
    """Whether a number is written in a value."""
    parts = list(ast.walk(value))
    if NO_NUMBERS & {part.attr for part in parts if isinstance(part, ast.Attribute)}:
        return False
    if NO_NUMBERS & {part.id for part in parts if isinstance(part, ast.Name)}:
        return False
    return any(
        (isinstance(part, ast.Constant) and type(part.value) in (int, float))
        or (isinstance(part, ast.Attribute) and part.attr == "finfo")
        for part in parts
    )


def _above(lines: list[str], first: int) -> str:
    """Return the comment that ends above a line."""
    start = first
    while start > 0 and lines[start - 1].startswith("#"):
        start -= 1
    return " ".join(line.lstrip("#: ").rstrip() for line in lines[start:first])


def _beside(lines: list[str]) -> str:
    """Return the comments in the lines of a statement."""
    found = [re.search(r"\s#\s+(.*)$", line) for line in lines]
    return " ".join(match[1] for match in found if match)


def page() -> str:
    """Return the page of the manual, in Markdown."""
    listed = constants()
    measured = sum(bool(one.benchmarks) for one in listed)
    parts = [HEADER.format(n=len(listed), measured=measured)]
    for path, group in groupby(listed, lambda one: one.path):
        parts += [f"\n## {path}\n", "| name | value | what it is | set by |", "|---|---|---|---|"]
        for one in group:
            cells = f"`{one.name}`", f"`{one.value}`", one.comment or "(not said)", one.reason
            parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(parts) + "\n"


def main() -> None:
    """Print the numbers without a comment, or the page."""
    if "--page" in sys.argv[1:]:
        print(page(), end="")
        return
    listed = constants()
    missing = [one for one in listed if not one.comment]
    for one in missing:
        print(f"{one.path}:{one.line}: {one.name} = {one.value}")
    unmeasured = sum(one.reason == "not measured" for one in listed)
    print(f"{len(listed)} numbers: {len(missing)} without a comment, {unmeasured} not measured.")


if __name__ == "__main__":
    main()
