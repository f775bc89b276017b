"""Exchanges of clusters: a merge and a split tried together, where neither alone helps.

Two clusters are united, one is divided, or both; then the rows of the neighbourhood go where they
are cheapest. Trials in which the objective ends lower are proposed.

Where the cap binds, exchanges one by one end in local optima that a wider circle leaves, with more
clusters than the cap allows for a while: clusters divide whose divisions save most, then those
unite whose unions cost least, and after each step rows move one by one. The shortest are transfers:
one cluster divides, and one of its halves unites with another cluster. For squared distances
without a prior.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from hardbayes.core.arrays import chunks
from hardbayes.dp_means.moves import PartitionProposal
from hardbayes.dp_means.moves.merges import RELATIVE_TOLERANCE, argsmallest
from hardbayes.dp_means.moves.splits import UNCHANGED, n_starts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hardbayes.core.arrays import Floats
    from hardbayes.dp_means.incremental import IncrementalPartition
    from hardbayes.dp_means.moves.single_rows import Refine
    from hardbayes.dp_means.moves.splits import Divisions
    from hardbayes.dp_means.objective import Partition
    from hardbayes.dp_means.state import PartitionState

    Ids = NDArray[np.intp]


NEIGHBOURS = 5  # whose rows may move, for each cluster that changes
# What all trials of a round may take: so many entries of rows compared with centres, or a part of
# a sweep.
ENTRIES = 1 << 22
PART_OF_A_SWEEP = 0.25
# Rows of trials that are made together: one trial may have more.
ROWS_TOGETHER = 1 << 16


class Trial(NamedTuple):
    """Unite the clusters ``united``, divide the cluster ``divided``; either may be missing."""

    united: tuple[int, ...]
    divided: tuple[int, ...]
    around: Ids  # clusters whose rows may move, these among them


class Before(NamedTuple):
    """What the clusters are worth before all trials."""

    explained: Floats  # (k,): how much less they cost at their centres than at ``origin``
    origin: Floats  # (d,)
    worth: Floats | None  # (k,): potentials less penalties, where single-row moves compute these


class Outcome(NamedTuple):
    """The result of a trial."""

    gain: float  # how much lower the objective would be; 0 where rounding could pretend it
    more: int  # how many clusters more there would be
    ids: Ids  # (m,): rows of the clusters around
    places: Ids  # (m,): their clusters, as places in ``around``; the last place is new
    new_centre: Floats | None  # (d,): of the new one, if it has members


def propose_exchanges(
    state: PartitionState,
    partition: Partition,
    refine: Refine,
    divisions: Divisions,
    n_trials: int,
    pairs_alone: bool = False,
) -> PartitionProposal | None:
    """Try exchanges, the most promising first; propose those that lower the objective together.

    Trials taken up have no cluster in common. ``pairs_alone``: all unite two clusters and divide
    one, as at the cap, where there is no room for a division alone.
    """
    weights, totals = state.totals()
    centres = state.centres()[1]
    origin = totals.sum(axis=0) / weights.sum()
    worth = None
    if partition.geometry.formula is not None:
        worth = partition.potentials(weights, centres) - partition.penalty
    before = Before(partition.explained(weights, centres, origin), origin, worth)
    k = n_clusters = len(centres)
    touched = np.zeros(k, bool)
    ids: list[Ids] = []
    numbers: list[Ids] = []
    opened: list[Floats] = []
    gain, n_splits, n_merges = 0.0, 0, 0
    pairs = promising(*state.unions(), divisions.saved, n_trials, pairs_alone)
    for trials in _batches(state, pairs, _neighbours(partition, centres), touched):
        # Near the cap no cluster opens but those of the trials themselves.
        room = max(0, partition.max_clusters - k - len(opened) - 2 * len(trials))
        outcomes = _make(state, partition, refine, divisions, trials, before, room)
        for t in np.argsort([-outcome.gain for outcome in outcomes], kind="stable"):
            trial, outcome = trials[t], outcomes[t]
            fits = n_clusters + outcome.more <= partition.max_clusters
            if outcome.gain > 0 and fits and not touched[trial.around].any():
                touched[trial.around] = True
                places = np.append(trial.around, k + len(opened))
                if outcome.new_centre is not None:
                    opened.append(outcome.new_centre)
                    known = slice(None)
                else:  # rows of no weight may have gone there alone: they stay where they are
                    known = outcome.places < len(trial.around)
                ids.append(outcome.ids[known])
                numbers.append(places[outcome.places[known]])
                n_clusters += outcome.more
                gain += outcome.gain
                n_splits += len(trial.divided)
                n_merges += len(trial.united) // 2
    if not ids:
        return None
    return PartitionProposal(
        -gain,
        np.concatenate(ids),
        np.concatenate(numbers),
        np.array(opened) if opened else None,
        n_splits=n_splits,
        n_merges=n_merges,
    )


def promising(
    partners: Ids, costs: Floats, saved: Floats, n_trials: int, pairs_alone: bool = False
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield what to unite and what to divide, alone (unless told not to) and in pairs.

    Best ranks first. ``partners``, ``costs`` (k,): with which other cluster each unites most
    cheaply, and what that costs; empty for one cluster. ``saved`` (k,): by a division of each.
    """
    unions: list[tuple[int, ...]] = [()]
    for a in np.argsort(costs, kind="stable"):
        pair = (int(min(a, partners[a])), int(max(a, partners[a])))
        if pair not in unions:
            unions.append(pair)
        if len(unions) > n_trials:
            break
    divided: list[tuple[int, ...]] = [()]
    for c in np.argsort(-saved, kind="stable")[:n_trials]:
        if saved[c] > 0:
            divided.append((int(c),))
    for total in range(1, len(unions) + len(divided)):
        for u in range(max(0, total - len(divided) + 1), min(total, len(unions) - 1) + 1):
            united, parted = unions[u], divided[total - u]
            if set(united) & set(parted) or (pairs_alone and not (united and parted)):
                continue
            yield united, parted
            n_trials -= 1
            if not n_trials:
                return


