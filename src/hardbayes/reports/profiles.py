"""What sets clusters apart, in the columns' own units, and which clusters groups use."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from hardbayes.core.frame import column_range
from hardbayes.core.html import Markup, join, tag
from hardbayes.core.summaries import Moments, Profile, moments, profiles
from hardbayes.reports.data import Data
from hardbayes.reports.pieces import (
    Section,
    colour,
    details,
    difference_bar,
    mark,
    percent,
    section,
    share_bar,
    short,
    signed,
    table,
)

MAX_PROFILES = 24  # clusters whose profiles are printed
MAX_COLUMNS = 60  # columns from which on not all means are printed
N_APART = 8  # columns of a profile
N_TELLING = 6  # columns printed beside rows
N_PHRASES = 4  # about a cluster: more make no line

_RATIOS = {0.25: "a quarter of", 1 / 3: "a third of", 0.5: "half", 2.0: "twice", 3.0: "three times"}

_MAX_MEANS = 12  # clusters of the table of all means
_DEVIATION_LEVELS = (0.5, 1.0, 1.5, 2.0)  # standard deviations from which on a cell is darker
_MAX_GROUPS = 40
_MAX_CLUSTERS = 14
_SHARE_LEVELS = (0.1, 0.3, 0.5, 0.7)  # shares of a group from which on a cell is darker


class Profiles(NamedTuple):
    """What sets the largest clusters apart."""

    every: Moments  # of all rows
    found: list[Profile]  # with all columns where there are few
    n_clusters: int
    telling: list[int]  # columns that tell clusters apart, the best first
    complete: bool  # whether profiles have all columns that vary
    flags: NDArray[np.bool_]  # (v,): columns of zeros and ones
    amounts: NDArray[np.bool_]  # (v,): other columns without numbers below zero


def profiles_of(data: Data, labels: NDArray[np.int32], n_clusters: int) -> Profiles:
    """Return the profiles of the largest clusters."""
    n_columns = data.values.shape[1]
    complete = n_columns <= MAX_COLUMNS
    rows = data.rows if data.scaled else None
    largest = sorted(
        profiles(
            data.values, labels, n_clusters, rows=rows, weights=data.weights,
            n_columns=n_columns if complete else N_APART,
        ),
        key=lambda each: -each.size,
    )[:MAX_PROFILES]  # fmt: skip
    found = sorted(largest, key=lambda each: each.cluster)
    every = moments(data.values, slice(None), data.weights)
    apart: dict[int, float] = {}
    for each in found:
        for column, difference in zip(each.columns, each.differences, strict=True):
            gain = each.share * float(difference) ** 2
            apart[int(column)] = apart.get(int(column), 0.0) + gain
    ranked = sorted(apart, key=lambda column: (-apart[column], column))
    telling = ranked[:N_TELLING] or list(range(min(N_TELLING, n_columns)))
    low, high = column_range(data.values)
    flags = (low == 0) & (high == 1)
    flags[flags] = [
        np.isin(_column(data.values, at), (0, 1)).all() for at in np.flatnonzero(flags).tolist()
    ]
    return Profiles(every, found, n_clusters, telling, complete, flags, ~flags & (low >= 0))


def _column(values: Any, at: int) -> NDArray[np.floating]:
    """Return the entries of a column; of a sparse one those that are stored."""
    return values[:, [at]].data if issparse(values) else values[:, at]


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
        _sizes(found, columns),
        tag("div", [_card(each, found, columns) for each in found.found], class_="cards")
        if found.n_clusters > 1
        else None,
        _means(found, columns) if found.complete else None,
    )


def _sizes(found: Profiles, columns: list[str]) -> Markup:
    widest = max(each.share for each in found.found)
    rows = [
        (
            mark(each.cluster),
            short(each.size),
            percent(each.share),
            tag("td", share_bar(each.share, widest, colour(each.cluster))),
            short(each.spread),
            tag("td", in_words(each, found, columns), class_="words"),
        )
        for each in found.found
    ]
    head = ("cluster", "size", "share", "", "spread", tag("span", "in words", class_="words"))
    caption = join(
        "All clusters at a glance. ",
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
    told = in_words(profile, found, columns)
    words = tag("p", f"{told[0].upper()}{told[1:]}.")
    head = ("column", "here", "all rows", "± sd", "")
    return tag(
        "article",
        title,
        words,
        table(f"Cluster {profile.cluster}: columns that differ most", head, rows),
        class_="card",
    )


def _title(profile: Profile) -> str:
    rows = "row" if profile.size == 1 else "rows"  # or their weight
    return f"{short(profile.size)} {rows}, {percent(profile.share)}"


def in_words(profile: Profile, found: Profiles, columns: list[str]) -> str:
    """Return what sets a cluster apart, as one phrase: "mostly DE, spend twice the mean"."""
    phrases = [
        _phrase(columns[column], mean, found, column, difference)
        for column, mean, difference in zip(
            profile.columns, profile.means, profile.differences, strict=True
        )
        if abs(difference) >= _DEVIATION_LEVELS[0]
    ]
    return ", ".join(phrases[:N_PHRASES]) or "close to the mean of all rows in every column"


def _phrase(name: str, mean: float, found: Profiles, column: int, difference: float) -> str:
    every = float(found.every.means[column])
    if found.flags[column]:
        name = name.replace("=", " ")
        for least, word in ((0.97, "all"), (0.7, "mostly")):
            if mean >= least:
                return f"{word} {name}"
        return f"no {name}" if mean <= 0.03 else f"{percent(mean)} {name}"
    if not found.amounts[column] or every <= 0 or 0.9 < mean / every < 1.1:
        return f"{'high' if difference > 0 else 'low'} {name}"
    ratio = mean / every
    for near, words in _RATIOS.items():
        if abs(ratio / near - 1) < 0.08:
            return f"{name} {words} the mean"
    if ratio > 2:
        return f"{name} {ratio:.2g} times the mean"
    if ratio < 0.05:
        return f"almost no {name}"
    side = "above" if ratio > 1 else "below"
    return f"{name} {100 * abs(ratio - 1):.0f} % {side} the mean"


def _means(found: Profiles, columns: list[str]) -> Markup:
    shown = found.found[:_MAX_MEANS]
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
    steps = sum(abs(difference) >= least for least in _DEVIATION_LEVELS)
    return "" if not steps else f"{'above' if difference > 0 else 'below'}{steps}"


def groups_section(model: Any) -> Section | None:
    """Return the share of each cluster in each group; None where there is one group."""
    weights = np.asarray(model.group_cluster_weights_, np.float64)
    n_groups, k = weights.shape
    if n_groups == 1:
        return None
    totals = weights.sum(axis=1)
    shown = np.sort(np.argsort(-weights.sum(axis=0), kind="stable")[:_MAX_CLUSTERS])
    rows = []
    for group in np.argsort(-totals, kind="stable")[:_MAX_GROUPS]:
        cells = []
        for cluster in shown:
            share = weights[group, cluster] / totals[group] if totals[group] else 0.0
            steps = sum(share >= least for least in _SHARE_LEVELS)
            told = percent(share) if share else "-"
            cells.append(tag("td", told, class_=f"number above{steps}" if steps else "number"))
        name = str(model.groups_[group])
        rows.append((name, short(totals[group]), short(model.n_local_clusters_[group]), *cells))
    head = ["group", "rows", "clusters", *(mark(int(cluster)) for cluster in shown)]
    used = (weights > 0).sum(axis=0)
    mean = short(round(float(np.mean(model.n_local_clusters_)), 1))
    note = (
        f"{n_groups:,} groups use {k:,} clusters; a group uses {mean} of them on average, and "
        f"{int((used > 1).sum()):,} clusters are shared by several groups."
    )
    if n_groups > len(rows) or k > len(shown):
        note += f" The {len(rows)} largest groups and {len(shown)} largest clusters are shown."
    return section(
        "groups",
        "Which clusters the groups use",
        tag("p", note),
        table("Share of each cluster in the rows of a group, the largest group first", head, rows),
    )
