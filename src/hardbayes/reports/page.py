"""The whole page: its head, how to use the model, and the template with its style sheet and script.

The labels are a file that the page itself holds. A content security policy allows no other script
and nothing from elsewhere.
"""

import base64
import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from hardbayes.core.html import Markup, harmless, tag
from hardbayes.reports.pieces import Section, details, section

MAX_ROWS = 50_000  # of the file: with more the page would grow beyond two megabytes


def page(title: str, body: Markup, data: dict[str, Any], *, pictures: bool = False) -> bytes:
    """Return the file.

    Parameters
    ----------
    title : str
        Title of the window.
    body : Markup
        What the page shows.
    data : dict
        What the script reads: anything that JSON can hold.
    pictures : bool, default=False
        Whether the body holds pictures, as data.
    """
    style, script = _part("page.css"), _part("page.js")
    parts = {
        "policy": escape(_policy(style, script, pictures)),
        "title": escape(title),
        "style": style,
        "body": body,
        "data": _as_json(data),
        "script": script,
    }
    # In one go: what is filled in is not searched for places to fill.
    whole = re.sub(r"@(\w+)@", lambda found: parts[found[1]], _part("page.html"))
    return whole.encode("utf-8", "replace")


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _policy(style: str, script: str, pictures: bool) -> str:
    """Return a content security policy: this style sheet, this script, and nothing else.

    Pictures within the file, where it has any.
    """
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        f"{'img-src data:; ' if pictures else ''}base-uri 'none'; form-action 'none'"
    )


def _digest(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _as_json(data: dict[str, Any]) -> str:
    """Return JSON that cannot end the element it stands in."""
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def header(
    title: str | None,
    found: str,
    sentences: list[str],
    facts: list[tuple[str, str]],
    download: Markup | None = None,
) -> Markup:
    """Return the headline, a few sentences, a list of facts, and a link to labels."""
    return tag(
        "header",
        tag("p", title, class_="title") if title else None,
        tag("h1", found),
        [tag("p", sentence, class_="lead") for sentence in sentences],
        tag(
            "dl",
            [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts],
            class_="facts",
        ),
        download,
    )


def contents(sections: Sequence[Section]) -> Markup:
    """Return links to the sections."""
    links = [tag("li", tag("a", each.title, href=f"#{each.name}")) for each in sections]
    return tag("nav", tag("ul", links), aria_label="Contents")


LINES = {
    "partition": (
        "labels = model.predict(new_rows)                # the cluster of each row",
        "labels = model.predict(new_rows, novelty=0.01)  # -1 for rows unlike any other",
        "table = model.summary(new_rows)                 # sizes, and what sets clusters apart",
    ),
    "groups": ("labels = model.predict(new_rows, groups=groups)  # the cluster of each row",),
    "topics": (
        "shares = model.transform(new_counts)  # the share of each topic in each document",
        "words = model.top_words(10, vocabulary)",
    ),
    "features": (
        "has = model.transform(new_rows)       # which features each row has",
        "rebuilt = model.inverse_transform(has)",
    ),
    "graph": (
        "labels = model.predict(new_links)  # new vertices, by their links to those of the fit",
    ),
}


def usage_section(model: Any, kind: str, in_pipeline: bool) -> Section:
    """Return code that stores the model and applies it, and its parameters."""
    head = [
        "from hardbayes import load, save",
        "",
        'save(model, "model.hardbayes")   # numbers and names, no code',
        'model = load("model.hardbayes")',
        "",
    ]
    if in_pipeline:
        head = ["# model: the pipeline that was passed to this report", ""]
    lines = [*head, *(line for line in LINES[kind] if not (in_pipeline and ".summary(" in line))]
    parameters = tag(
        "dl",
        [tag("div", tag("dt", name), tag("dd", _shorten(value)))
         for name, value in sorted(model.get_params(deep=False).items())],
        class_="facts",
    )  # fmt: skip
    return section(
        "use",
        "How to use it",
        tag("pre", tag("code", "\n".join(lines)), tabindex=0),
        details("Parameters of the model", parameters),
    )


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + " ..."


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
