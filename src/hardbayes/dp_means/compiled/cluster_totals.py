"""Clusters by their totals: what they keep with one row more or one row less.

The potential of a cluster of rows and prior with weight N and total T is ``P = N phi(T / N)``: its
cost is the sum of their ``w phi(x)`` less P. Of the divergences here it follows from N, from
``sum_j T_j`` and from ``sum_j f(T_j)`` (`tuples.Formula`), so that a sparse row changes it in the
columns of its own entries alone.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.core.arrays import Formula
from hardbayes.core.compiling import inlined, kernel, part
from hardbayes.core.rows import entries, entry, pick
from hardbayes.core.simd.vectors import log

LENGTH, T_LOG_T, BINARY = map(int, Formula)
# Differences of potentials err by this part of them, at most.
POTENTIAL_TOLERANCE = 1e-12
# Totals below this part of a cluster's weight are what rounding has left of nothing.
NOTHING = 1e-14
# Logarithms are taken together: of all slots for an entry, or of so many entries for few slots.
TOGETHER = 64
LANES = 8  # as many slots take hardly longer than one


class ClusterTotals(NamedTuple):
    """Clusters in slots; a column's totals are side by side."""

    formula: int
    totals: np.ndarray  # (d, slots): with the prior's
    terms: np.ndarray  # (d, slots): ``f(T)``
    sums: np.ndarray  # (slots,): of the totals
    term_sums: np.ndarray  # (slots,)
    potentials: np.ndarray  # (slots,)
    prior_weight: float
    prior: np.ndarray  # (d,): the prior's own total
    prior_terms: np.ndarray  # (d,)
    alone: np.ndarray  # (3,): sum, sum of terms and potential of the prior alone
    joined: np.ndarray  # (slots,) SCRATCH: potentials with a row
    together: np.ndarray  # (slots, TOGETHER) SCRATCH: totals of some entries with a row
    turnover: np.ndarray  # (slots,): weight that came and went
    absences: np.ndarray  # (2, slots): BINARY's ``sum_j g(N + w - T_j)`` for the weights w
    absent_weights: np.ndarray  # (2, slots): of a row that comes, and of one that goes
    fresh: np.ndarray  # (slots,) bool: see `local.move_rows`


@inlined
def t_log_t(t):
    """Return ``t log t``, and zero where rounding has made a zero negative."""
    t = max(t, 0.0)
    return t * log(t)


@inlined
def term(formula, t):
    """Return ``f(t)``."""
    return t * t if formula == LENGTH else t_log_t(t)


@inlined
def apply_terms(formula, values, m):
    """IN/OUT values: ``f`` of the first m."""
    if formula == LENGTH:
        for q in range(m):
            values[q] *= values[q]
    else:
        for q in range(m):
            values[q] = t_log_t(values[q])


@inlined
def potential(clusters, size, total, terms):
    """Return the potential of a cluster of this size with these sums."""
    if size <= 0.0:
        return 0.0
    if clusters.formula == LENGTH:
        return np.sqrt(max(terms, 0.0))
    if clusters.formula == T_LOG_T:
        return terms - total * (log(size) + 1.0)
    return terms - clusters.totals.shape[0] * t_log_t(size)


@inlined
def absence(clusters, size, k):
    """Return ``sum_j g(size - T_j)`` of slot k, where the formula has such terms."""
    if clusters.formula != BINARY:
        return 0.0
    whole = 0.0
    for j in range(clusters.totals.shape[0]):
        whole += t_log_t(size - clusters.totals[j, k])
    return whole


@inlined
def absence_with(clusters, size, weight, k):
    """Return ``absence`` at the size with a row of this weight, computed once for equal rows."""
    if clusters.formula != BINARY:
        return 0.0
    side = 0 if weight > 0.0 else 1
    if clusters.absent_weights[side, k] != weight:
        clusters.absences[side, k] = absence(clusters, size + weight, k)
        clusters.absent_weights[side, k] = weight
    return clusters.absences[side, k]


@part
def join(rows, i, weight, clusters, sizes, first, last):
    """OUT clusters.joined: potentials of slots ``first`` to ``last`` with row i, of this weight.

    Without it where the weight is negative.
    """
    for k in range(first, last):
        clusters.joined[k] = clusters.term_sums[k] + absence_with(clusters, sizes[k], weight, k)
    if clusters.formula != BINARY and last - first < LANES:
        total = 0.0
        for k in range(first, last):
            total = join_one(rows, i, weight, clusters, k)
    else:
        total = join_many(rows, i, weight, clusters, sizes, first, last)
    for k in range(first, last):
        terms = clusters.joined[k]
        clusters.joined[k] = potential(clusters, sizes[k] + weight, clusters.sums[k] + total, terms)


