"""Fitted clusters of features that stand for a kernel: coordinates of rows, or landmarks.

Nystroem's features of rows are such that their inner products are the kernel values as far as
those with the landmarks tell: ``f(x) = k(x, landmarks) K^-1/2``, as in scikit-learn's ``Nystroem``,
also for kernels that follow the data. The linear kernel has the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from hardbayes.core import schema
from hardbayes.core.arrays import Floats, Matrix, chunks
from hardbayes.core.fitted import QUANTILES, Assigned, CostAssignment
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.geometry.squared_euclidean import SquaredEuclidean
from hardbayes.core.pool import Pool, one_blas_thread
from hardbayes.kernel.fitted import (
    KERNEL,
    LABELLING,
    SpectralLabels,
    kernel_arrays,
    mercer_from,
    rows_arrays,
    rows_from,
    rows_schema,
    spectral_from,
)
from hardbayes.kernel.mercer import Mercer, Seen

CENTRES = {
    "working_centres": schema.array("k", "features"),
    "working_spread": QUANTILES,
}
#: What a file holds of a map to features, and of clusters of features.
MAP = {
    "working_normalisation": schema.array("landmarks", "features", or_none=True),
    **LABELLING,
    **KERNEL,
    **rows_schema("working_landmarks", "landmarks"),
}
MODEL = CENTRES | MAP

SMALLEST = 1e-12  # eigenvalues of the landmarks' kernel matrix, by the largest, that count
ROUNDING = 1e-12  # of squared distances, by the largest squared length


@dataclass(frozen=True, eq=False)
class KernelFeatureMap:
    """From rows to features; without landmarks, the rows themselves.

    Rows that are kernel values already need the normalisation alone.
    """

    mercer: Mercer | None
    landmarks: Seen | None
    normalisation: Floats | None  # (landmarks, features)

    def __call__(self, rows: Matrix) -> Any:
        """Return the features (m, f) of rows, or the rows as float64."""
        origin = None if self.mercer is None else self.mercer.origin
        return self._features(rows, origin)

    def of_seen(self, rows: Matrix) -> Any:
        """Return the same of rows from the origin of the kernel."""
        return self._features(rows, None)

    def _features(self, rows: Matrix, origin: Floats | None) -> Any:
        if self.mercer is None or self.landmarks is None:
            given = rows.astype(np.float64)
            return given if self.normalisation is None else given @ self.normalisation
        with one_blas_thread():
            parts = [
                self._part(rows[part], origin) for part in chunks(rows.shape[0], self.n_landmarks)
            ]
        return np.concatenate(parts)

    @property
    def n_landmarks(self) -> int:
        """Number of landmarks."""
        return 0 if self.landmarks is None else int(self.landmarks.rows.shape[0])

    def _part(self, rows: Matrix, origin: Floats | None) -> Floats:
        assert self.mercer is not None and self.landmarks is not None
        assert self.normalisation is not None
        rows = rows.astype(np.float64) if origin is None else rows - origin
        values = self.mercer.between(self.mercer.see_from_origin(rows), self.landmarks)
        return values @ self.normalisation

    def to_arrays(self, spectral: SpectralLabels | None = None) -> dict[str, Any]:
        """Return the map as arrays and numbers; raise ValueError where a kernel is code."""
        rows = rows_arrays("working_landmarks", self.landmarks)
        own = {"working_normalisation": self.normalisation}
        return own | kernel_arrays(self.mercer, spectral) | rows

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> KernelFeatureMap:
        """Return what `to_arrays` was called on; raise ValueError where that cannot be."""
        landmarks, mercer = rows_from("working_landmarks", arrays), mercer_from(arrays)
        normalisation = arrays["working_normalisation"]
        mapped = None if normalisation is None else len(normalisation)
        if landmarks is None:
            fits = mapped in (None, arrays["n_features_in_"])
        else:
            fits = mapped == landmarks.rows.shape[0]
        if not fits or (mercer is None) != (landmarks is None):
            raise schema.contradiction("its landmarks disagree")
        return cls(mercer, landmarks, normalisation)


def landmark_map(mercer: Mercer, landmarks: Seen) -> KernelFeatureMap:
    """Return Nystroem's features for these landmarks."""
    return KernelFeatureMap(mercer, landmarks, inverse_root(mercer.between(landmarks, landmarks)))


