"""Sweeps of Gibbs samplers for Dirichlet process mixtures.

Each row in turn leaves its cluster and chooses one with probability proportional to the number of
its other rows times the likelihood of the row, or a new one, proportional to alpha times its
marginal likelihood. With parameters integrated out this is Neal's (2000) Algorithm 3, with those of
clusters drawn after each sweep his Algorithm 2. After a sweep follow a proposal to divide or unite
clusters, the parameters, and the numbers that are not fixed.
"""

import math
from typing import NamedTuple

import numpy as np

from hardbayes.core.compiling import inlined, kernel, shared
from hardbayes.samplers.compiled.clusters import (
    COVARIANCES,
    EMPTY,
    GAUSSIAN,
    LOG_ALPHA,
    NOISE,
    REST,
    SPREAD,
    add_row,
    clear,
    copy_sums,
    draw_parameters,
    fall,
    marginal,
    refresh,
    score,
    score_without,
)
from hardbayes.samplers.compiled.dividing import divide_or_unite, release
from hardbayes.samplers.compiled.randomness import (
    concentration,
    inverse_gamma,
    normal,
    uniform,
)

# Columns of `Record.numbers`.
N_CLUSTERS, LOG_POSTERIOR, ALPHA, NOISE_DRAWN, SPREAD_DRAWN = range(5)
STEP = 0.7  # of the logarithm of the strength of a prior: about half of the proposals are accepted
TINY = -45.0  # exp of it is less than the rounding of one


class Record(NamedTuple):
    """What is kept of sweeps."""

    labels: np.ndarray  # (sweeps of one call, n) int32: clusters in the order of their first rows
    numbers: np.ndarray  # (all sweeps, 5)


class Scratch(NamedTuple):
    """Memory for proposals."""

    members: np.ndarray  # (n,) int64
    sides: np.ndarray  # (n,) int8
    names: np.ndarray  # (slots,) int64


