"""Detours: for a while more clusters than the cap allows, then as many as before.

Where the cap binds, exchanges one by one end in local optima that a wider circle leaves: clusters
divide whose divisions save most, then those unite whose unions cost least, and after each step rows
move one by one. The shortest are transfers: one cluster divides, and one of its halves unites with
another cluster. For squared distances without a prior.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from hardbayes.moves.partition.merges import WORTHWHILE
from hardbayes.moves.partition.proposal import PartitionProposal
from hardbayes.moves.partition.splits import UNCHANGED, n_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.local.incremental import IncrementalPartition
    from hardbayes.matrices import Floats
    from hardbayes.moves.partition.state import PartitionState
    from hardbayes.structure.partition import Partition

# How many clusters more, as parts of their number, by turns and each time with other draws; until
# there were so many more in all.
PARTS = (0.5, 1.0)
TURNS = 4
MORE_IN_ALL = 40
TRANSFERS = 8  # that are tried: those that cost least before rows move
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
    incremental = rows.take().incremental(form, labels, weights, k + max(lengths), rng)
    walk = cast("IncrementalPartition", incremental)  # the type for squared distances
    walk.divide(n_starts(k), UNCHANGED)
    before, saved, max_changes = walk.fit(), walk.save(), n_rows // UNCONVERGED
    detours = [partial(_there_and_back, walk, more, max_changes) for more in lengths]
    transfers = [partial(_transfer, walk, *way, max_changes) for way in _transfers(walk, weights)]
    for detour in (*transfers, *detours):
        detour()
        if walk.fit() < (1 + HOPELESS) * before:
            walk.relocate(0)
            gain = before - walk.fit()
            if gain > WORTHWHILE * before:
                return _proposal(labels, walk.labels, walk.centres, k, gain)
        walk.restore(saved)
    return None


def _transfers(walk: IncrementalPartition, weights: Floats) -> list[tuple[int, int, int]]:
    """Return transfers, the cheapest first: a cluster, which half leaves it, and where it goes."""
    k = len(weights)
    centres, halves = walk.centres[:k], walk.halves[:k]
    gaps = halves[:, 0] - halves[:, 1]
    lengths = np.einsum("kd,kd->k", gaps, gaps)
    divided = (walk.savings[:k] > 0) & (lengths > 0)
    # The mean of a cluster lies between its halves, as near to either as it has weight; rounding
    # may put it beyond one of two halves that hardly differ.
    along = np.einsum("kd,kd->k", centres - halves[:, 1], gaps) / np.where(divided, lengths, 1.0)
    first = np.clip(along, 0.0, 1.0)
    sizes = weights[:, np.newaxis] * np.stack([first, 1.0 - first], axis=1)
    found: list[tuple[float, int, int, int]] = []
    for c in np.flatnonzero(divided).tolist():
        for side in range(2):
            squares = ((centres - halves[c, side]) ** 2).sum(axis=1)
            rises = sizes[c, side] * weights / (sizes[c, side] + weights) * squares
            rises[c] = np.inf
            to = int(rises.argmin())
            found.append((float(rises[to] - walk.savings[c]), c, side, to))
    return [transfer[1:] for transfer in sorted(found)[:TRANSFERS]]


def _transfer(walk: IncrementalPartition, c: int, side: int, to: int, max_changes: int) -> None:
    """Divide a cluster and unite one of its halves with another."""
    new = walk.n_clusters  # the first free slot
    if walk.split(c):
        walk.unite(to, new if side else c)
        walk.relocate(max_changes)


def _lengths(k: int) -> list[int]:
    """Return how many clusters more each detour has."""
    lengths: list[int] = []
    for part in PARTS * TURNS:
        more = min(max(1, round(part * k)), MORE_IN_ALL)
        if sum(lengths) + more > MORE_IN_ALL:
            break
        lengths.append(more)
    return lengths


def _there_and_back(walk: IncrementalPartition, more: int, max_changes: int) -> None:
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
