"""The rows among which clusters are found: distinct, standardised, and not too many.

Equal rows are one row that counts as often, and rows are sorted before any is drawn, with a seed of
its own. So weights are repetition, and the order of the rows does not matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, chunks
from hardbayes.core.discrete import Dummies, categories_of, smooth_columns
from hardbayes.core.pool import one_blas_thread
from hardbayes.gaussian.problem import basis_of, mixture_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hardbayes.core.centre_free import Ids
    from hardbayes.core.pool import Pool
    from hardbayes.gaussian.clusters import GaussianRows
    from hardbayes.gaussian.mixture import MixtureRows
    from hardbayes.gaussian.problem import Gaussians


MAX_ROWS = 1 << 13  # among which clusters are found; half as many where there are many columns
MANY_COLUMNS = 8  # from more on, covariances cost too much for all of MAX_ROWS
MAX_DIP_ROWS = 1 << 14  # of which dips are computed
COARSE = 2.0  # times sqrt(n) different values of a column: with fewer, they lie on a grid
MAX_MEAN_WEIGHT = 1e6  # of rows: weights above are scaled down to it, against overflow
FLOOR = 1e-6  # of a column's variance: what every row has besides
KEY_COLUMNS = 8  # by which rows are sorted, unless some are equal there
UNFIT = (
    "The variances of the columns of X do not fit float64. Rescale X, or remove rows with extreme "
    "values."
)
SEED = 20240229  # of the draw: any one, so that the choice depends on the rows alone (a convention)


class Sample(NamedTuple):
    """Rows to find clusters in."""

    rows: MixtureRows
    dip_rows: MixtureRows  # the same where there are no more
    unseen: NDArray[np.intp]  # which of dip_rows are not among rows
    ids: NDArray[np.intp]  # (n,): where rows stand in the matrix
    middle: Floats  # (d,): mean of the columns
    spread: Floats  # (d,): their standard deviations
    unit: float  # weight of all rows over that of the sample
    left_out: list[Dummies]  # categories and discrete columns, of which the rows show nothing
    basis: Floats | None  # (d, r): of the coordinates of rows, where these are fewer than columns

    def clusters(self, rows: GaussianRows, labels: Ids) -> Gaussians:
        """Return clusters of the sample, by labels, as clusters of all rows."""
        some = rows.sample(self.ids, self.unit * self.rows.weights)
        return some.statistics(labels, int(labels.max()) + 1)

    def to_sample(self, prior: Floats) -> Floats:
        """Return a prior matrix of the user, (d, d) or (d,), as (h, d) in the sample's units."""
        if self.rows.diagonal:
            return (prior / self.spread**2 / self.unit)[np.newaxis]
        standardised = prior / np.outer(self.spread, self.spread) / self.unit
        return standardised if self.basis is None else self.basis.T @ standardised @ self.basis

    def from_sample(self, prior: Floats) -> Floats:
        """Return the inverse of `to_sample`; beside the basis the least variance in it.

        Raises ValueError where the prior does not fit float64.
        """
        if self.basis is not None:
            least = np.linalg.eigvalsh(prior)[0] * np.eye(len(self.basis))
            prior = self.basis @ prior @ self.basis.T + least
            prior -= self.basis @ (self.basis.T @ least)
            prior = (prior + prior.T) / 2.0
        with np.errstate(over="ignore"):
            spreads = self.spread if self.rows.diagonal else self.spread[:, np.newaxis]
            found = self.unit * (prior[0] if self.rows.diagonal else prior) * spreads * self.spread
        if not np.isfinite(found).all():
            raise ValueError(UNFIT)
        return found


class Distinct(NamedTuple):
    """Rows with weight, sorted, how often each counts, and where it stands in the matrix."""

    rows: NDArray[np.floating]  # (m, d)
    weights: Floats  # (m,)
    ids: NDArray[np.intp]  # (m,)


