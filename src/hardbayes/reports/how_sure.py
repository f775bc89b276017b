"""How sure the clusters are: the posterior of their number, and the certainty of each row."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.html import Markup, tag
from hardbayes.core.loop import counted
from hardbayes.dp_means.estimator import DPMeans
from hardbayes.gaussian.estimator import GaussianDPMeans
from hardbayes.reports.data import Data, Given
from hardbayes.reports.pieces import (
    Scale,
    Section,
    details,
    line,
    mark,
    percent,
    picture,
    section,
    share_bar,
    short,
    table,
    text,
)
from hardbayes.samplers.how_sure import SURE, Certainty, certainty, is_quick

CHART = (640, 250)
MOST_NUMBERS = 15  # numbers of clusters that are drawn; their labels would overlap beyond
MOST_CLUSTERS = 24  # of the table of clusters, as many as are described elsewhere
N_DOUBTFUL = 12  # rows of the table of the least sure
LEAST_SHARE = 0.0005  # of the posterior that the chart and the table show


def how_sure_section(given: Given, data: Data, labels: NDArray[np.integer[Any]]) -> Section | None:
    """Return the section; None where there is no sampler for such a model, or none is wanted."""
    found = found_certainty(given)
    if found is None:
        return None
    if isinstance(found, str):
        return section("sure", "How sure", tag("p", found))
    if len(found.certainty) != data.n:
        raise ValueError(
            f"'certainty' is of {len(found.certainty)} rows, but X has {data.n}. Pass "
            "certainty=certainty(model, X)."
        )
    return section(
        "sure",
        "How sure",
        tag("ul", [tag("li", sentence) for sentence in found.sentences], class_="reasons"),
        tag("div", numbers_figure(found), rows_figure(found), class_="pair"),
        _clusters_table(found, labels),
        details("The least sure rows", _doubtful_table(found, data, labels)),
        details("Probability of each number of clusters", _numbers_table(found)),
    )


def found_certainty(given: Given) -> Certainty | str | None:
    """Return what the sampler says, or in words why it says nothing."""
    model, wanted = given.model, given.certainty
    if isinstance(wanted, Certainty):
        return wanted
    if not wanted or not isinstance(model, DPMeans | GaussianDPMeans):
        return None
    if given.sample_weight is not None:
        return "Rows have weights, for which there is no sampler."
    try:
        if is_quick(model, given.X):
            return certainty(model, given.X)
    except ValueError as error:  # a divergence without a sampler, or rows of another fit
        return f"The sampler does not say: {error}"
    return (
        "Sampling so many rows would take minutes. To see how sure they are, pass "
        "certainty=certainty(model, X) to report."
    )


def numbers_figure(found: Certainty) -> Markup:
    """Return the posterior of the number of clusters as bars."""
    likely = sorted(found.n_clusters_posterior.items(), key=lambda item: -item[1])[:MOST_NUMBERS]
    shown = {k: share for k, share in likely if share >= LEAST_SHARE}
    shown.setdefault(found.n_clusters, found.n_clusters_posterior.get(found.n_clusters, 0.0))
    bars = [(str(k), share, k == found.n_clusters) for k, share in sorted(shown.items())]
    fitted = shown[found.n_clusters]
    label = (
        f"Posterior of the number of clusters: {counted(found.n_clusters, 'cluster')}, as fitted, "
        f"have {percent(fitted)}"
    )
    caption = f"{label}. The fitted number is marked."
    return tag("figure", _bars(bars, label, "clusters"), tag("figcaption", caption))


def rows_figure(found: Certainty) -> Markup:
    """Return how many rows have which certainty."""
    tenths = np.minimum((10 * found.certainty + 1e-9).astype(int), 9)
    shares = np.bincount(tenths, minlength=10) / len(tenths)
    bars = [(str(10 * tenth), float(share), tenth == 9) for tenth, share in enumerate(shares)]
    label = f"Share of rows by their certainty: {percent(shares[9])} are at least {SURE:.0%} sure"
    caption = (
        f"{label}. The certainty of a row is the share of draws in which it lies in the cluster "
        "that matches its own."
    )
    drawn = _bars(bars, label, "certainty of rows, from so many per cent on")
    return tag("figure", drawn, tag("figcaption", caption))


def _bars(bars: list[tuple[str, float, bool]], label: str, name: str) -> Markup:
    """Return bars of shares with their values; each is (name, share, whether it is marked)."""
    width, height = CHART
    up = Scale(0.0, max(share for _, share, _ in bars) or 1.0, height - 56, 34)
    step = (width - 20) / len(bars)
    parts = []
    for at, (words, share, marked) in enumerate(bars):
        middle, top = 10 + (at + 0.5) * step, up.at(share)
        parts.append(
            tag(
                "rect", x=f"{middle - 0.36 * step:.1f}", y=f"{top:.1f}", rx=2,
                width=f"{0.72 * step:.1f}", height=f"{max(up.begin - top, 1):.1f}",
                class_="plateau chosen" if marked else "plateau",
            )
        )  # fmt: skip
        if share >= LEAST_SHARE:
            value = f"{100 * share:.0f}" if share >= 0.0095 else "<1"
            parts.append(text(middle, top - 7, f"{value} %", "name", "middle"))
        parts.append(text(middle, up.begin + 18, words, "", "middle"))
    parts.append(line(10, up.begin, width - 10, up.begin, "axis"))
    parts.append(text(width / 2, up.begin + 44, name, "name", "middle"))
    return picture(width, height, label, *parts, class_="chart")


def _clusters_table(found: Certainty, labels: NDArray[np.integer[Any]]) -> Markup:
    """Return how sure the rows of each cluster are."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels, minlength=found.n_clusters)
    parts = np.split(found.certainty[order], np.cumsum(sizes)[:-1])
    largest = np.argsort(-sizes, kind="stable")[:MOST_CLUSTERS]
    rows = [
        [
            mark(int(k)), short(float(sizes[k])), percent(float(parts[k].mean())),
            tag("td", share_bar(float(parts[k].mean()), 1.0)),
            percent(float((parts[k] >= SURE).mean())), percent(float(parts[k].min())),
        ]
        for k in sorted(largest.tolist())
        if sizes[k]
    ]  # fmt: skip
    caption = "How sure the rows of each cluster are"
    if found.n_clusters > len(rows):
        caption += f": the {len(rows)} largest"
    head = ("cluster", "rows", "mean certainty", "", f"at least {SURE:.0%} sure", "least sure")
    return table(caption, head, rows)


def _doubtful_table(found: Certainty, data: Data, labels: NDArray[np.integer[Any]]) -> Markup:
    named = "row" if data.row_names is None else "name"
    first = np.argsort(found.certainty, kind="stable")[:N_DOUBTFUL].tolist()
    rows = [
        (data.name(row), mark(int(labels[row])), percent(found.certainty[row])) for row in first
    ]
    return table("The least sure rows", (named, "cluster", "certainty"), rows, 2)


def _numbers_table(found: Certainty) -> Markup:
    rows = [
        (str(k), percent(share), "yes" if k == found.n_clusters else "")
        for k, share in found.n_clusters_posterior.items()
        if share >= LEAST_SHARE or k == found.n_clusters
    ]
    return table(
        "Probability of each number of clusters", ("clusters", "probability", "fitted"), rows
    )
