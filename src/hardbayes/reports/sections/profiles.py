"""What sets clusters apart, in the columns' own units."""

import numpy as np

from hardbayes.estimators.summaries import Profile
from hardbayes.markup import Markup, join, tag
from hardbayes.reports.facts.profiles import N_APART, Profiles
from hardbayes.reports.numbers import counted, percent, short, signed
from hardbayes.reports.sections.tables import (
    Section,
    colour,
    details,
    difference_bar,
    mark,
    section,
    share_bar,
    table,
)

_MOST_MEANS = 12  # clusters of the table of all means
_LEVELS = (0.5, 1.0, 1.5, 2.0)  # standard deviations from which on a cell is darker


def profiles_section(found: Profiles, columns: list[str]) -> Section:
    """Return sizes of all clusters, a card for each, and the means of all columns."""
    note = None
    if found.n_clusters > len(found.found):
        note = f"The {len(found.found)} largest of {found.n_clusters:,} clusters are described."
    return section(
        "clusters",
        "What sets the clusters apart",
        tag(
            "p",
            "Values are means in the units of the columns. Differences are from the mean of all "
            "rows, in standard deviations of all rows: beyond 1 is a lot.",
        ),
        tag("p", note) if note else None,
        _sizes(found),
        tag("div", [_card(each, found, columns) for each in found.found], class_="cards")
        if found.n_clusters > 1
        else None,
        _means(found, columns) if found.complete else None,
    )


def _sizes(found: Profiles) -> Markup:
    widest = max(each.share for each in found.found)
    rows = [
        (
            mark(each.cluster),
            short(each.size),
            percent(each.share),
            tag("td", share_bar(each.share, widest, colour(each.cluster))),
            short(each.spread),
        )
        for each in found.found
    ]
    head = ("cluster", "size", "share", "", "spread")
    caption = join(
        "Sizes. ",
        tag("span", "Spread: root mean square distance of the rows from their mean.",
            class_="quiet"),
    )  # fmt: skip
    return table(caption, head, rows)


def _card(profile: Profile, found: Profiles, columns: list[str]) -> Markup:
    widest = max(2.0, float(np.abs(profile.differences).max(initial=0.0)))
    shown = slice(0, N_APART)
    rows = [
        (
            columns[column],
            short(mean),
            short(found.every.means[column]),
            signed(difference),
            tag("td", difference_bar(difference, widest)),
        )
        for column, mean, difference in zip(
            profile.columns[shown], profile.means[shown], profile.differences[shown], strict=True
        )
    ]
    title = tag(
        "h3", mark(profile.cluster), tag("span", _title(profile), class_="quiet"),
    )  # fmt: skip
    if not rows:
        return tag("article", title, tag("p", "No column differs from all rows."), class_="card")
    words = tag("p", _sentence(profile, columns))
    head = ("column", "here", "all rows", "difference", "")
    return tag(
        "article",
        title,
        words,
        table(f"Cluster {profile.cluster}: columns that differ most", head, rows),
        class_="card",
    )


def _title(profile: Profile) -> str:
    return f"{counted(profile.size, 'row')}, {percent(profile.share)}"


def _sentence(profile: Profile, columns: list[str]) -> str:
    """Return what is high and what is low, in words."""
    parts = []
    for sign, word in ((1, "high"), (-1, "low")):
        names = [
            columns[column]
            for column, difference in zip(
                profile.columns[:N_APART], profile.differences[:N_APART], strict=True
            )
            if sign * difference >= _LEVELS[0]
        ]
        if names:
            parts.append(f"{word}: {', '.join(names[:4])}")
    told = "; ".join(parts) or "close to the mean of all rows in every column"
    return told[0].upper() + told[1:] + "."


def _means(found: Profiles, columns: list[str]) -> Markup:
    shown = found.found[:_MOST_MEANS]
    order = sorted({int(column) for each in found.found for column in each.columns})
    order = order or list(range(len(columns)))  # of one cluster
    rows = []
    for column in order:
        cells = []
        for each in shown:
            at = np.flatnonzero(each.columns == column)
            if len(at):
                mean, difference = each.means[at[0]], each.differences[at[0]]
                cells.append(tag("td", short(mean), class_=f"number {level(difference)}"))
            else:
                cells.append(tag("td", short(found.every.means[column]), class_="number"))
        deviation = float(np.sqrt(found.every.variances[column]))
        rows.append((columns[column], *cells, short(found.every.means[column]), short(deviation)))
    head = ["column", *(mark(each.cluster) for each in shown), "all rows", "deviation"]
    caption = "Means of all columns; darker where they are farther from the mean of all rows"
    if len(shown) < len(found.found):
        caption += f", of the {len(shown)} largest clusters"
    return details("Means of all columns", table(caption, head, rows))


def level(difference: float) -> str:
    """Return the class of a cell by its difference in standard deviations."""
    steps = sum(abs(difference) >= least for least in _LEVELS)
    return "" if not steps else f"{'above' if difference > 0 else 'below'}{steps}"
