"""Labels of a report as a file that the page itself holds: nothing is loaded from elsewhere."""

import base64
import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from hardbayes.core.html import Markup, tag
from hardbayes.core.spreadsheets import harmless

MAX_ROWS = 50_000  # of the file: with more the page would grow beyond two megabytes


def labels_link(columns: Mapping[str, Iterable[Any]], n_rows: int) -> Markup | None:
    """Return a link to a CSV file of columns of n rows; None where they are too many."""
    if n_rows > MAX_ROWS:
        return None
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([harmless(name) for name in columns])
    cells = ([harmless(c) if isinstance(c, str) else c for c in each] for each in columns.values())
    writer.writerows(zip(*cells, strict=True))
    held = base64.b64encode(text.getvalue().encode("utf-8", "backslashreplace")).decode()
    link = tag(
        "a", "Download the labels (CSV)", download="labels.csv", class_="download",
        href=f"data:text/csv;charset=utf-8;base64,{held}",
    )  # fmt: skip
    return tag("p", link)
