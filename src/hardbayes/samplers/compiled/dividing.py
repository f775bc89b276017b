"""One proposal to divide a cluster or to unite two, accepted by its exact probability.

Jain & Neal (2004): two rows are drawn. Where they share a cluster its division is proposed, else
the union of their clusters. Divisions begin with a launch state, which depends on the two rows and
on the union of their clusters alone: here the other rows join either row one after another (as in
Dahl 2003), and then choose again. The last restricted scan gives the division and its probability.
Parameters of clusters are integrated out, whichever algorithm moves single rows.
"""

import math

import numpy as np

from hardbayes.core.compiling import inlined, shared
from hardbayes.samplers.compiled.clusters import (
    COVARIANCES,
    FIRST,
    LOG_ALPHA,
    REST,
    SECOND,
    add_row,
    clear,
    copy_sums,
    draw_parameters,
    marginal,
    refresh,
    score,
    score_without,
)
from hardbayes.samplers.compiled.randomness import below, uniform

N_SCANS = 2  # after the launch; the last of them proposes


@shared
def divide_or_unite(rows, model, clusters, stream, members, sides):
    """Propose a division or a union; INOUT clusters. Scratch: members (n,) int64, sides (n,) int8.

    At least one slot is free.
    """
    labels, active, place = clusters.labels, clusters.active, clusters.place
    n, slots = len(labels), len(active)
    first, second = slots + FIRST, slots + SECOND
    i = below(stream, n)
    j = below(stream, n - 1)
    if j >= i:
        j += 1
    own, other = labels[i], labels[j]
    size = members_of(labels, own, other, i, j, members)
    shuffle(stream, members, size)
    seed_sides(rows, model, clusters, i, first)
    seed_sides(rows, model, clusters, j, second)
    for at in range(size):
        log_odds = odds_of_first(rows, model, clusters, members[at], slots)
        sides[at] = 0 if uniform(stream) * (1.0 + math.exp(-log_odds)) < 1.0 else 1
        add_row(rows, model, clusters, first + sides[at], members[at], 1.0)
        refresh(rows, model, clusters, first + sides[at])
    log_proposal = 0.0
    for scan in range(N_SCANS):
        is_given = own != other and scan == N_SCANS - 1
        log_proposal = 0.0
        for at in range(size):
            log_proposal += choose_side(
                rows, model, clusters, stream, members[at], sides, at, slots, own, is_given
            )
    gain = gain_of_division(rows, model, clusters, first, second, slots) - log_proposal
    if own == other:
        if math.log(uniform(stream)) < gain:
            new = active[clusters.size[0]]
            clusters.size[0] += 1
            labels[j] = new
            for at in range(size):
                if sides[at] == 1:
                    labels[members[at]] = new
            copy_sums(clusters, first, own)
            copy_sums(clusters, second, new)
            settle(rows, model, clusters, stream, own)
            settle(rows, model, clusters, stream, new)
    elif math.log(uniform(stream)) < -gain:
        labels[j] = own
        for at in range(size):
            labels[members[at]] = own
        copy_sums(clusters, slots + REST, own)
        settle(rows, model, clusters, stream, own)
        release(active, place, clusters.size, other)


@inlined
def members_of(labels, own, other, i, j, members):
    """OUT members: the rows of two clusters but for i and j; return how many."""
    size = 0
    for row in range(len(labels)):
        if (labels[row] == own or labels[row] == other) and row != i and row != j:
            members[size] = row
            size += 1
    return size


@inlined
def shuffle(stream, members, size):
    """Bring the first ``size`` members into random order."""
    for at in range(size - 1, 0, -1):
        to = below(stream, at + 1)
        members[at], members[to] = members[to], members[at]


@inlined
def seed_sides(rows, model, clusters, i, k):
    """Let row i alone be in slot k."""
    clear(clusters, k)
    add_row(rows, model, clusters, k, i, 1.0)
    refresh(rows, model, clusters, k)


@inlined
def odds_of_first(rows, model, clusters, i, slots):
    """Return the log-odds that row i, which is in neither side, joins the first."""
    first, second = slots + FIRST, slots + SECOND
    odds = clusters.log_count[first] - clusters.log_count[second]
    odds += score(rows, model, clusters, 0, i, first)
    return odds - score(rows, model, clusters, 0, i, second)


@inlined
def choose_side(rows, model, clusters, stream, i, sides, at, slots, own, is_given):
    """Let row i choose a side, or take its present cluster's; return that choice's log-probability.

    The first side is that of the cluster ``own``. Sums are restored exactly where it stays.
    """
    side = sides[at]
    here, there = slots + FIRST + side, slots + FIRST + 1 - side
    if model.family == COVARIANCES:
        odds = math.log(clusters.n_rows[here] - 1) - clusters.log_count[there]
        odds += score_without(rows, model, clusters, i, here)
        odds -= score(rows, model, clusters, 0, i, there)
        odds = odds if side == 0 else -odds
    else:
        copy_sums(clusters, here, slots + REST)
        add_row(rows, model, clusters, here, i, -1.0)
        refresh(rows, model, clusters, here)
        odds = odds_of_first(rows, model, clusters, i, slots)
    if is_given:
        chosen = np.int8(0) if clusters.labels[i] == own else np.int8(1)
    else:
        chosen = np.int8(0) if uniform(stream) * (1.0 + math.exp(-odds)) < 1.0 else np.int8(1)
    if chosen != side:
        if model.family == COVARIANCES:
            add_row(rows, model, clusters, here, i, -1.0)
            refresh(rows, model, clusters, here)
        add_row(rows, model, clusters, there, i, 1.0)
        refresh(rows, model, clusters, there)
        sides[at] = chosen
    elif model.family != COVARIANCES:
        copy_sums(clusters, slots + REST, here)
    if chosen == 1:
        odds = -odds
    return -math.log1p(math.exp(-odds)) if odds > -500.0 else odds


@inlined
def gain_of_division(rows, model, clusters, first, second, slots):
    """Return by how much the log posterior is higher for two clusters than for their union.

    OUT slot REST: the union.
    """
    union = slots + REST
    copy_sums(clusters, first, union)
    clusters.n_rows[union] += clusters.n_rows[second]
    clusters.mass[union] += clusters.mass[second]
    for j in range(clusters.total.shape[1]):
        clusters.total[union, j] += clusters.total[second, j]
    gain = model.numbers[LOG_ALPHA]
    gain += math.lgamma(clusters.n_rows[first]) + math.lgamma(clusters.n_rows[second])
    gain -= math.lgamma(clusters.n_rows[union])
    gain += marginal(rows, model, clusters, first) + marginal(rows, model, clusters, second)
    return gain - marginal(rows, model, clusters, union)


@inlined
def settle(rows, model, clusters, stream, k):
    """Bring what rows choose by up to new sums of slot k."""
    refresh(rows, model, clusters, k)
    if model.means:
        draw_parameters(rows, model, clusters, stream, k)


@inlined
def release(active, place, size, k):
    """Make the slot of an empty cluster free."""
    last = active[size[0] - 1]
    at = place[k]
    active[at], active[size[0] - 1] = last, k
    place[last], place[k] = at, size[0] - 1
    size[0] -= 1
