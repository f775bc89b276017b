"""Fitted clusters with covariances: prediction for new rows; to and from arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, chunks
from hardbayes.core.fitted import CostPlacement, Placed, is_spread, spread_of, trace_attributes
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.geometry.squared_euclidean import SquaredEuclidean, distance_rounding
from hardbayes.core.loop import level_rounding
from hardbayes.core.pool import Pool
from hardbayes.gaussian.problem import GaussianPartition, Gaussians, Whitening
from hardbayes.gaussian.search import GaussianSolution

if TYPE_CHECKING:
    from hardbayes.gaussian.clusters import GaussianRows

NAMES = ("middle", "forward", "backward", "weights", "means", "scatters")


@dataclass(frozen=True)
class FittedGaussians:
    """Clusters in the coordinates of a whitening."""

    geometry: ClassVar[Geometry] = SquaredEuclidean()
    whitening: Whitening
    clusters: Gaussians
    rate: float  # the weight of the log-determinant
    penalty: float
    spread: Floats | None = None  # quantiles of the costs of each cluster's rows (`core.fitted`)

    def with_spread(
        self, matrix: NDArray[np.floating], labels: NDArray[np.int32], weights: Floats, pool: Pool
    ) -> FittedGaussians:
        """Return the model with the spread of the rows (n, d) that it was fitted to."""
        costs = self.place(matrix, pool).costs()
        return replace(self, spread=spread_of(costs, labels, self.clusters.k, weights))

    def reordered(self, order: NDArray[np.intp]) -> FittedGaussians:
        """Return the model with its clusters in another order (k,)."""
        clusters = Gaussians(*(array[order] for array in self.clusters))
        spread = None if self.spread is None else self.spread[order]
        return replace(self, clusters=clusters, spread=spread)

    def place(self, matrix: NDArray[np.floating], pool: Pool) -> GaussianPlacement:
        """Return the rows of a checked matrix, for prediction."""
        return GaussianPlacement(self, matrix, pool)

    def to_arrays(self) -> dict[str, Any]:
        """Return everything as arrays and numbers."""
        seen = self.whitening
        arrays = (seen.middle, seen.forward, seen.backward, *self.clusters)
        known = {"working_rate": self.rate} | {
            f"working_{name}": array for name, array in zip(NAMES, arrays, strict=True)
        }
        return known if self.spread is None else known | {"working_spread": self.spread}

    @classmethod
    def from_arrays(cls, diagonal: bool, penalty: float, arrays: dict[str, Any]) -> FittedGaussians:
        """Return the model that `to_arrays` was called on; raise ValueError if it is malformed."""
        try:
            rate = arrays.pop("working_rate")
            spread = arrays.pop("working_spread", None)
            found = {name: arrays.pop(f"working_{name}") for name in NAMES}
            k, d = found["means"].shape
            shape = (d,) if diagonal else (d, d)
            shapes: dict[str, tuple[int, ...]] = dict(middle=(d,), forward=shape, backward=shape)
            shapes |= dict(weights=(k,), means=(k, d), scatters=(k, 1 if diagonal else d, d))
            sound = (
                not arrays
                and k > 0
                and 0 < rate < np.inf
                and all(found[name].shape == shapes[name] for name in NAMES)
                and all(found[name].dtype == np.float64 for name in NAMES)
                and all(np.isfinite(found[name]).all() for name in NAMES)
                and (spread is None or is_spread(spread, k))
            )
        except (KeyError, AttributeError, ValueError, TypeError) as error:
            raise ValueError(f"The saved model is incomplete: {error}") from None
        if not sound:
            raise ValueError("The saved model contradicts itself: its clusters cannot be placed.")
        own = {name: np.array(found[name], order="C") for name in NAMES}
        whitening = Whitening(own["middle"], own["forward"], own["backward"])
        clusters = Gaussians(own["weights"], own["means"], own["scatters"])
        return cls(whitening, clusters, float(rate), penalty, spread)


@dataclass(frozen=True)
class GaussianPlacement(CostPlacement):
    """Rows placed in fitted clusters."""

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
    def placed(self) -> Placed:
        """The cheapest clusters of the rows."""
        n = len(self.matrix)
        labels, costs = np.empty(n, np.int32), np.empty(n)
        for part, rows in self._parts():
            labels[part], costs[part] = rows.assign(self.model.clusters)
        costs *= self.model.rate
        # A row at a mean may cost something: the rounding of a plain sum grows with its weight.
        weights, means, _ = self.model.clusters
        rounding = distance_rounding(means.shape[1]) * np.square(means).max() * (1 + weights) ** 2
        return Placed(labels, costs, (self.model.rate * rounding)[labels])

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
    return {
        "_model": FittedGaussians(frame, clusters, partition.rate, partition.penalty),
        "labels_": solution.labels.astype(np.int32),
        "n_clusters_": clusters.k,
        "cluster_centers_": frame.from_working(clusters.means).astype(dtype),
        "cluster_weights_": np.bincount(solution.labels, weights, clusters.k),
        "covariances_": frame.covariances(clusters.scatters, partition.rate),
        "cluster_penalty_": partition.penalty,
        "inertia_": solution.fit,
    } | trace_attributes(solution, history, clusters.k)
