"""Rows move one by one, judged by the exact change of the objective with local penalties."""

import numpy as np

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.partition.rows import pick, row_cost
from hardbayes.kernels.partition.single_row import is_worth_it, transfer


@kernel
def relocate(
    rows, weights, constants, centres, sizes, members, ids, groups, pairs, places, local_penalty,
    penalty, prior_weight, tally, gain, start, stop,
):  # fmt: skip
    """Move rows while the objective falls; squared distances only.

    As `kernels.partition.local.relocate`, and the last row of a group to leave a cluster frees the
    local penalty, the first one to join it pays it. So it goes for whole local clusters, as rows of
    their groups: one that joins another of its group frees the local penalty.

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
