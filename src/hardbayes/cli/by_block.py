"""Tables of numbers in .npy, Parquet and text files, read block by block."""

import argparse
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardbayes.cli.messages import (
    about_rows,
    other_warnings,
    predict_or_save,
    say,
    where_files_lie,
    why_so_many,
)
from hardbayes.cli.preparation import Preparation, refuse_incomplete
from hardbayes.cli.readers import ArrayTable, ParquetTable
from hardbayes.cli.results import name_columns, save_rows_model, write_centres, write_numbers
from hardbayes.cli.rows import ID_NAME, Roles, Rows, Spreads, choose_columns, scaled_by
from hardbayes.cli.tables import Table, memory_bytes
from hardbayes.cli.terminal import computed, listed, working
from hardbayes.cli.text_tables import DelimitedTable
from hardbayes.core.row_blocks import RowBlocks, row_blocks

# A table that would take more than this share of the free memory is read block by block. A fit in
# memory needs the table, a copy where its columns are scaled, and some bytes a row beside: with a
# larger share the machine may begin to swap, with a smaller one files are read anew for nothing.
SHARE_OF_MEMORY = 0.25
MAX_SIZES = 20  # clusters whose sizes are told


def free_bytes() -> int:
    """Return how much memory is free, as far as the system tells."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    return memory_bytes()


def holds_plain_numbers(table: Table, names: list[str]) -> bool:
    """Whether a table is in a file that is read by block, and these columns are of numbers."""
    if isinstance(table, DelimitedTable):
        return all(table.kinds[name] == "number" for name in names)
    if isinstance(table, ParquetTable):
        return find_spec("pyarrow") is not None and all(table.is_plain(name) for name in names)
    is_array = isinstance(table, ArrayTable) and table.path.suffix.lower() == ".npy"
    return is_array and table.matrix.size > 0  # type: ignore[attr-defined]


def blocks_of(table: Table, names: list[str]) -> Iterator[np.ndarray]:
    """Yield some columns of a table, block by block, as arrays of their own."""
    if isinstance(table, DelimitedTable):
        for part in table.parts(names):
            yield np.array(part.numbers, np.float64, order="C")
        return
    columns: list[Any] = names
    source: Any = table.path
    if isinstance(table, ArrayTable):
        source, columns = table.matrix, [table.names.index(name) for name in names]
    for raw in row_blocks(source, columns=columns).blocks():
        rows = np.asarray(raw.rows)
        yield rows.astype(rows.dtype if rows.dtype == np.float32 else np.float64)


def prepared(
    table: Table, preparation: Preparation, more: tuple[str, ...] = ()
) -> Iterator[np.ndarray]:
    """Yield blocks of rows in the units of a model; after them columns ``more``, as they are."""
    n, first = len(preparation.columns), 0
    for rows in blocks_of(table, [*preparation.columns, *more]):
        refuse_incomplete(table, rows, [*preparation.columns, *more], first)
        rows[:, :n] = preparation.scaled(rows[:, :n])
        yield rows
        first += len(rows)


class Look(NamedTuple):
    """What one pass tells of columns."""

    n_rows: int
    spreads: Spreads
    naming: list[str]  # columns that only name the rows


def look_at(table: Table, names: list[str], weight: tuple[str, ...]) -> Look:
    """Go through a table once. Weights are in the column after the others, if there are any."""
    n_rows, total = 0, 0.0
    mean, squares = np.zeros(len(names)), np.zeros(len(names))
    counts, rises, whole = (np.ones(len(names), bool) for _ in range(3))
    last = np.full(len(names), -np.inf)
    for rows in blocks_of(table, [*names, *weight]):
        weights = rows[:, -1].astype(np.float64) if weight else np.ones(len(rows))
        numbers = rows[:, : len(names)].astype(np.float64)
        before = np.vstack([last, numbers[:-1]])
        with np.errstate(invalid="ignore", over="ignore"):
            steps = numbers - before
            counts &= (steps[1 if n_rows == 0 else 0 :] == 1).all(axis=0)
            rises &= (steps > 0).all(axis=0)
            whole &= (numbers == np.floor(numbers)).all(axis=0)
            added = float(weights.sum())
            if added > 0:
                centre = weights @ numbers / added
                part = weights @ (numbers - centre) ** 2
                difference = centre - mean
                mean = mean + difference * (added / (total + added))
                squares = squares + part + difference**2 * (total * added / (total + added))
        total, n_rows, last = total + added, n_rows + len(rows), numbers[-1]
    is_id = [ID_NAME.search(name) is not None for name in names]
    names_rows = (counts | (np.array(is_id) & whole & rises)) & (n_rows >= 10)
    found = Spreads(mean, np.sqrt(squares / total) if total > 0 else np.zeros(len(names)))
    return Look(n_rows, found, [name for name, it in zip(names, names_rows, strict=True) if it])


class OnDisk(NamedTuple):
    """Rows that are read block by block, and how many there are."""

    shape: tuple[int, int]
    blocks: RowBlocks


def why_in_memory(options: argparse.Namespace) -> str | None:
    """Return the option for which rows must be in memory; None where there is none."""
    for name in ("id_column", "report", "json", "append", "certainty", "encode"):
        if getattr(options, name, None) not in (None, False):
            return f"--{name.replace('_', '-')}"
    if options.missing != "refuse":
        return f"--missing {options.missing}"
    return f"--model {options.model}" if options.model != "means" else None


def may_not_fit(table: Table) -> bool:
    """Whether a table may take too much of the memory."""
    n_rows = table.layout.n_lines if isinstance(table, DelimitedTable) else table.n_rows
    return 8 * n_rows * len(table.names) > SHARE_OF_MEMORY * free_bytes()


def is_larger_than_memory(options: argparse.Namespace, table: Table) -> bool:
    """Whether a table is to be read by block; says so, or why it is read into memory."""
    if not isinstance(table, ArrayTable | ParquetTable | DelimitedTable):
        return False
    if getattr(table, "is_sparse", False) or not may_not_fit(table):
        return False
    roles = Roles(weight=options.weight_column)
    chosen = choose_columns(table, options.columns, options.exclude, False, roles)
    reason = why_in_memory(options)
    if isinstance(table, ParquetTable) and find_spec("pyarrow") is None:
        reason = "pyarrow, which is missing: pip install 'hardbayes[blocks]'"
    elif reason is None and not holds_plain_numbers(table, [*chosen.numbers, *roles.named]):
        reason = "columns that are no plain numbers"
    if reason is None:
        say(f"{table.path}: read block by block, because it may not fit into memory.")
        return True
    say(
        f"{table.path}: read into memory, which it may not fit into, because of {reason}. "
        "Without that it is read block by block."
    )
    return False


def read_by_block(options: argparse.Namespace, table: Table) -> Rows:
    """Return the rows of a table as `read_rows` does, but that they stay in the file."""
    weight = () if options.weight_column is None else (options.weight_column,)
    roles = Roles(weight=options.weight_column)
    chosen = choose_columns(table, options.columns, options.exclude, False, roles)
    with working(f"reading {table.path}"):
        look = look_at(table, chosen.numbers, weight)
    notes, numbers, kept = list(chosen.notes), chosen.numbers, slice(None)
    if options.columns is None and 0 < len(look.naming) < len(numbers):
        left = [j for j, name in enumerate(numbers) if name not in look.naming]
        numbers, kept = [numbers[j] for j in left], left  # type: ignore[assignment]
        notes.append(
            f"Left out (names or counts the rows): {listed(look.naming)}. To use it: --columns."
        )
    preparation = Preparation(numbers, {}, "refuse")
    scalable = options.divergence == "squared_euclidean"
    if scalable and options.standardize is not False:
        spreads = Spreads(look.spreads.mean[kept], look.spreads.deviation[kept])
        preparation, sentence = scaled_by(
            preparation, spreads, standardize=options.standardize, centred=True
        )
        notes += [sentence] if sentence else []
    d = len(numbers)
    blocks = row_blocks(
        lambda: prepared(table, preparation, weight),
        columns=range(d),
        weights=(lambda rows: rows[:, -1]) if weight else None,
    )
    X = OnDisk((look.n_rows, d), blocks)
    return Rows(table, X, preparation, None, None, None, None, notes)


def run_by_block(options: argparse.Namespace, table: Table) -> None:
    """Cluster a table that is read block by block; write what was found, and tell."""
    from hardbayes import DPMeans, by_size

    rows = read_by_block(options, table)
    estimator = DPMeans(
        options.penalty,
        divergence=options.divergence,
        search=options.search,
        n_clusters=options.k,
        random_state=options.seed,
    )
    model, warned = computed(table.path, lambda: by_size(estimator.fit(rows.X.blocks)), rows.cell)
    name_columns(model, rows)
    sizes = np.bincount(model.labels_, minlength=model.n_clusters_)
    centres = rows.preparation.in_own_units(model.cluster_centers_)
    write_centres(options, "cluster", sizes, rows.names, centres)
    save_rows_model(options, model, rows)
    write_numbers(options, "cluster", model.labels_)
    shown = [f"{size:,} in {number}" for number, size in enumerate(sizes[:MAX_SIZES].tolist())]
    say(
        "",
        *about_rows(rows),
        *why_so_many(options, model),
        *other_warnings(model, warned),
        f"Sizes: {', '.join(shown)}{' ...' if len(sizes) > MAX_SIZES else ''}",
        f"The rows were read {model.n_passes_ + 1:,} times.",
        "",
        *where_files_lie(options, "labels"),
        predict_or_save(options),
    )
