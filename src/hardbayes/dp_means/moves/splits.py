"""Splits: a cluster becomes two where that is cheaper.

Every cluster is divided in several ways at once, each from its own start: along its widest
direction, and around pairs of rows drawn by their cost. On large data a seeded sample proposes the
divisions; all rows decide whether they are worth it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.core.arrays import TotalsForm
from hardbayes.dp_means.moves import Divided, PartitionProposal
from hardbayes.dp_means.moves.merges import RELATIVE_TOLERANCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.core.arrays import Floats
    from hardbayes.dp_means.local_rows import LocalRows
    from hardbayes.dp_means.moves.single_rows import Refine
    from hardbayes.dp_means.objective import Partition
    from hardbayes.dp_means.state import PartitionState

    Ids = NDArray[np.intp]

# Ways in which a cluster is divided: so many, or more while clusters are few, because each may then
# hold several others.
STARTS = 3
STARTS_IN_ALL = 12
STRETCHES = 2  # steps of power iteration towards the widest direction
# Rows that propose: as many as this, or so many for each cluster.
SAMPLE = 1 << 13
SAMPLE_A_CLUSTER = 128
# Entries of the centres that are divided together.
MAX_BATCH = 1 << 19
# A cluster that gained or lost less than this part of its weight, and moved for less than this part
# of the penalty, is not divided again.
UNCHANGED = 0.02
# Of many rows, where divisions take most of the time, nor one that changed by more, up to this part
# times that by which its division falls short of the penalty.
FAR = 0.2
MANY_ROWS = 1 << 12


class Divisions(NamedTuple):
    """For every cluster the best division found, and how the cluster was at that time."""

    saved: Floats  # (k,): how much lower the objective would be, the penalty aside
    left: Floats  # (k, d): centres of the two parts
    right: Floats  # (k, d)
    names: NDArray[np.int64]  # (k,): never given twice
    weights: Floats  # (k,)
    centres: Floats  # (k, d)

    def are_worth_it(self, penalty: float) -> NDArray[np.bool_]:
        """Whether each of them saves more than the penalty of one more cluster."""
        return self.saved > penalty * (1 + RELATIVE_TOLERANCE)


def n_starts(n_clusters: int) -> int:
    """Return in how many ways each cluster is divided."""
    return max(STARTS, STARTS_IN_ALL // n_clusters)


def propose_splits(
    state: PartitionState, partition: Partition, divisions: Divisions, with_unions: bool = True
) -> PartitionProposal | None:
    """Propose to split clusters where all rows confirm that it lowers the objective.

    At the cap, a split may come with the union of two other clusters that costs less than it saves;
    unless there are to be none, ``with_unions``.

    OUT divisions: what all rows save replaces what a sample promised.
    """
    k = state.n_clusters
    chosen, paid, unions = _affordable(state, partition, divisions, with_unions)
    if not len(chosen):
        return None
    both = np.stack([divisions.left[chosen], divisions.right[chosen]], axis=1)
    halves = partition.direct_form(both.reshape(2 * len(chosen), -1))
    division, *parts = state.divide(chosen, halves)
    parts.append(division.totals)
    numbers = np.arange(len(chosen))
    weights = [part.weights(numbers) for part in parts]
    real = np.flatnonzero((weights[0] > 0) & (weights[1] > 0))
    first, second = (
        (weight[real], partition.centres(weight[real], part.sums(real)))
        for weight, part in zip(weights, parts, strict=True)
    )
    saved = partition.union_costs(*first, *second)
    divisions.saved[chosen] = 0.0
    divisions.saved[chosen[real]] = saved
    stays = np.zeros(len(chosen), bool)
    stays[real] = saved > paid[real] * (1 + RELATIVE_TOLERANCE)
    if not stays.any():
        return None
    divisions.names[chosen[stays]] = -1  # divide both parts again, whatever their weight
    to = np.where(stays, k + np.cumsum(stays) - 1, -1)
    made = unions[stays & (unions[:, 0] >= 0)]
    united = np.arange(k)
    united[made[:, 1]] = made[:, 0]
    return PartitionProposal(
        float(paid[stays].sum() - saved[stays[real]].sum()),
        opened=divisions.right[chosen[stays]],
        united=united if len(made) else None,
        n_splits=int(stays.sum()),
        n_merges=len(made),
        divided=Divided(chosen, halves, to),
        n_divided=int(division.counts[stays].sum()),
    )


def _affordable(
    state: PartitionState, partition: Partition, divisions: Divisions, with_unions: bool
) -> tuple[Ids, Floats, Ids]:
    """Return clusters (c,) to split, what each split costs, and the clusters (c, 2) it unites.

    A split costs the penalty and unites none, -1. Where the cap leaves no room, it costs what the
    cheapest union of two others does. No cluster takes part twice.
    """
    wanted = np.flatnonzero(divisions.are_worth_it(partition.penalty))
    wanted = wanted[np.argsort(-divisions.saved[wanted], kind="stable")]
    room = max(partition.max_clusters - state.n_clusters, 0)
    chosen = wanted[:room].tolist()
    paid = [partition.penalty] * len(chosen)
    unions = [(-1, -1)] * len(chosen)
    if with_unions and len(wanted) > room and state.n_clusters > 2:
        partners, costs = state.unions()
        pairs = [(int(a), int(partners[a])) for a in np.argsort(costs, kind="stable")]
        taken = set(chosen)
        for c in wanted[room:].tolist():
            if c in taken:
                continue
            pairs = [pair for pair in pairs if taken.isdisjoint(pair)]
            pair = next((pair for pair in pairs if c not in pair), None)
            if pair is None or not divisions.saved[c] > costs[pair[0]] * (1 + RELATIVE_TOLERANCE):
                break
            taken.update((c, *pair))
            chosen.append(c)
            paid.append(float(costs[pair[0]]))
            unions.append((min(pair), max(pair)))
    return np.array(chosen, np.intp), np.array(paid), np.array(unions, np.intp).reshape(-1, 2)


def divide_clusters(
    state: PartitionState,
    partition: Partition,
    refine: Refine,
    rng: np.random.RandomState,
    known: Divisions | None,
) -> Divisions:
    """Find for every cluster the best of several divisions in two.

    Clusters that have hardly changed keep the division ``known``.
    """
    weights, centres = state.centres()
    k, d = centres.shape
    found = Divisions(np.zeros(k), centres.copy(), centres.copy(), state.names, weights, centres)
    size = min(max(SAMPLE, SAMPLE_A_CLUSTER * k), state.rows.most_taken)
    ids, numbers = state.sample_by_cluster(size, rng)
    local = state.rows.take(ids)
    wanted = np.ones(k, bool)
    if known is not None:
        wanted = ~_keep_known(partition, found, known, state.rows.n_rows)
    for batch in np.array_split(np.flatnonzero(wanted), -(-k * d // MAX_BATCH)):
        position = np.full(k, -1)
        position[batch] = np.arange(len(batch))
        inside = position[numbers] >= 0
        if inside.any():
            found.saved[batch], found.left[batch], found.right[batch] = _best_divisions(
                local, partition, refine, np.flatnonzero(inside), position[numbers[inside]],
                weights[batch], centres[batch], rng,
            )  # fmt: skip
    return found


def _keep_known(
    partition: Partition, found: Divisions, known: Divisions, n_rows: int
) -> NDArray[np.bool_]:
    """Take over what is known of clusters that have hardly changed; return which they are."""
    _, now, then = np.intersect1d(found.names, known.names, return_indices=True)
    part = np.full(len(then), UNCHANGED)
    if partition.geometry.formula is not None and n_rows > MANY_ROWS and partition.penalty > 0:
        short = 1.0 - known.saved[then] / partition.penalty
        part = np.maximum(part, FAR * short)
    grown = np.abs(found.weights[now] - known.weights[then])
    same = grown < part * known.weights[then]
    now, then, part = now[same], then[same], part[same]
    moved = found.weights[now] * partition.geometry.divergence(
        found.centres[now], known.centres[then]
    )
    same = moved < part * partition.penalty
    now, then = now[same], then[same]
    for fresh, old in zip(found[:3], known[:3], strict=True):
        fresh[now] = old[then]
    kept = np.zeros(len(found.names), bool)
    kept[now] = True
    return kept


def _best_divisions(
    local: LocalRows,
    partition: Partition,
    refine: Refine,
    rows: Ids,
    numbers: Ids,
    weights: Floats,
    centres: Floats,
    rng: np.random.RandomState,
) -> tuple[Floats, Floats, Floats]:
    """Return what the best division of each cluster saves (k,), and its two centres (k, d).

    ``rows`` (m,): positions sorted by the ``numbers`` (m,) of their clusters, which have
    ``weights`` (k,) and ``centres`` (k, d) with rows that may not be among them.
    """
    form = partition.moving_form(centres)
    if isinstance(form, TotalsForm):
        return _halve(local, partition, form, rows, numbers, weights, rng)
    k = len(centres)
    sides = _start(local, partition, rows, numbers, centres, rng)
    starts = len(sides)
    groups = (numbers + k * np.arange(starts)[:, np.newaxis]).ravel()
    first = np.arange(0, 2 * k * starts + 1, 2)
    grouped = local.group(np.tile(rows, starts), groups, first)
    grouped.places[:] = sides.ravel() + 2 * groups
    part_weights, parts = refine(grouped, partition, 0.0, 0)
    # The parts as they would be if the sample were the whole, whose prior then weighs less.
    both = (part_weights[0::2] > 0) & (part_weights[1::2] > 0)
    sampled = np.where(both, part_weights[0::2] + part_weights[1::2], 1.0)
    share = np.repeat(np.tile(weights, starts) / sampled, 2)
    part_totals = (part_weights + partition.prior_weight)[:, np.newaxis] * parts
    part_totals -= partition.prior_weight * partition.prior_mean
    part_totals *= share[:, np.newaxis]
    part_weights = share * part_weights
    if not both.all():
        undivided = np.repeat(~both, 2)  # both parts stand where the cluster does
        part_weights[undivided] = 1.0
        part_totals[undivided] = np.tile(np.repeat(centres, 2, axis=0), (starts, 1))[undivided]
    parts = partition.centres(part_weights, part_totals)
    saved = partition.union_costs(part_weights[0::2], parts[0::2], part_weights[1::2], parts[1::2])
    saved = np.where(both, saved, 0.0).reshape(starts, k)
    best = saved.argmax(axis=0)
    at = 2 * (best * k + np.arange(k))
    return saved[best, np.arange(k)], parts[at], parts[at + 1]


def _halve(
    local: LocalRows,
    partition: Partition,
    form: TotalsForm,
    rows: Ids,
    numbers: Ids,
    weights: Floats,
    rng: np.random.RandomState,
) -> tuple[Floats, Floats, Floats]:
    """Return what `_best_divisions` does, from compiled divisions of some rows of each cluster."""
    from hardbayes.dp_means.trials import MAX_HALVED_ROWS, thin

    k = len(weights)
    some = thin(numbers, MAX_HALVED_ROWS)
    rows, numbers = rows[some], numbers[some]
    saved, second = local.group(rows, numbers, np.arange(k + 1)).halve(form, n_starts(k), rng)
    grouped = local.group(rows, numbers, np.arange(0, 2 * k + 1, 2))
    grouped.places[:] = 2 * numbers + second
    part_weights, totals = grouped.totals()
    sampled = part_weights[0::2] + part_weights[1::2]
    # As if the sample were the whole; both parts stand where the cluster does if it is undivided.
    share = weights / np.where(sampled > 0, sampled, 1.0)
    undivided = np.repeat(saved == 0, 2)
    part_weights[undivided], totals[undivided] = 1.0, np.repeat(form.centres, 2, axis=0)[undivided]
    shares = np.where(undivided, 1.0, np.repeat(share, 2))
    parts = partition.centres(shares * part_weights, shares[:, np.newaxis] * totals)
    return share * saved, parts[0::2], parts[1::2]


def _start(
    local: LocalRows,
    partition: Partition,
    rows: Ids,
    numbers: Ids,
    centres: Floats,
    rng: np.random.RandomState,
) -> NDArray[np.bool_]:
    """Return on which side each row (starts, m) begins."""
    k, m = len(centres), len(rows)
    starts = n_starts(k)
    whole = local.group(rows, numbers, np.arange(k + 1))
    row_weights = local.weights_at(rows)
    own_costs = row_weights * whole.choose(partition.direct_form(centres))
    costs: Floats = np.broadcast_to(own_costs, (starts, m))
    seeds = local.dense(rows[_draw(costs, numbers, k, rng).ravel()])
    sides = np.empty((starts, m), bool)

    directions: Floats = seeds[:k] - centres
    for _ in range(STRETCHES):
        directions = whole.stretch(directions, centres)
    sides[0] = whole.along(directions, centres) > 0

    pairs = starts - 1
    groups = (numbers + k * np.arange(pairs)[:, np.newaxis]).ravel()
    copies = local.group(np.tile(rows, pairs), groups, np.arange(pairs * k + 1))
    distances = copies.choose(partition.direct_form(seeds[k:])).reshape(pairs, m)
    rivals = local.dense(rows[_draw(row_weights * distances, numbers, k, rng).ravel()])
    sides[1:] = copies.choose(partition.direct_form(rivals)).reshape(pairs, m) < distances
    return sides


def _draw(chances: Floats, numbers: Ids, k: int, rng: np.random.RandomState) -> Ids:
    """Draw a position (draws, k) in each cluster, by chances (draws, m) of rows sorted by it.

    Where nothing has a chance, or the cluster has no rows, any position.
    """
    ends = np.searchsorted(numbers, np.arange(k), side="right")
    starts = np.append(0, ends[:-1])
    heaps = np.zeros((len(chances), len(numbers) + 1))
    np.cumsum(chances, axis=1, out=heaps[:, 1:])
    least, most = heaps[:, starts], heaps[:, ends]
    targets = least + rng.random_sample((len(chances), k)) * (most - least)
    drawn = np.empty((len(chances), k), np.intp)
    for draw, heap in enumerate(heaps):
        drawn[draw] = heap.searchsorted(targets[draw], side="right") - 1
    last = np.minimum(np.maximum(ends - 1, starts), len(numbers) - 1)
    return np.minimum(np.maximum(drawn, starts), last)
