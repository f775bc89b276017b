"""What fitted models share: how far out rows lie, where new rows go, how the fit went.

A row is an outlier of its cluster, at a share of 0.01, if it costs more than all but that share of
the cluster's training rows. Ten quantiles for each cluster are enough for any share: between them
the cost is linear in the logarithm of the share, as in an exponential tail, and so beyond the last.

A quantile is the cluster's own where enough rows lie beyond it. Farther out, the shape of the tail
is that of all clusters together, each in units of its own mean cost; of the smallest clusters only
that mean cost is used, and the overall one with it, as if that came from a few rows more.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats
from hardbayes.core.loop import Status
from hardbayes.core.schema import array

#: Shares of the rows beyond each quantile.
SHARES = np.array([1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001])
#: In a file, the quantiles of the costs of each cluster's rows.
QUANTILES = array("k", len(SHARES), low=0, source="cost_quantiles")
# Rows beyond a quantile from which it is taken for the cluster's own.
ENOUGH = 5
# Rows of the overall mean cost that each cluster's is averaged with.
PSEUDO_ROWS = 4
# Rows that are sorted: more are taken at equal distances.
MAX_ROWS = 1 << 15


def measure_cost_quantiles(
    costs: Floats, labels: NDArray[np.int32], n_clusters: int, weights: Floats
) -> Floats:
    """Return the quantiles (k, shares) of the costs (n,) of the rows of each cluster.

    ``weights`` (n,) or (1,): what rows count.
    """
    # A few rows of many, before anything as long as the data is made of them.
    weights = np.broadcast_to(weights, len(costs))
    some = every_so_many(len(costs), int(np.count_nonzero(weights)), len(costs))
    return cost_quantiles(costs[some], labels[some], n_clusters, weights[some])


def every_so_many(n_rows: int, n_weighted: int, most: int) -> slice:
    """Return which rows tell the quantiles: at equal distances, no more than ``most``."""
    return slice(0, n_rows, max(-(-n_weighted // MAX_ROWS), -(-n_rows // most)))


def cost_quantiles(
    costs: Floats, labels: NDArray[np.int32], n_clusters: int, weights: Floats
) -> Floats:
    """Return the quantiles of `measure_cost_quantiles` from all of these rows."""
    costs = np.maximum(costs, 0.0)
    if not weights.all():
        kept = weights > 0
        costs, labels, weights = costs[kept], labels[kept], weights[kept]
    members = np.bincount(labels, minlength=n_clusters)
    scales = _scales(costs, labels, members, weights)
    own = _quantiles(costs, labels, n_clusters, weights)

    relative = np.zeros(len(costs))  # a cost of zero is zero in any unit
    own_scales = scales[labels]
    np.divide(costs, own_scales, out=relative, where=(costs > 0) & (own_scales > 0))
    several = members[labels] > 1
    shape = _tail(relative[several], weights[several])

    last = np.count_nonzero(members[:, np.newaxis] * SHARES[1:] >= ENOUGH, axis=1)
    anchors = own[np.arange(n_clusters), last]
    anchored = (last > 0) & (anchors > 0) & (shape[last] > 0)
    unit = np.where(anchored, anchors / np.where(anchored, shape[last], 1.0), scales)
    is_own = np.arange(len(SHARES)) <= np.where(anchored, last, 0)[:, np.newaxis]
    return np.maximum.accumulate(np.where(is_own, own, unit[:, np.newaxis] * shape), axis=1)


def costs_at_share(quantiles: Floats | None, share: float) -> Floats:
    """Return for each cluster (k,) the cost above which a row is an outlier at this share."""
    if quantiles is None:
        raise ValueError(
            "This model comes from a file of hardbayes 0.1.0, which does not tell how far out the "
            "rows of a cluster lie. Fit it again, or use novelty=True."
        )
    places, wanted = -np.log(SHARES), -np.log(share)
    at = int(np.clip(np.searchsorted(places, wanted) - 1, 0, len(places) - 2))
    part = (wanted - places[at]) / (places[at + 1] - places[at])
    return quantiles[:, at] + part * (quantiles[:, at + 1] - quantiles[:, at])


def _scales(
    costs: Floats, labels: NDArray[np.int32], members: NDArray[np.int64], weights: Floats
) -> Floats:
    """Return the mean cost of each cluster (k,), averaged with a few rows of the overall one.

    One row of each cluster is not counted: the centre uses up one degree of freedom.
    """
    k = len(members)
    sums, sizes = np.bincount(labels, weights * costs, k), np.bincount(labels, weights, k)
    free = sizes * (1.0 - 1.0 / np.maximum(members, 1))
    overall = sums.sum() / free.sum() if free.any() else 0.0
    pseudo = PSEUDO_ROWS * sizes.sum() / members.sum()
    return (sums + pseudo * overall) / (free + pseudo)


def _tail(relative: Floats, weights: Floats) -> Floats:
    """Return the quantiles (shares,) of costs relative to the mean of their cluster.

    Where too few rows lie beyond one, the tail goes on with its last slope; without any, as an
    exponential one.
    """
    shape = np.zeros(len(SHARES))
    n_known = 1 + np.count_nonzero(len(relative) * SHARES[1:] >= ENOUGH)
    if n_known > 1:
        one = np.zeros(len(relative), np.int32)
        shape[:n_known] = _quantiles(relative, one, 1, weights)[0, :n_known]
    lengths = np.log(SHARES[:-1] / SHARES[1:])
    slope = 1.0
    if n_known > 1:
        slope = (shape[n_known - 1] - shape[n_known - 2]) / lengths[n_known - 2]
    for at in range(n_known, len(SHARES)):
        shape[at] = shape[at - 1] + slope * lengths[at - 1]
    return shape


def _quantiles(
    costs: Floats, labels: NDArray[np.int32], n_clusters: int, weights: Floats
) -> Floats:
    """Return costs (k, shares) that no more than each share of a cluster's weight lies above.

    Halfway between two rows, so that rounding does not change on which side a row is.
    """
    # Small integers are sorted in linear time.
    labels = labels.astype(np.min_scalar_type(n_clusters), copy=False)
    order = np.argsort(labels, kind="stable")
    ranked, weighted = costs[order], weights[order]
    sizes = np.bincount(labels, weights, n_clusters)
    before = np.cumsum(sizes) - sizes
    targets = before[:, np.newaxis] + sizes[:, np.newaxis] * (1.0 - SHARES)
    # The first row of the cluster at least, and of no other: sums of weights are rounded.
    ends = np.cumsum(np.bincount(labels, minlength=n_clusters))[:, np.newaxis]
    starts = np.concatenate([[[0]], ends[:-1]])
    rank_within(ranked, weighted, starts[:, 0], ends[:, 0])
    heap = np.cumsum(weighted)
    at = np.minimum(np.maximum(np.searchsorted(heap, targets), starts), ends - 1)
    halfway = 0.5 * (ranked[at] + ranked[np.minimum(at + 1, ends - 1)])
    return np.where(ends > starts, halfway, 0.0)


def rank_within(
    costs: Floats, weights: Floats, starts: NDArray[np.intp], ends: NDArray[np.intp]
) -> None:
    """IN/OUT costs (n,), weights (n,): sort each run by cost, equal costs as they are."""
    if len(weights) and weights.min() == weights.max():
        for start, end in zip(starts, ends, strict=True):
            costs[start:end].sort()
        return
    for start, end in zip(starts, ends, strict=True):
        order = np.argsort(costs[start:end], kind="stable")
        costs[start:end] = costs[start:end][order]
        weights[start:end] = weights[start:end][order]


class Assigned(NamedTuple):
    """Where rows are."""

    labels: NDArray[np.int32]  # (n,): the number of each row's cluster
    costs: Floats  # (n,): of each row there
    rounding: Floats | float  # (n,) or for all: what a row at the mean of its cluster may cost


class CostAssignment(ABC):
    """Rows assigned by a ``model`` with a ``penalty`` and ``cost_quantiles`` of its clusters."""

    model: Any

    @property
    @abstractmethod
    def assigned(self) -> Assigned:
        """Where the rows are."""

    def labels(self) -> NDArray[np.int32]:
        """Return the number of each row's cluster."""
        return self.assigned.labels

    def costs(self) -> Floats:
        """Return each row's cost there."""
        return self.assigned.costs

    def novel(self) -> NDArray[np.bool_]:
        """Return which rows cost more than a cluster of their own, rounding apart."""
        return self.costs() > np.maximum(self.model.penalty, self.assigned.rounding)

    def outliers(self, share: float) -> NDArray[np.bool_]:
        """Return which rows cost more than all but this share of their cluster's training rows."""
        limits = costs_at_share(self.model.cost_quantiles, share)[self.labels()]
        return self.costs() > np.maximum(limits, self.assigned.rounding)


class AtOnce(NamedTuple):
    """The end of a fit that takes no steps."""

    status: Status = Status.CONVERGED
    n_splits: int = 0
    n_merges: int = 0


def trace_attributes(end: Any, history: Floats, n_clusters: int) -> dict[str, Any]:
    """Return the objective, its history (steps,), and how the fit ended.

    ``end``: a solution of any descent, with ``status``, ``n_splits`` and ``n_merges``.
    """
    return {
        "objective_": float(history[-1]),
        "objective_history_": history,
        "n_iter_": len(history),
        "n_splits_": end.n_splits,
        "n_merges_": end.n_merges,
        "converged_": end.status is not Status.OUT_OF_STEPS,
        "status_": end.status.sentence(len(history), n_clusters),
    }
