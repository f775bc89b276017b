"""Single-row moves: what they cost, which rows might gain by one, and what one changes.

Clusters are given in one of two forms. As `Centres`, for squared distances: a row of weight w pays
``w N / (N + w) d^2`` to join a cluster of weight N, and frees ``w N / (N - w) d^2`` where it leaves
one (Hartigan's rule). As `ClusterTotals`: it pays ``w phi(x) + P - P'`` to join a cluster whose
potential is P without and P' with it, and frees as much where it leaves one.
"""

import numpy as np
from numba.extending import overload

from hardbayes.core.arrays import Centres
from hardbayes.core.compiling import INLINE, inlined, kernel, part
from hardbayes.core.rows import blend, pick, read_row, row_cost, score_blocks, score_error
from hardbayes.dp_means.compiled.cluster_totals import (
    POTENTIAL_TOLERANCE,
    add,
    empty,
    join,
    refresh,
)

# Between two passes over all rows only those are visited whose best other cluster costs them at
# most so many times their own. Costs of divergences have a large part that is much the same in all
# clusters.
NEAR_DISTANCE, NEAR_DIVERGENCE = 1.2, 1.05
# A row moves only where that gains more than rounding could pretend.
FLOOR = 1e-15


@inlined
def is_worth_it(pays, frees, unit):
    """Whether a row that pays and frees so much should move; ``unit``: the weight they contain."""
    return pays < frees - POTENTIAL_TOLERANCE * frees - FLOOR * np.sqrt(unit * frees)


def near_factor(clusters):
    """Return how many times its own cost a row may pay elsewhere to be near to moving."""


def leaving(rows, i, weight, unit, constants, clusters, sizes, k, left):
    """Return what row i frees where it leaves slot k, for ``unit`` of its weight.

    ``left``: the size of the slot without the row.
    """


def cheapest_other(rows, i, weight, constants, clusters, sizes, members, own, first, last):
    """Return what row i pays in the cheapest of the other clusters, that slot, and a free slot.

    Slots from ``first`` to ``last``; those without members are free. -1 where there is none.
    Only the fresh ones, for rows of clusters by totals that are not fresh.
    """


def end_first_pass(clusters, first, last):
    """Let all rows be compared with all slots from ``first`` to ``last``."""


def opening(rows, i, weight, constants, clusters, prior_weight, k):
    """Return what row i pays, beside the penalty, in a free slot: that holds the prior alone."""


def transfer(rows, i, weight, source, target, left, clusters, sizes, members):
    """Move row i; the clusters, their sizes and numbers of members follow.

    ``left``: the size of the source without the row; that of the prior where it was the last.
    IN/OUT clusters, sizes (slots,); members (slots,) int64.
    """


@overload(near_factor, jit_options=INLINE)
def _near_factor(clusters):
    near = NEAR_DISTANCE if clusters.instance_class is Centres else NEAR_DIVERGENCE
    return lambda clusters: near


@overload(leaving, jit_options=INLINE)
def _leaving(rows, i, weight, unit, constants, clusters, sizes, k, left):
    if clusters.instance_class is Centres:

        def free(rows, i, weight, unit, constants, clusters, sizes, k, left):
            return unit * sizes[k] / left * row_cost(rows, i, constants, clusters, k)

    else:

        def free(rows, i, weight, unit, constants, clusters, sizes, k, left):
            join(rows, i, -weight, clusters, sizes, k, k + 1)
            kept = clusters.potentials[k] - clusters.joined[k]
            return unit * (pick(constants, i) - kept / weight)

    return free


