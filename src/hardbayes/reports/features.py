"""Features: what each adds to a row, which rows have it, and rows rebuilt from features."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.html import Markup, tag
from hardbayes.core.loop import counted
from hardbayes.reports.data import Data, row_of
from hardbayes.reports.pieces import (
    Section,
    cells,
    difference_bar,
    percent,
    picture,
    section,
    share_bar,
    short,
    table,
)
from hardbayes.reports.plane import spaced

MAX_FEATURES = 40
MAX_PIXELS = 96 * 96  # of a picture that is drawn whole
N_LARGEST = 8  # columns of a feature
N_EXAMPLES = 6
LEVELS = 5


class Feature(NamedTuple):
    """A feature: its component, and how many rows have it."""

    number: int
    size: int
    share: float
    columns: list[tuple[str, float]]  # that it changes most, and by how much
    image: NDArray[np.int64] | None  # levels (h, w)


class Example(NamedTuple):
    """A row and what its features rebuild of it."""

    name: str
    features: list[int]
    error: float  # share of its squared size that is not explained
    images: tuple[NDArray[np.int64], NDArray[np.int64]] | None


class Features(NamedTuple):
    """What a report says about features."""

    features: list[Feature]
    n_features: int
    typical: list[Example]  # evenly spaced through the rows
    doubtful: list[Example]  # the worst explained
    explained: float  # share of the squares of all rows
    per_row: float  # mean number of features of a row
    membership: NDArray[np.int8]  # (n, k)


def features_of(model: Any, data: Data, image_shape: tuple[int, int] | None) -> Features:
    """Return the features of a model and how they rebuild these rows."""
    membership = np.asarray(model.transform(data.rows), bool)
    errors = -np.asarray(model.score_samples(data.rows), np.float64)
    n, k = membership.shape
    shown = np.argsort(-membership.sum(axis=0), kind="stable")[:MAX_FEATURES]
    units = data.units()
    features = []
    for number in sorted(shown.tolist()):
        component = np.asarray(model.components_[number], np.float64) * units
        order = np.argsort(-np.abs(component), kind="stable")[:N_LARGEST]
        columns = [(data.columns[at], float(component[at])) for at in order if component[at]]
        size = int(membership[:, number].sum())
        image = None if image_shape is None else levels(component, image_shape)
        features.append(Feature(number, size, size / n, columns, image))
    squares = data.rows.multiply(data.rows) if hasattr(data.rows, "multiply") else data.rows**2
    sizes = np.asarray(squares.sum(axis=1)).ravel().astype(np.float64)

    def example(row: int) -> Example:
        own = row_of(data.rows, row)
        images = None
        if image_shape is not None:
            rebuilt = np.asarray(model.inverse_transform(membership[[row]]), np.float64).ravel()
            largest = float(np.abs(own).max(initial=0.0))
            images = levels(own, image_shape, largest), levels(rebuilt, image_shape, largest)
        error = errors[row] / sizes[row] if sizes[row] else 0.0
        return Example(
            data.name(row), np.flatnonzero(membership[row]).tolist(), float(error), images
        )

    worst = np.argsort(-errors, kind="stable")[:N_EXAMPLES]
    total = float(sizes.sum())
    return Features(
        features,
        k,
        [example(row) for row in spaced(n, N_EXAMPLES).tolist()],
        [example(row) for row in worst.tolist()],
        1.0 - float(errors.sum()) / total if total else 1.0,
        float(membership.sum()) / n,
        membership.astype(np.int8),
    )


def levels(
    values: NDArray[np.float64], shape: tuple[int, int], largest: float | None = None
) -> NDArray[np.int64]:
    """Return a picture in whole levels from -5 to 5; a large one is thinned out."""
    image = values.reshape(shape)
    step = int(np.ceil(np.sqrt(image.size / MAX_PIXELS)))
    image = image[::step, ::step]
    largest = float(np.abs(image).max(initial=0.0)) if largest is None else largest
    if not largest:
        return np.zeros(image.shape, np.int64)
    scaled = np.rint(LEVELS * np.clip(image / largest, -1.0, 1.0))
    return scaled.astype(np.int64)


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
         tag("td", share_bar(feature.share, widest)),
         tag("td", _in_words(feature), class_="words"))
        for feature in found.features
    ]  # fmt: skip
    head = ("feature", "rows", "share", "", tag("span", "what it adds", class_="words"))
    return section(
        "features",
        "What the features are",
        tag("p", f"A row is explained by the sum of its features. {signs}"),
        tag("p", note) if note else None,
        table("All features at a glance", head, sizes),
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
        tag(
            "div",
            _examples("Rows, evenly spaced through the data", found.typical),
            _examples("The worst explained rows", found.doubtful),
            class_="tables",
        ),
    )


def _in_words(feature: Feature) -> str:
    """Return the columns that a feature changes by a tenth of its largest change or more."""
    largest = max((abs(value) for _, value in feature.columns), default=0.0)
    return ", ".join(
        f"{name} {'+' if value > 0 else ''}{short(value)}"
        for name, value in feature.columns
        if abs(value) >= 0.1 * largest
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
