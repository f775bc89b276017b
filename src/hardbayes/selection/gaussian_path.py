"""The automatic number of clusters with covariances, and a prior matrix and a penalty for it.

Partitions into one cluster, two, and so on are found, each from a division of the last. They are
compared by the marginal likelihood of the rows, not by the objective, because each number of
clusters has a prior matrix of its own. The penalty is the geometric middle of those at which the
chosen number is best.
"""

from dataclasses import replace

import numpy as np

from hardbayes.engine.gaussian.model import clusters_of
from hardbayes.executors.gaussian.protocol import Ids
from hardbayes.moves.gaussian.candidates import neighbouring_unions
from hardbayes.selection.gaussian_prior import QUICK, Prior, PriorSearch
from hardbayes.structure.gaussians import GaussianPartition

LOOK_AHEAD = 3  # numbers of clusters that must be less likely before the path ends
MAX_CLUSTERS = 64
ROWS_PER_CLUSTER = 4
# More than one cluster must gain this much for each row: a uniform box is as likely in two halves
# as whole, and the best of many cuts gains up to .05 by chance.
LEAST_GAIN = 0.1
TIE = 0.02


def choose(search: PriorSearch, rate: float, max_clusters: int) -> tuple[Prior, float]:
    """Return a prior and a penalty for the number of clusters at which rows are likeliest."""
    path, misfits = trace(search, max_clusters)
    k = likeliest_number(misfits, float(search.rows.weights.sum()))
    prior = search.improve(path[k - 1], GaussianPartition(0.0, 1.0, k))
    low, high = stable_penalties(search, prior, path)
    if high == np.inf:
        penalty = 2.0 * low if low > 0 else 1.0
    elif low < high:
        penalty = float(np.sqrt(low * high)) if low > 0 else high / 2
    else:  # this number of clusters is never best: fewer will be found
        penalty = low * (1 + 1e-6)
    return prior, rate * penalty


def trace(search: PriorSearch, max_clusters: int) -> tuple[list[Ids], list[float]]:
    """Return partitions into one cluster, two, and so on, and how unlikely rows are under each.

    The path ends `LOOK_AHEAD` steps after the likeliest.
    """
    n = search.rows.n
    most = min(max_clusters, MAX_CLUSTERS, n // ROWS_PER_CLUSTER)
    labels = np.zeros(n, np.int64)
    prior = search.pooled(labels)
    path, misfits = [labels], [search.marginal_misfit(labels)]
    for k in range(2, most + 1):
        partition = GaussianPartition(0.0, 1.0, k)
        labels = search.fit(prior, [labels], partition, QUICK.exchanges).labels
        if int(labels.max()) + 1 < k:
            break  # there are no more distinct rows
        prior, labels, _ = search.improve(labels, partition, QUICK)
        search.report.step("path, clusters", k, most)
        path.append(labels)
        misfits.append(search.marginal_misfit(labels))
        if k > LOOK_AHEAD + int(np.argmin(misfits)):
            break
    return path, misfits


def likeliest_number(misfits: list[float], n_rows: float) -> int:
    """Return the least number of clusters, from one up, at which rows are almost likeliest."""
    best = min(misfits)
    if misfits[0] - best < LEAST_GAIN * n_rows:
        return 1
    return 1 + next(at for at, value in enumerate(misfits) if value <= best + TIE * n_rows)


def stable_penalties(search: PriorSearch, prior: Prior, others: list[Ids]) -> tuple[float, float]:
    """Return penalties, over the rate, between which this number of clusters is the best known.

    It is compared with other partitions, and with the best found of one cluster more or less. The
    second penalty is infinite where there is one cluster.
    """
    rows = search.whitened(prior.matrix)
    clusters = clusters_of(rows, prior.labels)
    k, free = clusters.k, GaussianPartition(0.0, 1.0, clusters.k)
    value, points = free.objective(clusters), []
    for labels in others:
        each = clusters_of(rows, labels)
        points.append((each.k, free.objective(each)))
    more = search.fit(prior.matrix, [prior.labels], replace(free, max_clusters=k + 1))
    points.append((more.statistics.k, more.objective))
    if k > 1:
        unions = neighbouring_unions(clusters, free, rows.roots(clusters.scatters)[0])
        names = np.arange(k)
        names[unions.rights[0]] = unions.lefts[0]
        names[names == k - 1] = unions.rights[0]  # a number that is no longer in use
        fewer = names[prior.labels]
        end = search.fit(prior.matrix, [fewer], replace(free, max_clusters=k - 1))
        points.append((k - 1, free.objective(clusters_of(rows, fewer))))
        points.append((end.statistics.k, end.objective))
    low = max([(value - fit) / (j - k) for j, fit in points if j > k], default=0.0)
    high = min([(fit - value) / (k - j) for j, fit in points if j < k], default=np.inf)
    return max(low, 0.0), high
