"""Mercer kernels: scikit-learn's, with bandwidths that follow the data, and balanced.

Without a ``gamma`` the "rbf" kernel gives each row a bandwidth q of its own (Gibbs 1997),

    k(x, y) = [2 sqrt(q(x) q(y)) / (q(x) + q(y))]^(d/2) exp(-2 |x - y|^2 / (q(x) + q(y))),

which is ``exp(-|x - y|^2 / q)`` where bandwidths are equal, and positive semidefinite. With r(x)
the distance of x to its fourth neighbour (the tenth, if there is one column), q(x) is the squared
mean of r, or ``r(x)^2 / 2`` where that is more: rows in sparse regions keep links to others.

A balanced kernel is ``s(x) k(x, y) s(y)`` with s such that the values of each row, weighted, sum to
one (Zass & Shashua 2006; Sinkhorn's iteration). So clusters of any density have the same scale: the
sum inside a cluster by its weight is the share of its links that stay inside.

Neighbours and sums are those among ``anchors``, a bounded number of rows, so that both are
functions of any row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances, pairwise_kernels

from hardbayes.core.arrays import Floats, Matrix, chunks, is_sparse

NEIGHBOUR = 4  # whose distance is a row's bandwidth; a row that is an anchor is not counted
NEIGHBOUR_ON_A_LINE = 10  # of rows of one column, where gaps between neighbours vary most
MAX_ANCHORS = 1 << 11  # by which kernels are balanced: memory and time of their square
MAX_ROUNDS = 1000  # of Sinkhorn's iteration
BALANCED = 1e-10  # sums of rows that differ from one by less
MIN_SUM = 1e-100  # of kernel values, against overflow: rows far from all anchors have none
BLOCK = 64  # rows whose kernel values among each other are computed to have the diagonal

#: Kernels that are positive semidefinite for any rows.
SEMIDEFINITE = ("rbf", "laplacian", "linear", "cosine", "chi2")


class Seen(NamedTuple):
    """Rows as a kernel sees them: from its origin."""

    rows: Matrix  # (m, d), float64
    bandwidths: Floats | None  # (m,)
    scales: Floats | None  # (m,)

    def take(self, ids: NDArray[np.integer] | slice) -> Seen:
        """Return some of the rows."""
        bandwidths = None if self.bandwidths is None else self.bandwidths[ids]
        scales = None if self.scales is None else self.scales[ids]
        return Seen(self.rows[ids], bandwidths, scales)


@dataclass(frozen=True, eq=False)
class Mercer:
    """A kernel with all its parameters."""

    kernel: str | Callable[..., Any]
    parameters: dict[str, Any]  # of scikit-learn's function; without gamma: own bandwidths
    anchors: Seen | None = None
    anchor_counts: Floats | None = None  # (a,): how often each counts as a neighbour
    least_bandwidth: float = 0.0
    anchor_weights: Floats | None = None  # (a,): of a balanced kernel, their weights times scales
    origin: Floats | None = None  # (d,): subtracted from rows, which have distances alone

    @property
    def has_bandwidths(self) -> bool:
        """Whether each row has a bandwidth of its own."""
        return self.kernel == "rbf" and self.parameters.get("gamma") is None

    def see(self, rows: Matrix) -> Seen:
        """Return rows (m, d) with their bandwidths and scales."""
        return self.see_from_origin(rows if self.origin is None else rows - self.origin)

    def see_from_origin(self, rows: Matrix) -> Seen:
        """Return the same of rows from which the origin has been subtracted."""
        seen = Seen(rows, None, None)
        if self.anchors is None:
            return seen
        if self.has_bandwidths:
            seen = seen._replace(
                bandwidths=np.concatenate(
                    [self._bandwidths(rows[part]) for part in self._parts(rows)]
                )
            )
        if self.anchor_weights is not None:
            sums = np.concatenate(
                [
                    self._plain(seen.take(part), self.anchors) @ self.anchor_weights
                    for part in self._parts(rows)
                ]
            )
            seen = seen._replace(scales=1.0 / np.maximum(sums, MIN_SUM))
        return seen

    def between(self, left: Seen, right: Seen) -> Floats:
        """Return the kernel values (l, r) of rows."""
        values = self._plain(left, right)
        if left.scales is not None and right.scales is not None:
            values *= left.scales[:, np.newaxis]
            values *= right.scales
        return values

    def diagonal(self, seen: Seen) -> Floats:
        """Return the kernel value (m,) of each row with itself."""
        n = seen.rows.shape[0]
        parts = [seen.take(slice(start, start + BLOCK)) for start in range(0, n, BLOCK)]
        return np.concatenate([np.diag(self.between(part, part)) for part in parts])

    def _plain(self, left: Seen, right: Seen) -> Floats:
        """Return the values of the kernel before it is balanced."""
        if left.bandwidths is None or right.bandwidths is None:
            with np.errstate(over="ignore"):  # powers; kernel values are checked
                values = pairwise_kernels(
                    left.rows, right.rows, metric=self.kernel, filter_params=True, **self.parameters
                )
            return np.asarray(values, np.float64)
        values = euclidean_distances(left.rows, right.rows, squared=True)
        sums = left.bandwidths[:, np.newaxis] + right.bandwidths
        values *= -2.0
        values /= sums
        # The factor as a logarithm: a power of each entry would take longer than all the rest.
        half = left.rows.shape[1] / 2.0
        np.log(sums, out=sums)
        sums *= half
        values -= sums
        values += (half / 2.0 * np.log(4.0 * left.bandwidths))[:, np.newaxis]
        values += half / 2.0 * np.log(right.bandwidths)
        np.exp(values, out=values)
        return values

    def _bandwidths(self, rows: Matrix) -> Floats:
        assert self.anchors is not None and self.anchor_counts is not None
        apart = euclidean_distances(rows, self.anchors.rows, squared=True)
        last = apart.shape[1] - 1
        neighbour = NEIGHBOUR if rows.shape[1] > 1 else NEIGHBOUR_ON_A_LINE
        if (self.anchor_counts == 1.0).all():
            near = min(neighbour, last)
            squares = np.partition(apart, near, axis=1)[:, near]
        else:
            order = np.argsort(apart, axis=1, kind="stable")
            reached = np.cumsum(self.anchor_counts[order], axis=1) > neighbour
            near = np.where(reached[:, -1], reached.argmax(axis=1), last)[:, np.newaxis]
            squares = np.take_along_axis(apart, np.take_along_axis(order, near, 1), 1)[:, 0]
        return np.maximum(squares / 2.0, self.least_bandwidth)

    def _parts(self, rows: Matrix) -> list[slice]:
        assert self.anchors is not None
        return chunks(rows.shape[0], self.anchors.rows.shape[0])


def mercer_for(
    kernel: str | Callable[..., Any],
    parameters: dict[str, Any],
    balance: bool,
    anchors: Matrix,
    counts: Floats,
    weights: Floats,
) -> Mercer:
    """Return the kernel, with bandwidths and scales from anchors (a, d) that weigh so much (a,).

    ``counts`` (a,) are their weights as numbers of rows; in ``weights`` those of all rows are.
    Raises ValueError where kernel values to be balanced are negative.
    """
    mercer = Mercer(kernel, parameters)
    if kernel == "rbf" and not is_sparse(anchors):
        # Squared distances are differences of squares, which a large offset would cancel.
        origin = np.average(anchors, axis=0, weights=counts)
        mercer, anchors = replace(mercer, origin=origin), anchors - origin
    seen = Seen(anchors, None, None)
    if mercer.has_bandwidths:
        mercer = replace(mercer, anchors=seen, anchor_counts=counts)
        distances = np.sqrt(2.0 * mercer._bandwidths(anchors))
        mean = float(np.average(distances, weights=weights)) ** 2
        mercer = replace(mercer, least_bandwidth=mean if mean > 0 else 1.0)
        seen = mercer.see_from_origin(anchors)
        mercer = replace(mercer, anchors=seen)
    if balance:
        scales = balancing_scales(mercer.between(seen, seen), weights)
        mercer = replace(mercer, anchors=seen, anchor_weights=weights * scales)
    return mercer


def balancing_scales(values: Matrix, weights: Floats) -> Floats:
    """Return s (n,) such that the rows of ``s_i K_ij w_j s_j`` sum to one.

    Raises ValueError where values of K (n, n) are negative, or a row of them is zero.
    """
    if values.min() < 0:
        raise ValueError(
            f"A kernel with negative values, such as {float(values.min()):g}, cannot be balanced. "
            "Pass balance=False, or a kernel without negative values."
        )
    sums = values @ weights
    if not sums.min() > 0:
        raise ValueError(
            f"Row {int(np.argmin(sums))} of the kernel matrix is zero and cannot be balanced. "
            "Pass balance=False, or remove that row."
        )
    scales = 1.0 / np.sqrt(sums)
    for _ in range(MAX_ROUNDS):
        sums = scales * (values @ (weights * scales))
        if np.abs(sums - 1.0).max() < BALANCED:
            break
        scales /= np.sqrt(sums)
    return scales
