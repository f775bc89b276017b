"""Features by their components, as pictures where rows are pictures."""

from collections.abc import Sequence
from typing import Any

from hardbayes.markup import Markup, tag
from hardbayes.reports.facts.features import Example, Feature, Features
from hardbayes.reports.numbers import counted, percent, short
from hardbayes.reports.sections.tables import (
    Section,
    difference_bar,
    section,
    share_bar,
    table,
)
from hardbayes.reports.svg import cells, picture


def features_section(found: Features) -> Section:
    """Return what each feature adds to the rows that have it."""
    note = None
    if len(found.features) < found.n_features:
        note = f"The {len(found.features)} most frequent of {found.n_features:,} are shown."
    pictures = any(feature.image is not None for feature in found.features)
    signs = "Blue adds, orange takes away; darker is more." if pictures else ""
    widest = max((feature.share for feature in found.features), default=1.0)
    sizes = [
        (str(feature.number), short(feature.size), percent(feature.share),
         tag("td", share_bar(feature.share, widest)))
        for feature in found.features
    ]  # fmt: skip
    return section(
        "features",
        "What the features are",
        tag("p", f"A row is explained by the sum of its features. {signs}"),
        tag("p", note) if note else None,
        table("How many rows have each feature", ("feature", "rows", "share", ""), sizes),
        tag(
            "div",
            [_card(feature) for feature in found.features],
            class_="images" if pictures else "cards",
        ),
    )


def examples_section(found: Features) -> Section:
    """Return rows and what their features rebuild of them."""
    return section(
        "examples",
        "Rows and their features",
        tag(
            "p",
            f"Features explain {percent(found.explained)} of the squared size of the rows, each of "
            f"which has {short(round(found.per_row, 1))} features on average.",
        ),
        _examples("Rows, evenly spaced through the data", found.typical),
        _examples("The worst explained rows", found.doubtful),
    )


def _card(feature: Feature) -> Markup:
    size = counted(feature.size, "row")
    title = tag("h3", f"Feature {feature.number}", tag("span", size, class_="quiet"))
    if feature.image is not None:
        return tag("figure", title, _image(feature.image, f"feature {feature.number}"))
    widest = max((abs(value) for _, value in feature.columns), default=0.0)
    rows = [
        (name, short(value), tag("td", difference_bar(value, widest)))
        for name, value in feature.columns
    ]
    caption = f"Feature {feature.number}: what it adds to a row"
    return tag("article", title, table(caption, ("column", "adds", ""), rows), class_="card")


def _image(levels: Any, label: str) -> Markup:
    height, width = levels.shape
    return picture(width, height, label, cells(levels), class_="image")


def _examples(caption: str, examples: Sequence[Example]) -> Markup:
    rows = [
        (each.name, ", ".join(map(str, each.features)) or "none", percent(max(each.error, 0.0)))
        for each in examples
    ]
    whole = table(caption, ("row", "features", "not explained"), rows, 2)
    pairs = [
        tag(
            "figure",
            _image(each.images[0], f"row {each.name}"),
            _image(each.images[1], f"row {each.name}, rebuilt"),
            tag("figcaption", f"{each.name}: original above, rebuilt below"),
        )
        for each in examples
        if each.images is not None
    ]
    return tag("div", whole, tag("div", pairs, class_="images") if pairs else None)
