"""Fits of clusters in the space of a Mercer kernel: one, and the best of several starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from hardbayes.core.centre_free import Ids, labelled
from hardbayes.core.centre_free_descent import Descent, Solution
from hardbayes.core.loop import Status, say_nothing
from hardbayes.kernel.problem import MANY_ROWS

if TYPE_CHECKING:
    from hardbayes.kernel.clusters import KernelClusters, KernelMatrix

KernelSolution: TypeAlias = "Solution[KernelClusters]"

# Where there are more rows, their clusters are found on a sample of so many.
MAX_SAMPLE = 1 << 11
# By how much the penalty is lowered, and up to how many clusters, to find a start from above.
OVERSHOOT = 4.0
MAX_GROWN = 64
# Rows up to which exchanges of clusters are tried often.
FEW_ROWS = 1 << 9
# A fit of many rows ends with the first step that gains no more than this part of the objective: in
# rows without structure borders keep moving, and each step takes all kernel values twice.
MIN_GAIN = 1e-4
EXCHANGES = (30, 2)


class KernelSearch(NamedTuple):
    """How a fit is made."""

    search: str
    order: str
    n_init: int
    max_steps: int
    samples: bool  # whether many rows may be sampled: those of a sparse matrix lose their links


def minimise(
    matrix: KernelMatrix,
    search: KernelSearch,
    given: Ids | None,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None] = say_nothing,
) -> KernelSolution:
    """Return the best of several fits, the first of equals.

    ``given``: labels (n,) of clusters whose number was chosen before; only rows move, and clusters
    merge where that lowers the objective.
    """
    ends = []
    for _ in range(search.n_init):
        order = None if search.order == "given" else rng.permutation(matrix.n)
        model = replace(matrix, order=order)
        stages = search.search
        if given is not None:
            stages, labels = "local", given
        elif stages == "paper":
            labels = np.zeros(matrix.n, np.int64)
        elif search.samples and matrix.n > MANY_ROWS:
            stages, labels = "local", _from_sample(matrix, search, rng)
        else:
            labels = _grow(model, search.max_steps, rng)
        least_gain = MIN_GAIN if stages == "local" and matrix.n > MANY_ROWS else None
        ends.append(descend(model, labels, stages, search.max_steps, rng, report, least_gain))
        if given is not None:
            break
    return min(ends, key=lambda end: end.objective)


def descend(
    matrix: KernelMatrix,
    labels: Ids,
    stages: str,
    max_steps: int,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None] = say_nothing,
    least_gain: float | None = None,
) -> KernelSolution:
    """Return the fit from these labels (n,)."""
    exchanges = EXCHANGES[matrix.n > FEW_ROWS]
    descent = Descent(labelled(matrix, labels), rng, report, exchanges)
    end = descent.run(stages, max_steps, stages == "split-merge", least_gain)
    return end._replace(fit=float(matrix.costs(end.statistics).sum()))


def _grow(matrix: KernelMatrix, max_steps: int, rng: np.random.RandomState) -> Ids:
    """Return the better labels of two ways: from one cluster, and from those of a lower penalty."""
    most = min(matrix.max_clusters, MAX_GROWN)
    lower = replace(matrix, penalty=matrix.penalty / OVERSHOOT, max_clusters=most)
    one = np.zeros(matrix.n, np.int64)
    ends = [descend(matrix, one, "divide", max_steps, rng)]
    above = descend(lower, one, "divide", max_steps, rng)
    ends.append(descend(matrix, above.labels, "local", max_steps, rng))
    return min(ends, key=lambda end: end.objective).labels


def _from_sample(matrix: KernelMatrix, search: KernelSearch, rng: np.random.RandomState) -> Ids:
    """Return labels (n,) of clusters that were found on a sample with the weight of all rows."""
    ids = sample(matrix.weights, MAX_SAMPLE, rng)
    weights = matrix.weights[ids] * (matrix.weights.sum() / matrix.weights[ids].sum())
    part = replace(
        matrix.part(ids, weights),
        penalty=matrix.penalty,
        max_clusters=matrix.max_clusters,
        order=rng.permutation(len(ids)),
    )
    labels = _grow(part, search.max_steps, rng)
    end = descend(part, labels, search.search, search.max_steps, rng)
    return extend_labels(matrix, ids, weights, end.labels)


def sample(weights: np.ndarray, most: int, rng: np.random.RandomState) -> Ids:
    """Return rows with weight, ascending: all, or a random sample of so many."""
    heavy = np.flatnonzero(weights > 0)
    return heavy if len(heavy) <= most else np.sort(rng.choice(heavy, most, replace=False))


def extend_labels(matrix: KernelMatrix, ids: Ids, weights: np.ndarray, labels: Ids) -> Ids:
    """Return the nearest cluster (n,) of each row, of those of some rows with labels (m,)."""
    k = int(labels.max()) + 1
    clusters = matrix.part(ids, weights).statistics(labels, k)
    volumes = clusters.volumes
    member = np.zeros((len(ids), k))
    member[np.arange(len(ids)), labels] = weights / volumes[labels]
    offsets = clusters.inside / volumes**2
    found = np.empty(matrix.n, np.int64)
    for start in range(0, matrix.n, MAX_SAMPLE):
        part = np.arange(start, min(start + MAX_SAMPLE, matrix.n))
        found[part] = (offsets - 2.0 * matrix.values(part, ids) @ member).argmin(axis=1)
    return found


def one_partition(matrix: KernelMatrix, labels: Ids) -> KernelSolution:
    """Return clusters of these labels as they are."""
    current = labelled(matrix, labels)
    fit = float(current.costs.sum())
    history = np.array([current.objective])
    return Solution(current.labels, current.statistics, history, Status.CONVERGED, 0, 0, fit)
