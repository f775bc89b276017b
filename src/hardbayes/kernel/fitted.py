"""Fitted clusters in the space of a Mercer kernel: labels for new rows; to and from arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.fitted import CostPlacement, Placed, is_spread, spread_of, trace_attributes
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.geometry.squared_euclidean import SquaredEuclidean
from hardbayes.core.loop import level_rounding
from hardbayes.core.pool import Pool, one_blas_thread
from hardbayes.kernel.mercer import Mercer, Seen
from hardbayes.kernel.problem import KernelProblem
from hardbayes.kernel.search import KernelSolution

if TYPE_CHECKING:
    from hardbayes.kernel.clusters import KernelMatrix

SLAB = 1 << 21  # kernel values of new rows that are held at a time
ROUNDING = 1e-12  # of squared distances, by the kernel value of a row with itself
SAVED_KERNEL = ("gamma", "degree", "coef0")
MOST_MEASURED = 1 << 12  # rows whose distances tell how far out those of a cluster lie
CLUSTERS = ("labels", "weights", "inside", "volumes", "spread")


@dataclass(frozen=True, eq=False)
class SpectralLabels:
    """How rows are labelled by rotated eigenvectors: the largest of ``|f @ factors + constants|``.

    f are the kernel values of a row with those of the fit, or its features.
    """

    factors: Floats  # (n, k), or (features, k)
    constants: Floats  # (k,)

    def labels(self, values: Any) -> NDArray[np.int64]:
        """Return the cluster (m,) of each row of values (m, n)."""
        return np.abs(values @ self.factors + self.constants).argmax(axis=1)


@dataclass(frozen=True, eq=False)
class FittedGram:
    """Clusters of the rows of a fit, which are kept: their means are sums of kernel values."""

    geometry: ClassVar[Geometry] = SquaredEuclidean()  # in the space of the kernel
    mercer: Mercer | None  # None where kernel values are given
    seen: Seen | None  # the rows of the fit
    scales: Floats | None  # (n,): of given kernel values that were balanced
    weights: Floats  # (n,)
    labels: NDArray[np.int64]  # (n,)
    inside: Floats  # (k,)
    volumes: Floats  # (k,)
    penalty: float
    self_value: float | None  # the kernel value of any row with itself, where values are given
    shift: Floats | None  # (d,): subtracted from rows
    spread: Floats  # (k, shares)
    spectral: SpectralLabels | None = None  # None where each row goes to the nearest mean

    def place(self, matrix: Matrix, pool: Pool) -> GramPlacement:
        """Place rows, or rows of kernel values."""
        return GramPlacement(self, matrix)

    def values(self, rows: Matrix) -> tuple[Any, Floats]:
        """Return kernel values (m, n) of new rows with those of the fit, and with themselves (m,).

        The latter are NaN where they are unknown.
        """
        if self.mercer is not None and self.seen is not None:
            rows = rows.astype(np.float64)
            seen = self.mercer.see(rows if self.shift is None else rows - self.shift)
            return self.mercer.between(seen, self.seen), self.mercer.diagonal(seen)
        values = rows.astype(np.float64)
        own = np.full(values.shape[0], np.nan if self.self_value is None else self.self_value)
        if self.scales is not None:
            sums = np.asarray(values @ (self.weights * self.scales)).ravel()
            new = 1.0 / np.where(sums > 0, sums, 1.0)
            values = sparse.diags_array(new) @ values @ sparse.diags_array(self.scales)
            own = own * new**2
        return values, own

    def to_arrays(self) -> dict[str, Any]:
        """Return everything as arrays and numbers; raise ValueError where a kernel is code."""
        found = {name: getattr(self, name) for name in CLUSTERS}
        found |= {"self_value": self.self_value, "shift": self.shift, "scales": self.scales}
        found |= spectral_arrays(self.spectral)
        found |= mercer_arrays(self.mercer) | rows_arrays("rows", self.seen)
        return {f"working_{name}": value for name, value in found.items()}

    @classmethod
    def from_arrays(cls, penalty: float, arrays: dict[str, Any]) -> FittedGram:
        """Return the model that `to_arrays` was called on; raise ValueError if it is malformed."""
        try:
            own = {name.removeprefix("working_"): value for name, value in arrays.items()}
            seen, mercer = rows_from("rows", own), mercer_from(own)
            clusters = {name: np.array(own.pop(name)) for name in CLUSTERS}
            spectral = spectral_from(own)
            model = cls(
                mercer, seen, own.pop("scales"), penalty=penalty, spectral=spectral,
                self_value=own.pop("self_value"), shift=own.pop("shift"), **clusters,
            )  # fmt: skip
            k, n = len(model.volumes), len(model.labels)
            sound = (
                not own
                and model.labels.dtype == np.int64
                and model.labels.min() >= 0
                and model.labels.max() < k
                and model.weights.shape == (n,)
                and model.inside.shape == (k,)
                and bool(np.isfinite(model.inside).all() and (model.volumes > 0).all())
                and is_spread(model.spread, k)
                and (mercer is None) == (seen is None)
                and (seen is None or seen.rows.shape[0] == n)
                and (spectral is None or spectral.factors.shape[0] == n)
            )
        except (KeyError, AttributeError, ValueError, TypeError, IndexError) as error:
            raise ValueError(f"The saved model is incomplete: {error}") from None
        if not sound:
            raise ValueError("The saved model contradicts itself: its clusters disagree.")
        return model


@dataclass(frozen=True)
class GramPlacement(CostPlacement):
    """Rows placed in fitted clusters."""

    model: FittedGram
    matrix: Matrix

    def costs(self) -> Floats:
        """Return each row's squared distance from the mean of its cluster."""
        self._check_self_values()
        return super().costs()

    def distances(self) -> Floats:
        """Return each row's distance (m, k) from the mean of every cluster."""
        self._check_self_values()
        parts = [own[:, np.newaxis] + gaps for _, own, gaps in self._parts()]
        return np.sqrt(np.maximum(np.concatenate(parts), 0.0))

    @cached_property
    def placed(self) -> Placed:
        """The clusters of the rows, and squared distances from their means."""
        labels, costs, selves = [], [], []
        for values, own, gaps in self._parts():
            spectral = self.model.spectral
            chosen = gaps.argmin(axis=1) if spectral is None else spectral.labels(values)
            labels.append(chosen.astype(np.int32))
            costs.append(np.maximum(own + gaps[np.arange(len(own)), chosen], 0.0))
            selves.append(own)
        rounding = ROUNDING * np.abs(np.concatenate(selves))
        return Placed(np.concatenate(labels), np.concatenate(costs), rounding)

    def _parts(self) -> Iterator[tuple[Any, Floats, Floats]]:
        """Yield kernel values, those of rows with themselves, and distances without the latter."""
        model = self.model
        n, k = len(model.labels), len(model.volumes)
        shares = model.weights / model.volumes[model.labels]
        member = sparse.csr_array((shares, model.labels, np.arange(n + 1)), shape=(n, k))
        offsets = model.inside / model.volumes**2
        size = max(1, SLAB // n)
        for start in range(0, self.matrix.shape[0], size):
            with one_blas_thread():
                values, own = model.values(self.matrix[start : start + size])
            reach = values @ member
            reach = reach.toarray() if sparse.issparse(reach) else reach
            yield values, own, offsets - 2.0 * reach

    def _check_self_values(self) -> None:
        if self.model.mercer is None and self.model.self_value is None:
            raise ValueError(
                "Distances of new rows need their kernel values with themselves, which a "
                "precomputed matrix does not tell unless its diagonal is constant. Use predict "
                "without novelty, or a kernel function."
            )


def spectral_arrays(spectral: SpectralLabels | None) -> dict[str, Any]:
    """Return how rows are labelled as arrays."""
    return {name: getattr(spectral, name, None) for name in ("factors", "constants")}


def spectral_from(own: dict[str, Any]) -> SpectralLabels | None:
    """Return how rows are labelled by these arrays, which are taken out of them."""
    factors, constants = own.pop("factors"), own.pop("constants")
    return None if factors is None else SpectralLabels(factors, constants)


def mercer_arrays(mercer: Mercer | None) -> dict[str, Any]:
    """Return a kernel as arrays and numbers."""
    if mercer is None:
        return {"kernel": "precomputed"} | rows_arrays("anchors", None)
    if not isinstance(mercer.kernel, str):
        raise ValueError("its kernel is a function, which a file does not hold; use a name")
    found: dict[str, Any] = {name: mercer.parameters.get(name) for name in SAVED_KERNEL}
    found |= {"kernel": mercer.kernel, "least_bandwidth": mercer.least_bandwidth}
    return (
        found
        | {"anchor_weights": mercer.anchor_weights, "anchor_counts": mercer.anchor_counts}
        | rows_arrays("anchors", mercer.anchors)
    )


def mercer_from(own: dict[str, Any]) -> Mercer | None:
    """Return the kernel of these arrays, which are taken out of them."""
    kernel, anchors = own.pop("kernel"), rows_from("anchors", own)
    if kernel == "precomputed":
        return None
    given = {name: own.pop(name) for name in SAVED_KERNEL}
    parameters = {name: value for name, value in given.items() if value is not None}
    names = ("anchor_counts", "least_bandwidth", "anchor_weights")
    return Mercer(kernel, parameters, anchors, *(own.pop(name) for name in names))


def rows_arrays(name: str, seen: Seen | None) -> dict[str, Any]:
    """Return rows as arrays, dense or sparse."""
    if seen is None:
        return {name: None}
    rows: Any = seen.rows
    found = {f"{name}_bandwidths": seen.bandwidths, f"{name}_scales": seen.scales}
    if not sparse.issparse(rows):
        return found | {name: rows}
    parts = {f"{name}_{part}": getattr(rows, part) for part in ("indptr", "indices")}
    return found | parts | {name: rows.data, f"{name}_columns": int(rows.shape[1])}


def rows_from(name: str, own: dict[str, Any]) -> Seen | None:
    """Return the rows of these arrays, which are taken out of them."""
    rows = own.pop(name)
    if rows is None:
        return None
    bandwidths, scales = own.pop(f"{name}_bandwidths"), own.pop(f"{name}_scales")
    if f"{name}_indptr" in own:
        indptr, indices = own.pop(f"{name}_indptr"), own.pop(f"{name}_indices")
        shape = (len(indptr) - 1, own.pop(f"{name}_columns"))
        rows = sparse.csr_array((rows, indices, indptr), shape=shape)
        rows.check_format(full_check=True)
    if rows.ndim != 2:
        raise ValueError(f"{name} are no rows")
    return Seen(rows, bandwidths, scales)


def fitted_attributes(
    solution: KernelSolution,
    problem: KernelProblem,
    model: KernelMatrix,
    spectral: SpectralLabels | None = None,
) -> dict[str, Any]:
    """Return the attributes of a fitted estimator."""
    clusters, history = solution.statistics, level_rounding(solution.history, 1e-9 * model.unit)
    labels, weights = solution.labels.copy(), problem.weights
    if spectral is None and len(light := np.flatnonzero(weights == 0)):
        labels[light] = model.nearest(clusters, light)[0]
    ids = np.flatnonzero(weights > 0)
    ids = ids[:: -(-len(ids) // MOST_MEASURED)]
    costs = model.distances(clusters, ids)
    volumes = clusters.volumes
    fitted = FittedGram(
        problem.mercer, problem.seen, problem.scales, problem.weights, labels, clusters.inside,
        volumes, model.penalty, problem.self_value, problem.shift,
        spread_of(costs, labels[ids].astype(np.int32), len(volumes), weights[ids]), spectral,
    )  # fmt: skip
    return {
        "_model": fitted,
        "labels_": labels.astype(np.int32),
        "n_clusters_": len(volumes),
        "cluster_weights_": volumes,
        "cluster_penalty_": model.penalty,
        "inertia_": solution.fit,
    } | trace_attributes(solution, history, len(volumes))
