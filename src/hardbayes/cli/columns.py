"""Which columns of a table are used, and for what."""

from typing import NamedTuple

from hardbayes.cli.errors import CommandError
from hardbayes.cli.tables import Table
from hardbayes.cli.wording import listed


class Roles(NamedTuple):
    """The columns that the options name for a purpose."""

    id: str | None = None
    weight: str | None = None
    group: str | None = None

    @property
    def named(self) -> list[str]:
        """Those that are given."""
        return [name for name in self if name is not None]


class Chosen(NamedTuple):
    """Columns of numbers, columns to encode, and sentences on what was left out."""

    numbers: list[str]
    encoded: list[str]
    notes: list[str]


def choose_columns(
    table: Table, columns: list[str] | None, exclude: list[str] | None, encode: bool, roles: Roles
) -> Chosen:
    """Return the columns to cluster by: those that the user names, else all that hold numbers."""
    for name in roles.named:
        check_column(table, name)
    given = named_columns(table, columns) if columns else None
    excluded = {*roles.named, *(named_columns(table, exclude) if exclude else [])}
    candidates = [name for name in given or table.names if given or name not in excluded]
    kinds = table.kinds
    # True and false are 0 and 1 where the user names their column.
    as_number = ("number", "boolean") if given and not encode else ("number",)
    numbers = [name for name in candidates if kinds[name] in as_number]
    text = [name for name in candidates if kinds[name] not in (*as_number, "empty")]
    empty = [name for name in candidates if kinds[name] == "empty"]
    notes = [*table.notes, *([f"Left out (empty): {listed(empty)}."] if empty else [])]
    if text and given and not encode:
        raise CommandError(
            f"{table.path}: column {text[0]!r} holds text; add --encode to make one column of each "
            "of its values, or leave it out of --columns"
        )
    if text and not encode:
        notes.append(f"Left out (no numbers): {listed(text)}. To use them: --encode.")
    encoded = text if encode else []
    if not numbers and not encoded:
        raise CommandError(
            f"{table.path}: no column holds numbers; choose others with --columns, or encode text "
            "with --encode"
        )
    return Chosen(numbers, encoded, notes)


def named_columns(table: Table, values: list[str]) -> list[str]:
    """Return the columns that an option names: a list, or names joined by commas."""
    known = set(table.names)
    found: list[str] = []
    for value in values:
        parts = [value] if value in known else [part.strip() for part in value.split(",")]
        for name in parts:
            check_column(table, name)
            if name not in found:
                found.append(name)
    return found


def check_column(table: Table, name: str) -> None:
    """Raise a CommandError if a table has no such column."""
    if name not in table.names:
        raise CommandError(
            f"{table.path}: there is no column {name!r}; its columns are {listed(table.names)}"
        )
