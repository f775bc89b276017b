"""What sets clusters of a mixed table apart: shares of levels by name, means, spikes."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.html import Markup, tag
from hardbayes.mixed.summary import Trait, most_apart, traits_of
from hardbayes.reports.data import IN_DOUBT, NO_DOUBT, Given, Rows, checked_names, rows_of
from hardbayes.reports.pieces import (
    Section,
    colour,
    details,
    mark,
    percent,
    section,
    share_bar,
    short,
    table,
)

MAX_CLUSTERS = 24  # that are described
N_APART = 8  # columns of a card
N_WORDS = 3  # columns in a line about a cluster
N_TELLING = 6  # columns printed beside rows


class MixedTable(NamedTuple):
    """What a report says about clusters of a mixed table."""

    labels: NDArray[np.int32]
    traits: list[list[Trait]]  # of each cluster, in the order of the columns
    sizes: NDArray[np.int64]
    shown: list[int]  # the largest clusters, by number
    kinds: dict[str, str]  # what each column was taken for
    cells: dict[str, Any]  # of the columns that are used, as they were passed
    row_names: list[str] | None
    rows: Rows


def mixed_table_of(given: Given) -> MixedTable:
    """Return the clusters of a model and of these rows."""
    model = given.model
    matrix = model._checked(given.X)
    labels, k, n = model.predict(given.X), int(model.n_clusters_), len(matrix)
    weights = np.ones(n) if given.sample_weight is None else np.asarray(given.sample_weight, float)
    if weights.shape != (n,):
        raise ValueError(f"'sample_weight' must have {n} numbers, one for each row.")
    traits = traits_of(matrix, model._model.coding, labels, k, weights)
    sizes = np.bincount(labels, minlength=k)
    shown = sorted(np.argsort(-sizes, kind="stable")[:MAX_CLUSTERS].tolist())
    names = list(model.column_kinds_)
    cells = {name: _column(given.X, at, name) for at, name in enumerate(names)}
    rows = rows_of(model, given.X if hasattr(given.X, "shape") else np.asarray(given.X, object),
                   labels, shown)  # fmt: skip
    assert rows is not None  # the model tells distances
    return MixedTable(
        labels, traits, sizes, shown, model.column_kinds_, cells,
        checked_names(given.row_names, n), rows,
    )  # fmt: skip


def _column(X: Any, at: int, name: str) -> list[Any]:
    """Return the cells of a column of a frame, an array or a list of rows."""
    if hasattr(X, "iloc"):
        return list(X.iloc[:, at])
    if hasattr(X, "columns"):
        return list(X[name])
    return [row[at] for row in X]


def columns_section(found: MixedTable) -> Section:
    """Return what each column was taken for."""
    rows = [(name, kind.partition(": ")[0], kind.partition(": ")[2] or "")
            for name, kind in found.kinds.items()]  # fmt: skip
    return section(
        "columns",
        "What columns were taken for",
        tag("p", "Columns that are left out do not count. To overrule: columns={name: kind}."),
        table("All columns", ("column", "as", "why"), rows),
    )


def traits_section(found: MixedTable) -> Section:
    """Return sizes of all clusters, and a card for each."""
    k, note = len(found.sizes), None
    if k > len(found.shown):
        note = f"The {len(found.shown)} largest of {k:,} clusters are described."
    return section(
        "clusters",
        "What sets the clusters apart",
        tag(
            "p",
            "Numbers are means in the units of their columns, categories the shares of their "
            "levels. The columns that differ most from all rows come first.",
        ),
        tag("p", note) if note else None,
        _sizes(found),
        tag("div", [_card(each, found) for each in found.shown], class_="cards") if k > 1 else None,
        _every_column(found),
    )


def _sizes(found: MixedTable) -> Markup:
    total = max(1, int(found.sizes.sum()))
    widest = max(found.sizes[each] / total for each in found.shown)
    rows = [
        (
            mark(each),
            short(int(found.sizes[each])),
            percent(found.sizes[each] / total),
            tag("td", share_bar(found.sizes[each] / total, widest, colour(each))),
            tag("td", in_words(found.traits[each]), class_="words"),
        )
        for each in found.shown
    ]
    head = ("cluster", "size", "share", "", tag("span", "in words", class_="words"))
    return table("All clusters at a glance", head, rows)


def in_words(traits: list[Trait]) -> str:
    """Return what sets a cluster apart, as one phrase: "country DE 61 %, age 28.1"."""
    apart = most_apart(traits, N_WORDS)
    return ", ".join(f"{each.name} {each.words}" for each in apart) or "as all rows"


def _card(cluster: int, found: MixedTable) -> Markup:
    size, total = int(found.sizes[cluster]), max(1, int(found.sizes.sum()))
    apart = most_apart(found.traits[cluster], N_APART)
    told = f"{short(size)} {'row' if size == 1 else 'rows'}, {percent(size / total)}"
    title = tag("h3", mark(cluster), tag("span", told, class_="quiet"))
    if not apart:
        return tag("article", title, tag("p", "No column differs from all rows."), class_="card")
    rows = [row for trait in apart for row in _lines(trait, cluster)]
    head = ("column", "here", "all rows", "")
    caption = f"Cluster {cluster}: columns that differ most"
    return tag("article", title, table(caption, head, rows), class_="card")


def _lines(trait: Trait, cluster: int) -> list[tuple[Any, ...]]:
    """Return the lines of a card about a column: one for each level, or part of what is told."""
    told: list[tuple[str, str, Markup | None]]
    if trait.shares:
        told = [
            (f"{level} {percent(share)}", percent(usual), share_bar(share, 1.0, colour(cluster)))
            for level, share, usual in trait.shares
        ]
    else:
        parts = zip(trait.words.split("; "), trait.usual.split("; "), strict=False)
        told = [(here, usual, None) for here, usual in parts]
    return [
        ("" if at else trait.name, here, usual, tag("td", bar))
        for at, (here, usual, bar) in enumerate(told)
    ]


def _every_column(found: MixedTable) -> Markup:
    rows = [
        (trait.name, *(found.traits[each][at].words for each in found.shown), trait.usual)
        for at, trait in enumerate(found.traits[0])
    ]
    head = ["column", *(mark(each) for each in found.shown), "all rows"]
    return details("All columns", table("All columns in all clusters", head, rows))


def mixed_rows_section(found: MixedTable) -> Section:
    """Return two tables of rows, with the columns that tell clusters apart."""
    k = len(found.sizes)
    gains = [
        (-sum(found.sizes[each] * found.traits[each][at].apart for each in range(k)), at)
        for at in range(len(found.traits[0]))
    ]
    columns = [found.traits[0][at].name for _, at in sorted(gains)[:N_TELLING]]
    named = "row" if found.row_names is None else "name"
    typical = [
        (mark(cluster), _name(found, row), *_cells(found, row, columns))
        for cluster, rows in found.rows.typical.items()
        for row in rows
    ]
    doubtful = [
        (_name(found, each.row), mark(each.cluster), mark(each.other), f"{each.ratio:.2f}",
         *_cells(found, each.row, columns))
        for each in found.rows.doubtful
    ]  # fmt: skip
    told = (
        "Typical rows cost least in their cluster. Doubtful rows cost less than "
        f"{IN_DOUBT:g} times as much in another one."
    )
    head = ("cluster", named, *columns)
    tables: list[Any] = [table("The most typical rows of each cluster", head, typical, 2)]
    if doubtful:
        head = (named, "cluster", "next", "ratio", *columns)
        tables.append(table("The most doubtful rows", head, doubtful, 3))
    elif k > 1:
        tables.append(tag("p", NO_DOUBT))
    numbers = "" if found.row_names is not None else " Rows are numbered from 0."
    return section(
        "rows", "Typical and doubtful rows", tag("p", told + numbers),
        tag("div", tables, class_="tables"),
    )  # fmt: skip


def _name(found: MixedTable, row: int) -> str:
    return str(row) if found.row_names is None else found.row_names[row]


def _cells(found: MixedTable, row: int, columns: list[str]) -> list[str]:
    return [_told(found.cells[column][row]) for column in columns]


def _told(cell: Any) -> str:
    """Return a cell as it is printed; a dash where it is missing."""
    if cell is None or cell != cell or type(cell).__name__ == "NAType":
        return "-"
    if isinstance(cell, float | np.floating):
        return short(float(cell))
    return str(cell)
