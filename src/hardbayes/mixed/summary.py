"""What sets clusters of a mixed table apart, in words: means, shares of levels, spikes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from scipy.special import rel_entr

from hardbayes.core.arrays import Floats
from hardbayes.mixed.clusters import Labels
from hardbayes.mixed.coding import Coding, Number
from hardbayes.mixed.reading import Column

SHOWN_LEVELS = 3  # of a category, those whose shares differ most
_YES = {"1", "true", "yes", "y", "t", "ja", "oui"}  # levels that are told as "yes"


class Trait(NamedTuple):
    """A column of the table in a cluster."""

    name: str
    words: str  # in the cluster
    usual: str  # in all rows
    apart: float  # nats by which the cluster differs from all rows there
    shares: tuple[tuple[str, float, float], ...] = ()  # levels: name, share, share in all rows

    def __str__(self) -> str:
        return f"{self.name} {self.words} ({self.usual})"


def traits_of(
    matrix: Floats, coding: Coding, labels: Labels, k: int, weights: Floats
) -> list[list[Trait]]:
    """Return the traits of each cluster, in the order of the columns."""
    by_column = {each.column: each for each in coding.numbers}
    used = [at for at, column in enumerate(coding.columns) if column.is_category or at in by_column]
    found: list[list[Trait]] = [[] for _ in range(k)]
    for at in used:
        column, values = coding.columns[at], matrix[:, at]
        for cluster in range(k):
            own = labels == cluster
            if column.is_category:
                trait = _category(column, values, own, weights)
            else:
                trait = _number(column, by_column[at], values, own, weights)
            found[cluster].append(trait)
    return found


def most_apart(traits: list[Trait], number: int) -> list[Trait]:
    """Return the traits that differ most from all rows."""
    ranked = sorted(range(len(traits)), key=lambda at: (-traits[at].apart, at))
    return [traits[at] for at in ranked[:number] if traits[at].apart > 0]


def summary_of(model: Any, matrix: Floats, labels: Labels, n_columns: int) -> dict[str, Any]:
    """Return a table with a row for each cluster: its size, what sets it apart, every column."""
    k, n = model.n_clusters_, len(labels)
    traits = traits_of(matrix, model._model.coding, labels, k, np.ones(n))
    sizes = np.bincount(labels, minlength=k)
    table: dict[str, Any] = {
        "cluster": np.arange(k),
        "size": sizes,
        "share": sizes / n,
        "apart": _texts("; ".join(map(str, most_apart(each, n_columns))) for each in traits),
    }
    for at, trait in enumerate(traits[0]):
        name = trait.name if trait.name not in table else f"{trait.name} (column)"
        table[name] = _texts(f"{each[at].words} ({each[at].usual})" for each in traits)
    return table


def _texts(words: Any) -> Any:
    return np.array(list(words), dtype=object)


def _category(column: Column, values: Floats, own: Any, weights: Floats) -> Trait:
    """Return the shares of the levels that differ most, as "DE 61 %, FR 20 %"."""
    known = values >= 0
    levels = np.where(known, values, 0).astype(np.int64)
    here, every = (
        np.bincount(levels[part], weights[part], len(column.levels))
        for part in (own & known, known)
    )
    shares, usual = _shares(here), _shares(every)
    apart = float(rel_entr(shares, usual).sum()) if here.sum() else 0.0
    names = [_level(column, at) for at in range(len(column.levels))]
    order = np.argsort(-shares, kind="stable")[:SHOWN_LEVELS]
    if column.kind == "yes/no":
        order = np.array([_positive(column)])
    if not here.sum():
        return Trait(column.name, "not known", _listed(names, usual, order), 0.0)
    return Trait(
        column.name, _listed(names, shares, order), _listed(names, usual, order), apart,
        tuple((names[at], float(shares[at]), float(usual[at])) for at in order),
    )  # fmt: skip


def _positive(column: Column) -> int:
    """Return which of two levels is told: that which says yes, else the second."""
    words = [level.lower() in _YES for level in column.levels]
    return words.index(True) if any(words) else 1


def _level(column: Column, at: int) -> str:
    level = column.levels[at]
    if column.kind != "yes/no":
        return level
    return "yes" if level.lower() in _YES else level


def _shares(counts: Any) -> Floats:
    total = counts.sum()
    return np.asarray(counts / total if total else counts, np.float64)


def _listed(names: Sequence[str], shares: Floats, order: Any) -> str:
    return ", ".join(f"{names[at]} {100 * shares[at]:.0f} %" for at in order if shares[at] > 0) or (
        f"{names[order[0]]} 0 %"
    )


def _number(column: Column, number: Number, values: Floats, own: Any, weights: Floats) -> Trait:
    """Return a mean, after the shares of spikes, as "60 % none; else 42"."""
    known = ~np.isnan(values)
    words, apart = [], 0.0
    coded = number.code(values)
    is_spike = known & np.isnan(coded)
    for part in (own & known, known):
        rest = part & ~is_spike
        mean = _mean(values, rest, weights)
        told = "no value" if mean is None else _told(column, mean)
        shares = [
            f"{100 * weights[part & (values == spike)].sum() / weights[part].sum():.0f} % "
            f"{'none' if spike == 0 else f'at {spike:g}'}"
            for spike in number.spikes
            if weights[part].sum() > 0
        ]
        words.append("; ".join([*shares, f"else {told}"] if shares else [told]))
    here, every = (_mean(coded, part & known & ~is_spike, weights) for part in (own, known))
    if here is not None and every is not None:
        spread = _mean(np.square(coded - every), known & ~is_spike, weights) or 1.0
        apart += 0.5 * (here - every) ** 2 / spread
    for spike in number.spikes:
        at = [weights[p & (values == spike)].sum() / max(weights[p].sum(), 1e-300)
              for p in (own & known, known)]  # fmt: skip
        pairs = np.array([at, [1 - each for each in at]])
        apart += float(rel_entr(pairs[:, 0], np.maximum(pairs[:, 1], 1e-300)).sum())
    return Trait(column.name, words[0], words[1], apart)


def _mean(values: Floats, part: Any, weights: Floats) -> float | None:
    total = weights[part].sum()
    return float(weights[part] @ values[part] / total) if total > 0 else None


def _told(column: Column, mean: float) -> str:
    """Return a mean as people write it: a date, a level of an order, or a number."""
    if column.kind == "date":
        return (datetime(1970, 1, 1) + timedelta(days=mean)).date().isoformat()
    if column.levels:
        return f"{mean:.1f} ({column.levels[round(mean)]})"
    return f"{mean:,.0f}" if 1000 <= abs(mean) < 1e12 else f"{mean:.4g}"
