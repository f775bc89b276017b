"""Made tables of numbers, grades, yes and no and categories, with planted clusters or without.

Kinds are divided into two halves by name. The rule for the number of clusters was chosen on the
tuned half; the untuned half tells what it does on other kinds.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from benchmarks.clouds import Labels

#: Columns by name, as for a data frame.
Columns = dict[str, Any]
#: The columns of n rows.
Draw = Callable[[Generator, int], Columns]

ROWS = (300, 1000, 3000)


class Planted(NamedTuple):
    """A table, and its clusters."""

    name: str
    half: str
    columns: Columns
    member: Labels


def draw_of(kind: str, number: int) -> Columns:
    """Return a draw of a kind of tables without clusters."""
    rng = np.random.default_rng([number, list(KINDS).index(kind), 31])
    return KINDS[kind][1](rng, ROWS[number % len(ROWS)])


def planted(n_draws: int) -> Iterator[Planted]:
    """Yield tables with planted clusters, so many of each kind."""
    for at, (name, (half, k, draw)) in enumerate(PLANTED.items()):
        for number in range(n_draws):
            rng = np.random.default_rng([number, at, 32])
            member = rng.permutation(np.arange(800) % k)
            yield Planted(name, half, draw(rng, member), member)


# --- columns -------------------------------------------------------------------------------------


def _named(prefix: str, table: Any) -> Columns:
    return {f"{prefix}{j}": column for j, column in enumerate(np.asarray(table).T)}


def _numbers(rng: Generator, n: int, d: int = 3) -> Columns:
    return _named("number", rng.standard_normal((n, d)))


def _words(codes: Any) -> Any:
    return np.array([f"level {code}" for code in range(40)], dtype=object)[codes]


def _categories(rng: Generator, n: int, *sizes: int) -> Columns:
    return {
        f"category{j}": _words(rng.choice(size, n, p=rng.dirichlet(np.full(size, 5.0))))
        for j, size in enumerate(sizes)
    }


def _factor(rng: Generator, n: int, d: int) -> Any:
    """Return columns that have one variable in common."""
    return rng.standard_normal((n, 1)) + rng.standard_normal((n, d))


def _spiked(rng: Generator, values: Any, share: float) -> Any:
    return np.where(rng.random(values.shape) < share, 0.0, values)


def _with_holes(rng: Generator, columns: Columns, share: float) -> Columns:
    found = {}
    for name, column in columns.items():
        hole = rng.random(len(column)) < share
        text = column.dtype == object
        found[name] = np.where(hole, None if text else np.nan, column)
    return found


def _two_way(rng: Generator, n: int) -> Columns:
    """Return two categories that depend on each other, and two that do not."""
    first = rng.integers(0, 4, n)
    second = (first + rng.choice(4, n, p=[0.55, 0.15, 0.15, 0.15])) % 4
    return {"one": _words(first), "two": _words(second)} | _categories(rng, n, 3, 3)


def _curve(rng: Generator, n: int, of: Callable[[Any], Any]) -> Columns:
    x = rng.standard_normal(n)
    return {"x": x, "y": of(x) + 0.5 * rng.standard_normal(n)} | _categories(rng, n, 3)


def _spread_by_category(rng: Generator, n: int) -> Columns:
    group = rng.integers(0, 3, n)
    spread = np.array([0.5, 1.0, 2.0])[group][:, None]
    return _named("number", spread * rng.standard_normal((n, 2))) | {"group": _words(group)}


def _spread_by_number(rng: Generator, n: int) -> Columns:
    x = rng.random(n)
    return {"x": x, "y": (0.2 + 2 * x) * rng.standard_normal(n)} | _categories(rng, n, 3, 2)


def _shifted(rng: Generator, n: int) -> Columns:
    """Return a number whose mean depends a little on a category."""
    group = rng.integers(0, 3, n)
    numbers = _numbers(rng, n)
    return numbers | {"number0": numbers["number0"] + 0.5 * group, "group": _words(group)}


def _missing_where_large(rng: Generator, n: int) -> Columns:
    table = _factor(rng, n, 3)
    table[(table > 1.0) & (rng.random(table.shape) < 0.3)] = np.nan
    return _named("number", table) | _categories(rng, n, 3)


def _grades(values: Any, levels: int = 5) -> Any:
    return np.clip(np.round((levels + 1) / 2 + 0.8 * values), 1, levels)


def _yes(chances: Any, rng: Generator) -> Any:
    return np.where(rng.random(np.shape(chances)) < chances, "yes", "no").astype(object)


def _heaped(rng: Generator, n: int) -> Any:
    exact = np.round(rng.normal(45.0, 15.0, n))
    return np.where(rng.random(n) < 0.4, 5.0 * np.round(exact / 5.0), exact)


KINDS: dict[str, tuple[str, Draw]] = {
    "Gaussians, a category": ("tuned", lambda r, n: _numbers(r, n) | _categories(r, n, 4)),
    "Gaussians, three categories": (
        "untuned", lambda r, n: _numbers(r, n, 4) | _categories(r, n, 2, 3, 6),
    ),
    "two dummies": (
        "tuned", lambda r, n: _numbers(r, n) | _named("dummy", (r.random((n, 2)) < 0.4) * 1.0),
    ),
    "rare dummies": (
        "untuned", lambda r, n: _numbers(r, n) | _named("dummy", (r.random((n, 4)) < 0.06) * 1.0),
    ),
    "zero-inflated amount": (
        "tuned",
        lambda r, n: _numbers(r, n, 2) | {"amount": _spiked(r, r.lognormal(3, 1, n), 0.6)},
    ),
    "zero-inflated amounts and a category": (
        "untuned",
        lambda r, n: _named("amount", _spiked(r, r.lognormal(3, 1, (n, 2)), 0.4))
        | _categories(r, n, 4) | _numbers(r, n, 1),
    ),
    "log counts": (
        "tuned", lambda r, n: _numbers(r, n, 2) | {"count": np.log1p(r.poisson(2.0, n))},
    ),
    "counts": (
        "untuned",
        lambda r, n: _named("count", r.negative_binomial(2, 0.2, (n, 3))) | _categories(r, n, 3),
    ),
    "rounded": ("tuned", lambda r, n: _named("number", np.round(2 * r.standard_normal((n, 4))))),
    "heaped ages": (
        "untuned", lambda r, n: {"age": _heaped(r, n)} | _numbers(r, n, 2) | _categories(r, n, 2),
    ),
    "grades 1 to 5": ("tuned", lambda r, n: _named("grade", _grades(r.standard_normal((n, 6))))),
    "grades of one opinion": ("untuned", lambda r, n: _named("grade", _grades(_factor(r, n, 6)))),
    "yes/no only": ("tuned", lambda r, n: _named("item", _yes(np.full((n, 8), 0.4), r))),
    "yes/no of one factor": (
        "tuned",
        lambda r, n: _named("item", _yes(1 / (1 + np.exp(-1.5 * r.standard_normal((n, 1))
                                                         - np.linspace(-1, 1, 12))), r)),
    ),
    "rare yes/no only": (
        "untuned", lambda r, n: _named("item", _yes(np.full((n, 12), 0.1), r)),
    ),
    "yes/no of two factors": (
        "untuned",
        lambda r, n: _named("item", _yes(1 / (1 + np.exp(
            -1.5 * np.repeat(r.standard_normal((n, 2)), 6, axis=1))), r)),
    ),
    "categories only": ("tuned", lambda r, n: _categories(r, n, 2, 3, 4, 5)),
    "two-way table": ("untuned", _two_way),
    "correlated": (
        "tuned", lambda r, n: _named("number", _factor(r, n, 4)) | _categories(r, n, 3),
    ),
    "one factor of all kinds": (
        "untuned",
        lambda r, n: (lambda f: {
            "a": f[:, 0], "b": f[:, 1], "c": _grades(f[:, 2]), "d": _words((f[:, 3] > 0) * 1),
            "e": _words(np.digitize(f[:, 4], [-1, 0.5])),
        })(_factor(r, n, 5)),
    ),
    "lognormal": (
        "tuned", lambda r, n: _named("number", r.lognormal(0, 1, (n, 3))) | _categories(r, n, 3),
    ),
    "heavy tails": (
        "untuned", lambda r, n: _named("number", r.standard_t(3, (n, 3))) | _categories(r, n, 3),
    ),
    "y = x^2": ("tuned", lambda r, n: _curve(r, n, np.square)),
    "y = sin 2x": ("untuned", lambda r, n: _curve(r, n, lambda x: 2 * np.sin(2 * x))),
    "variance by category": ("tuned", _spread_by_category),
    "variance by number": ("untuned", _spread_by_number),
    "mean by category": ("untuned", _shifted),
    "holes": (
        "tuned",
        lambda r, n: _with_holes(
            r, _named("number", _factor(r, n, 4)) | _categories(r, n, 3, 2), 0.15
        ),
    ),
    "holes where large": ("untuned", _missing_where_large),
}  # fmt: skip


# --- planted clusters ----------------------------------------------------------------------------

PlantedDraw = Callable[[Generator, Labels], Columns]


def _customers(rng: Generator, y: Labels) -> Columns:
    n = len(y)
    buys = rng.random(n) < np.array([0.8, 0.3, 0.4, 0.7])[y]
    return {
        "age": rng.normal(np.array([28.0, 45.0, 60.0, 38.0])[y], 7.0).round(1),
        "income": np.exp(rng.normal(np.array([10.0, 10.8, 10.2, 11.0])[y], 0.3)).round(-2),
        "visits": rng.poisson(np.array([12.0, 3.0, 5.0, 8.0])[y]),
        "country": _words((rng.random(n) < np.array([0.2, 0.2, 0.7, 0.7])[y]) * 2
                          + rng.integers(0, 2, n)),
        "newsletter": _yes(np.array([0.8, 0.2, 0.5, 0.3])[y], rng),
        "spent": np.where(buys, np.exp(rng.normal(3.0 + 0.5 * (y == 3), 1.0)), 0.0).round(2),
        "stars": _grades(np.array([1.0, 0.0, -1.0, 1.0])[y] + rng.standard_normal(n)),
    }  # fmt: skip


def _levels_by_class(rng: Generator, y: Labels, sizes: list[int], peaked: float) -> Columns:
    """Return categories whose shares depend on the class."""
    found = {}
    for j, size in enumerate(sizes):
        shares = rng.dirichlet(np.full(size, peaked), y.max() + 1)
        heaps = shares.cumsum(axis=1)[y]
        found[f"category{j}"] = _words(
            (rng.random((len(y), 1)) > heaps).sum(axis=1).clip(0, size - 1)
        )
    return found


def _items(rng: Generator, y: Labels, m: int, low: float, high: float) -> Columns:
    chances = np.where(rng.random((y.max() + 1, m)) < 0.5, low, high)
    return _named("item", _yes(chances[y], rng))


def _placed(rng: Generator, y: Labels, d: int, apart: float) -> Any:
    middle = apart * rng.standard_normal((y.max() + 1, d))
    return middle[y] + rng.standard_normal((len(y), d))


def _medical(rng: Generator, y: Labels) -> Columns:
    n = len(y)
    return {
        "pressure": rng.normal(120 + 25 * y, 12, n).round(),
        "rate": rng.normal(70 + 10 * y, 9, n).round(),
        "smoker": _yes(0.2 + 0.5 * y, rng),
        "pain": _grades(rng.normal(1.5 * y - 0.7, 0.8, n)),
        "sex": _words(rng.integers(0, 2, n)),
    }


def _spreads(rng: Generator, y: Labels) -> Columns:
    """Return clusters of which each has a spread of its own."""
    numbers = 2.2 * rng.standard_normal((4, 3))[y]
    numbers = numbers + np.array([0.3, 0.6, 1.0, 1.5])[y][:, None] * rng.standard_normal(
        (len(y), 3)
    )
    return _named("number", numbers) | _levels_by_class(rng, y, [3, 4], 1.0)


PLANTED: dict[str, tuple[str, int, PlantedDraw]] = {
    "customers": ("tuned", 4, _customers),
    "customers with holes": (
        "untuned", 4, lambda r, y: _with_holes(r, _customers(r, y), 0.1),
    ),
    "numbers beside empty categories": (
        "tuned", 3,
        lambda r, y: _named("number", _placed(r, y, 4, 2.5)) | _categories(r, len(y), 2, 3, 5, 8),
    ),
    "categories beside empty numbers": (
        "untuned", 3,
        lambda r, y: _levels_by_class(r, y, [4, 4, 5, 3, 6], 0.4) | _numbers(r, len(y)),
    ),
    "12 yes/no items, 3 classes": ("tuned", 3, lambda r, y: _items(r, y, 12, 0.15, 0.85)),
    "20 yes/no items, 4 classes": ("untuned", 4, lambda r, y: _items(r, y, 20, 0.2, 0.8)),
    "categories only, 3 classes": (
        "tuned", 3, lambda r, y: _levels_by_class(r, y, [3, 4, 5, 3, 4, 5, 6, 2], 0.7),
    ),
    "medical": ("untuned", 2, _medical),
    "many columns, 5 classes": (
        "untuned", 5,
        lambda r, y: _named("number", _placed(r, y, 6, 1.2)) | _levels_by_class(r, y, [4] * 6, 0.7)
        | _items(r, y, 4, 0.2, 0.8),
    ),
    "amounts, often zero": (
        "tuned", 3,
        lambda r, y: _named("amount", _spiked(r, np.exp(_placed(r, y, 3, 1.5)), 0.4))
        | _named("number", _placed(r, y, 2, 1.5)) | _levels_by_class(r, y, [4], 0.7),
    ),
    "spreads of their own": ("untuned", 4, _spreads),
    "grades, 3 classes": (
        "untuned", 3, lambda r, y: _named("grade", _grades(_placed(r, y, 8, 0.9))),
    ),
}  # fmt: skip
