"""The most typical and the most doubtful rows."""

from collections.abc import Sequence

from hardbayes.markup import tag
from hardbayes.reports.facts.data import Data, row_of
from hardbayes.reports.facts.typical import Rows
from hardbayes.reports.numbers import short
from hardbayes.reports.sections.tables import Section, mark, section, table


def rows_section(found: Rows, data: Data, telling: list[int]) -> Section:
    """Return two tables of rows, with the columns that tell clusters apart."""
    named = "row" if data.row_names is None else "name"
    columns = [data.columns[column] for column in telling]
    typical = [
        (mark(cluster), data.name(row), *_values(data, row, telling))
        for cluster, rows in found.typical.items()
        for row in rows
    ]
    doubtful = [
        (data.name(each.row), mark(each.cluster), mark(each.other), f"{each.ratio:.2f}",
         *_values(data, each.row, telling))
        for each in found.doubtful
    ]  # fmt: skip
    numbers = "" if data.row_names is not None else " Rows are numbered from 0."
    return section(
        "rows",
        "Typical and doubtful rows",
        tag(
            "p",
            "Typical rows lie nearest to the centre of their cluster. Doubtful rows lie almost as "
            "near to another one: at a ratio of 1 they are as far from both." + numbers,
        ),
        table("The most typical rows of each cluster", ("cluster", named, *columns), typical, 2),
        table(
            "The most doubtful rows",
            (named, "cluster", "next", "ratio of distances", *columns),
            doubtful,
            3,
        )
        if doubtful
        else None,
    )


def _values(data: Data, row: int, columns: Sequence[int]) -> list[str]:
    values = row_of(data.values, row)
    return [short(float(values[column])) for column in columns]