def _batches(
    state: PartitionState,
    pairs: Iterator[tuple[tuple[int, ...], tuple[int, ...]]],
    near: Ids,
    touched: NDArray[np.bool_],
) -> Iterator[list[Trial]]:
    """Yield trials to be made together, as long as a round may last.

    Clusters ``touched`` (k,) by a trial taken up in the meantime take no part in others.
    """
    rows = state.rows
    members = state.member_counts()
    held = members if rows.n_weighted == rows.n_rows else state.member_counts(weighted=False)
    budget = max(
        ENTRIES / rows.n_columns,
        PART_OF_A_SWEEP * rows.n_rows * len(members),
    )  # costs of rows at centres
    trials: list[Trial] = []
    n_rows, n_taken = 0, 0
    for united, divided in pairs:
        changed = [*united, *divided]
        if touched[changed].any():
            continue
        around = np.unique(np.append(near[changed], changed))
        around = around[~touched[around]]
        n_around = int(members[around].sum())
        budget -= n_around * len(around)
        n_more = int(held[around].sum())
        if budget < 0 or n_more > rows.most_taken:
            break
        if min(n_taken + n_more, rows.n_rows) > rows.most_taken:
            yield trials
            trials, n_rows, n_taken = [], 0, 0
        trials.append(Trial(united, divided, around))
        n_rows, n_taken = n_rows + n_around, n_taken + n_more
        if n_rows > ROWS_TOGETHER:
            yield trials
            trials, n_rows, n_taken = [], 0, 0
    if trials:
        yield trials


def _neighbours(partition: Partition, centres: Floats) -> Ids:
    """Return the numbers (k, near) of the clusters nearest to each, itself among them."""
    k = len(centres)
    near = min(NEIGHBOURS + 1, k)
    nearest = np.empty((k, near), np.intp)
    for part in chunks(k, k):
        nearest[part] = argsmallest(partition.geometry.between(centres[part], centres), near)
    return nearest


def _make(
    state: PartitionState,
    partition: Partition,
    refine: Refine,
    divisions: Divisions,
    trials: list[Trial],
    before: Before,
    room: int,
) -> list[Outcome]:
    """Make trials together, each with slots for the clusters around it and one for a new one."""
    first = np.cumsum([0] + [len(trial.around) + 1 for trial in trials])
    slots = np.full((len(trials), state.n_clusters), -1)
    for t, trial in enumerate(trials):
        slots[t, trial.around] = first[t] + np.arange(len(trial.around))
    ids = state.rows_in(np.flatnonzero((slots >= 0).any(axis=0)))
    local, numbers = state.rows.take(ids), state.numbers(ids).astype(np.intp)
    # Copies, because kernels would be compiled once more for views of strided memory.
    groups, rows = map(np.ascontiguousarray, np.nonzero(slots[:, numbers] >= 0))
    numbers = numbers[rows]
    fresh = np.zeros(first[-1], bool)
    fresh[first[1:] - 1] = True
    for t, trial in enumerate(trials):
        fresh[slots[t, [*trial.united, *trial.divided]]] = True
        if trial.united:
            older, younger = trial.united
            slots[t, younger] = slots[t, older]
    grouped = local.group(rows, groups, first)
    grouped.places[:] = slots[groups, numbers]

    divided = np.array([trial.divided[0] if trial.divided else -1 for trial in trials])
    inside = np.flatnonzero(numbers == divided[groups])
    halves = np.stack([divisions.left[divided], divisions.right[divided]], axis=1)
    parts = local.group(rows[inside], groups[inside], 2 * np.arange(len(trials) + 1))
    parts.choose(partition.direct_form(halves.reshape(2 * len(trials), -1)))
    leaving = inside[parts.places % 2 == 1]
    grouped.places[leaving] = first[groups[leaving] + 1] - 1

    worth = before.worth
    if worth is not None:
        worth = np.array([worth[trial.around].sum() for trial in trials])
    weights, centres = refine(grouped, partition, partition.penalty, room, worth, fresh)
    after = np.where(weights > 0, partition.explained(weights, centres, before.origin), 0.0)
    outcomes = []
    for t, trial in enumerate(trials):
        own, members = slice(first[t], first[t + 1]), groups == t
        used = weights[own] > 0
        old = before.explained[trial.around].sum()
        more = int(np.count_nonzero(used)) - len(trial.around)
        gain = float(after[own].sum() - old - partition.penalty * more)
        if not gain > RELATIVE_TOLERANCE * (partition.penalty + abs(old)):
            gain = 0.0
        new_centre = centres[first[t + 1] - 1] if used[-1] else None
        places = grouped.places[members] - first[t]
        outcomes.append(Outcome(gain, more, ids[rows[members]], places, new_centre))
    return outcomes