@inlined
def join_one(rows, i, weight, clusters, k):
    """IN/OUT clusters.joined: add the change of the terms of slot k; return what is added."""
    together = clusters.together[k]
    scale = pick(rows.scale, i)
    start, stop = entries(rows, i)
    total = 0.0
    change = 0.0
    while start < stop:
        m = min(stop - start, TOGETHER)
        for q in range(m):
            j, value = entry(rows, i, start + q, scale)
            total += weight * value
            change -= clusters.terms[j, k]
            together[q] = clusters.totals[j, k] + weight * value
        apply_terms(clusters.formula, together, m)
        for q in range(m):
            change += together[q]
        start += m
    clusters.joined[k] += change
    return total


@inlined
def join_many(rows, i, weight, clusters, sizes, first, last):
    """Do the same for slots ``first`` to ``last``."""
    # Parts of arrays, and a loop over slots for each formula: so loops become vector code.
    joined, sized = clusters.joined[first:last], sizes[first:last]
    scale = pick(rows.scale, i)
    start, stop = entries(rows, i)
    total = 0.0
    for p in range(start, stop):
        j, value = entry(rows, i, p, scale)
        added = weight * value
        total += added
        totals, terms = clusters.totals[j, first:last], clusters.terms[j, first:last]
        if clusters.formula == LENGTH:
            for k in range(joined.shape[0]):
                joined[k] += added * (2.0 * totals[k] + added)
        elif clusters.formula == T_LOG_T:
            for k in range(joined.shape[0]):
                joined[k] += t_log_t(totals[k] + added) - terms[k]
        else:
            for k in range(joined.shape[0]):
                rest = sized[k] + weight - totals[k]
                joined[k] += t_log_t(totals[k] + added) - terms[k]
                joined[k] += t_log_t(rest - added) - t_log_t(rest)
    return total


@inlined
def add(rows, i, weight, clusters, k):
    """Add a row to the totals of slot k; `refresh` follows when the size is known."""
    together = clusters.together[k]
    scale = pick(rows.scale, i)
    start, stop = entries(rows, i)
    total = 0.0
    change = 0.0
    while start < stop:
        m = min(stop - start, TOGETHER)
        for q in range(m):
            j, value = entry(rows, i, start + q, scale)
            total += weight * value
            clusters.totals[j, k] += weight * value
            together[q] = clusters.totals[j, k]
        apply_terms(clusters.formula, together, m)
        for q in range(m):
            j, _ = entry(rows, i, start + q, scale)
            change += together[q] - clusters.terms[j, k]
            clusters.terms[j, k] = together[q]
        start += m
    clusters.sums[k] += total
    clusters.term_sums[k] += change
    clusters.turnover[k] += abs(weight)


@inlined
def refresh(clusters, size, k):
    """Compute the potential of slot k, of this size, from its sums."""
    terms = clusters.term_sums[k] + absence(clusters, size, k)
    clusters.potentials[k] = potential(clusters, size, clusters.sums[k], terms)
    clusters.absent_weights[:, k] = np.nan


@inlined
def empty(clusters, k):
    """Leave nothing but the prior in slot k."""
    for j in range(clusters.prior.shape[0]):
        clusters.totals[j, k] = clusters.prior[j]
        clusters.terms[j, k] = clusters.prior_terms[j]
    forget_sums(clusters, k)


@inlined
def forget_sums(clusters, k):
    """Set the sums of slot k to those of the prior alone."""
    clusters.sums[k] = clusters.alone[0]
    clusters.term_sums[k] = clusters.alone[1]
    clusters.potentials[k] = clusters.alone[2]
    clusters.absent_weights[:, k] = np.nan


@inlined
def absorb(clusters, sizes, a, b):
    """Add slot b to a, and leave nothing but the prior in b; return the size of both."""
    total = sizes[a] + sizes[b] - clusters.prior_weight
    clusters.sums[a] += clusters.sums[b] - clusters.alone[0]
    clusters.term_sums[a] = 0.0
    for j in range(clusters.prior.shape[0]):
        clusters.totals[j, a] += clusters.totals[j, b] - clusters.prior[j]
        clusters.terms[j, a] = term(clusters.formula, clusters.totals[j, a])
        clusters.term_sums[a] += clusters.terms[j, a]
    refresh(clusters, total, a)
    empty(clusters, b)
    sizes[b] = clusters.prior_weight
    return total