@overload(cheapest_other, jit_options=INLINE)
def _cheapest_other(rows, i, weight, constants, clusters, sizes, members, own, first, last):
    if clusters.instance_class is Centres:

        def find(rows, i, weight, constants, clusters, sizes, members, own, first, last):
            least = np.inf
            winner = np.int64(-1)
            free = np.int64(-1)
            for k in range(first, last):
                if members[k] == 0:
                    if free < 0:
                        free = np.int64(k)
                elif k != own:
                    pays = weight * sizes[k] * row_cost(rows, i, constants, clusters, k)
                    if pays < least * (sizes[k] + weight):  # a division for the best alone
                        least = pays / (sizes[k] + weight)
                        winner = np.int64(k)
            return least, winner, free

    else:

        def find(rows, i, weight, constants, clusters, sizes, members, own, first, last):
            stop = first
            free = np.int64(-1)
            for k in range(first, last):
                if members[k] > 0:
                    stop = k + 1
                elif free < 0:
                    free = np.int64(k)
            end = max(stop, free + 1)
            some = not clusters.fresh[own]
            if some:
                for k in range(first, end):
                    if clusters.fresh[k]:
                        join(rows, i, weight, clusters, sizes, k, k + 1)
            else:
                # Where there are few slots, to leave the own one out at either end spares much.
                begin = first + (own == first)
                join(rows, i, weight, clusters, sizes, begin, end - (own == end - 1))
            potentials = clusters.potentials
            brings = weight * pick(constants, i) + POTENTIAL_TOLERANCE * abs(potentials[own])
            least = np.inf
            winner = np.int64(-1)
            for k in range(first, stop):
                if members[k] > 0 and k != own and (clusters.fresh[k] or not some):
                    noise = POTENTIAL_TOLERANCE * abs(potentials[k])
                    pays = brings + (potentials[k] - clusters.joined[k]) + noise
                    if pays < least:
                        least = pays
                        winner = np.int64(k)
            return least, winner, free

    return find


@overload(end_first_pass, jit_options=INLINE)
def _end_first_pass(clusters, first, last):
    if clusters.instance_class is Centres:
        return lambda clusters, first, last: None

    def end(clusters, first, last):
        for k in range(first, last):
            clusters.fresh[k] = True

    return end


@overload(opening, jit_options=INLINE)
def _opening(rows, i, weight, constants, clusters, prior_weight, k):
    if clusters.instance_class is Centres:

        def pay(rows, i, weight, constants, clusters, prior_weight, k):
            if prior_weight == 0.0:
                return 0.0
            factor = weight * prior_weight / (prior_weight + weight)
            return factor * row_cost(rows, i, constants, clusters, k)

    else:

        def pay(rows, i, weight, constants, clusters, prior_weight, k):
            # `cheapest_other` has found the potential with the row.
            return weight * pick(constants, i) + clusters.potentials[k] - clusters.joined[k]

    return pay


@overload(transfer, jit_options=INLINE)
def _transfer(rows, i, weight, source, target, left, clusters, sizes, members):
    if clusters.instance_class is Centres:

        def move(rows, i, weight, source, target, left, clusters, sizes, members):
            if left > 0.0:
                blend(rows, i, sizes[source] / left, -weight / left, clusters, source)
            share = weight / (sizes[target] + weight)
            blend(rows, i, 1.0 - share, share, clusters, target)
            sizes[source] = left
            sizes[target] += weight
            members[source] -= 1
            members[target] += 1

    else:

        def move(rows, i, weight, source, target, left, clusters, sizes, members):
            sizes[source] = left
            sizes[target] += weight
            members[source] -= 1
            members[target] += 1
            add(rows, i, weight, clusters, target)
            refresh(clusters, sizes[target], target)
            if members[source] == 0:  # exactly, without the rounding of the moves before
                empty(clusters, source)
            else:
                add(rows, i, -weight, clusters, source)
                refresh(clusters, left, source)

    return move


