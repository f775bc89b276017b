"""Clusters of one half of the rows, tested on the rows of the other half.

The rows are halved at random, several times; a path is traced on each half. Where the clusters of a
half are present in the data, the rows of the other half thin out on their borders.

Clusters of columns that are correlated, or of different units, are long. In the metric of the
covariance within clusters they are round, and rows between them stand out more clearly, as in the
linear discriminant analysis of Fisher.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, vstack

from hardbayes.core.arrays import Floats, Matrix, chunks, is_sparse
from hardbayes.core.pool import import_whole, one_blas_thread
from hardbayes.dp_means.choice.path import Tracer
from hardbayes.dp_means.choice.rule import Fold
from hardbayes.dp_means.choice.sample import WIDE, Sample, cluster_totals, entries_of_a_row, view

if TYPE_CHECKING:
    from hardbayes.dp_means.local_rows import Borders


# Added to variances, as a part of those of all rows: clusters may be copies of a few rows.
REGULARISATION = 1e-9


class Within:
    """Rows (n, d) with weights (n,) > 0, of which clusters are formed."""

    @one_blas_thread()
    def __init__(self, rows: NDArray[np.floating], weights: Floats) -> None:
        total = weights.sum()
        mean = np.asarray(weights @ rows, np.float64) / total
        deviations = np.sqrt(weights @ (rows - mean) ** 2 / total)
        # Squares of what a column hardly varies by may underflow.
        varies = (np.ptp(rows, axis=0) > 0) & (deviations > 0)
        self._mean = mean
        self._scale: Floats = np.where(varies, 1.0 / np.where(varies, deviations, 1.0), 0.0)
        self._rows: Floats = (rows - mean) * self._scale
        self._weights = weights / total
        self._covariance: Floats = (self._rows * self._weights[:, np.newaxis]).T @ self._rows

    @one_blas_thread()
    def affine(self, labels: NDArray[np.int32], k: int) -> tuple[Floats, Floats]:
        """Return (k, d) ``theta`` and (k,) ``offset`` of the metric within k clusters.

        ``offset - theta @ x`` is half the squared distance of x to each centre, up to a constant.
        With few rows a column, covariances count less beside the variances.
        """
        n, d = self._rows.shape
        sizes, totals = cluster_totals(self._rows, self._weights, labels, k)
        centres = totals / sizes[:, np.newaxis]
        within = self._covariance - (centres * sizes[:, np.newaxis]).T @ centres
        variances = np.maximum(np.diag(within), 0.0)
        within *= n / (n + d)
        np.fill_diagonal(within, variances + REGULARISATION)
        theta: Floats = cho_solve(cho_factor(within), centres.T).T
        offset = np.einsum("kd,kd->k", centres, theta) / 2.0
        theta = theta * self._scale
        return theta, offset + theta @ self._mean


Labels = NDArray[np.int32]

WITHIN_CLUSTERS = 8  # up to which rows are looked at in the metric within clusters too


class Half(NamedTuple):
    """Half of the rows, and their labels for each number of clusters that their path has."""

    sample: Sample
    labels: dict[int, Labels]


def held_out_folds(
    sample: Sample, unseen: Sample, numbers: list[int], n_halvings: int, tracer: Tracer
) -> dict[int, dict[int, Fold]]:
    """Return the folds of each number of clusters, by number of the half.

    ``unseen``: rows that no path was traced on, half of which are tested with either half. A
    halving of which one half has no solution with some number has no folds of it.
    """
    found: dict[int, dict[int, Fold]] = {k: {} for k in numbers}
    n, rng = sample.n_rows, tracer.rng
    steps = column_steps(sample.rows)
    rows, more_rows = (smooth(some, steps, rng) for some in (sample.rows, unseen.rows))
    is_second = rng.random_sample(unseen.n_rows) < 0.5
    for halving in range(n_halvings):
        tracer.pool.report.stage(f"halving {halving + 1} of {n_halvings}")
        is_first = rng.permutation(n) < n // 2
        sides = np.flatnonzero(is_first), np.flatnonzero(~is_first)
        halves = [_cluster(sample.some(ids), numbers, tracer) for ids in sides]
        both = sorted(halves[0].labels.keys() & halves[1].labels.keys())
        for side in (0, 1):
            others, more = sides[1 - side], np.flatnonzero(is_second == bool(side))
            tested = _stack(rows[others], more_rows[more])
            weights = np.concatenate([sample.weights[others], unseen.weights[more]])
            half = halves[side].sample
            within = Within(rows[sides[side]], half.weights) if _has_axes(sample) else None
            for k in both:
                labels = halves[side].labels[k]
                metrics = [_affine(half, labels, k)]
                if within is not None and k <= WITHIN_CLUSTERS:
                    metrics.append(within.affine(labels, k))
                borders = tuple(_borders(*metric, tested, weights) for metric in metrics)
                found[k][2 * halving + side] = Fold(labels, borders)
    return found


def _has_axes(sample: Sample) -> bool:
    """Whether clusters may be long, in columns so few that covariances can be estimated."""
    n_columns = sample.rows.shape[1]
    return (
        sample.geometry.rotation_invariant and not is_sparse(sample.rows) and 1 < n_columns <= WIDE
    )


def _cluster(half: Sample, numbers: list[int], tracer: Tracer) -> Half:
    path = tracer.trace(view(half, tracer.rng), half.weights, max(numbers)).path
    labels = {k: path.labels_with(k) for k in numbers}
    return Half(half, {k: some for k, some in labels.items() if some is not None})


def _affine(half: Sample, labels: Labels, k: int) -> tuple[Floats, Floats]:
    """Return the costs of rows in k clusters of a half as affine functions of the rows."""
    theta, offset = half.geometry.affine(half.clusters(labels, k)[1])
    if half.geometry.nonnegative:  # columns without mass cost the same everywhere
        theta = np.where(half.partition.prior_mean > 0, theta, 0.0)
    return theta, offset


@one_blas_thread()
def _borders(theta: Floats, offset: Floats, tested: Matrix, weights: Floats) -> Borders:
    """Return the borders between clusters, with the weight of other rows there."""
    import_whole("hardbayes.dp_means.local_rows")
    from hardbayes.dp_means.local_rows import count_borders

    k = len(theta)
    directions = np.ascontiguousarray(theta.T)

    def blocks() -> Iterator[tuple[Floats, Floats]]:
        for part in chunks(tested.shape[0], max(entries_of_a_row(tested), k)):
            with np.errstate(over="ignore", invalid="ignore"):
                yield offset - tested[part] @ directions, weights[part]

    return count_borders(blocks(), k)


def column_steps(rows: Matrix) -> Floats | None:
    """Return the median step between the distinct values of each column (d,); None for wide rows.

    Positions of wide rows are sums of so many entries that steps in single columns do not show.
    """
    if rows.shape[1] > WIDE:
        return None
    columns = (rows.toarray() if is_sparse(rows) else rows).T
    steps = [np.diff(np.unique(column)) for column in columns]
    return np.array([np.median(some) if len(some) else 0.0 for some in steps])


def smooth(rows: Matrix, steps: Floats | None, rng: np.random.RandomState) -> Matrix:
    """Return rows with uniform noise as wide as the step of each column.

    It fills the gaps between integers or codes, and is negligible in continuous columns.
    """
    if steps is None:
        return rows
    dense = rows.toarray() if is_sparse(rows) else rows
    noisy: Floats = dense + (rng.random_sample(dense.shape) - 0.5) * steps
    return noisy


def _stack(above: Matrix, below: Matrix) -> Matrix:
    return csr_array(vstack([above, below])) if is_sparse(above) else np.concatenate([above, below])
