"""Several sweeps in one call, where rows are few: then the interpreter is what takes time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.executors.centre_table import Known, squared_centres
from hardbayes.kernels.partition.sweeping import Trace, sweep

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.data_rows import DataRows
    from hardbayes.executors.exact_totals import ExactTotals
    from hardbayes.kernels.partition.rows import Centres

# What a sweep may take in one call, in entries of rows compared with centres: as long as the passes
# for many rows need to be set up.
MOST_WORK = 3 << 16
FEWEST_CLUSTERS = 8  # that a fit is expected to come to
TOGETHER = 2  # sweeps in which every row opens a cluster that there is room for
MOST_STEPS = 256  # in one call, so that Ctrl-C is prompt


class Plan(NamedTuple):
    """What sweeps need to know of the fit."""

    penalty: float
    max_clusters: int
    order: NDArray[np.signedinteger]  # (n,): rows as they are visited
    n_clusters: int  # after the sweep before, -1 for none
    patience: int  # so many rows may change in the last sweep
    max_steps: int


class Sweeps(NamedTuple):
    """What several sweeps did, and where they left the clusters."""

    n_clusters: list[int]  # after each
    potentials: list[tuple[float, float]]  # after each, with what float64 drops of it
    n_changed: list[int]  # rows, in each
    changing: bool  # whether the last one changed the partition
    refused: bool  # whether rows would have opened clusters, were it not for the cap
    labels: NDArray[np.int32]  # (n,): slots
    centres: Centres  # in slots by order of creation, the dead among them
    next_rank: int


def is_few(n_rows: int, n_columns: int, n_clusters: int) -> bool:
    """Whether sweeps over so many rows are worth doing in one call."""
    return n_rows * max(n_clusters, FEWEST_CLUSTERS) * (n_columns + 8) <= MOST_WORK


def sweep_few(
    data: DataRows,
    before: NDArray[np.int32],
    totals: ExactTotals,
    old: NDArray[np.intp],
    known: Known,
    plan: Plan,
) -> Sweeps:
    """Sweep until at most ``plan.patience`` rows change; less long, where rows turn out many.

    ``before`` (n,): numbers of the rows' clusters, -1 for none; ``old`` (k,): slots of the totals.
    OUT totals: in the slots returned.
    """
    n, d = data.shape
    k = len(old)
    slots = k + TOGETHER * n
    exact, ranks = np.zeros((slots, d)), np.full(slots, -1)
    exact[:k], ranks[:k] = known.centres, known.ranks
    centres = squared_centres(data.dtype, exact, ranks)
    totals.rearrange(old, np.arange(k), slots)
    labels = np.empty_like(before)
    steps = min(plan.max_steps, MOST_STEPS) + 1
    trace = Trace(*np.zeros((2, steps), np.int64), *np.zeros((2, steps)))
    trace.clusters[0] = plan.n_clusters
    n_steps, used, changing, refused = sweep(
        data.rows, data.weights, plan.penalty, data.constants, centres, k, known.next_rank,
        plan.max_clusters, plan.order, totals.parts, totals.quanta.snaps,
        totals.quanta.weight_snaps, before, labels, trace, np.empty((2, slots), np.int64),
        np.empty(slots, np.int64), np.zeros(d), plan.patience, MOST_WORK,
    )  # fmt: skip
    done = slice(1, n_steps + 1)
    return Sweeps(
        trace.clusters[done].tolist(),
        list(zip(trace.potential[done].tolist(), trace.remainder[done].tolist(), strict=True)),
        trace.changes[done].tolist(),
        changing,
        refused,
        labels,
        centres,
        known.next_rank + used - k,
    )
