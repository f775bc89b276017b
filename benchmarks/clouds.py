"""Labelled tables and generated groups, for what chooses the number of clusters."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from benchmarks.data import plane

Table = NDArray[np.float64]
Labels = NDArray[np.intp]


class Labelled(NamedTuple):
    """Rows, and the group that each belongs to."""

    name: str
    X: Table
    member: Labels


def shipped() -> Iterator[Labelled]:
    """Yield the tables that scikit-learn ships, raw and standardised."""
    for name in ("iris", "wine", "breast_cancer", "digits"):
        X, member = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield Labelled(name, X, member)
        yield Labelled(f"{name}, standardised", StandardScaler().fit_transform(X), member)


def generated() -> Iterator[Labelled]:
    """Yield generated groups: round, unequal, long, heavy-tailed, skewed, nested and rounded."""
    for name, n, k, gap, grid in (
        ("like S1", 5_000, 15, 5.0, False),
        ("like A1", 3_000, 20, 6.0, False),
        ("like D31", 3_100, 31, 5.0, False),
        ("like Birch1", 100_000, 100, 4 * 2**0.5, True),
    ):
        yield Labelled(name, *plane(n, k, gap=gap, grid=grid, seed=0))
    for number, (name, family) in enumerate(FAMILIES.items()):
        yield Labelled(name, *family(np.random.default_rng(number)))


def _centres(rng: Generator, k: int, d: int, apart: float) -> Table:
    """Return k centres, the two nearest of which are so far apart."""
    tries = [rng.standard_normal((k, d)) for _ in range(50)]
    gaps = [np.min(_distances(centres)) for centres in tries]
    best = int(np.argmax(gaps))
    return tries[best] / gaps[best] * apart


def _distances(points: Table) -> Table:
    """Return the distances of all pairs of points."""
    i, j = np.triu_indices(len(points), 1)
    lengths: Table = np.linalg.norm(points[i] - points[j], axis=1)
    return lengths


def _segments(rng: Generator) -> tuple[Table, Labels]:
    member = rng.choice(5, 20_000, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    spread = np.array([0.6, 0.8, 1.0, 1.2, 1.4])[member, np.newaxis]
    return _centres(rng, 5, 8, 6.0)[member] + spread * rng.standard_normal((20_000, 8)), member


def _long(rng: Generator) -> tuple[Table, Labels]:
    member = rng.integers(0, 6, 1500)
    shape = np.linalg.qr(rng.standard_normal((4, 4)))[0] * [1.4, 1.0, 0.7, 0.4]
    return _centres(rng, 6, 4, 7.0)[member] + rng.standard_normal((1500, 4)) @ shape.T, member


def _heavy(rng: Generator) -> tuple[Table, Labels]:
    member = rng.integers(0, 5, 1500)
    tails = np.sqrt(rng.chisquare(4, (1500, 1)) / 4)
    return _centres(rng, 5, 3, 9.0)[member] + rng.standard_normal((1500, 3)) / tails, member


def _skewed(rng: Generator) -> tuple[Table, Labels]:
    member = rng.integers(0, 4, 1200)
    return _centres(rng, 4, 5, 7.0)[member] + rng.gamma(2.0, 0.7, (1200, 5)), member


def _noise_columns(rng: Generator) -> tuple[Table, Labels]:
    member = rng.integers(0, 4, 800)
    near = _centres(rng, 4, 4, 7.0)[member] + rng.standard_normal((800, 4))
    return np.hstack([near, rng.standard_normal((800, 20))]), member


def _nested(rng: Generator) -> tuple[Table, Labels]:
    inner = [centre + _centres(rng, 3, 3, 5.0) for centre in _centres(rng, 3, 3, 30.0)]
    member = rng.integers(0, 9, 1400)
    return np.vstack(inner)[member] + rng.standard_normal((1400, 3)), member


def _rounded(rng: Generator) -> tuple[Table, Labels]:
    member = rng.integers(0, 6, 1200)
    return np.round(_centres(rng, 6, 3, 7.0)[member] + rng.standard_normal((1200, 3))), member


FAMILIES: dict[str, Callable[[Generator], tuple[Table, Labels]]] = {
    "segments of 40 to 5 %": _segments,
    "long": _long,
    "heavy tails": _heavy,
    "skewed": _skewed,
    "20 noise columns": _noise_columns,
    "nested 3 x 3": _nested,
    "rounded": _rounded,
}
