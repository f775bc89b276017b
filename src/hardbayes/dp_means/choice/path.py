"""Paths that tell which numbers of clusters are worth their penalty: of rows, and without clusters.

A plateau has to be wider than those of reference data without clusters, otherwise similar to the
rows, as in the gap statistic (Tibshirani, Walther & Hastie 2001).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hardbayes.core.arrays import Floats, Matrix, VisitOrder, is_sparse
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.plateaus import Plateau, plateaus
from hardbayes.core.pool import Pool, one_blas_thread
from hardbayes.dp_means.choice.rule import needed_width
from hardbayes.dp_means.choice.sample import Sample, View, normalise, view
from hardbayes.dp_means.passes import passes_for, path_type
from hardbayes.dp_means.path import Path
from hardbayes.dp_means.problem import Problem, pose

MAX_CLUSTERS = 160  # at the end of the path: larger numbers are not found, but cost time
ROWS_A_CLUSTER = 8  # on average, at the end of the path
MIN_CLUSTERS = 16  # up to which that does not count, where rows are few
# Entries of the centres, at the end of the path; but so many clusters at least, however wide.
MAX_CENTRE_ENTRIES = 1 << 20
WIDE_CLUSTERS = 32
MAX_WIDTH = 30.0  # stands for infinity, where clusters fit without any remainder
MAX_DRAWN_ROWS = 1 << 11  # of a draw
# Draws, by the number of rows from which so many suffice: few rows vary more, and cost less.
DRAWS = ((1000, 6), (400, 12), (0, 20))
CLUSTERS = 12  # to which paths go, unless there are wide plateaus beyond
# Plateaus of numbers within this factor are compared. Of the widest in each draw this quantile is
# taken: the largest of a few varies too much.
WINDOW = 1.2
QUANTILE = 0.9
FAR = 10  # from here on, widths fall at most as 1 / sqrt(k)
EXCHANGES = 20  # rounds in which entries leave cells that others have taken

Widths = dict[int, float]  # of plateaus, by number of clusters


class Traced(NamedTuple):
    """A path, the problem that it solves, and its plateaus at penalties for all columns."""

    problem: Problem
    path: Path
    plateaus: list[Plateau]  # in working units

    @property
    def widths(self) -> dict[int, float]:
        """How wide the plateau of each number of clusters is."""
        return {p.k: min(p.width, MAX_WIDTH) for p in self.plateaus}


@dataclass(frozen=True)
class Tracer:
    """Traces paths with one stream of random numbers."""

    rng: np.random.RandomState
    pool: Pool

    def trace(self, seen: View, weights: Floats, n_clusters: int) -> Traced:
        """Return a path as far as so many clusters; weights (n,) of the rows."""
        problem = pose(seen.rows, seen.geometry, weights, self.pool)
        path = begin_path(problem, seen.prior_weight, None, self.rng)
        # Where every row is a cluster nothing is left of the fit, in whatever data.
        path.trace(min(n_clusters, most_clusters(problem), problem.rows.n_rows // 2))
        more = seen.left_out * problem.unit
        return Traced(problem, path, [p.with_prices(1.0, more) for p in path_plateaus(path)])


def begin_path(
    problem: Problem,
    prior_weight: float,
    max_clusters: int | None,
    rng: np.random.RandomState,
    order: str = "random",
    max_steps: int = 300,
) -> Path:
    """Return a path at its one cluster."""
    partition = problem.partition(0.0, prior_weight, max_clusters)
    return path_type(partition)(
        problem.state(partition),
        partition,
        passes_for(partition),
        problem.opening_costs,
        problem.mean,
        VisitOrder.draw(order, rng),
        max_steps,
        rng,
        problem.unit,
    )


def most_clusters(problem: Problem) -> int:
    """Return at how many clusters a path may end."""
    n_rows, n_columns = problem.rows.n_rows, problem.rows.n_columns
    return min(
        MAX_CLUSTERS,
        max(n_rows // ROWS_A_CLUSTER, min(n_rows, MIN_CLUSTERS)),
        max(MAX_CENTRE_ENTRIES // n_columns, WIDE_CLUSTERS),
    )


def path_plateaus(path: Path) -> list[Plateau]:
    """Return the plateaus of a path, in working units.

    With a prior the penalty is only a part of what a cluster costs, and a range of penalties down
    to zero may be a narrow one of prices: those between which the number would be best without the
    prior. Where there are none, the number is best by the prior's doing alone.
    """
    found = [p for p in plateaus(path.points, path.floor) if p.k <= path.most]
    if not path.partition.prior_weight:
        return found
    prices = {p.k: (p.low, p.high) for p in plateaus(path.fits)}
    return [p._replace(prices=prices.get(p.k, (p.high, p.high))) for p in found]


def trace_on(path: Path, penalties: Floats) -> None:
    """Go on to those of these penalties, falling, that a path has not come down to yet."""
    for penalty in penalties:
        if penalty < path.lowest:
            path.jump_to(float(penalty))


# -- rows without structure ------------------------------------------------------------------------


def reference_widths(
    widths: Widths, sample: Sample, seen: View, is_slow: bool, tracer: Tracer
) -> Widths:
    """Return for each plateau of a sample how wide it would be without structure.

    ``seen``: the sample as its path saw it. ``is_slow``: paths take long, so few are traced.
    """
    few = sample.some(np.sort(tracer.rng.permutation(sample.n_rows)[:MAX_DRAWN_ROWS]))
    n_draws = DRAWS[0][1] if is_slow else next(d for least, d in DRAWS if few.n_rows >= least)
    views = _draws(sample, few, seen, n_draws, tracer.rng)

    def trace(most: int) -> list[Widths]:
        found = []
        for number, drawn in enumerate(views, 1):
            tracer.pool.report.stage(f"reference {number} of {n_draws}")
            found.append(tracer.trace(drawn, few.weights, most).widths)
        return found

    found = trace(CLUSTERS)
    expected = {k: width_at(k, found) for k in widths}
    # Numbers beyond these paths that would stand out are compared with longer ones.
    far = [k for k in widths if k > CLUSTERS and widths[k] > needed_width(k, expected[k])]
    if far:
        found = trace(int(WINDOW * max(far)) + 1)
        expected = {k: width_at(k, found) for k in widths}
    return expected


def width_at(k: int, references: list[Widths]) -> float:
    """Return how wide plateaus of about k clusters are in several draws."""
    if k <= FAR:
        return _quantile_near(k, references)
    beyond = _quantile_near(k, references) if k > CLUSTERS else 0.0
    return max(beyond, _quantile_near(FAR, references) * float(np.sqrt(FAR / k)))


def _quantile_near(k: int, references: list[Widths]) -> float:
    near = [
        max((w for q, w in widths.items() if k / WINDOW <= q <= k * WINDOW), default=0.0)
        for widths in references
    ]
    return float(np.quantile(near, QUANTILE))


def _draws(
    sample: Sample, few: Sample, seen: View, n_draws: int, rng: np.random.RandomState
) -> list[View]:
    """Return draws like ``few`` of the sample's rows, as a path sees them."""
    is_projected = seen.rows is not sample.rows
    if is_projected and not is_sparse(sample.rows) and seen.geometry is sample.geometry:
        # Along the directions that the path saw.
        ids = np.sort(rng.permutation(sample.n_rows)[: few.n_rows])
        source = Structureless(seen.rows[ids], sample.geometry, few.weights)
        return [seen._replace(rows=source.draw(number, rng)) for number in range(n_draws)]
    source = Structureless(few.rows, sample.geometry, few.weights)
    drawn = [normalise(source.draw(number, rng), sample.geometry) for number in range(n_draws)]
    return [view(replace(few, rows=rows), rng) for rows in drawn]


