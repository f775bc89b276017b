"""Tables with discrete columns and no clusters, as people code them: how many are divided."""

from collections import defaultdict
from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from benchmarks.choosers import Method, dp_means, gaussian_dp_means, n_found, quiet
from benchmarks.clouds import Table
from benchmarks.options import Options
from benchmarks.processes import for_each
from benchmarks.report import Section
from benchmarks.timing import progress

NOTES = """\
Draws of 300 to 5,000 rows whose columns are independent, or have one factor in common: numbers
beside categories as dummies, spikes, counts, grades, round numbers. A cell says how many of them
were given more than one cluster, and the numbers found. Kinds go by name into two halves: the
numbers of `core/discrete.py` were chosen on the tuned half. `--draws N` sets how many draws of each
kind there are."""

METHODS: dict[str, Method] = {"DPMeans()": dp_means, "GaussianDPMeans()": gaussian_dp_means}
DRAWS, QUICK_DRAWS = 6, 1
ROWS = (300, 1000, 5000)


def run(options: Options) -> Section:
    """Fit every draw once with each estimator."""
    section = Section("Discrete columns without clusters", ["kind", "half", *METHODS], NOTES)
    draws = QUICK_DRAWS if options.quick else options.draws or DRAWS
    sums = {half: dict.fromkeys(METHODS, 0) for half in ("tuned", "untuned")}
    kinds = {half: sum(of == half for of, _ in KINDS.values()) for half in sums}
    tasks = [(kind, number) for kind in KINDS for number in range(draws)]
    numbers: dict[str, list[list[int]]] = defaultdict(list)
    for (kind, _), found in for_each(_found, tasks, options):
        numbers[kind].append(found)
    for kind, (half, _) in KINDS.items():
        cells = []
        for name, of_method in zip(METHODS, zip(*numbers[kind], strict=True), strict=True):
            divided = [k for k in of_method if k > 1]
            sums[half][name] += len(divided)
            listed = f" ({', '.join(map(str, divided))})" if divided else ""
            cells.append(f"{len(divided)} of {draws}{listed}")
        section.add(kind, half, *cells)
    for half, by_name in sums.items():
        cells = [f"{n} of {kinds[half] * draws}" for n in by_name.values()]
        section.add("all", half, *cells)
    return section


def _found(task: tuple[str, int]) -> list[int]:
    """Return the number of clusters that each estimator finds in a draw of a kind."""
    kind, number = task
    if not number:
        progress(f"discrete columns, {kind}")
    rng = np.random.default_rng([number, list(KINDS).index(kind)])
    X = KINDS[kind][1](rng, ROWS[number % len(ROWS)])
    return [n_found(quiet(method, X, 1)) for method in METHODS.values()]


# --- columns -------------------------------------------------------------------------------------


def _numbers(rng: Generator, n: int, d: int = 3) -> Table:
    return rng.standard_normal((n, d))


def _dummies(rng: Generator, n: int, shares: int | np.ndarray, dropped: bool = False) -> Table:
    """Return a category as dummies (n, levels); of equal shares, where a number is given."""
    p = np.full(shares, 1 / shares) if isinstance(shares, int) else shares / np.sum(shares)
    return np.eye(len(p))[rng.choice(len(p), size=n, p=p)][:, int(dropped) :]


def _scaled(*columns: Table) -> Table:
    """Return columns side by side, standardised."""
    rows = np.column_stack(columns)
    return (rows - rows.mean(axis=0)) / np.maximum(rows.std(axis=0), 1e-9)


def _with_copy(rows: Table, of: Callable[[Table], Table]) -> Table:
    """Return columns, and a function of the first."""
    return _scaled(rows, of(rows[:, 0]))


def _spike(rng: Generator, values: Table, share: float, at: float = 0.0) -> Table:
    return np.where(rng.random(values.shape) < share, at, values)


def _factor(rng: Generator, n: int, d: int) -> Table:
    """Return columns that have one variable in common."""
    return rng.standard_normal((n, 1)) + rng.standard_normal((n, d))


def _zipf(levels: int) -> np.ndarray:
    return 1.0 / np.arange(1, levels + 1)


def _negative_binomial(rng: Generator, n: int) -> Table:
    return rng.negative_binomial(2, 0.1, n).astype(float)


def _prices(rng: Generator, n: int) -> Table:
    points = np.array([4.99, 9.99, 14.99, 19.99, 29.99, 49.99, 79.99, 99.99, 149.99])
    return points[np.minimum(rng.poisson(3.0, n), len(points) - 1)]


def _heaped(rng: Generator, n: int, step: float) -> Table:
    exact = np.round(rng.normal(45.0, 15.0, n))
    return np.where(rng.random(n) < 0.4, step * np.round(exact / step), exact)


