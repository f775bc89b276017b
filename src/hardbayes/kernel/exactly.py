"""Exactly so many clusters in the space of a kernel: at a penalty of zero, under a cap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hardbayes.core.centre_free import Ids, labelled
from hardbayes.core.centre_free_descent import Splits
from hardbayes.core.exact_number import ToldPenalty, told_penalty
from hardbayes.core.pool import one_blas_thread
from hardbayes.kernel.choice import part_of
from hardbayes.kernel.clusters import MIN_GAIN, KernelMatrix
from hardbayes.kernel.problem import MANY_ROWS, KernelProblem
from hardbayes.kernel.search import (
    KernelSearch,
    KernelSolution,
    descend,
    extend_labels,
    minimise,
)
from hardbayes.kernel.spectrum import cluster_qr, weighted_matrix

FEWER = "the kernel tells no more rows apart"


def fit_exactly(
    problem: KernelProblem,
    n_clusters: int,
    search: KernelSearch,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None],
) -> tuple[KernelSolution, ToldPenalty]:
    """Return a solution at a penalty of zero with so many clusters, and their penalty.

    The better of two: by divisions, and from the leading eigenvectors of a sample; a published
    search has its own start alone.
    """
    model = replace(problem.rows, penalty=0.0, max_clusters=n_clusters)
    ends = [minimise(model, search, None, rng, report)]
    if search.search != "paper" and 1 < n_clusters < len(problem.anchors):
        stages = "local" if search.samples and problem.n > MANY_ROWS else search.search
        labels = _by_eigenvectors(problem, n_clusters)
        ordered = replace(model, order=rng.permutation(problem.n))
        ends.append(descend(ordered, labels, stages, search.max_steps, rng))
    end = min(ends, key=lambda each: (-int(each.labels.max()), each.objective))
    end = _without_ties(model, end, search, rng)
    current = labelled(model, end.labels)
    k = current.k
    points = [(k, 0.0), (k + 1, -max(split.saved for split in Splits(rng).of(current)))]
    if k > 1:
        points.append((k - 1, float(model.merges(current.statistics).costs[0])))
    return end, told_penalty(points, k)


def _without_ties(
    model: KernelMatrix, end: KernelSolution, search: KernelSearch, rng: np.random.RandomState
) -> KernelSolution:
    """Return a solution in which clusters that the kernel does not tell apart are one."""
    current, k = labelled(model, end.labels), 0
    while k != current.k:
        k = current.k
        lefts, rights, costs = model.merges(current.statistics)
        tied = costs <= MIN_GAIN * model.unit
        links = coo_array((tied[tied], (lefts[tied], rights[tied])), shape=(k, k))
        united = connected_components(links, directed=False)[1]
        current = labelled(model, united[current.labels].astype(np.int64))
    if k > end.labels.max():
        return end
    fewer = replace(model, max_clusters=k)
    return descend(fewer, current.labels, "local", search.max_steps, rng)


def _by_eigenvectors(problem: KernelProblem, k: int) -> Ids:
    """Return the clusters (n,) of the rows by the leading eigenvectors of a sample."""
    ids, weights = problem.anchors, problem.anchor_weights
    part = part_of(problem, ids, weights)
    matrix = weighted_matrix(part)
    with one_blas_thread():
        vectors = eigh(matrix, subset_by_index=[part.n - k, part.n - 1])[1]
    entries = vectors[:, ::-1] / np.sqrt(weights)[:, np.newaxis]
    labels = np.unique(cluster_qr(entries)[0], return_inverse=True)[1]
    return extend_labels(problem.rows, ids, weights, labels)