def take_sample(
    matrix: NDArray[np.floating],
    weights: Floats,
    diagonal: bool,
    pool: Pool,
    left_out: Sequence[Dummies] = (),
) -> Sample:
    """Return the rows of a matrix (n, d) with weights (n,) to find clusters in.

    Columns that are left out, and categories, become noise.

    Raises ValueError where the variances of columns do not fit float64.
    """
    rng = np.random.RandomState(SEED)
    rows, counts, ids = distinct_rows(matrix, weights)
    middle, spread = moments(rows, counts)
    order = rng.permutation(len(rows))
    n = MAX_ROWS if matrix.shape[1] <= MANY_COLUMNS else MAX_ROWS // 2
    wider, among = np.sort(order[:MAX_DIP_ROWS]), np.sort(order[:n])
    standardised = np.ascontiguousarray((rows[wider] - middle) / spread)
    # Nothing that a category, a spike or an uneven lattice alone divides is a cluster.
    noise = [*categories_of(standardised), *left_out]
    standardised = smooth_columns(standardised, noise, rng)
    inside = np.searchsorted(wider, among)
    gaps = np.array([resolution(column) for column in standardised[inside].T])
    floor = np.maximum(FLOOR, gaps**2 / 12.0)  # the variance of rounding
    jittered = standardised + np.sqrt(12.0 * floor) * (rng.random_sample(standardised.shape) - 0.5)
    basis = None if diagonal else basis_of(standardised)
    if basis is not None:
        with one_blas_thread():
            standardised, jittered, floor = standardised @ basis, jittered @ basis, floor @ basis**2
    dip_rows = mixture_rows(standardised, jittered, counts[wider], floor, diagonal, pool)
    sample = dip_rows if len(among) == len(wider) else dip_rows.part(inside)
    unseen = np.setdiff1d(np.arange(len(wider)), inside)
    unit = float(weights.sum()) / sample.total
    return Sample(sample, dip_rows, unseen, ids[among], middle, spread, unit, noise, basis)


def distinct_rows(matrix: NDArray[np.floating], weights: Floats) -> Distinct:
    """Return the distinct rows of a matrix that have weight.

    Where values lie on a coarse grid, equal rows are no sign of repetition: they stay apart, so
    that noise can separate them. Rows count for at least one on average.
    """
    ids = np.flatnonzero(weights > 0)
    mean = float(weights[ids].mean())
    weights = weights[ids] * (min(max(mean, 1.0), MAX_MEAN_WEIGHT) / mean)
    order = np.lexsort(matrix[ids, :KEY_COLUMNS].T[::-1])
    rows = matrix[ids[order]]
    if matrix.shape[1] > KEY_COLUMNS and _equals_previous(rows[:, :KEY_COLUMNS]).any():
        order = np.lexsort(matrix[ids].T[::-1])
        rows = matrix[ids[order]]
    weights, ids = weights[order], ids[order]
    starts = np.flatnonzero(~_equals_previous(rows))
    if len(starts) == len(rows):
        return Distinct(rows, weights, ids)
    rows, ids, counts = rows[starts], ids[starts], np.add.reduceat(weights, starts)
    if not _on_grid(rows[:: -(-len(rows) // (4 * MAX_DIP_ROWS))]):
        return Distinct(rows, counts, ids)
    share = min(1.0, 4 * MAX_DIP_ROWS / counts.sum())
    copies = np.maximum(1, np.round(counts * share)).astype(np.intp)
    repeated = (np.repeat(rows, copies, axis=0), np.repeat(counts / copies, copies))
    return Distinct(*repeated, np.repeat(ids, copies))


def moments(rows: NDArray[np.floating], weights: Floats) -> tuple[Floats, Floats]:
    """Return means and standard deviations of columns (d,), one where a column is constant."""
    share = weights / weights.sum()
    middle, variance = np.zeros((2, rows.shape[1]))
    parts = chunks(*rows.shape)
    for part in parts:
        middle += share[part] @ rows[part].astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        for part in parts:
            variance += share[part] @ (rows[part] - middle) ** 2
    varies = (rows != rows[0]).any(axis=0)
    if not np.isfinite(variance).all() or (variance[varies] == 0).any():
        raise ValueError(UNFIT)
    return middle, np.sqrt(np.where(varies, variance, 1.0))


def resolution(column: Floats) -> float:
    """Return the median gap between different values."""
    values = np.unique(column)
    return float(np.median(np.diff(values))) if len(values) > 1 else 0.0


def _equals_previous(rows: NDArray[np.floating]) -> NDArray[np.bool_]:
    return np.r_[False, (rows[1:] == rows[:-1]).all(axis=1)]


def _on_grid(rows: NDArray[np.floating]) -> bool:
    least = COARSE * np.sqrt(len(rows))
    return any(len(np.unique(column)) < least for column in rows.T)
