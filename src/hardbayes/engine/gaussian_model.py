"""Fitted clusters with covariances: placing new rows; to and from arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hardbayes.engine.gaussian import nearest
from hardbayes.engine.gaussian_frame import Whitening
from hardbayes.matrices import chunks
from hardbayes.structure.gaussians import Gaussians

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.pool import Pool
    from hardbayes.geometry.base import Floats

NAMES = ("middle", "forward", "backward", "weights", "means", "scatters")


@dataclass(frozen=True)
class FittedGaussians:
    """Clusters in the coordinates of a whitening, and the weight of the log-determinant."""

    whitening: Whitening
    clusters: Gaussians
    rate: float

    def place(self, matrix: NDArray[np.floating], pool: Pool) -> tuple[NDArray[np.int64], Floats]:
        """Return each row's cheapest cluster (n,) and its cost there (n,)."""
        n, d = matrix.shape
        labels, costs = np.empty(n, np.int64), np.empty(n)
        for part in chunks(n, d):
            rows = self.whitening.rows(matrix[part], np.zeros(0), pool)
            labels[part], costs[part] = nearest(rows, self.clusters)
        costs *= self.rate
        return labels, costs

    def all_costs(self, matrix: NDArray[np.floating], pool: Pool) -> Floats:
        """Return each row's cost at every cluster (n, k)."""
        costs = np.empty((len(matrix), self.clusters.k))
        for part in chunks(*matrix.shape):
            rows = self.whitening.rows(matrix[part], np.zeros(0), pool)
            roots = rows.roots(self.clusters.scatters)[0]
            costs[part] = self.rate * rows.distances(self.clusters.means, roots)
        return costs

    def to_arrays(self) -> dict[str, Any]:
        """Return everything as arrays and numbers."""
        seen = self.whitening
        arrays = (seen.middle, seen.forward, seen.backward, *self.clusters)
        return {"working_rate": self.rate} | {
            f"working_{name}": array for name, array in zip(NAMES, arrays, strict=True)
        }

    @classmethod
    def from_arrays(cls, diagonal: bool, arrays: dict[str, Any]) -> FittedGaussians:
        """Return what `to_arrays` was called on; raise ValueError where that cannot be."""
        try:
            rate = arrays.pop("working_rate")
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
            )
        except (KeyError, AttributeError, ValueError, TypeError) as error:
            raise ValueError(f"The saved model is incomplete: {error}") from None
        if not sound:
            raise ValueError("The saved model contradicts itself: its clusters cannot be placed.")
        own = {name: np.array(found[name], order="C") for name in NAMES}
        whitening = Whitening(own["middle"], own["forward"], own["backward"])
        clusters = Gaussians(own["weights"], own["means"], own["scatters"])
        return cls(whitening, clusters, float(rate))
