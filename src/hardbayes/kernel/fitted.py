"""Fitted clusters in the space of a Mercer kernel: labels for new rows; to and from arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hardbayes.core import schema
from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.fitted import (
    QUANTILES,
    Assigned,
    CostAssignment,
    measure_cost_quantiles,
    trace_attributes,
)
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
MAX_MEASURED = 1 << 12  # rows whose distances tell how far out those of a cluster lie


def rows_schema(name: str, number: str) -> schema.Schema:
    """Return what a file holds of rows, dense or sparse; ``number``: the name of their number."""
    return {
        name: schema.Entry(np.float64, schema.ANY_SHAPE, or_none=True),
        f"{name}_bandwidths": schema.array(number, or_none=True, may_miss=True),
        f"{name}_scales": schema.array(number, or_none=True, may_miss=True),
        f"{name}_indptr": schema.array(f"ends of {number}", dtype=np.integer, may_miss=True),
        f"{name}_indices": schema.array(f"entries of {number}", dtype=np.integer, may_miss=True),
        f"{name}_columns": schema.length("columns", may_miss=True),
    }


#: The attributes of a fitted estimator in a file, and what spectral clusters have besides.
ATTRIBUTES = schema.CLUSTERS | {"cluster_penalty_": schema.number(low=0)}
SPECTRAL = {
    "n_eigenvectors_": schema.length("eigenvectors"),
    "eigenvalues_": schema.array("eigenvectors"),
    "lower_bound_": schema.number(low=-np.inf),
}
PARAMETERS = ("gamma", "degree", "coef0")
#: What a file holds of a kernel, and of how rows are labelled by eigenvectors.
KERNEL = {
    **{f"working_{name}": schema.number(or_none=True, may_miss=True) for name in PARAMETERS},
    "working_kernel": schema.Entry(str),
    "working_least_bandwidth": schema.number(low=0, may_miss=True),
    "working_anchor_weights": schema.array("anchors", or_none=True, may_miss=True),
    "working_anchor_counts": schema.array("anchors", or_none=True, may_miss=True),
    "working_origin": schema.array("columns", or_none=True, may_miss=True),
    **rows_schema("working_anchors", "anchors"),
}
LABELLING = {
    "working_factors": schema.array("inputs", "k", or_none=True, source="spectral.factors"),
    "working_constants": schema.array("k", or_none=True, source="spectral.constants"),
}
CLUSTERS_OF_ROWS = {
    "working_labels": schema.array("n", dtype=np.int64, low=0, below="k"),
    "working_weights": schema.array("n", low=0),
    "working_inside": schema.array("k"),
    "working_volumes": schema.array("k", low=schema.POSITIVE),
    "working_spread": QUANTILES,
    "working_self_value": schema.number(or_none=True),
    "working_shift": schema.array("columns", or_none=True),
    "working_scales": schema.array("n", or_none=True),
}
#: What a file holds of clusters of rows that are kept.
MODEL = CLUSTERS_OF_ROWS | LABELLING | KERNEL | rows_schema("working_rows", "n")


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
    cost_quantiles: Floats  # (k, shares)
    spectral: SpectralLabels | None = None  # None where each row goes to the nearest mean

    def assign(self, matrix: Matrix, pool: Pool) -> GramAssignment:
        """Place rows, or rows of kernel values."""
        return GramAssignment(self, matrix)

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
        own = schema.arrays_of(self, CLUSTERS_OF_ROWS)
        own |= kernel_arrays(self.mercer, self.spectral)
        return own | rows_arrays("working_rows", self.seen)

    @classmethod
    def from_arrays(cls, penalty: float, arrays: dict[str, Any]) -> FittedGram:
        """Return what `to_arrays` was called on; raise ValueError where that cannot be."""
        values = schema.values_of(arrays, CLUSTERS_OF_ROWS)
        labels, weights, inside, volumes, quantiles, self_value, shift, scales = values
        seen, mercer = rows_from("working_rows", arrays), mercer_from(arrays)
        spectral = spectral_from(arrays, len(labels))
        if (mercer is None) != (seen is None) or (seen and seen.rows.shape[0] != len(labels)):
            raise schema.contradiction("its rows disagree")
        return cls(
            mercer, seen, scales, weights, labels, inside, volumes, penalty, self_value, shift,
            quantiles, spectral,
        )  # fmt: skip


@dataclass(frozen=True)
class GramAssignment(CostAssignment):
    """Rows assigned to fitted clusters."""

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
    def assigned(self) -> Assigned:
        """The clusters of the rows, and squared distances from their means."""
        labels, costs, selves = [], [], []
        for values, own, gaps in self._parts():
            spectral = self.model.spectral
            chosen = gaps.argmin(axis=1) if spectral is None else spectral.labels(values)
            labels.append(chosen.astype(np.int32))
            costs.append(np.maximum(own + gaps[np.arange(len(own)), chosen], 0.0))
            selves.append(own)
        rounding = ROUNDING * np.abs(np.concatenate(selves))
        return Assigned(np.concatenate(labels), np.concatenate(costs), rounding)

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


def kernel_arrays(mercer: Mercer | None, spectral: SpectralLabels | None) -> dict[str, Any]:
    """Return a kernel, and how rows are labelled, as arrays and numbers."""
    labelling = {name: getattr(spectral, name.removeprefix("working_"), None) for name in LABELLING}
    if mercer is None:
        return labelling | {"working_kernel": "precomputed", "working_anchors": None}
    if not isinstance(mercer.kernel, str):
        raise ValueError("its kernel is a function, which a file does not hold; use a name")
    found = {f"working_{name}": mercer.parameters.get(name) for name in PARAMETERS}
    for name in ("kernel", "least_bandwidth", "anchor_weights", "anchor_counts", "origin"):
        found[f"working_{name}"] = getattr(mercer, name)
    return labelling | found | rows_arrays("working_anchors", mercer.anchors)


def mercer_from(arrays: dict[str, Any]) -> Mercer | None:
    """Return the kernel of these arrays; None where kernel values are given."""
    *given, kernel, bandwidth, weights, counts, origin = schema.values_of(arrays, KERNEL)[:8]
    if kernel == "precomputed":
        return None
    if bandwidth is None:
        raise schema.contradiction("its kernel is incomplete")
    parameters = {n: value for n, value in zip(PARAMETERS, given, strict=True) if value is not None}
    anchors = rows_from("working_anchors", arrays)
    return Mercer(kernel, parameters, anchors, counts, bandwidth, weights, origin)


def spectral_from(arrays: dict[str, Any], n_inputs: int) -> SpectralLabels | None:
    """Return how rows are labelled by these arrays; None where each goes to the nearest mean."""
    factors, constants = schema.values_of(arrays, LABELLING)
    if factors is None and constants is None:
        return None
    if factors is None or constants is None or len(factors) != n_inputs:
        raise schema.contradiction("its eigenvectors disagree with its rows")
    return SpectralLabels(factors, constants)


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


def rows_from(name: str, arrays: dict[str, Any]) -> Seen | None:
    """Return the rows of these arrays; raise ValueError where there cannot be such rows."""
    parts = ("", "_bandwidths", "_scales", "_indptr", "_indices", "_columns")
    rows, bandwidths, scales, indptr, indices, n_columns = (arrays.get(name + p) for p in parts)
    if rows is None:
        return None
    if indptr is not None and indices is not None and n_columns is not None:
        try:
            rows = sparse.csr_array((rows, indices, indptr), shape=(len(indptr) - 1, n_columns))
            rows.check_format(full_check=True)
        except ValueError as error:
            raise schema.contradiction(f"{name!r} are no sparse rows") from error
    if rows.ndim != 2 or rows.shape[1] != arrays["n_features_in_"]:
        raise schema.contradiction(f"{name!r} are no rows")
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
    ids = ids[:: -(-len(ids) // MAX_MEASURED)]
    costs = model.distances(clusters, ids)
    volumes = clusters.volumes
    own = labels[ids].astype(np.int32)
    quantiles = measure_cost_quantiles(costs, own, len(volumes), weights[ids])
    fitted = FittedGram(
        problem.mercer, problem.seen, problem.scales, problem.weights, labels, clusters.inside,
        volumes, model.penalty, problem.self_value, problem.shift,
        quantiles, spectral,
    )  # fmt: skip
    return {
        "_model": fitted,
        "labels_": labels.astype(np.int32),
        "n_clusters_": len(volumes),
        "cluster_weights_": volumes,
        "cluster_penalty_": model.penalty,
        "inertia_": solution.fit,
    } | trace_attributes(solution, history, len(volumes))
