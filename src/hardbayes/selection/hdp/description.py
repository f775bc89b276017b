"""How shortly a solution of the hard HDP describes the rows."""

import numpy as np
from scipy.special import gammaln

from hardbayes.engine.hdp.descent import GroupedSolution
from hardbayes.matrices import chunks
from hardbayes.problems.hdp import GroupedProblem

# From so many rows, and entries of them, the effective number of columns is estimated.
SAMPLE = 256
SAMPLE_ENTRIES = 1 << 20
DISPERSIONS = 3  # times that the dispersion is estimated, each time from the one before
TINY = float(np.finfo(np.float64).tiny)


def description_length(problem: GroupedProblem, solution: GroupedSolution, columns: float) -> float:
    """Return the length of the description of the rows, in nats and up to a constant.

    It says which of the clusters each group uses; a row of a group is then drawn from any of them
    alike, at a distance with one dispersion for all, which is estimated. Centres cost nothing: the
    more there are, the longer it takes each group to say which it uses.
    """
    rows, k = problem.whole.rows, len(solution.centres)
    weights = np.broadcast_to(rows.weights, rows.n_rows)
    n = effective_rows(problem)
    shares = weights * (n / weights.sum())
    in_use = solution.ranks >= 0
    used = np.count_nonzero(in_use, axis=1)
    which = gammaln(k + 1) - gammaln(used + 1) - gammaln(k - used + 1)
    form = solution.partition.direct_form(solution.centres)
    dispersion = 2.0 * max(solution.terms.terms.fit / (float(weights.sum()) * columns), TINY)
    costs = []
    for part in chunks(rows.n_rows, k):
        ids = np.arange(part.start, part.stop)
        own = rows.take(ids).costs(form)
        costs.append(np.where(in_use[problem.groups[part]], own, np.inf))
    everything = np.concatenate(costs)
    for _ in range(DISPERSIONS):
        nearest = everything.min(axis=1, keepdims=True)
        chances = np.exp((nearest - everything) / dispersion)
        total = chances.sum(axis=1)
        spread = np.where(chances > 0, everything, 0.0) * chances
        mean_cost = float(shares @ (spread.sum(axis=1) / total)) / n
        dispersion = 2.0 * max(mean_cost / columns, TINY)
    logs = nearest[:, 0] / dispersion - np.log(
        np.exp((nearest - everything) / dispersion).sum(axis=1)
    )
    logs += np.log(np.maximum(used, 1))[problem.groups]
    return float(which.sum() + shares @ logs + 0.5 * n * columns * np.log(dispersion))


def effective_rows(problem: GroupedProblem) -> float:
    """Return how many rows of equal weight say as much as these."""
    weights = np.broadcast_to(problem.whole.rows.weights, problem.whole.rows.n_rows)
    return float(weights.sum() ** 2 / (weights**2).sum())


def effective_columns(
    problem: GroupedProblem, solution: GroupedSolution, rng: np.random.RandomState
) -> float:
    """Return how many columns of equal variance and no correlation would say as much of rows.

    ``(sum of eigenvalues)^2 / sum of their squares`` of the scatter of rows around their centres,
    from a sample.
    """
    rows = problem.whole.rows
    size = min(SAMPLE, max(2, SAMPLE_ENTRIES // rows.n_columns))
    n = rows.n_rows
    ids = np.arange(n) if n <= size else rng.randint(n, size=size)
    local = rows.take(ids)
    away = local.dense() - solution.centres[solution.labels[ids]]
    away *= np.sqrt(local.weights_at())[:, np.newaxis]
    products = np.einsum("id,jd->ij", away, away)  # not BLAS: the same bits anywhere
    squares = float((products**2).sum())
    return max(1.0, float(np.trace(products)) ** 2 / squares) if squares > 0 else 1.0