@kernel
def advance(rows, model, clusters, stream, scratch, record, start, stop, propose):
    """Let rows choose from step ``start`` to ``stop``: step t is row t % n of sweep t // n.

    Return the step reached: less than ``stop`` where slots have run out. INOUT model.numbers,
    clusters, stream (4,) uint64; OUT record; its labels are those of the sweeps from start // n on.
    ``propose``: whether divisions and unions are.
    """
    n = len(clusters.labels)
    for step in range(start, stop):
        i = step % n
        if clusters.size[0] + 1 >= len(clusters.active):
            return step
        if i == 0:
            rebuild(rows, model, clusters)
        visit(rows, model, clusters, stream, i)
        if i == n - 1:
            if propose and n > 1:
                divide_or_unite(rows, model, clusters, stream, scratch.members, scratch.sides)
            draw_numbers(rows, model, clusters, stream)
            keep(rows, model, clusters, scratch, record, step // n, step // n - start // n)
    return stop


@kernel
def begin(rows, model, clusters, stream):
    """Sum the rows of given labels and draw the parameters of their clusters."""
    rebuild(rows, model, clusters)
    for a in range(clusters.size[0]):
        draw_parameters(rows, model, clusters, stream, clusters.active[a])


@shared
def rebuild(rows, model, clusters):
    """Sum rows anew, so that rounding does not add up, and bring predictions up to the numbers."""
    slots = len(clusters.active)
    for a in range(clusters.size[0]):
        clear(clusters, clusters.active[a])
    for i in range(len(clusters.labels)):
        add_row(rows, model, clusters, clusters.labels[i], i, 1.0)
    clear(clusters, slots + EMPTY)
    refresh(rows, model, clusters, slots + EMPTY)
    for a in range(clusters.size[0]):
        k = clusters.active[a]
        if not model.means:
            refresh(rows, model, clusters, k)
        clusters.log_count[k] = math.log(clusters.n_rows[k])


@inlined
def visit(rows, model, clusters, stream, i):
    """Let row i choose its cluster anew."""
    labels, active, scores = clusters.labels, clusters.active, clusters.scores
    empty, rest = len(active) + EMPTY, len(active) + REST
    own = labels[i]
    if clusters.n_rows[own] == 1:
        clear(clusters, own)
        release(active, clusters.place, clusters.size, own)
        own = np.int64(-1)
    else:
        take_away(rows, model, clusters, i, own, rest)
    size = clusters.size[0]
    if model.family == COVARIANCES:
        most = score_covariances(rows, model, clusters, i, own, rest)
    else:
        most = -np.inf
        for a in range(size):
            k = rest if active[a] == own else active[a]
            scores[a] = clusters.log_count[k] + score(rows, model, clusters, model.means, i, k)
            most = max(most, scores[a])
    scores[size] = model.numbers[LOG_ALPHA] + score(rows, model, clusters, 0, i, empty)
    most = max(most, scores[size])
    total = 0.0
    for a in range(size + 1):
        scores[a] = math.exp(scores[a] - most) if scores[a] > most + TINY else 0.0
        total += scores[a]
    left = uniform(stream) * total
    chosen = 0
    while chosen < size and left >= scores[chosen]:
        left -= scores[chosen]
        chosen += 1
    k = active[chosen]
    if k == own and chosen < size:
        return
    if own >= 0:
        leave(rows, model, clusters, i, own, rest)
    labels[i] = k
    if chosen == size:
        clusters.size[0] += 1
        clear(clusters, k)
    add_row(rows, model, clusters, k, i, 1.0)
    if not model.means:
        refresh(rows, model, clusters, k)
    else:
        if chosen == size:
            draw_parameters(rows, model, clusters, stream, k)
        clusters.log_count[k] = math.log(clusters.n_rows[k])


@inlined
def score_covariances(rows, model, clusters, i, own, rest):
    """OUT scores: of row i in each cluster, its own without it; return the greatest.

    Its own comes first: clusters that cannot matter beside it are not worked out.
    """
    scores, active = clusters.scores, clusters.active
    most = -np.inf
    if own >= 0:
        most = clusters.log_count[rest] + score_without(rows, model, clusters, i, own)
        scores[clusters.place[own]] = most
    for a in range(clusters.size[0]):
        k = active[a]
        if k != own:
            at_mean = clusters.log_count[k] + clusters.offset[k]
            room = max(at_mean - most - TINY, 0.0)
            scores[a] = at_mean + fall(rows, model, clusters, i, k, room)
            most = max(most, scores[a])
    return most


@inlined
def take_away(rows, model, clusters, i, own, rest):
    """OUT slot ``rest``: the cluster of row i without it; of covariances, its size alone."""
    if model.family == COVARIANCES:
        clusters.log_count[rest] = math.log(clusters.n_rows[own] - 1)
    elif model.means:
        clusters.scale[rest], clusters.offset[rest] = clusters.scale[own], clusters.offset[own]
        clusters.log_count[rest] = math.log(clusters.n_rows[own] - 1)
        for j in range(clusters.theta.shape[1]):
            clusters.theta[rest, j] = clusters.theta[own, j]
    elif model.family == GAUSSIAN:
        clusters.n_rows[rest] = clusters.n_rows[own] - 1
        for j in range(rows.dense.shape[1]):
            clusters.total[rest, j] = clusters.total[own, j] - rows.dense[i, j]
        refresh(rows, model, clusters, rest)
    else:
        copy_sums(clusters, own, rest)
        add_row(rows, model, clusters, rest, i, -1.0)
        refresh(rows, model, clusters, rest)


@inlined
def leave(rows, model, clusters, i, own, rest):
    """Take row i from its cluster, for good."""
    if model.means:
        add_row(rows, model, clusters, own, i, -1.0)
        clusters.log_count[own] = clusters.log_count[rest]
    elif model.family == COVARIANCES:
        add_row(rows, model, clusters, own, i, -1.0)
        refresh(rows, model, clusters, own)
    else:
        copy_sums(clusters, rest, own)


@shared
def draw_numbers(rows, model, clusters, stream):
    """Draw what is not fixed: variances or the strength of the prior, parameters, alpha."""
    numbers, priors = model.numbers, model.priors
    size = clusters.size[0]
    is_drawn = priors[1, 0] > 0.0 or priors[2, 0] > 0.0
    if model.family != GAUSSIAN and priors[2, 0] > 0.0:
        draw_strength(rows, model, clusters, stream)
    if model.means or (model.family == GAUSSIAN and is_drawn):
        for a in range(size):
            draw_parameters(rows, model, clusters, stream, clusters.active[a])
    if model.family == GAUSSIAN and is_drawn:
        draw_variances(rows, model, clusters, stream)
    if priors[0, 0] > 0.0:
        alpha = concentration(
            stream, math.exp(numbers[LOG_ALPHA]), len(clusters.labels), size,
            priors[0, 0], priors[0, 1],
        )  # fmt: skip
        numbers[LOG_ALPHA] = math.log(max(alpha, 1e-300))


@shared
def draw_variances(rows, model, clusters, stream):
    """Draw sigma given the residuals and rho given the means, which stand in theta."""
    numbers, priors = model.numbers, model.priors
    n, d = rows.dense.shape
    if priors[1, 0] > 0.0:
        square = 0.0
        for i in range(n):
            k = clusters.labels[i]
            for j in range(d):
                square += (rows.dense[i, j] - clusters.theta[k, j]) ** 2
        shape, scale = priors[1, 0] + 0.5 * n * d, priors[1, 1] + 0.5 * square
        numbers[NOISE] = inverse_gamma(stream, shape, scale)
    if priors[2, 0] > 0.0:
        square = 0.0
        for a in range(clusters.size[0]):
            for j in range(d):
                square += clusters.theta[clusters.active[a], j] ** 2
        shape = priors[2, 0] + 0.5 * clusters.size[0] * d
        numbers[SPREAD] = inverse_gamma(stream, shape, priors[2, 1] + 0.5 * square)
    if model.means:
        for a in range(clusters.size[0]):
            clusters.scale[clusters.active[a]] = 0.5 / numbers[NOISE]
            clusters.offset[clusters.active[a]] = -0.5 * d * math.log(numbers[NOISE])


@shared
def draw_strength(rows, model, clusters, stream):
    """Propose another strength of the prior, by a normal step of its logarithm (Metropolis)."""
    numbers = model.numbers
    old = numbers[SPREAD]
    before = likelihood(rows, model, clusters) + log_gamma_density(model.priors, 2, old)
    numbers[SPREAD] = old * math.exp(STEP * normal(stream))
    after = likelihood(rows, model, clusters) + log_gamma_density(model.priors, 2, numbers[SPREAD])
    # A step of the logarithm: the density of the strength is multiplied by it.
    if not math.log(uniform(stream)) < after - before + math.log(numbers[SPREAD] / old):
        numbers[SPREAD] = old


@shared
def likelihood(rows, model, clusters):
    """Return the log marginal likelihood of all rows, as `marginal` counts it."""
    result = 0.0
    for a in range(clusters.size[0]):
        result += marginal(rows, model, clusters, clusters.active[a])
    return result


@inlined
def log_gamma_density(priors, which, x):
    """Return the log-density of a gamma prior, without its constant; zero where there is none."""
    if priors[which, 0] > 0.0:
        return (priors[which, 0] - 1.0) * math.log(x) - priors[which, 1] * x
    return 0.0


@inlined
def log_inverse_gamma_density(priors, which, x):
    """Return that of an inverse-gamma prior."""
    if priors[which, 0] > 0.0:
        return -(priors[which, 0] + 1.0) * math.log(x) - priors[which, 1] / x
    return 0.0


@shared
def log_posterior(rows, model, clusters):
    """Return the log of the joint density of partition, rows and drawn numbers."""
    numbers, priors, n = model.numbers, model.priors, len(clusters.labels)
    alpha = math.exp(numbers[LOG_ALPHA])
    result = likelihood(rows, model, clusters) + clusters.size[0] * numbers[LOG_ALPHA]
    # Gamma(alpha) tends to 1 / alpha, also where alpha is too small for a number.
    result += math.lgamma(alpha) if alpha > 1e-300 else -numbers[LOG_ALPHA]
    result -= math.lgamma(alpha + n)
    for a in range(clusters.size[0]):
        result += math.lgamma(clusters.n_rows[clusters.active[a]])
    result += log_gamma_density(priors, 0, alpha)
    if model.family != GAUSSIAN:
        return result + log_gamma_density(priors, 2, numbers[SPREAD])
    square = 0.0
    for i in range(n):
        for j in range(rows.dense.shape[1]):
            square += rows.dense[i, j] * rows.dense[i, j]
    result -= 0.5 * n * rows.dense.shape[1] * math.log(2.0 * math.pi * numbers[NOISE])
    result -= 0.5 * square / numbers[NOISE]
    result += log_inverse_gamma_density(priors, 1, numbers[NOISE])
    return result + log_inverse_gamma_density(priors, 2, numbers[SPREAD])


@shared
def keep(rows, model, clusters, scratch, record, sweep, at):
    """OUT record: the state after a sweep."""
    numbers, names = record.numbers, scratch.names
    numbers[sweep, N_CLUSTERS] = clusters.size[0]
    numbers[sweep, LOG_POSTERIOR] = log_posterior(rows, model, clusters)
    numbers[sweep, ALPHA] = math.exp(model.numbers[LOG_ALPHA])
    numbers[sweep, NOISE_DRAWN] = model.numbers[NOISE]
    numbers[sweep, SPREAD_DRAWN] = model.numbers[SPREAD]
    for a in range(clusters.size[0]):
        names[clusters.active[a]] = -1
    known = 0
    for i in range(len(clusters.labels)):
        k = clusters.labels[i]
        if names[k] < 0:
            names[k] = known
            known += 1
        record.labels[at, i] = names[k]
