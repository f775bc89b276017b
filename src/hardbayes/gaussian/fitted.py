"""Fitted clusters with covariances: prediction for new rows; to and from arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardbayes.core import schema
from hardbayes.core.arrays import Floats, chunks
from hardbayes.core.fitted import (
    QUANTILES,
    Assigned,
    CostAssignment,
    measure_cost_quantiles,
    trace_attributes,
)
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.geometry.squared_euclidean import SquaredEuclidean, distance_rounding
from hardbayes.core.loop import level_rounding
from hardbayes.core.pool import Pool
from hardbayes.gaussian.problem import GaussianPartition, Gaussians, Whitening
from hardbayes.gaussian.search import GaussianSolution

if TYPE_CHECKING:
    from hardbayes.gaussian.clusters import GaussianRows


def schemas(diagonal: bool) -> tuple[schema.Schema, schema.Schema]:
    """Return what a file holds of a fitted estimator: its attributes, and its model."""
    shape = ("columns",) if diagonal else ("columns", "columns")
    attributes = schema.CLUSTERS | {
        "cluster_penalty_": schema.number(low=0),
        "cluster_centers_": schema.array("k", "columns", dtype=np.floating),
        "covariances_": schema.array("k", *shape),
        "covariance_prior_": schema.array(*shape),
    }
    scatters = ("k", 1 if diagonal else "columns", "columns")
    return attributes, {
        "working_rate": schema.number(low=schema.POSITIVE),
        "working_middle": schema.array("columns", source="whitening.middle"),
        "working_forward": schema.array(*shape, source="whitening.forward"),
        "working_backward": schema.array(*shape, source="whitening.backward"),
        "working_weights": schema.array("k", source="clusters.weights"),
        "working_means": schema.array("k", "columns", source="clusters.means"),
        "working_scatters": schema.array(*scatters, source="clusters.scatters"),
        "working_spread": QUANTILES._replace(may_miss=True),
    }


@dataclass(frozen=True)
class FittedGaussians:
    """Clusters in the coordinates of a whitening."""

    geometry: ClassVar[Geometry] = SquaredEuclidean()
    whitening: Whitening
    clusters: Gaussians
    rate: float  # the weight of the log-determinant
    penalty: float
    cost_quantiles: Floats | None = None  # of each cluster's rows (see `core.fitted`)

    def with_cost_quantiles(
        self, matrix: NDArray[np.floating], labels: NDArray[np.int32], weights: Floats, pool: Pool
    ) -> FittedGaussians:
        """Return the model with the cost quantiles of the rows (n, d) that it was fitted to."""
        costs = self.assign(matrix, pool).costs()
        quantiles = measure_cost_quantiles(costs, labels, self.clusters.k, weights)
        return replace(self, cost_quantiles=quantiles)

    def reordered(self, order: NDArray[np.intp]) -> FittedGaussians:
        """Return the model with its clusters in another order (k,)."""
        clusters = Gaussians(*(array[order] for array in self.clusters))
        quantiles = None if self.cost_quantiles is None else self.cost_quantiles[order]
        return replace(self, clusters=clusters, cost_quantiles=quantiles)

    def assign(self, matrix: NDArray[np.floating], pool: Pool) -> GaussianAssignment:
        """Return the rows of a checked matrix, for prediction."""
        return GaussianAssignment(self, matrix, pool)

    def to_arrays(self) -> dict[str, Any]:
        """Return everything as arrays and numbers."""
        return schema.arrays_of(self, schemas(self.whitening.diagonal)[1])

    @classmethod
    def from_arrays(cls, diagonal: bool, penalty: float, arrays: dict[str, Any]) -> FittedGaussians:
        """Return the model that `to_arrays` was called on."""
        values = schema.values_of(arrays, schemas(diagonal)[1])
        rate, middle, forward, backward, *clusters, quantiles = values
        whitening = Whitening(middle, forward, backward)
        return cls(whitening, Gaussians(*clusters), float(rate), penalty, quantiles)


@dataclass(frozen=True)
class GaussianAssignment(CostAssignment):
    """Rows assigned to fitted clusters."""

    model: FittedGaussians
    matrix: NDArray[np.floating]
    pool: Pool

    def distances(self) -> Floats:
        """Return each row's distance (n, k) from every cluster, in its own metric."""
        clusters = self.model.clusters
        costs = np.empty((len(self.matrix), clusters.k))
        for part, rows in self._parts():
            roots = rows.roots(clusters.scatters)[0]
            costs[part] = self.model.rate * rows.distances(clusters.means, roots)
        return np.sqrt(costs)

    @cached_property
    def assigned(self) -> Assigned:
        """The cheapest clusters of the rows."""
        n = len(self.matrix)
        labels, costs = np.empty(n, np.int32), np.empty(n)
        for part, rows in self._parts():
            labels[part], costs[part] = rows.assign(self.model.clusters)
        costs *= self.model.rate
        # A row at a mean may cost something: the rounding of a plain sum grows with its weight.
        weights, means, _ = self.model.clusters
        rounding = distance_rounding(means.shape[1]) * np.square(means).max() * (1 + weights) ** 2
        return Assigned(labels, costs, (self.model.rate * rounding)[labels])

    def _parts(self) -> Iterator[tuple[slice, GaussianRows]]:
        for part in chunks(*self.matrix.shape):
            yield part, self.model.whitening.rows(self.matrix[part], np.zeros(0), self.pool)


def fitted_attributes(
    solution: GaussianSolution,
    frame: Whitening,
    partition: GaussianPartition,
    weights: Floats,
    dtype: np.dtype[Any],
) -> dict[str, Any]:
    """Return the attributes of a fitted estimator."""
    clusters, history = solution.statistics, level_rounding(solution.history)
    if not np.isfinite(history).all():
        raise ValueError("The objective is not a finite number. Rescale X.")
    with np.errstate(over="ignore", invalid="ignore"):
        covariances = frame.covariances(clusters.scatters, partition.rate)
    if not np.isfinite(covariances).all():
        raise ValueError("The covariances of clusters do not fit float64. Rescale X.")
    return {
        "_model": FittedGaussians(frame, clusters, partition.rate, partition.penalty),
        "labels_": solution.labels.astype(np.int32),
        "n_clusters_": clusters.k,
        "cluster_centers_": frame.from_working(clusters.means).astype(dtype),
        "cluster_weights_": np.bincount(solution.labels, weights, clusters.k),
        "covariances_": covariances,
        "cluster_penalty_": partition.penalty,
        "inertia_": solution.fit,
    } | trace_attributes(solution, history, clusters.k)
