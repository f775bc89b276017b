"""Detours: for a while more clusters than the cap allows, then as many as before.

Where the cap binds, exchanges one by one end in local optima that a wider circle leaves: clusters
divide whose divisions save most, then those unite whose unions cost least, and after each step rows
move one by one. For squared distances without a prior.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.moves.partition.merges import WORTHWHILE
from hardbayes.moves.partition.proposal import PartitionProposal
from hardbayes.moves.partition.splits import UNCHANGED, n_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.local.incremental import IncrementalPartition
    from hardbayes.local.incremental_totals import IncrementalTotals
    from hardbayes.matrices import Floats
    from hardbayes.moves.partition.state import PartitionState
    from hardbayes.structure.partition import Partition

# How many clusters more, as parts of their number, by turns and each time with other draws; until
# there were so many more in all.
PARTS = (0.5, 1.0)
TURNS = 4
MORE_IN_ALL = 40
# On the way, one row in so many may still move before the next step.
UNCONVERGED = 200
# At its end a detour so much worse, as a part of the fit term, is given up before rows converge.
HOPELESS = 0.003
# Detours are made with at most so many rows, with which a step takes about as long as a sweep; so
# many clusters, of which all distances are kept; and entries of centres, which are copied.
MOST_ROWS = 1 << 17
MOST_CLUSTERS = 512
MOST_ENTRIES = 1 << 22


def propose_detour(
    state: PartitionState, partition: Partition, rng: np.random.RandomState
) -> PartitionProposal | None:
    """Propose where the first of several detours ends that ends lower."""
    rows, k = state.rows, state.n_clusters
    n_rows, lengths = rows.n_rows, _lengths(k)
    is_large = (
        n_rows > min(MOST_ROWS, rows.most_taken)
        or k > MOST_CLUSTERS
        or (k + max(lengths)) * rows.n_columns > MOST_ENTRIES
    )
    labels = state.numbers()
    if k == 1 or is_large or labels.min() < 0:  # rows of no weight may be in no cluster
        return None
    weights, centres = state.centres()
    form = partition.moving_form(centres)
    walk = rows.take().incremental(form, labels, weights, k + max(lengths), rng)
    before, saved = walk.fit(), walk.save()
    for more in lengths:
        _there_and_back(walk, more, n_rows // UNCONVERGED)
        if walk.fit() < (1 + HOPELESS) * before:
            walk.relocate(0)
            gain = before - walk.fit()
            if gain > WORTHWHILE * before:
                return _proposal(labels, walk.labels, walk.centres, k, gain)
        walk.restore(saved)
    return None


def _lengths(k: int) -> list[int]:
    """Return how many clusters more each detour has."""
    lengths: list[int] = []
    for part in PARTS * TURNS:
        more = min(max(1, round(part * k)), MORE_IN_ALL)
        if sum(lengths) + more > MORE_IN_ALL:
            break
        lengths.append(more)
    return lengths


def _there_and_back(
    walk: IncrementalPartition | IncrementalTotals, more: int, max_changes: int
) -> None:
    """Divide clusters until there are so many more, or none can be divided; then unite some."""
    k = walk.n_clusters
    while walk.n_clusters < k + more:
        walk.divide(n_starts(walk.n_clusters), UNCHANGED)
        c = int(walk.savings.argmax())
        if not walk.savings[c] > 0:
            break
        if walk.split(c):
            walk.relocate(max_changes)
    while walk.n_clusters > k:
        walk.unite(*walk.cheapest_unions(1)[0])
        walk.relocate(max_changes)


def _proposal(
    labels: NDArray[np.int32], slots: NDArray[np.int32], centres: Floats, k: int, gain: float
) -> PartitionProposal:
    """Return the rows that left their cluster; slots from k on are new clusters."""
    ids = np.flatnonzero(slots != labels)
    opened = np.unique(slots[slots >= k])
    numbers = slots[ids].astype(np.intp)
    new = numbers >= k
    numbers[new] = k + np.searchsorted(opened, numbers[new])
    return PartitionProposal(
        -gain,
        ids,
        numbers,
        centres[opened] if len(opened) else None,
        n_splits=len(opened),
        n_merges=len(opened),
    )
