"""How much better a number of clusters describes the rows than one, after a price for parameters.

The evidence for k clusters, in nats a row, is what they save of the cost of one, and half of what
hard labels cost more than soft ones (overlapping clusters are no worse for that), less 1.5 times
the price of their parameters by the Bayesian information criterion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hardbayes.mixed.clusters import Prior
from hardbayes.mixed.search import LONG, PATIENCE, Found, Path, Problem, doubt, from_labels

# The three were chosen together, on tables without clusters and with planted ones: a lower price
# divides the former, a higher one misses the latter (`benchmarks.mixed`).
PRICE = 1.5  # of a parameter, in half the logarithms of the rows that it is estimated from
GIVEN_BACK = 0.5  # of the entropy of memberships
SMALLEST_SHARE = 0.01  # of the rows: smaller clusters are outliers, and no evidence


class Scored(NamedTuple):
    """A partition, and the evidence for it."""

    found: Found
    gain: float  # nats a row that it saves
    price: float  # of its parameters
    doubt: float  # entropy of memberships a row
    is_division: bool  # no cluster is a handful of rows

    @property
    def evidence(self) -> float:
        """What is left."""
        return self.gain - PRICE * self.price + GIVEN_BACK * self.doubt

    @property
    def hard(self) -> float:
        """The evidence without what overlapping clusters are given back."""
        return self.gain - PRICE * self.price


def scored(problem: Problem, found: Found) -> Scored:
    """Return the evidence for a partition."""
    total = problem.rows.total
    sizes = found.clusters.weights
    return Scored(
        found,
        (problem.one.fit - found.fit) / total,
        price_of(problem, found) / total,
        doubt(problem, found) / total,
        bool(sizes.min() >= SMALLEST_SHARE * total),
    )


def price_of(problem: Problem, found: Found) -> float:
    """Return half the logarithms of the rows that each further parameter is estimated from."""
    p, sizes = len(problem.rows.floors), found.clusters.weights
    n_means = p + float((problem.rows.sizes - 1).sum())
    rows = float(np.log1p(sizes).sum() - np.log1p(problem.rows.total))
    price = n_means / 2 * rows + (found.k - 1) / 2 * float(np.log(max(problem.rows.total, 1.0)))
    if len(found.clusters.covariances) > 1:
        price += p * (p + 1) / 4 * rows
    return price


def own_covariances(problem: Problem, found: Found) -> Found:
    """Return the descent from these clusters in which each has a covariance of its own."""
    prior = Prior(problem.prior.rows, found.clusters.covariances[0])
    return from_labels(problem, found.labels, LONG, prior)


def trace(
    problem: Problem,
    most: int,
    rng: np.random.RandomState,
    *,
    n_init: int = 1,
    patient: bool = False,
) -> dict[int, Scored]:
    """Return the best partition for each number of clusters up to ``most``, by its evidence.

    Unless it is ``patient``, it ends where some more clusters have brought no more evidence.
    """
    path = Path(problem, rng, n_init)
    top, since = 0.0, 0
    for k in range(2, most + 1):
        path.extend(k)
        since += 1
        if k in path.best and (evidence := scored(problem, path.best[k]).evidence) > top:
            top, since = evidence, 0
        if since >= PATIENCE and not patient:
            break
    path.merge_back()
    found = {k: scored(problem, each) for k, each in path.best.items()}
    if len(problem.rows.floors):
        for each in list(path.best.values()):
            if each.k > 1:
                own = scored(problem, own_covariances(problem, each))
                known = found.get(own.found.k)
                if known is None or own.evidence > known.evidence:
                    found[own.found.k] = own
    return found


def most_evidence(found: dict[int, Scored], up_to: int | None = None) -> float:
    """Return the largest evidence for more than one cluster, at most ``up_to``."""
    usable = [
        each.evidence
        for k, each in found.items()
        if k > 1 and each.is_division and (up_to is None or k <= up_to)
    ]
    return max(usable, default=-1.0)
