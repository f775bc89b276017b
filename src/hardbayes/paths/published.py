"""Paths of the published algorithms, which cannot go on from one solution to the next.

They open clusters only where single rows cost more than the penalty, so where a fit ends depends on
where it began: each penalty has a fit of its own, from the start of the template.
"""

import warnings
from itertools import groupby

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hardbayes.estimators.dp_means import DPMeans
from hardbayes.matrices import Floats, Matrix
from hardbayes.problems.partition import Problem
from hardbayes.selection.hull import Plateau
from hardbayes.selection.partition.farthest_first import farthest_first_penalty
from hardbayes.selection.partition.tracing import most_clusters


def published_penalties(problem: Problem, prior_weight: float, n_penalties: int) -> Floats:
    """Return falling penalties from one cluster to many, as the papers' rule has them."""
    heaviest = float(problem.rows.weights.max()) / problem.weight_unit
    largest = 2.0 * heaviest * farthest_first_penalty(problem, 1, prior_weight) or 1.0
    k, smallest = most_clusters(problem), 0.0
    while k > 1 and not smallest:  # zero where there are fewer different rows than that
        smallest = farthest_first_penalty(problem, k, prior_weight)
        k //= 2
    return np.geomspace(largest, smallest or largest / 4, n_penalties)


def fits_at(
    penalties: Floats, template: DPMeans, matrix: Matrix, weights: Floats | None
) -> list[DPMeans]:
    """Return a fit of the template at each penalty; where one did not end, its status tells."""
    if weights is not None:
        weights = np.broadcast_to(weights, matrix.shape[0])
    models = [clone(template).set_params(cluster_penalty=float(p)) for p in penalties]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [model.fit(matrix, sample_weight=weights) for model in models]


def runs(penalties: Floats, n_clusters: list[int]) -> list[Plateau]:
    """Return the longest run of penalties with each number of clusters from two on.

    Between two penalties it ends halfway. An odd number of them, so that the middle of a run of
    evenly spread penalties is one at which the number was found.
    """
    borders = np.sqrt(penalties[:-1] * penalties[1:])
    found: dict[int, Plateau] = {}
    at = 0
    for k, run in groupby(n_clusters):
        first, last = at, at + len(list(run)) - 1
        at = last + 1
        last -= (last - first) % 2
        if k > 1:
            low = borders[last] if last < len(borders) else penalties[last]
            high = borders[first - 1] if first else penalties[0]
            plateau = Plateau(k, float(low), float(high))
            if k not in found or plateau.width > found[k].width:
                found[k] = plateau
    return [found[k] for k in sorted(found) if found[k].width > 0]