# How many clusters more, as parts of their number, by turns and each time with other draws; until
# there were so many more in all.
PARTS = (0.5, 1.0)
TURNS = 4
MORE_IN_ALL = 40
TRANSFERS = 8  # that are tried: those that cost least before rows move
# On the way, one row in so many may still move before the next step.
UNCONVERGED = 200
# At its end a try so much worse, as a part of the fit term, is given up before rows converge.
HOPELESS = 0.003
# Limits of splits then merges: rows, with which a step takes about as long as a sweep; clusters, of
# which all distances are kept; and entries of centres, which are copied.
MAX_ROWS = 1 << 17
MAX_CLUSTERS = 512
MAX_ENTRIES = 1 << 22


def propose_split_then_merge(
    state: PartitionState, partition: Partition, rng: np.random.RandomState
) -> PartitionProposal | None:
    """Propose the first of several tries that ends lower."""
    rows, k = state.rows, state.n_clusters
    n_rows, lengths = rows.n_rows, _lengths(k)
    is_large = (
        n_rows > min(MAX_ROWS, rows.most_taken)
        or k > MAX_CLUSTERS
        or (k + max(lengths)) * rows.n_columns > MAX_ENTRIES
    )
    if k == 1 or is_large:
        return None
    labels = state.numbers()
    if labels.min() < 0:  # rows of no weight may be in no cluster
        return None
    weights, centres = state.centres()
    form = partition.moving_form(centres)
    incremental = rows.take().incremental(form, labels, weights, k + max(lengths), rng)
    moving = cast("IncrementalPartition", incremental)  # the type for squared distances
    moving.divide(n_starts(k), UNCHANGED)
    before, saved, max_changes = moving.fit(), moving.save(), n_rows // UNCONVERGED
    longer = [partial(_split_then_merge, moving, more, max_changes) for more in lengths]
    transfers = [
        partial(_transfer, moving, *way, max_changes) for way in _transfers(moving, weights)
    ]
    for attempt in (*transfers, *longer):
        attempt()
        if moving.fit() < (1 + HOPELESS) * before:
            moving.move_rows(0)
            gain = before - moving.fit()
            if gain > RELATIVE_TOLERANCE * before:
                return _proposal(labels, moving.labels, moving.centres, k, gain)
        moving.restore(saved)
    return None


def _transfers(moving: IncrementalPartition, weights: Floats) -> list[tuple[int, int, int]]:
    """Return transfers, the cheapest first: a cluster, which half leaves it, and where it goes."""
    k = len(weights)
    centres, halves = moving.centres[:k], moving.halves[:k]
    gaps = halves[:, 0] - halves[:, 1]
    lengths = np.einsum("kd,kd->k", gaps, gaps)
    divided = (moving.savings[:k] > 0) & (lengths > 0)
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
            found.append((float(rises[to] - moving.savings[c]), c, side, to))
    return [transfer[1:] for transfer in sorted(found)[:TRANSFERS]]


def _transfer(moving: IncrementalPartition, c: int, side: int, to: int, max_changes: int) -> None:
    """Divide a cluster and unite one of its halves with another."""
    new = moving.n_clusters  # the first free slot
    if moving.split(c):
        moving.unite(to, new if side else c)
        moving.move_rows(max_changes)


def _lengths(k: int) -> list[int]:
    """Return how many clusters more each try has."""
    lengths: list[int] = []
    for part in PARTS * TURNS:
        more = min(max(1, round(part * k)), MORE_IN_ALL)
        if sum(lengths) + more > MORE_IN_ALL:
            break
        lengths.append(more)
    return lengths


def _split_then_merge(moving: IncrementalPartition, more: int, max_changes: int) -> None:
    """Divide clusters until there are so many more, or none can be divided; then unite some."""
    k = moving.n_clusters
    while moving.n_clusters < k + more:
        moving.divide(n_starts(moving.n_clusters), UNCHANGED)
        c = int(moving.savings.argmax())
        if not moving.savings[c] > 0:
            break
        if moving.split(c):
            moving.move_rows(max_changes)
    while moving.n_clusters > k:
        moving.unite(*moving.cheapest_unions(1)[0])
        moving.move_rows(max_changes)


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
