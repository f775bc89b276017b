"""A number of clusters with covariances, and a prior matrix and a penalty that go with it.

Numbers of clusters are walked through from one up, each partition beginning with a division of the
last. What is compared is the marginal likelihood of the rows: the objective cannot, for every
number of clusters has a prior matrix of its own. The penalty then lies in the middle of those at
which so many clusters are best.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.engine.gaussian.likelihood import clusters_of
from hardbayes.moves.gaussian.splits import union_costs
from hardbayes.selection.gaussian_prior import QUICK
from hardbayes.structure.gaussians import GaussianPartition

if TYPE_CHECKING:
    from hardbayes.selection.gaussian_prior import Ids, Prior, PriorSearch

LOOK_AHEAD = 3  # numbers of clusters that must be less likely before the walk ends
MOST_CLUSTERS = 64
ROWS_A_CLUSTER = 4
# A box evenly full of rows is as likely in two halves as whole, and a lucky cut gains a little:
# up to .05 a row. So much must be gained before there is more than one cluster.
WORTH_DIVIDING = 0.1
TIE = 0.02


class Step(NamedTuple):
    """A partition into some number of clusters, and how unlikely rows are under it."""

    misfit: float
    labels: Ids  # (n,)


class Choice(NamedTuple):
    """A prior with its clusters, and a penalty at which neither more nor fewer are better."""

    prior: Prior
    penalty: float


def choose(search: PriorSearch, rate: float, max_clusters: int) -> Choice:
    """Return the number of clusters at which rows are likeliest, and what it takes to get it."""
    walk = walk_up(search, max_clusters)
    k = likeliest_number([step.misfit for step in walk], float(search.data.weights.sum()))
    prior = search.improve(walk[k - 1].labels, GaussianPartition(0.0, 1.0, k))
    low, high = stable_penalties(search, prior, [step.labels for step in walk])
    if high == np.inf:
        penalty = 2.0 * low if low > 0 else 1.0
    elif low < high:
        penalty = float(np.sqrt(low * high)) if low > 0 else high / 2
    else:  # so many clusters are never best: fewer will be found
        penalty = low * (1 + 1e-6)
    return Choice(prior, rate * penalty)


def walk_up(search: PriorSearch, max_clusters: int) -> list[Step]:
    """Return partitions into one cluster, two, and so on, until some after the best are worse."""
    data = search.data
    most = min(max_clusters, MOST_CLUSTERS, data.n // ROWS_A_CLUSTER)
    labels = np.zeros(data.n, np.int64)
    prior = search.pooled(labels)
    walk = [Step(search.marginal_misfit(labels), labels)]
    for k in range(2, most + 1):
        partition = GaussianPartition(0.0, 1.0, k)
        labels = search.fit(prior, [labels], partition, QUICK.exchanges).labels
        if int(labels.max()) + 1 < k:
            break  # as many clusters as there are different rows
        prior, labels, _ = search.improve(labels, partition, QUICK)
        walk.append(Step(search.marginal_misfit(labels), labels))
        if k > LOOK_AHEAD + int(np.argmin([step.misfit for step in walk])):
            break
    return walk


def likeliest_number(misfits: list[float], n_rows: float) -> int:
    """Return the number of clusters, from one up, at which rows are likeliest.

    The least of those almost as likely.
    """
    best = min(misfits)
    if misfits[0] - best < WORTH_DIVIDING * n_rows:
        return 1
    return 1 + next(at for at, value in enumerate(misfits) if value <= best + TIE * n_rows)


def stable_penalties(search: PriorSearch, prior: Prior, others: list[Ids]) -> tuple[float, float]:
    """Return penalties, over the rate, between which this number of clusters is the best known.

    It is compared with other partitions, and with the best found of one cluster more or less. The
    second penalty is infinite where there is one cluster.
    """
    data = search.seen_through(prior.matrix)
    clusters = clusters_of(data, prior.labels)
    k, free = clusters.k, GaussianPartition(0.0, 1.0, clusters.k)
    points = [(k, free.objective(clusters))]
    for labels in others:
        each = clusters_of(data, labels)
        points.append((each.k, free.objective(each)))
    more = search.solve(data, [clusters], replace(free, max_clusters=k + 1))
    points.append((more.clusters.k, float(more.history[-1])))
    if k > 1:
        lefts, rights, _ = union_costs(clusters, free, data.roots(clusters.scatters)[0])
        names = np.arange(k)
        names[rights[0]] = lefts[0]
        names[names == k - 1] = rights[0]  # nobody's any more
        fewer = clusters_of(data, names[prior.labels])
        end = search.solve(data, [fewer], replace(free, max_clusters=k - 1))
        points += [(k - 1, free.objective(fewer)), (end.clusters.k, float(end.history[-1]))]
    value = points[0][1]
    low = max([(value - fit) / (j - k) for j, fit in points if j > k], default=0.0)
    high = min([(fit - value) / (k - j) for j, fit in points if j < k], default=np.inf)
    return max(low, 0.0), high
