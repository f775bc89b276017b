"""Several sweeps in one compiled call, for data so small that the interpreter takes the time.

A sweep over a hundred rows takes microseconds, the calls between two of them a hundred times that.
The kernel is Algorithm 1 as published, row by row; the same exact totals give the same bits as the
passes over tiles. It also spares a first fit on small data the compilation of those passes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import DirectForm, Floats, Totals, no_totals
from hardbayes.dp_means.compiled.sweeping import Trace, sweep
from hardbayes.dp_means.local_rows import LocalRows
from hardbayes.dp_means.totals import Rounding

# What a sweep may take in one call, in entries of rows compared with centres: about as long as it
# takes to set up the passes over tiles.
MOST_WORK = 3 << 16
FEWEST_CLUSTERS = 8  # that a fit is expected to have in the end
# The kernel stops when fewer slots than rows are left: every row might open a cluster.
SLOTS_A_ROW = 2
MOST_STEPS = 256  # in one call, so that Ctrl-C is prompt


class Start(NamedTuple):
    """Clusters and labels before the first sweep; clusters are numbered in order of creation."""

    labels: NDArray[np.int32]  # (n,): number of each row's cluster, -1 for none
    centres: Floats  # (k, d)
    ranks: NDArray[np.int64]  # (k,)
    next_rank: int
    totals: Totals  # (k, d)
    n_clusters: int  # after the sweep before, -1 for none


class Limits(NamedTuple):
    """What a sweep costs and when sweeps end."""

    penalty: float
    max_clusters: int
    max_changes: int  # sweeps end when no more rows than this change
    max_steps: int


class Sweeps(NamedTuple):
    """What several sweeps did, and the clusters after the last."""

    n_clusters: list[int]  # after each
    potentials: list[tuple[float, float]]  # after each, with what float64 drops of it
    n_changed: list[int]  # rows, in each
    changing: bool  # whether the last one changed the partition
    refused: bool  # whether rows would have opened clusters but for max_clusters
    labels: NDArray[np.int32]  # (n,): slots
    slots: NDArray[np.intp]  # (k,): those of the clusters, in order of creation
    centres: Floats  # (slots, d)
    ranks: NDArray[np.int64]  # (slots,)
    next_rank: int
    totals: Totals  # (slots, d)


def is_few(n_rows: int, n_columns: int, n_clusters: int) -> bool:
    """Whether sweeps over so many rows are worth doing in one call."""
    return n_rows * max(n_clusters, FEWEST_CLUSTERS) * (n_columns + 8) <= MOST_WORK


def sweep_few(
    local: LocalRows,
    order: NDArray[np.signedinteger],
    start: Start,
    limits: Limits,
    rounding: Rounding,
) -> Sweeps:
    """Sweep until few rows change; fewer times where there come to be many clusters.

    ``order`` (n,): rows as they are visited.
    """
    n, d = local.n_rows, local.n_columns
    k = len(start.ranks)
    slots = k + SLOTS_A_ROW * n
    exact, ranks = np.zeros((slots, d)), np.full(slots, -1)
    exact[:k], ranks[:k] = start.centres, start.ranks
    form = DirectForm(exact, np.einsum("ij,ij->i", exact, exact), True)
    centres = local.centres(form)._replace(rank=ranks)
    totals = no_totals(slots, d)
    for new, old in zip(totals, start.totals, strict=True):
        new[:k] = old[:k]
    before = start.labels.copy()
    labels = np.empty_like(before)
    steps = min(limits.max_steps, MOST_STEPS) + 1
    trace = Trace(*np.zeros((2, steps), np.int64), *np.zeros((2, steps)))
    trace.clusters[0] = start.n_clusters
    n_steps, used, changing, refused = sweep(
        local.rows, local.weights, limits.penalty, local.constants, centres, k, start.next_rank,
        limits.max_clusters, order, totals, rounding.rows, rounding.weights, before, labels, trace,
        np.empty((2, slots), np.int64), np.empty(slots, np.int64), np.zeros(d),
        limits.max_changes, MOST_WORK,
    )  # fmt: skip
    done = slice(1, n_steps + 1)
    return Sweeps(
        trace.clusters[done].tolist(),
        list(zip(trace.potential[done].tolist(), trace.remainder[done].tolist(), strict=True)),
        trace.changes[done].tolist(),
        changing,
        refused,
        labels,
        np.flatnonzero(ranks >= 0),
        exact,
        ranks,
        start.next_rank + used - k,
        totals,
    )