class Structureless:
    """Draws rows similar to the given ones, but without clusters.

    For divergences of numbers from 0 to 1, columns are beta distributed with the data's means and
    variances. Sparse rows, and rows of numbers >= 0 that are mostly zeros, exchange their entries
    at random: rows and columns keep their numbers of entries. Columns of other numbers >= 0 are
    gamma distributed with the data's means and variances. All other rows are drawn alternately from
    a Gaussian with the data's covariance and from the box that the data span along its principal
    axes. Columns in which most values occur more than once have none but these values.

    Parameters
    ----------
    rows : matrix (n, d)
        In working coordinates: of scale one, and divided by their sums or lengths where the
        divergence normalises rows.
    geometry : Geometry
    weights : array (n,)
        All > 0. Means, variances and frequencies are weighted.
    """

    def __init__(self, rows: Matrix, geometry: Geometry, weights: Floats) -> None:
        self.rows = rows
        self.geometry = geometry
        shares = weights / weights.max()
        self.shares: Floats = shares / shares.sum()

    @one_blas_thread()
    def draw(self, number: int, rng: np.random.RandomState) -> Matrix:
        """Return a matrix of the same shape; ``number`` counts the draws."""
        rows, geometry = self.rows, self.geometry
        if is_sparse(rows):
            return self._shuffle(rows, rng)
        if geometry.unit_interval:
            drawn = self._betas(rng)
        elif not geometry.nonnegative:
            drawn = self._gaussian(rng) if number % 2 == 0 else self._box(rng)
        elif 2 * np.count_nonzero(rows) < rows.size:
            return self._shuffle(csr_array(rows), rng).toarray()
        else:
            drawn = self._gammas(rng)
            if not geometry.takes_zeros:  # draws of a gamma with a small shape underflow
                np.maximum(drawn, rows.min(axis=0), out=drawn)
        return self._on_grid(drawn).astype(rows.dtype)

    def _on_grid(self, drawn: Floats) -> Floats:
        """Move entries to the nearest of the data's values, in columns of repeated values."""
        for values, columns in self._grids:
            middles = (values[1:] + values[:-1]) / 2.0
            drawn[:, columns] = values[np.searchsorted(middles, drawn[:, columns])]
        return drawn

    @cached_property
    def _grids(self) -> list[tuple[Floats, NDArray[np.intp]]]:
        """Distinct values, and the columns that have these and most of them several times."""
        found: dict[bytes, tuple[Floats, list[int]]] = {}
        for number, column in enumerate(self.rows.T):
            values = np.unique(column)
            if 1 < len(values) <= len(self.rows) / 2:
                found.setdefault(values.tobytes(), (values, []))[1].append(number)
        return [(values, np.array(columns)) for values, columns in found.values()]

    @cached_property
    def _mean(self) -> Floats:
        return np.asarray(self.shares @ self.rows, np.float64)

    @cached_property
    def _variance(self) -> Floats:
        """Variances of the columns (d,), exactly zero for constant ones."""
        variance: Floats = self.shares @ (self.rows - self._mean) ** 2
        return np.where(np.ptp(self.rows, axis=0) > 0, variance, 0.0)

    @cached_property
    def _axes(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Standard deviations, minima and maxima along the principal axes (r,), and axes (r, d)."""
        centred = self.rows - self._mean
        _, deviations, axes = np.linalg.svd(
            np.sqrt(self.shares)[:, np.newaxis] * centred, full_matrices=False
        )
        along = centred @ axes.T
        return deviations, along.min(axis=0), along.max(axis=0), axes

    def _gaussian(self, rng: np.random.RandomState) -> Floats:
        deviations, _, _, axes = self._axes
        along = rng.standard_normal((len(self.rows), len(deviations))) * deviations
        return self._mean + along @ axes

    def _box(self, rng: np.random.RandomState) -> Floats:
        _, least, most, axes = self._axes
        return self._mean + rng.uniform(least, most, (len(self.rows), len(axes))) @ axes

    def _shuffle(self, rows: csr_array, rng: np.random.RandomState) -> csr_array:
        """Exchange entries between rows, which keep their numbers of entries and their scales.

        An entry takes its column along. So columns keep their frequencies and the sizes of their
        entries, and are independent of each other. Entries in the same cell are exchanged again,
        a few times; then they are added, up to one where entries are at most one.
        """
        counts = np.diff(rows.indptr)
        row_of = np.repeat(np.arange(len(counts)), counts)
        scales = _medians(rows, row_of)
        order: NDArray[np.intp] = rng.permutation(len(row_of))
        if self.shares.min() < self.shares.max():  # frequencies are weighted
            chances = np.cumsum(np.repeat(self.shares, counts))
            targets = rng.random_sample(len(chances)) * chances[-1]
            order = np.searchsorted(chances, targets, side="right")
        for _ in range(EXCHANGES):
            order = _exchange(order, row_of, rows.indices, rows.shape[1], rng)
        values = rows.data[order] / scales[row_of[order]] * scales[row_of]
        drawn = csr_array(
            (values.astype(rows.dtype), rows.indices[order], rows.indptr.copy()), rows.shape
        )
        drawn.sum_duplicates()
        if self.geometry.unit_interval:
            np.minimum(drawn.data, 1.0, out=drawn.data)
        return drawn

    def _gammas(self, rng: np.random.RandomState) -> Floats:
        """Draw independent columns; constant ones are unchanged."""
        mean, variance, n = self._mean, self._variance, len(self.rows)
        varies = variance > 0
        drawn = np.tile(mean, (n, 1))
        shape = mean[varies] ** 2 / variance[varies]
        drawn[:, varies] = rng.gamma(shape, mean[varies] / shape, (n, len(shape)))
        return drawn

    def _betas(self, rng: np.random.RandomState) -> Floats:
        """Draw independent columns, of zeros and ones where the data hold nothing else."""
        mean, variance, n = self._mean, self._variance, len(self.rows)
        drawn = (rng.random_sample(self.rows.shape) < mean).astype(np.float64)
        spread = mean * (1 - mean)
        inner = (variance > 0) & (variance < (1 - 1e-9) * spread)
        size = spread[inner] / variance[inner] - 1.0
        drawn[:, inner] = rng.beta(mean[inner] * size, (1 - mean[inner]) * size, (n, len(size)))
        drawn[:, variance == 0] = mean[variance == 0]
        return drawn


def _medians(rows: csr_array, row_of: NDArray[np.intp]) -> Floats:
    """Return the lower median of each row's entries (n,): one in rows of counts, however long."""
    medians = np.ones(rows.shape[0])
    is_filled = np.diff(rows.indptr) > 0
    middles = (rows.indptr[:-1] + rows.indptr[1:] - 1)[is_filled] // 2
    medians[is_filled] = np.abs(rows.data[np.lexsort((rows.data, row_of))[middles]])
    return np.where(medians > 0, medians, 1.0)


def _exchange(
    order: NDArray[np.intp],
    row_of: NDArray[np.intp],
    columns: NDArray[np.signedinteger],
    n_columns: int,
    rng: np.random.RandomState,
) -> NDArray[np.intp]:
    """Return the order with entries that are not the first in their cell exchanged for others."""
    cells = row_of.astype(np.int64) * n_columns + columns[order]
    is_repeated = np.ones(len(cells), np.bool_)
    is_repeated[np.unique(cells, return_index=True)[1]] = False
    repeated = np.flatnonzero(is_repeated)
    others = rng.randint(len(order), size=len(repeated))
    order = order.copy()
    for here, there in zip(repeated, others, strict=True):
        order[here], order[there] = order[there], order[here]
    return order