def inverse_root(values: Floats) -> Floats:
    """Return R (n, f) for a kernel matrix K (n, n) such that the rows of K R have products K."""
    with one_blas_thread():
        eigenvalues, vectors = np.linalg.eigh(values)
    kept = eigenvalues > SMALLEST * eigenvalues[-1]
    return np.ascontiguousarray(vectors[:, kept] / np.sqrt(eigenvalues[kept]))


def squared_distances(features: Any, centres: Floats, labels: NDArray[np.integer]) -> Floats:
    """Return the squared distance (n,) of features (n, f) from the centres of their clusters."""
    costs = np.empty(len(labels))
    for part in chunks(len(labels), features.shape[1]):
        rows = features[part]
        gaps = (rows.toarray() if sparse.issparse(rows) else rows) - centres[labels[part]]
        costs[part] = np.einsum("ij,ij->i", gaps, gaps)
    return costs


@dataclass(frozen=True, eq=False)
class FittedKernelFeatures:
    """Clusters with means in the space of features."""

    geometry: ClassVar[Geometry] = SquaredEuclidean()
    features: KernelFeatureMap
    centres: Floats  # (k, f)
    penalty: float
    cost_quantiles: Floats  # (k, shares)
    spectral: SpectralLabels | None = None  # None where each row goes to the nearest mean

    def assign(self, matrix: Matrix, pool: Pool) -> KernelFeatureAssignment:
        """Place rows."""
        return KernelFeatureAssignment(self, self.features(matrix))

    def shifted(self, shift: Floats | None) -> FittedKernelFeatures:
        """Return the model of rows from which ``shift`` (f,) has not been subtracted."""
        if shift is None or self.features.landmarks is not None:
            return self
        spectral = self.spectral
        if spectral is not None:
            spectral = SpectralLabels(
                spectral.factors, spectral.constants - shift @ spectral.factors
            )
        return replace(self, centres=self.centres + shift, spectral=spectral)

    def to_arrays(self) -> dict[str, Any]:
        """Return everything as arrays and numbers; raise ValueError where a kernel is code."""
        return schema.arrays_of(self, CENTRES) | self.features.to_arrays(self.spectral)

    @classmethod
    def from_arrays(cls, penalty: float, arrays: dict[str, Any]) -> FittedKernelFeatures:
        """Return what `to_arrays` was called on; raise ValueError where that cannot be."""
        centres, quantiles = schema.values_of(arrays, CENTRES)
        spectral = spectral_from(arrays, centres.shape[1])
        return cls(KernelFeatureMap.from_arrays(arrays), centres, penalty, quantiles, spectral)


@dataclass(frozen=True)
class KernelFeatureAssignment(CostAssignment):
    """Rows assigned to fitted clusters."""

    model: FittedKernelFeatures
    features: Any  # (m, f)

    def distances(self) -> Floats:
        """Return each row's distance (m, k) from the mean of every cluster."""
        return euclidean_distances(self.features, self.model.centres)

    @cached_property
    def assigned(self) -> Assigned:
        """The clusters of the rows, and squared distances from their means."""
        with one_blas_thread():
            squares = euclidean_distances(self.features, self.model.centres, squared=True)
            spectral = self.model.spectral
            chosen = squares.argmin(axis=1) if spectral is None else spectral.labels(self.features)
        rounding = ROUNDING * float(np.square(self.model.centres).sum(axis=1).max())
        return Assigned(chosen.astype(np.int32), squares[np.arange(len(chosen)), chosen], rounding)


def cluster_means(rows: Any, labels: NDArray[np.integer], weights: Floats) -> Floats:
    """Return the mean (k, f) of the weighted rows (n, f) of each cluster."""
    member = sparse.csr_array((weights, labels, np.arange(len(labels) + 1)))
    return np.asarray((member.T @ rows) / (member.T @ np.ones(len(labels)))[:, np.newaxis])
