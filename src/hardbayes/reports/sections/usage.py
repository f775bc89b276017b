"""How to use the model: a few lines of code."""

from typing import Any

from hardbayes.markup import tag
from hardbayes.reports.sections.tables import Section, details, section

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
        [tag("div", tag("dt", name), tag("dd", _told(value)))
         for name, value in sorted(model.get_params(deep=False).items())],
        class_="facts",
    )  # fmt: skip
    return section(
        "use",
        "How to use it",
        tag("pre", tag("code", "\n".join(lines)), tabindex=0),
        details("Parameters of the model", parameters),
    )


def _told(value: Any) -> str:
    told = repr(value)
    return told if len(told) <= 200 else told[:200] + " ..."
