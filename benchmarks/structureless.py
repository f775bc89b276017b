"""Draws without clusters, of many kinds."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator

from benchmarks.clouds import Table

ROWS = (50, 5000)
COLUMNS = (1, 50)


def structureless(n_draws: int) -> Iterator[tuple[str, Table]]:
    """Yield draws of one kind after the other, of 50 to 5,000 rows and 1 to 50 columns."""
    for number in range(n_draws):
        rng = np.random.default_rng([number, 15])
        name = list(KINDS)[number % len(KINDS)]
        n, d = (int(np.exp(rng.uniform(*np.log([a, b + 1])))) for a, b in (ROWS, COLUMNS))
        yield name, KINDS[name](rng, n, d)


def _ball(rng: Generator, n: int, d: int) -> Table:
    x = rng.standard_normal((n, d))
    ball: Table = x / np.linalg.norm(x, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)
    return ball


def _correlated(rng: Generator, n: int, d: int) -> Table:
    return rng.standard_normal((n, d)) @ (rng.standard_normal((d, d)) * np.exp(-np.arange(d) / 3))


def _one_factor(rng: Generator, n: int, d: int) -> Table:
    """Return columns that have one variable in common, as the sizes of animals."""
    return rng.standard_normal((n, 1)) + rng.uniform(0.2, 1.0) * rng.standard_normal((n, d))


def _student(rng: Generator, n: int, d: int) -> Table:
    return rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(4, (n, 1)) / 4)


def _box(rng: Generator, n: int, d: int) -> Table:
    return rng.random((n, d)) * np.exp(rng.standard_normal(d))


def _contaminated(rng: Generator, n: int, d: int) -> Table:
    """Return a Gaussian of which one row in ten is three times as far out."""
    return rng.standard_normal((n, d)) * np.where(rng.random((n, 1)) < 0.1, 3.0, 1.0)


def _units(rng: Generator, n: int, d: int) -> Table:
    """Return Gaussian and exponential columns of quite different units."""
    columns = np.where(rng.random(d) < 0.5, rng.standard_normal((n, d)), rng.exponential(1, (n, d)))
    return columns * 10.0 ** rng.uniform(-2, 2, d)


def _lengths(rng: Generator, n: int, d: int) -> Table:
    """Return columns that are proportional to the size of the row, as measures of a body."""
    sizes = np.exp(0.3 * rng.standard_normal((n, 1)))
    return sizes * np.exp(0.1 * rng.standard_normal((n, d))) * np.exp(rng.standard_normal(d))


def _triangle(rng: Generator, n: int, d: int) -> Table:
    """Return the sum of columns that are sorted: a cone."""
    return np.sort(rng.random((n, d)), axis=1) * np.sqrt(np.arange(1, d + 1))


def _round_numbers(rng: Generator, n: int, d: int) -> Table:
    """Return numbers of which two in three are reported in fives."""
    exact = np.round(rng.normal(60.0, 12.0, (n, d)))
    return np.where(rng.random((n, d)) < 2 / 3, 5.0 * np.round(exact / 5.0), exact)


KINDS: dict[str, Callable[[Generator, int, int], Table]] = {
    "Gaussian": lambda rng, n, d: rng.standard_normal((n, d)),
    "correlated Gaussian": _correlated,
    "cube": lambda rng, n, d: rng.random((n, d)),
    "ball": _ball,
    "line": lambda rng, n, d: rng.random((n, 1)) * rng.standard_normal(d),
    "exponential": lambda rng, n, d: rng.exponential(size=(n, d)),
    "Laplace": lambda rng, n, d: rng.laplace(size=(n, d)),
    "lognormal": lambda rng, n, d: np.exp(0.6 * rng.standard_normal((n, d))),
    "Student t": _student,
    "gamma": lambda rng, n, d: rng.gamma(3.0, size=(n, d)),
    "integers": lambda rng, n, d: rng.integers(0, 12, (n, d)).astype(np.float64),
    "simplex": lambda rng, n, d: rng.dirichlet(np.ones(d + 1), n),
    "box": _box,
    "one factor": _one_factor,
    "contaminated Gaussian": _contaminated,
    "Student t columns": lambda rng, n, d: rng.standard_t(3.0, (n, d)),
    "logistic": lambda rng, n, d: rng.logistic(size=(n, d)),
    "beta": lambda rng, n, d: rng.beta(2.0, 5.0, (n, d)),
    "different units": _units,
    "sizes of bodies": _lengths,
    "cone": _triangle,
    "survey answers": lambda rng, n, d: rng.binomial(4, 0.6, (n, d)) + 1.0,
    "counts": lambda rng, n, d: rng.poisson(rng.uniform(0.5, 4.0, d), (n, d)).astype(np.float64),
    "round numbers": _round_numbers,
    "rounded Gaussian": lambda rng, n, d: np.round(rng.normal(0.0, 3.0, (n, d))),
}