@kernel
def mark_near_border(
    rows, weights, constants, centres, sizes, factors, block_factors, labels, prior_weight, batch,
    marks, start, stop,
):  # fmt: skip
    """Mark rows that pay no more at another cluster than they free; and those alone or in none.

    IN sizes (slots,): weights with the prior's; factors (slots,): what joining a slot costs, over
    the cost there; block_factors (blocks,): the least of each block; labels (n,) int32. OUT marks
    (n,) bool. SCRATCH batch.
    """
    size = np.int64(0)
    n_blocks = centres.rank.shape[0] // centres.block
    for i in range(start, stop + 1):
        if i < stop:
            own = np.int64(labels[i])
            weight = pick(weights, i)
            left = sizes[own] - weight
            marks[i] = own < 0 or left - prior_weight <= 1e-9 * weight
            if marks[i]:
                continue
            m, squares = read_row(rows, i, batch, size)
            base = squares if centres.squared else pick(constants, i)
            batch.base[size] = base
            batch.error[size] = score_error(m, squares, base, centres)
            batch.cost[size] = sizes[own] / left * row_cost(rows, i, constants, centres, own)
            size += 1
        if size == 0 or (i < stop and size < batch.x.shape[0]):
            continue
        for r in range(size):
            batch.members[r] = r
        score_blocks(rows, batch, size, centres, 0, n_blocks, 1)
        for r in range(size):
            own = np.int64(labels[batch.ids[r]])
            marks[batch.ids[r]] = gains_elsewhere(
                rows, constants, centres, factors, block_factors, own, batch, r
            )
        size = np.int64(0)


@part
def gains_elsewhere(rows, constants, centres, factors, block_factors, own, batch, r):
    """Whether a scored row pays no more at some other cluster than it frees, ``batch.cost``."""
    frees = batch.cost[r]
    found = False
    for b in range(block_factors.shape[0]):
        first = b * centres.block
        is_own = first + batch.place[r, b] == own
        low = np.float64(batch.second[r, b] if is_own else batch.smallest[r, b])
        if found or block_factors[b] * (batch.base[r] + low - batch.error[r]) > frees:
            continue
        for k in range(first, first + centres.block):
            if k != own and centres.rank[k] >= 0:
                pays = factors[k] * row_cost(rows, batch.ids[r], constants, centres, k)
                found |= pays <= frees
    return found


@kernel
def move_rows(
    rows, weights, constants, centres, sizes, members, ids, groups, pairs, places, local_penalty,
    penalty, prior_weight, tally, gain, start, stop,
):  # fmt: skip
    """Move rows while the objective falls; squared distances only.

    As `move_rows` of `dp_means.compiled.sweeping`, and the last row of a group to leave a cluster
    frees the local penalty, the first one to join it pays it. So it goes for whole local clusters,
    as rows of their groups: one that joins another of its group frees the local penalty.

    A slot without members is a cluster not yet opened. IN ids (m,): rows; groups (m,): theirs.
    IN/OUT centres: exact and exact_offset; sizes (slots,): weights with the prior's; members
    (slots,) int64: rows of positive weight; pairs (groups, slots) int32: the same by group; places
    (m,) int64; tally (2,) int64: how many clusters may still be opened, and the number of moves;
    gain (1,): by how much the objective has fallen.
    """
    for p in range(start, stop):
        i = ids[p]
        weight = pick(weights, i)
        if weight == 0.0:
            continue
        g = groups[p]
        own = places[p]
        last = members[own] == 1
        left = prior_weight if last else sizes[own] - weight
        frees = penalty if last else 0.0
        if pairs[g, own] == 1:
            frees += local_penalty
        if left > 0.0:
            frees += weight * sizes[own] / left * row_cost(rows, i, constants, centres, own)
        least = np.inf
        winner = np.int64(-1)
        unopened = np.int64(-1)
        for k in range(sizes.shape[0]):
            if members[k] == 0:
                if unopened < 0:
                    unopened = np.int64(k)
            elif k != own:
                pays = weight * sizes[k] * row_cost(rows, i, constants, centres, k)
                pays /= sizes[k] + weight
                if pairs[g, k] == 0:
                    pays += local_penalty
                if pays < least:
                    least = pays
                    winner = np.int64(k)
        if unopened >= 0 and not last and tally[0] > 0:
            pays = penalty + local_penalty
            if prior_weight > 0.0:
                factor = weight * prior_weight / (prior_weight + weight)
                pays += factor * row_cost(rows, i, constants, centres, unopened)
            if pays < least:
                least = pays
                winner = unopened
        if not is_worth_it(least, frees, weight):
            continue
        tally[0] += np.int64(last) - np.int64(members[winner] == 0)
        tally[1] += 1
        gain[0] += frees - least
        transfer(rows, i, weight, own, winner, left, centres, sizes, members)
        pairs[g, own] -= 1
        pairs[g, winner] += 1
        places[p] = winner
