"""Shapes and round clusters, in two halves by name: one to choose constants on, one to judge.

Families, not single sets, are divided. ``TUNED`` names those on which the constants of
`hardbayes.kernel.choice` were chosen; all other sets were looked at when these stood.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_circles,
    make_moons,
    make_s_curve,
    make_swiss_roll,
)
from sklearn.preprocessing import StandardScaler

from benchmarks.clouds import Labelled, Labels, Table

#: Beginnings of the names of the tuned half, of generated sets and of those in files.
TUNED = (
    "blobs", "groups of blobs", "pairs, 2", "pairs, 32", "aniso", "varied", "moons", "circles",
    "spirals", "ring and blob", "noise around blobs", "iris", "wine", "digits",
    "atom", "hepta", "lsun", "tetra", "twodiamonds", "wingnut",
    "a1", "aggregation", "s1", "unbalance", "g2mg_2_", "g2mg_32_", "optdigits",
)  # fmt: skip

Rows = tuple[Table, Labels]


def is_tuned(name: str) -> bool:
    """Whether constants were chosen on this set, or on one of its family."""
    return name.startswith(TUNED)


def kernel_sets() -> Iterator[Labelled]:
    """Yield the generated sets, then the tables that scikit-learn ships."""
    for number, (name, make) in enumerate(GENERATED.items()):
        yield Labelled(name, *make(np.random.default_rng([number, 28])))
    for name, load in (("iris", load_iris), ("wine", load_wine), ("cancer", load_breast_cancer)):
        X, y = load(return_X_y=True)
        yield Labelled(name, StandardScaler().fit_transform(X), y)
    X, y = load_digits(return_X_y=True)
    yield Labelled("digits", X, y)


def _blobs(k: int, d: int, n: int, spread: float) -> Callable[[Generator], Rows]:
    def make(rng: Generator) -> Rows:
        X, y = make_blobs(n, d, centers=k, cluster_std=spread, random_state=_seed(rng))
        return X, y

    return make


def _seed(rng: Generator) -> int:
    return int(rng.integers(1 << 31))


def _pair(d: int, gap: float) -> Callable[[Generator], Rows]:
    """Return two Gaussians whose means are so many standard deviations apart."""

    def make(rng: Generator) -> Rows:
        y = np.arange(800) % 2
        X = rng.standard_normal((800, d))
        X += y[:, np.newaxis] * gap / np.sqrt(d)
        return X, y

    return make


def _grouped_blobs(rng: Generator) -> Rows:
    """Return three far groups of three near Gaussians each."""
    far = 40.0 * np.array([[0.0, 0.0], [1.0, 0.2], [0.3, 1.0]])
    near = 5.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])
    centres = (far[:, np.newaxis] + near).reshape(-1, 2)
    y = np.arange(900) % 9
    return centres[y] + rng.standard_normal((900, 2)), y


def _sheared(rng: Generator) -> Rows:
    X, y = make_blobs(600, 2, centers=3, random_state=170)
    return X @ np.array([[0.6, -0.6], [-0.4, 0.8]]), y


def _varied(rng: Generator) -> Rows:
    return make_blobs(600, 2, centers=3, cluster_std=[1.0, 2.5, 0.5], random_state=170)


def _moons(noise: float) -> Callable[[Generator], Rows]:
    return lambda rng: make_moons(500, noise=noise, random_state=_seed(rng))


def _circles(noise: float) -> Callable[[Generator], Rows]:
    return lambda rng: make_circles(600, noise=noise, factor=0.45, random_state=_seed(rng))


def _arms(arms: int, noise: float) -> Callable[[Generator], Rows]:
    """Return rows along arms of a spiral."""

    def make(rng: Generator) -> Rows:
        n = 700
        arm, along = np.arange(n) % arms, 3.0 * np.pi * np.sqrt(rng.uniform(0.03, 1.0, n))
        angle = along + 2.0 * np.pi * arm / arms
        X = along[:, np.newaxis] / 3.0 * np.column_stack([np.cos(angle), np.sin(angle)])
        return X + noise * rng.standard_normal((n, 2)), arm

    return make


def _ring(rng: Generator, n: int, radius: float, noise: float) -> Table:
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    ring: Table = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return ring + noise * rng.standard_normal((n, 2))


def _ring_and_blob(rng: Generator) -> Rows:
    X = np.concatenate([_ring(rng, 400, 4.0, 0.25), 0.7 * rng.standard_normal((200, 2))])
    return X, np.repeat([0, 1], [400, 200])


def _noisy_blobs(rng: Generator) -> Rows:
    """Return Gaussians and uniform rows around them, which are no cluster."""
    X, y = make_blobs(600, 2, centers=4, cluster_std=0.6, random_state=_seed(rng))
    low, high = X.min(axis=0) - 1.0, X.max(axis=0) + 1.0
    return np.concatenate([X, rng.uniform(low, high, (60, 2))]), np.concatenate([y, [-1] * 60])


# --- the half that no constant was chosen on ---------------------------------------------------


def _s_curves(rng: Generator) -> Rows:
    """Return two S-shaped sheets side by side in space."""
    one, two = (make_s_curve(400, noise=0.05, random_state=_seed(rng))[0] for _ in range(2))
    two[:, 0] += 1.2
    two[:, 2] += 0.6
    return np.concatenate([one, two]), np.repeat([0, 1], 400)


def _rolls(rng: Generator) -> Rows:
    """Return a roll, and a rod within it."""
    roll = make_swiss_roll(800, noise=0.3, random_state=_seed(rng))[0]
    rod = np.column_stack([*rng.normal(0.0, 0.5, (2, 200))])
    rod = np.column_stack([rod[:, 0], rng.uniform(0.0, 21.0, 200), rod[:, 1]])
    return np.concatenate([roll, rod]), np.repeat([0, 1], [800, 200])


def _shells(rng: Generator) -> Rows:
    """Return two shells in five columns, one around the other."""
    X = rng.standard_normal((900, 5))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.repeat([0, 1], [300, 600])
    return X * np.where(y, 4.0, 1.0)[:, np.newaxis] + 0.1 * rng.standard_normal((900, 5)), y


def _linked_rings(rng: Generator) -> Rows:
    """Return two rings in space, each through the other."""
    one, two = (_ring(rng, 400, 1.0, 0.07) for _ in range(2))
    flat = np.column_stack([one, 0.07 * rng.standard_normal(400)])
    upright = np.column_stack([two[:, 0] + 1.0, 0.07 * rng.standard_normal(400), two[:, 1]])
    return np.concatenate([flat, upright]), np.repeat([0, 1], 400)


def _strokes(rng: Generator) -> Rows:
    """Return parallel strokes of different lengths."""
    y = rng.integers(0, 5, 700)
    lengths = np.array([8.0, 3.0, 6.0, 8.0, 4.0])
    X = np.column_stack([lengths[y] * rng.random(700), 1.2 * y])
    return X + 0.15 * rng.standard_normal((700, 2)), y


def _pinwheel(rng: Generator) -> Rows:
    """Return five curved arms around a centre."""
    y = np.arange(800) % 5
    along = 1.0 + 0.3 * rng.standard_normal(800)
    across = 0.05 * rng.standard_normal(800)
    angle = 2.0 * np.pi * y / 5 + 0.8 * np.exp(along) * 0.35
    turned = np.column_stack([np.cos(angle), np.sin(angle)])
    return turned * along[:, np.newaxis] + across[:, np.newaxis] * turned[:, ::-1], y


def _crescents(rng: Generator) -> Rows:
    """Return a crescent around a Gaussian, twice, of different sizes."""
    parts = []
    for scale, at in ((1.0, 0.0), (2.5, 12.0)):
        angle = rng.uniform(-0.2, np.pi + 0.2, 200)
        arc = 2.5 * np.column_stack([np.cos(angle), np.sin(angle)])
        arc += 0.15 * rng.standard_normal((200, 2))
        core = 0.45 * rng.standard_normal((150, 2))
        parts += [scale * arc + [at, 0.0], scale * core + [at, 0.0]]
    return np.concatenate(parts), np.repeat(np.arange(4), [200, 150, 200, 150])


def _overlapping(rng: Generator) -> Rows:
    """Return fifteen round clusters in the plane that overlap, as in S4."""
    y = np.arange(1500) % 15
    centres = rng.uniform(0.0, 1.0, (4000, 2))
    kept = [centres[0]]
    for centre in centres:
        if len(kept) < 15 and min(np.linalg.norm(centre - c) for c in kept) > 0.19:
            kept.append(centre)
    return np.array(kept)[y] + 0.052 * rng.standard_normal((1500, 2)), y


def _cells(rng: Generator) -> Rows:
    """Return log counts of eight kinds of cells, with genes of their own."""
    y = np.arange(800) % 8
    rates = rng.gamma(0.6, 1.0, 120)
    rates = np.tile(rates, (8, 1))
    for kind in range(8):
        rates[kind, 12 * kind : 12 * kind + 12] += 6.0
    depth = np.exp(0.3 * rng.standard_normal((800, 1)))
    counts = rng.negative_binomial(2.0, 1.0 / (1.0 + depth * rates[y] / 2.0))
    return np.log1p(1000.0 * counts / counts.sum(axis=1, keepdims=True)), y


def _directions(k: int) -> Callable[[Generator], Rows]:
    """Return unit rows of 384 columns around so many directions, like embeddings."""

    def make(rng: Generator) -> Rows:
        y = rng.integers(0, k, 1000)
        means = rng.standard_normal((k, 384))
        means = 0.5 * means / np.linalg.norm(means, axis=1, keepdims=True) + 0.02
        noise = rng.standard_normal((1000, 384)) * np.exp(-np.arange(384) / 150.0) / 8.0
        X = means[y] + noise
        return X / np.linalg.norm(X, axis=1, keepdims=True), y

    return make


def _unequal(rng: Generator) -> Rows:
    """Return round clusters of 20 to 600 rows."""
    sizes = [600, 300, 120, 60, 30, 20]
    centres = 7.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 0.4], [-1, 0.5]])
    y = np.repeat(np.arange(6), sizes)
    return centres[y] + rng.standard_normal((len(y), 2)), y


def _heavy_tailed(rng: Generator) -> Rows:
    centres = 9.0 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    y = np.arange(750) % 5
    return centres[y] + rng.standard_t(3.0, (750, 3)), y


GENERATED: dict[str, Callable[[Generator], Rows]] = {
    "blobs, 3 in 2 columns": _blobs(3, 2, 500, 1.0),
    "blobs, 8 in 2 columns": _blobs(8, 2, 800, 0.8),
    "blobs, 10 in 10 columns": _blobs(10, 10, 800, 2.5),
    "blobs, 6 in 50 columns": _blobs(6, 50, 600, 4.0),
    "groups of blobs": _grouped_blobs,
    "pairs, 2 columns": _pair(2, 4.0),
    "pairs, 32 columns": _pair(32, 4.0),
    "aniso": _sheared,
    "varied": _varied,
    "moons, .05": _moons(0.05),
    "moons, .1": _moons(0.1),
    "moons, .14": _moons(0.14),
    "circles, .05": _circles(0.05),
    "circles, .09": _circles(0.09),
    "spirals, 2": _arms(2, 0.08),
    "spirals, 3": _arms(3, 0.1),
    "ring and blob": _ring_and_blob,
    "noise around blobs": _noisy_blobs,
    "two S-curves": _s_curves,
    "roll and rod": _rolls,
    "shells": _shells,
    "linked rings": _linked_rings,
    "strokes": _strokes,
    "pinwheel": _pinwheel,
    "crescents": _crescents,
    "fifteen overlapping": _overlapping,
    "cell types": _cells,
    "pair in 16 columns": _pair(16, 4.0),
    "directions, 5": _directions(5),
    "directions, 12": _directions(12),
    "unequal sizes": _unequal,
    "heavy tails": _heavy_tailed,
}
