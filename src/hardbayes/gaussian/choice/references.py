"""Reference clouds without clusters, otherwise like the rows.

Gaussian clusters fit every shape: long tails, skewness and corners make rows likelier in several.
So rows must be likelier in their clusters than those of such clouds are in theirs.

One kind has independent axes with the rows' own distributions there, as nearly as one mode allows;
the axes are those along which rows are least Gaussian (independent component analysis, Hyvärinen
1999). Another is elliptical, with the rows' own distances from the middle, as nearly as a density
that never rises with the distance allows. The third is uniform in a simplex: of all bodies without
clusters, Gaussians fit its corners best. All have the rows' covariance and weights.

Diagonal covariances have no axes but the columns. For them the first kind has the rows' own
distribution in each column, as nearly as one mode allows, and their rank correlations: a Gaussian
copula.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.isotonic import isotonic_regression

from hardbayes.gaussian.choice.path import Path, find_path, likeliest
from hardbayes.gaussian.problem import mixture_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hardbayes.core.arrays import Floats
    from hardbayes.gaussian.mixture import MixtureRows


N_DRAWS = 2  # of each kind; their mean counts
MIN_CLUSTERS = 16  # to which their paths go at least; otherwise twice the likeliest number
# Rows must gain so many times what the likeliest kind gains, which differs from draw to draw; and
# besides so many nats for each row, and in all. Less finds more clusters, and divides more draws
# without any (benchmarks.choosing).
RATIO = 1.5
SHARE = 0.05
MIN_NATS = 10.0
BINS = 2.0  # times the cubic root of n, of a histogram
MIN_BINS, MAX_BINS = 4, 64  # fewer hide the shape of a column, more follow its noise
NOISE = 2.0  # times the variance of rounding, up to which an axis has nothing else
MAX_ROWS = 1 << 11  # from which independent axes are found
MAX_ROUNDS = 100  # in which these axes turn, patience
TOLERANCE = 1e-3  # change of direction, as 1 less the cosine, at which axes are found
LEVERAGE = 1e-2  # least share of a scatter that is left where a row is taken away
TINY = 1e-280  # instead of zero, against overflow of ratios and logarithms


Draw: TypeAlias = "Callable[[np.random.RandomState], Floats]"  # draws a cloud (n, d)


class Whitened(NamedTuple):
    """Rows (n, r) of covariance one, and how to get back: ``rows @ back + middle``."""

    rows: Floats
    back: Floats  # (r, d)
    middle: Floats  # (d,)
    # (n,): times its distance, how far each row is from the middle of the others in their metric.
    # Without it, distances in many columns would seem to have shorter tails than they have.
    stretch: Floats

    def coloured(self, draw: Draw) -> Draw:
        """Return a function that draws a cloud (n, d) as another draws a white one (n, r)."""
        return lambda rng: draw(rng) @ self.back + self.middle


class Steps(NamedTuple):
    """A density that is constant between edges."""

    edges: Floats  # (b + 1,)
    masses: Floats  # (b,), which sum to one

    def at(self, parts: Floats) -> Floats:
        """Return the points (n,) below which these parts of the mass lie."""
        at, within = _places(self.masses, parts)
        found: Floats = self.edges[at] + within * (self.edges[at + 1] - self.edges[at])
        return found


def is_likelier(rows: MixtureRows, path: Path) -> bool:
    """Whether rows gain more by several clusters, instead of one, than reference clouds do."""
    spare = gain(path) - max(MIN_NATS, SHARE * rows.total)
    most = max(MIN_CLUSTERS, 2 * likeliest(path).k)
    return spare > 0 and all(RATIO * other < spare for other in reference_gains(rows, most))


def reference_gains(rows: MixtureRows, most: int) -> Iterator[float]:
    """Yield by how many nats clouds of each kind are likelier in several clusters than in one."""
    rng = np.random.RandomState(0)
    white = whiten(rows)
    shares = rows.weights / rows.total
    given = rows.weights, rows.floor, rows.diagonal, rows.pool
    if rows.diagonal:
        skewed = copula(rows.jittered, shares)
    else:
        skewed = white.coloured(independent(white, shares))
    others = elliptical(white, shares), simplex(*white.rows.shape)
    for draw in (skewed, *map(white.coloured, others)):
        clouds = (draw(rng) for _ in range(N_DRAWS))
        yield float(np.mean([gain(find_path(mixture_rows(c, c, *given), most)) for c in clouds]))


def gain(path: Path) -> float:
    """Return by how many nats rows are likelier in several clusters than in one."""
    return likeliest(path).evidence - path[1].evidence


def whiten(rows: MixtureRows) -> Whitened:
    """Return rows without their means and correlations."""
    shares = rows.weights / rows.total
    middle = shares @ rows.jittered
    gaps = rows.jittered - middle
    variances, axes = np.linalg.eigh((shares[:, np.newaxis] * gaps).T @ gaps)
    kept = variances > NOISE * (rows.floor @ axes**2)
    deviations, axes = np.sqrt(variances[kept]), axes[:, kept]
    seen = gaps @ (axes / deviations)
    rest = 1.0 - shares
    left = np.maximum(rest - shares * np.einsum("ij,ij->i", seen, seen), LEVERAGE)
    return Whitened(seen, (axes * deviations).T, middle, 1.0 / np.sqrt(left))


def elliptical(white: Whitened, shares: Floats) -> Draw:
    """Return a function that draws an elliptical cloud (n, r)."""
    n, d = white.rows.shape
    radii = white.stretch * np.sqrt(np.einsum("ij,ij->i", white.rows, white.rows))
    found = histogram(radii, shares)
    edges = np.r_[0.0, found.edges[1:]]
    with np.errstate(under="ignore"):
        relative = (edges[:-1] / edges[1:]) ** d  # volume within each shell over that with it
        volumes = np.maximum((edges[1:] / edges[-1]) ** d * (1.0 - relative), TINY)
    masses = volumes * monotone(found.masses / volumes, volumes, rises=False)
    masses /= masses.sum()

    def draw(rng: np.random.RandomState) -> Floats:
        directions = rng.standard_normal((n, d))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        at, within = _places(masses, rng.random_sample((n,)))
        shares_of_volume = relative[at] + within * (1.0 - relative[at])
        return (edges[at + 1] * shares_of_volume ** (1.0 / d))[:, np.newaxis] * directions

    return draw


def independent(white: Whitened, shares: Floats) -> Draw:
    """Return a function that draws a cloud (n, r) with independent axes of one mode each."""
    n, axes = len(white.rows), independent_axes(white.rows, shares)
    along = white.stretch[:, np.newaxis] * (white.rows @ axes.T)
    columns = [one_mode(histogram(column, shares)) for column in along.T]

    def draw(rng: np.random.RandomState) -> Floats:
        drawn = np.empty_like(along)
        for found, column in zip(columns, drawn.T, strict=True):
            column[:] = found.at(rng.random_sample((n,)))
        return drawn @ axes

    return draw


def simplex(n: int, d: int) -> Draw:
    """Return a function that draws a cloud (n, d) in a simplex, of covariance one."""
    basis = np.linalg.qr(np.c_[np.ones(d + 1), np.eye(d + 1, d)])[0][:, 1:]

    def draw(rng: np.random.RandomState) -> Floats:
        weights = rng.standard_exponential((n, d + 1))
        weights /= weights.sum(axis=1, keepdims=True)
        return np.sqrt((d + 1.0) * (d + 2.0)) * (weights @ basis)

    return draw


def copula(rows: Floats, shares: Floats) -> Draw:
    """Return a function that draws a cloud (n, d) of columns of one mode with rank correlations."""
    columns = [one_mode(histogram(column, shares)) for column in rows.T]
    scores = np.empty_like(rows)
    for column, score in zip(rows.T, scores.T, strict=True):
        order = np.argsort(column, kind="stable")
        score[order] = ndtri(np.cumsum(shares[order]) - shares[order] / 2.0)
    scores /= np.sqrt(shares @ scores**2)
    variances, axes = np.linalg.eigh((shares[:, np.newaxis] * scores).T @ scores)
    back = np.sqrt(np.maximum(variances, 0.0))[:, np.newaxis] * axes.T

    def draw(rng: np.random.RandomState) -> Floats:
        parts = ndtr(rng.standard_normal(rows.shape) @ back)
        drawn = [found.at(part) for found, part in zip(columns, parts.T, strict=True)]
        return np.stack(drawn, axis=1)

    return draw


def independent_axes(rows: Floats, shares: Floats) -> Floats:
    """Return orthogonal axes (r, r) along which whitened rows are least Gaussian (FastICA).

    From axes at random: principal ones of two columns lie between these, where no direction is
    better than its opposite.
    scikit-learn's FastICA takes no weights.
    """
    some = slice(None, None, -(-len(rows) // MAX_ROWS))
    rows, shares = rows[some], shares[some] / shares[some].sum()
    d = rows.shape[1]
    axes = np.linalg.qr(np.random.RandomState(0).standard_normal((d, d)))[0]
    for _ in range(MAX_ROUNDS):
        seen = np.tanh(rows @ axes.T)
        slopes = shares @ (1.0 - seen**2)
        left, _, right = np.linalg.svd(
            (shares[:, np.newaxis] * seen).T @ rows - slopes[:, np.newaxis] * axes
        )
        before, axes = axes, left @ right
        if np.abs(np.abs(np.einsum("ij,ij->i", axes, before)) - 1.0).max() < TOLERANCE:
            break
    return axes


def histogram(values: Floats, shares: Floats) -> Steps:
    """Return a histogram, whose bins are as wide as those of a Gaussian if they were equal there.

    So bins in the tails have few rows, and those in the middle many.
    """
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(shares[order])
    n_bins = int(np.clip(round(BINS * len(values) ** (1 / 3)), MIN_BINS, MAX_BINS))
    farthest = ndtri(1.0 - 1.0 / len(values))
    inner = np.searchsorted(below, ndtr(np.linspace(-farthest, farthest, n_bins + 1)))
    edges = np.unique(values[np.r_[0, np.minimum(inner, len(values) - 1), -1]])
    if len(edges) == 1:
        return Steps(np.r_[edges, edges], np.ones(1))
    at = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    masses = np.bincount(at, weights=shares[order], minlength=len(edges) - 1)
    return Steps(edges, masses / masses.sum())


def one_mode(found: Steps) -> Steps:
    """Return the likeliest density that rises up to some edge and falls from there on."""
    widths = np.diff(found.edges)
    if len(widths) == 1:
        return found
    heights = found.masses / widths
    best, highest = found, -np.inf
    for mode in range(len(widths) + 1):
        left = monotone(heights[:mode], widths[:mode], rises=True)
        right = monotone(heights[mode:], widths[mode:], rises=False)
        fitted = np.r_[left, right]
        value = float(found.masses @ np.log(np.maximum(fitted, TINY)))
        if value > highest:
            best, highest = Steps(found.edges, fitted * widths), value
    return Steps(best.edges, best.masses / best.masses.sum())


def monotone(heights: Floats, weights: Floats, *, rises: bool) -> Floats:
    """Return the nearest heights that never fall, or never rise."""
    if not len(heights):
        return heights
    fitted: Floats = isotonic_regression(heights, sample_weight=weights, increasing=rises)
    return fitted


def _places(masses: Floats, numbers: Floats) -> tuple[np.ndarray, Floats]:
    """Return the bin of each of some uniform numbers (n,), and how far it lies within it."""
    below = np.r_[0.0, np.cumsum(masses)]
    at = np.clip(np.searchsorted(below, numbers, side="right") - 1, 0, len(masses) - 1)
    return at, np.clip((numbers - below[at]) / np.maximum(masses[at], TINY), 0.0, 1.0)