KINDS: dict[str, tuple[str, Callable[[Generator, int], Table]]] = {
    "one-hot of 4, scaled": ("tuned", lambda r, n: _scaled(_numbers(r, n), _dummies(r, n, 4))),
    "one-hot of 4, as it is": (
        "untuned", lambda r, n: np.column_stack([_numbers(r, n), _dummies(r, n, 4)]),
    ),
    "yes/no pair": ("tuned", lambda r, n: _scaled(_numbers(r, n), _dummies(r, n, 2))),
    "two yes/no pairs": (
        "untuned", lambda r, n: _scaled(_numbers(r, n), _dummies(r, n, 2), _dummies(r, n, 2)),
    ),
    "regions of unequal size": (
        "tuned", lambda r, n: _scaled(_numbers(r, n), _dummies(r, n, _zipf(12))),
    ),
    "30 towns": ("untuned", lambda r, n: _scaled(_numbers(r, n), _dummies(r, n, _zipf(30)))),
    "a dropped level": (
        "tuned", lambda r, n: _scaled(_factor(r, n, 3), _dummies(r, n, 5, dropped=True)),
    ),
    "two dropped levels": (
        "untuned",
        lambda r, n: _scaled(
            _numbers(r, n), _dummies(r, n, 3, dropped=True), _dummies(r, n, 4, dropped=True)
        ),
    ),
    "categories only": (
        "tuned", lambda r, n: np.column_stack([_dummies(r, n, k) for k in (3, 4, 5)]),
    ),
    "one category only": ("untuned", lambda r, n: _dummies(r, n, _zipf(6))),
    "yes/no items": ("tuned", lambda r, n: (r.random((n, 8)) < 0.4).astype(float)),
    "rare yes/no items": (
        "untuned", lambda r, n: _scaled(_numbers(r, n, 2), (r.random((n, 5)) < 0.05) * 1.0),
    ),
    "yes/no beside a factor": (
        "untuned", lambda r, n: _scaled(_factor(r, n, 4), (r.random((n, 2)) < 0.5) * 1.0),
    ),
    "amounts, mostly zero": (
        "tuned", lambda r, n: _scaled(_numbers(r, n, 2), _spike(r, r.lognormal(3, 1, n), 0.6)),
    ),
    "two amounts, often zero": (
        "untuned",
        lambda r, n: _scaled(_numbers(r, n, 2), _spike(r, r.lognormal(3, 1, (n, 2)), 0.4)),
    ),
    "counts, often zero": (
        "tuned", lambda r, n: _scaled(_numbers(r, n, 2), _spike(r, r.poisson(12.0, n) * 1.0, 0.4)),
    ),
    "three counts, often zero": (
        "tuned", lambda r, n: _scaled(_spike(r, r.poisson(10.0, (n, 3)) * 1.0, 0.5)),
    ),
    "two counts, often zero, and hours": (
        "tuned",
        lambda r, n: _scaled(
            _numbers(r, n, 2),
            _spike(r, r.poisson(20.0, (n, 2)) * 1.0, 0.3),
            _spike(r, np.round(r.normal(38.0, 6.0, n)), 0.35),
        ),
    ),
    "visits, often zero": (
        "untuned",
        lambda r, n: _scaled(_numbers(r, n, 3), _spike(r, _negative_binomial(r, n), 0.5)),
    ),
    "log counts": ("tuned", lambda r, n: _scaled(_numbers(r, n, 2), np.log1p(r.poisson(2.0, n)))),
    "log counts, three": (
        "untuned", lambda r, n: np.log1p(r.poisson([1.0, 3.0, 8.0], (n, 3)) * 1.0),
    ),
    "square roots of counts": (
        "untuned", lambda r, n: _scaled(_numbers(r, n, 2), np.sqrt(_negative_binomial(r, n))),
    ),
    "grades": ("tuned", lambda r, n: r.binomial(4, 0.6, (n, 6)) + 1.0),
    "grades of one opinion": (
        "untuned", lambda r, n: np.clip(np.round(3 + 0.7 * _factor(r, n, 5)), 1, 5),
    ),
    "mean in place of holes": (
        "tuned", lambda r, n: _scaled(_numbers(r, n, 2), _spike(r, r.standard_normal(n), 0.3)),
    ),
    "percentages, often all": (
        "untuned",
        lambda r, n: _scaled(_numbers(r, n, 2), np.minimum(100.0, r.normal(90.0, 15.0, n))),
    ),
    "prices": ("untuned", lambda r, n: _scaled(_numbers(r, n, 2), np.log(_prices(r, n)))),
    "reported ages": ("tuned", lambda r, n: _scaled(_numbers(r, n, 2), _heaped(r, n, 5.0))),
    "reported incomes": (
        "untuned",
        lambda r, n: _scaled(_numbers(r, n, 2), np.log(20 + np.abs(_heaped(r, n, 10.0)))),
    ),
    "codes of a category": (
        "tuned", lambda r, n: _scaled(_numbers(r, n), r.choice(7, n) * 1.0),
    ),
    "weekday and hour": (
        "untuned",
        lambda r, n: _scaled(_numbers(r, n, 2), r.integers(0, 7, n), r.integers(8, 19, n)),
    ),
    "children and years": (
        "untuned",
        lambda r, n: _scaled(r.poisson(1.2, n), r.integers(1950, 2010, n), _numbers(r, n, 1)),
    ),
    "rounded copy": (
        "tuned", lambda r, n: _with_copy(_numbers(r, n), np.round),
    ),
    "band of a number": (
        "untuned", lambda r, n: _with_copy(_numbers(r, n), lambda x: np.digitize(x, [-1, 0, 1])),
    ),
}  # fmt: skip
