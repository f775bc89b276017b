"""Compiled passes over kernel values: rows choose among clusters with implicit means.

With the reach ``r`` of a row to a cluster of weight v, the sum of its kernel values over the
members, and ``inside`` that of the members among each other, the squared distance of the row from
the mean is ``K_ii - 2 r / v + inside / v^2`` (Kulis & Jordan 2012, section 5.2).
"""

import numpy as np

from hardbayes.core.compiling import inlined, kernel

# Entries of the state of a sweep.
BORN, CAPPED = range(2)


@inlined
def distance(diagonal, reach, volume, inside):
    """Return the squared distance of a row from the mean of a cluster with weight."""
    return diagonal - 2.0 * reach / volume + inside / (volume * volume)


@kernel
def sweep_rows(
    ids, reach, to_born, inner, diagonal, weights, inside, volumes, opening_cost, most,
    born, state, labels, costs,
):  # fmt: skip
    """Give each row to its nearest cluster, or open one at the row, which later rows may choose.

    IN ids (m,): the rows, in the order of visits; reach (m, k); to_born (m, b): kernel values with
    the b rows that opened clusters before these; inner (m, m): among these; diagonal, weights (n,);
    inside, volumes (k,): the clusters, as they stay.
    IN/OUT born (b + m,): the rows that opened clusters before, then those of these that do, by
    their places among them; state (2,): how many were opened so far, and whether ``most`` prevented
    one. OUT labels (n,), costs (n,): the distance of each row.
    """
    k = reach.shape[1]
    before = to_born.shape[1]
    opened = 0
    for i in range(ids.shape[0]):
        row = ids[i]
        best = np.inf
        winner = 0
        for c in range(k):
            if volumes[c] > 0.0:
                apart = distance(diagonal[row], reach[i, c], volumes[c], inside[c])
                if apart < best:
                    best = apart
                    winner = c
        for b in range(before + opened):
            if b < before:
                value = to_born[i, b]
                own = born[b]
            else:
                value = inner[i, born[b]]
                own = ids[born[b]]
            apart = diagonal[row] - 2.0 * value + diagonal[own]
            if apart < best:
                best = apart
                winner = k + b
        if weights[row] * best > opening_cost:
            if before + opened < most:
                winner = k + before + opened
                born[before + opened] = i
                opened += 1
                best = 0.0
            else:
                state[CAPPED] = 1
        labels[row] = winner
        costs[row] = best
    state[BORN] += opened


@kernel
def move_rows(
    ids, reach, inner, diagonal, weights, penalty, least_gain,
    labels, inside, volumes, counts, margins, moves,
):  # fmt: skip
    """Move rows one by one to the cluster where the objective falls most, if it does.

    A row of weight w leaves a cluster of weight v, at distance d from its mean, for a gain of
    ``w v d / (v - w)`` and joins another at the cost ``w v d / (v + w)``; the last row of a cluster
    saves the penalty.

    IN ids (m,), inner (m, m), diagonal, weights (n,).
    IN/OUT reach (m, k), labels (n,), inside, volumes, counts (k,): kept up to date; moves (1,).
    OUT margins (n,): what the best move of each visited row would cost; negative where it moved.
    """
    m, k = reach.shape
    for i in range(m):
        row = ids[i]
        w = weights[row]
        if w == 0.0:
            continue
        own = labels[row]
        if counts[own] == 1:
            left = penalty
        else:
            v = volumes[own]
            left = w * v / (v - w) * distance(diagonal[row], reach[i, own], v, inside[own])
        best = np.inf
        winner = own
        for c in range(k):
            if c != own and counts[c] > 0:
                v = volumes[c]
                joined = w * v / (v + w) * distance(diagonal[row], reach[i, c], v, inside[c])
                if joined < best:
                    best = joined
                    winner = c
        margins[row] = best - left
        if not best < left - least_gain:
            continue
        square = w * w * diagonal[row]
        inside[winner] += 2.0 * w * reach[i, winner] + square
        volumes[winner] += w
        counts[winner] += 1
        counts[own] -= 1
        if counts[own] == 0:
            inside[own] = 0.0
            volumes[own] = 0.0
        else:
            inside[own] += square - 2.0 * w * reach[i, own]
            volumes[own] -= w
        for j in range(m):
            change = w * inner[j, i]
            reach[j, own] -= change
            reach[j, winner] += change
        labels[row] = winner
        moves[0] += 1


@kernel
def add_reach(values, labels, weights, reach):
    """OUT reach (m, k): weighted sums of the values (m, n) of each row over each cluster.

    labels (n,) and weights (n,) are those of the columns; reach is zero before.
    """
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            reach[i, labels[j]] += weights[j] * values[i, j]


@kernel
def add_sparse_reach(indptr, indices, data, labels, weights, reach):
    """Do the same for values in compressed sparse rows."""
    for i in range(reach.shape[0]):
        for at in range(indptr[i], indptr[i + 1]):
            j = indices[at]
            reach[i, labels[j]] += weights[j] * data[at]
