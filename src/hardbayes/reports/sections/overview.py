"""The head of a report: what was found in what."""

from collections.abc import Sequence

from hardbayes.markup import Markup, tag
from hardbayes.reports.sections.tables import Section


def header(
    title: str | None, found: str, sentences: list[str], facts: list[tuple[str, str]]
) -> Markup:
    """Return the headline, a few sentences and a list of facts."""
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
    )


def contents(sections: Sequence[Section]) -> Markup:
    """Return links to the sections."""
    links = [tag("li", tag("a", each.title, href=f"#{each.name}")) for each in sections]
    return tag("nav", tag("ul", links), aria_label="Contents")
