"""Clusters by their totals: what they keep with one row more or one row less.

The potential of a cluster of rows and prior with weight N and total T is ``P = N phi(T / N)``: its
cost is the sum of their ``w phi(x)`` less P. Of the divergences here it follows from N, from
``sum_j T_j`` and from ``sum_j f(T_j)`` (`tuples.Formula`), so that a sparse row changes it in the
columns of its own entries alone.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel, part
from hardbayes.kernels.partition.rows import entries, entry, pick
from hardbayes.kernels.simd.logarithm import log
from hardbayes.tuples import Formula

LENGTH, T_LOG_T, BINARY = map(int, Formula)


class ClusterTotals(NamedTuple):
    """Clusters in slots; a column's totals are side by side."""

    formula: int
    totals: np.ndarray  # (d, slots): with the prior's
    terms: np.ndarray  # (d, slots): ``f(T)``
    sums: np.ndarray  # (slots,): of the totals
    term_sums: np.ndarray  # (slots,)
    potentials: np.ndarray  # (slots,)
    prior: np.ndarray  # (d,): the prior's own total
    joined: np.ndarray  # (slots,) SCRATCH: potentials with a row
    turnover: np.ndarray  # (slots,): weight that came and went
    absences: np.ndarray  # (2, slots): BINARY's ``sum_j g(N + w - T_j)`` for the weights w
    absent_weights: np.ndarray  # (2, slots): of a row that comes, and of one that goes


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
    joined, totals, terms = clusters.joined, clusters.totals, clusters.terms
    scale = pick(rows.scale, i)
    start, stop = entries(rows, i)
    total = 0.0
    for k in range(first, last):
        joined[k] = clusters.term_sums[k] + absence_with(clusters, sizes[k], weight, k)
    for p in range(start, stop):
        j, value = entry(rows, i, p, scale)
        added = weight * value
        total += added
        # One loop over slots for each formula: branches within would keep it from vector code.
        if clusters.formula == LENGTH:
            for k in range(first, last):
                joined[k] += added * (2.0 * totals[j, k] + added)
        elif clusters.formula == T_LOG_T:
            for k in range(first, last):
                joined[k] += t_log_t(totals[j, k] + added) - terms[j, k]
        else:
            for k in range(first, last):
                rest = sizes[k] + weight - totals[j, k]
                joined[k] += t_log_t(totals[j, k] + added) - terms[j, k]
                joined[k] += t_log_t(rest - added) - t_log_t(rest)
    for k in range(first, last):
        joined[k] = potential(clusters, sizes[k] + weight, clusters.sums[k] + total, joined[k])


@inlined
def add(rows, i, weight, clusters, k):
    """Add a row to the totals of slot k; `refresh` follows when the size is known."""
    scale = pick(rows.scale, i)
    start, stop = entries(rows, i)
    for p in range(start, stop):
        j, value = entry(rows, i, p, scale)
        clusters.totals[j, k] += weight * value
        after = term(clusters.formula, clusters.totals[j, k])
        clusters.sums[k] += weight * value
        clusters.term_sums[k] += after - clusters.terms[j, k]
        clusters.terms[j, k] = after
    clusters.turnover[k] += abs(weight)


@inlined
def refresh(clusters, size, k):
    """Compute the potential of slot k, of this size, from its sums."""
    terms = clusters.term_sums[k] + absence(clusters, size, k)
    clusters.potentials[k] = potential(clusters, size, clusters.sums[k], terms)
    clusters.absent_weights[:, k] = np.nan


@inlined
def empty(clusters, size, k):
    """Leave nothing but the prior, of this size, in slot k."""
    for j in range(clusters.prior.shape[0]):
        clusters.totals[j, k] = clusters.prior[j]
    recount_slot(clusters, size, k)


@inlined
def recount_slot(clusters, size, k):
    """Compute all sums of slot k from its totals."""
    clusters.sums[k] = 0.0
    clusters.term_sums[k] = 0.0
    for j in range(clusters.prior.shape[0]):
        clusters.terms[j, k] = term(clusters.formula, clusters.totals[j, k])
        clusters.sums[k] += clusters.totals[j, k]
        clusters.term_sums[k] += clusters.terms[j, k]
    refresh(clusters, size, k)


@kernel
def recount(clusters, sizes):
    """Compute all sums of all slots from the totals. IN sizes (slots,): with the prior's."""
    clusters.sums[:] = 0.0
    clusters.term_sums[:] = 0.0
    for j in range(clusters.prior.shape[0]):
        for k in range(sizes.shape[0]):
            clusters.terms[j, k] = term(clusters.formula, clusters.totals[j, k])
            clusters.sums[k] += clusters.totals[j, k]
            clusters.term_sums[k] += clusters.terms[j, k]
    for k in range(sizes.shape[0]):
        refresh(clusters, sizes[k], k)


@kernel
def unite_with(clusters, sizes, prior_weight, a, united):
    """OUT united (slots,): potentials of the unions of slot a with later ones; SCRATCH joined."""
    joined, totals, n_slots = clusters.joined, clusters.totals, sizes.shape[0]
    formula = clusters.formula
    first = a + 1
    united[:] = 0.0
    joined[:] = 0.0
    for j in range(clusters.prior.shape[0]):
        rest = totals[j, a] - clusters.prior[j]
        if formula == BINARY:
            for b in range(first, n_slots):
                whole = sizes[a] + sizes[b] - prior_weight
                joined[b] += t_log_t(whole - totals[j, b] - rest)
        if formula == LENGTH:
            for b in range(first, n_slots):
                united[b] += (totals[j, b] + rest) * (totals[j, b] + rest)
        else:
            for b in range(first, n_slots):
                united[b] += t_log_t(totals[j, b] + rest)
    prior = 0.0
    for j in range(clusters.prior.shape[0]):
        prior += clusters.prior[j]
    for b in range(first, n_slots):
        total = clusters.sums[a] + clusters.sums[b] - prior
        size = sizes[a] + sizes[b] - prior_weight
        united[b] = potential(clusters, size, total, united[b] + joined[b])
