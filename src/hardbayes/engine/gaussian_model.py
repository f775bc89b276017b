"""Fitted clusters with covariances: placing new rows; to and from arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hardbayes.engine.gaussian import nearest
from hardbayes.engine.gaussian_prior import Whitening
from hardbayes.matrices import chunks
from hardbayes.structure.gaussians import Gaussians, distances, inverse_roots

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.geometry.base import Floats

NAMES = ("middle", "forward", "backward", "weights", "means", "scatters")


@dataclass(frozen=True)
class FittedGaussians:
    """Clusters in the coordinates of a whitening, and the weight of the log-determinant."""

    whitening: Whitening
    clusters: Gaussians
    rate: float

    def place(self, matrix: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Return each row's cheapest cluster (n,) and its cost there (n,)."""
        return nearest(self.whitening.to_working(matrix), self.clusters, self.rate)

    def all_costs(self, matrix: Floats) -> Floats:
        """Return each row's cost at every cluster (n, k)."""
        roots = inverse_roots(self.clusters.scatters)
        return np.concatenate(
            [
                self.rate
                * distances(self.whitening.to_working(matrix[part]), self.clusters.means, roots)
                for part in chunks(*matrix.shape)
            ]
        )

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
            shapes = dict(middle=(d,), forward=shape, backward=shape)
            shapes |= dict(weights=(k,), means=(k, d), scatters=(k, *shape))
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
        whitening = Whitening(found["middle"], found["forward"], found["backward"])
        clusters = Gaussians(found["weights"], found["means"], found["scatters"])
        return cls(whitening, clusters, float(rate))
