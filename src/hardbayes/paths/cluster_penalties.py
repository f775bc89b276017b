"""The path of penalties for clusters."""

from copy import copy, deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from hardbayes.engine.partition.descent import Solution
from hardbayes.engine.partition.path import Path
from hardbayes.engine.status import Status
from hardbayes.estimators.base import checked_data
from hardbayes.estimators.dp_means import DPMeans
from hardbayes.matrices import Floats
from hardbayes.models.partition import fitted_attributes
from hardbayes.paths.exact_numbers import ExactClusters, PublishedClusters, status_at
from hardbayes.paths.penalty_path import PenaltyPath
from hardbayes.paths.published import fits_at, published_penalties, runs
from hardbayes.pool import Pool, resolve_threads
from hardbayes.problems.columns import used_columns
from hardbayes.problems.partition import Problem, pose
from hardbayes.selection.partition.automatic import choose_penalty
from hardbayes.selection.partition.evidence import choice_table
from hardbayes.selection.partition.tracing import (
    begin_path,
    most_clusters,
    path_plateaus,
    sample_rows,
    trace_on,
)
from hardbayes.structure.partition import Partition


def trace_clusters(
    X: Any, template: DPMeans, penalties: Floats | None, n_penalties: int, sample_weight: Any
) -> PenaltyPath:
    """Return solutions at given penalties, or at ``n_penalties`` from one cluster to many."""
    plain = clone(template).set_params(cluster_penalty=1.0)
    plain._validate_params()
    geometry, cap = template._geometry, template.max_clusters
    every, every_weight, names = checked_data(template, geometry, X, sample_weight)
    exactly: ExactClusters | PublishedClusters
    with Pool(resolve_threads(template.n_jobs), template._progress()) as pool:
        # With the same seed as in a fit, so that path and model agree.
        prior_weight = template._prior_weight_for(every)
        rng = template._stream()
        choice = choose_penalty(
            every, geometry, every_weight, prior_weight, cap, deepcopy(rng), pool
        )
        matrix, weights, rows = sample_rows(every, every_weight, rng)
        columns = used_columns(matrix, geometry)
        problem = pose(columns.of(matrix), geometry, weights, pool)
        if plain._search != "split-merge":
            if penalties is None:
                penalties = published_penalties(problem, prior_weight, n_penalties)
            models = fits_at(penalties, template, matrix, weights)
            found = runs(penalties, [model.n_clusters_ for model in models])
            exactly = PublishedClusters(plain, every, every_weight, names, found)
        else:
            path = begin_path(problem, prior_weight, cap, rng, template.order, template.max_iter)
            most = most_clusters(problem)
            path.trace(most if cap is None else min(most, 2 * cap + 2), cap, thorough=True)
            capped = cap is not None and path.n_clusters >= cap
            found = [
                p.with_prices(1.0 / problem.unit)
                for p in path_plateaus(path)
                if cap is None or p.k <= cap
            ]
            largest = 2.0 * path.first_penalty / problem.unit
            exactly = ExactClusters(
                plain, every, every_weight, names, prior_weight, (matrix, weights),
                path.partitions, found, largest,
            )  # fmt: skip
            if penalties is None:
                # Where more clusters than the path has would be better, it has nothing to say.
                smallest = min((p.low or p.middle for p in found), default=largest / 4)
                penalties = np.geomspace(largest, smallest, n_penalties)
            elif not capped:
                trace_on(path, penalties * problem.unit)
            models = []
            for penalty in penalties.tolist():
                partition = problem.partition(penalty, prior_weight, cap)
                solution = _solution_at(partition, path, problem, cap)
                models.append(copy(plain).set_params(cluster_penalty=penalty))
                models[-1].__dict__.update(
                    fitted_attributes(solution, problem, partition, penalty, columns, matrix.dtype)
                )
        best_penalty = plain._penalty_for(choice.n_clusters, problem, prior_weight, choice)
    for model in models:
        model.__dict__.update(names)
    table = choice_table(choice)
    return PenaltyPath.of(penalties, models, found, best_penalty, exactly, rows, table)


def _solution_at(partition: Partition, path: Path, problem: Problem, cap: int | None) -> Solution:
    """Return the best solution of a path at the penalty of a partition, and how a fit would end."""
    solution = path.best_at(partition.penalty, cap).at_its_end()
    status = Status.CAPPED
    if len(path.best_at(partition.penalty).centres) <= partition.max_clusters:
        status = status_at(solution, problem, partition)
    return replace(solution, status=status)
