"""Fits of clusters in the space of a Mercer kernel: one, and the best of several starts."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from hardbayes.core.centre_free import Ids, labelled
from hardbayes.core.centre_free_descent import Descent, Solution
from hardbayes.core.loop import Status, say_nothing
from hardbayes.kernel.clusters import MANY_ROWS, GramClusters, GramModel
from hardbayes.kernel.rows import GramRows

GramSolution: TypeAlias = Solution[GramClusters]

# Where there are more rows, their clusters are found on a sample of so many.
MAX_SAMPLE = 1 << 11
# By how much the penalty is lowered, and up to how many clusters, to find a start from above.
OVERSHOOT = 4.0
MAX_GROWN = 64
# Rows up to which exchanges of clusters are tried often.
FEW_ROWS = 1 << 9
# A fit of many rows ends with the first step that gains no more than this part of the objective: in
# rows without structure borders keep moving, and each step takes all kernel values twice.
LEAST_GAIN = 1e-4
EXCHANGES = (30, 2)


class GramSearch(NamedTuple):
    """How a fit is made."""

    penalty: float
    max_clusters: int
    search: str
    order: str
    n_init: int
    max_steps: int
    samples: bool  # whether many rows may be sampled: those of a sparse matrix lose their links


def minimise(
    rows: GramRows,
    search: GramSearch,
    given: Ids | None,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None] = say_nothing,
) -> GramSolution:
    """Return the best of several fits, the first of equals.

    ``given``: labels (n,) of clusters whose number was chosen before; only rows move, and clusters
    unite where that lowers the objective.
    """
    ends = []
    for _ in range(search.n_init):
        order = np.arange(rows.n) if search.order == "given" else rng.permutation(rows.n)
        model = GramModel(rows, search.penalty, search.max_clusters, order)
        stages = search.search
        if given is not None:
            stages, labels = "local", given
        elif stages == "paper":
            labels = np.zeros(rows.n, np.int64)
        elif search.samples and rows.n > MANY_ROWS:
            stages, labels = "local", _from_sample(rows, search, rng)
        else:
            labels = _grown(model, search, rng)
        least_gain = LEAST_GAIN if stages == "local" and rows.n > MANY_ROWS else None
        ends.append(descend(model, labels, stages, search.max_steps, rng, report, least_gain))
        if given is not None:
            break
    return min(ends, key=lambda end: end.objective)


def descend(
    model: GramModel,
    labels: Ids,
    stages: str,
    max_steps: int,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None] = say_nothing,
    least_gain: float | None = None,
) -> GramSolution:
    """Return the fit from these labels (n,)."""
    exchanges = EXCHANGES[model.rows.n > FEW_ROWS]
    descent = Descent(labelled(model, labels), rng, report, exchanges)
    end = descent.run(stages, max_steps, stages == "split-merge", least_gain)
    return end._replace(fit=float(model.costs(end.statistics).sum()))


def _grown(model: GramModel, search: GramSearch, rng: np.random.RandomState) -> Ids:
    """Return the better labels of two ways: from one cluster, and from those of a lower penalty."""
    rows = model.rows
    lower = GramModel(
        rows,
        model.penalty / OVERSHOOT,
        min(model.max_clusters, MAX_GROWN),
        model.order,
    )
    one = np.zeros(rows.n, np.int64)
    ends = [descend(model, one, "divide", search.max_steps, rng)]
    above = descend(lower, one, "divide", search.max_steps, rng)
    ends.append(descend(model, above.labels, "local", search.max_steps, rng))
    return min(ends, key=lambda end: end.objective).labels


def _from_sample(rows: GramRows, search: GramSearch, rng: np.random.RandomState) -> Ids:
    """Return labels (n,) of clusters that were found on a sample with the weight of all rows."""
    ids = sample(rows.weights, MAX_SAMPLE, rng)
    weights = rows.weights[ids] * (rows.weights.sum() / rows.weights[ids].sum())
    part = rows.part(ids, weights)
    order = rng.permutation(part.n)
    model = GramModel(part, search.penalty, search.max_clusters, order)
    end = descend(model, _grown(model, search, rng), search.search, search.max_steps, rng)
    return extend_labels(rows, ids, weights, end.labels)


def sample(weights: np.ndarray, most: int, rng: np.random.RandomState) -> Ids:
    """Return rows with weight, ascending: all, or a random sample of so many."""
    heavy = np.flatnonzero(weights > 0)
    return heavy if len(heavy) <= most else np.sort(rng.choice(heavy, most, replace=False))


def extend_labels(rows: GramRows, ids: Ids, weights: np.ndarray, labels: Ids) -> Ids:
    """Return the nearest cluster (n,) of each row, of those of some rows with labels (m,)."""
    k = int(labels.max()) + 1
    volumes, links = rows.part(ids, weights).statistics(labels, k)
    member = np.zeros((len(ids), k))
    member[np.arange(len(ids)), labels] = weights / volumes[labels]
    offsets = np.diag(links) / volumes**2
    found = np.empty(rows.n, np.int64)
    for start in range(0, rows.n, MAX_SAMPLE):
        part = np.arange(start, min(start + MAX_SAMPLE, rows.n))
        found[part] = (offsets - 2.0 * rows.values(part, ids) @ member).argmin(axis=1)
    return found


def one_partition(model: GramModel, labels: Ids) -> GramSolution:
    """Return clusters of these labels as they are."""
    current = labelled(model, labels)
    fit = float(current.costs.sum())
    history = np.array([current.objective])
    return Solution(current.labels, current.statistics, history, Status.CONVERGED, 0, 0, fit)