@kernel
def recount(clusters, sizes):
    """Compute all sums of all slots from the totals, and those of the prior.

    IN sizes (slots,): with the prior's.
    """
    clusters.alone[:] = 0.0
    rest = 0.0  # BINARY's other terms
    clusters.sums[:] = 0.0
    clusters.term_sums[:] = 0.0
    sums, term_sums = clusters.sums, clusters.term_sums
    for j in range(clusters.prior.shape[0]):
        clusters.prior_terms[j] = term(clusters.formula, clusters.prior[j])
        clusters.alone[0] += clusters.prior[j]
        clusters.alone[1] += clusters.prior_terms[j]
        rest += t_log_t(clusters.prior_weight - clusters.prior[j])
        totals, terms = clusters.totals[j], clusters.terms[j]
        if clusters.formula == LENGTH:
            for k in range(sums.shape[0]):
                terms[k] = totals[k] * totals[k]
        else:
            for k in range(sums.shape[0]):
                terms[k] = t_log_t(totals[k])
        for k in range(sums.shape[0]):
            sums[k] += totals[k]
            term_sums[k] += terms[k]
    if clusters.formula == BINARY:
        rest += clusters.alone[1]
    else:
        rest = clusters.alone[1]
    clusters.alone[2] = potential(clusters, clusters.prior_weight, clusters.alone[0], rest)
    for k in range(sizes.shape[0]):
        refresh(clusters, sizes[k], k)


@kernel
def union_costs(clusters, sizes, a, first, costs):
    """OUT costs (slots - first,): by how much the objective rises where slot a and another unite.

    One of the slots from ``first`` on. IN sizes (slots,): with the prior's.
    """
    eta, least = clusters.prior_weight, NOTHING * sizes[a]
    sized, potentials = sizes[first:], clusters.potentials[first:]
    term_sums, sums = clusters.term_sums[first:], clusters.sums[first:]
    for b in range(costs.shape[0]):
        costs[b] = term_sums[b]
    for j in range(clusters.prior.shape[0]):
        rest = clusters.totals[j, a] - clusters.prior[j]
        totals, terms = clusters.totals[j, first:], clusters.terms[j, first:]
        if clusters.formula == BINARY:
            for b in range(costs.shape[0]):
                costs[b] += t_log_t(sizes[a] + sized[b] - eta - totals[b] - rest)
        if abs(rest) <= least:  # most columns, where rows are sparse
            continue
        if clusters.formula == LENGTH:
            for b in range(costs.shape[0]):
                costs[b] += rest * (2.0 * totals[b] + rest)
        else:
            for b in range(costs.shape[0]):
                costs[b] += t_log_t(totals[b] + rest) - terms[b]
    for b in range(costs.shape[0]):
        total = clusters.sums[a] + sums[b] - clusters.alone[0]
        together = potential(clusters, sizes[a] + sized[b] - eta, total, costs[b])
        apart = clusters.potentials[a] + potentials[b]
        noise = POTENTIAL_TOLERANCE * (abs(clusters.potentials[a]) + abs(potentials[b]))
        costs[b] = apart - together - clusters.alone[2] + noise


@kernel
def free_potentials(clusters, sizes):
    """OUT clusters.joined: what the potentials of all slots would be without the prior."""
    joined, eta = clusters.joined, clusters.prior_weight
    joined[:] = 0.0
    for j in range(clusters.prior.shape[0]):
        totals, prior = clusters.totals[j], clusters.prior[j]
        if clusters.formula == LENGTH:
            for k in range(joined.shape[0]):
                joined[k] += (totals[k] - prior) * (totals[k] - prior)
        else:
            for k in range(joined.shape[0]):
                joined[k] += t_log_t(totals[k] - prior)
        if clusters.formula == BINARY:
            for k in range(joined.shape[0]):
                joined[k] += t_log_t((sizes[k] - eta) - (totals[k] - prior))
    for k in range(joined.shape[0]):
        total = clusters.sums[k] - clusters.alone[0]
        joined[k] = potential(clusters, sizes[k] - eta, total, joined[k])
