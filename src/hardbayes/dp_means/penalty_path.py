"""The path of penalties for clusters, and fits with exactly so many clusters.

A fit at a penalty of zero under a cap of k has k clusters, whether or not any penalty gives as
many; it begins with the partition of the path that has as many. Where k has a plateau, the model
tells the penalty in its middle.

The published algorithms cannot go on from one solution to the next: they open clusters only where
single rows cost more than the penalty, so where a fit ends depends on where it began. Each penalty
has a fit of its own, from the start of the template.
"""

from copy import copy, deepcopy
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.estimator import checked_data
from hardbayes.core.frame import used_columns
from hardbayes.core.geometry import geometry_for
from hardbayes.core.loop import Status, counted
from hardbayes.core.penalty_path import PenaltyPath
from hardbayes.core.plateaus import Plateau, penalty_at
from hardbayes.core.pool import Pool, resolve_threads
from hardbayes.dp_means.choice.automatic import choice_table, choose_penalty, has_chosen_for
from hardbayes.dp_means.choice.farthest_first import farthest_first_penalty
from hardbayes.dp_means.choice.path import (
    begin_path,
    most_clusters,
    path_plateaus,
    trace_on,
)
from hardbayes.dp_means.choice.rule import layer_numbers
from hardbayes.dp_means.choice.sample import sample_rows
from hardbayes.dp_means.descent import Solution
from hardbayes.dp_means.estimator import DPMeans
from hardbayes.dp_means.exactly import centres_of, solve_exactly, why_fewer
from hardbayes.dp_means.fitted import fitted_attributes
from hardbayes.dp_means.objective import Partition
from hardbayes.dp_means.path import Path
from hardbayes.dp_means.problem import Problem, pose
from hardbayes.dp_means.starts import Starts


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
    penalties: Floats,
    template: DPMeans,
    matrix: Matrix,
    weights: Floats | None,
    names: dict[str, Any],
) -> list[DPMeans]:
    """Return a fit of the template at each penalty; where one did not end, its status tells."""
    if weights is not None:
        weights = np.broadcast_to(weights, matrix.shape[0])
    models = [
        clone(template).set_params(cluster_penalty=float(p), n_clusters=None) for p in penalties
    ]
    return [model._set_fitted(model._fit_rows(matrix, weights)[0] | names) for model in models]


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


@dataclass(frozen=True)
class ExactClusters:
    """Makes fits to all rows with exactly so many clusters."""

    template: DPMeans
    matrix: Matrix  # all rows, checked
    weights: Floats | None
    names: dict[str, Any]  # attributes that describe the columns
    prior_weight: float
    traced: tuple[Matrix, Floats | None]  # rows and weights that the path was traced on
    partitions: dict[int, NDArray[np.int32]]  # their labels, by number of clusters
    plateaus: list[Plateau]
    largest: float  # a penalty for one cluster

    def __call__(self, n_clusters: int) -> DPMeans:
        """Return a fitted model.

        A prior that was chosen automatically is halved until so many clusters stand.
        """
        template = self.template
        with Pool(resolve_threads(template.n_jobs), template._progress()) as pool:
            geometry = geometry_for(template.divergence)
            columns = used_columns(self.matrix, geometry)
            problem = pose(columns.of(self.matrix), geometry, self.weights, pool)
            matrix, weights = self.traced
            traced = pose(columns.of(matrix), geometry, weights, pool)
            start = centres_of(traced, self.prior_weight, self.partitions, n_clusters)
            centres = problem.centres_in_frame(start)
            starts = Starts(centres, template.order, 1, "split-merge", template.max_iter)
            exact = solve_exactly(
                problem, n_clusters, self.prior_weight, template.prior_weight == "auto", starts,
                template._stream(), template._report,
            )  # fmt: skip
            solution, prior_weight = exact
            if len(solution.centres) != n_clusters:
                found = counted(len(solution.centres), "cluster")
                why = why_fewer(exact, template.max_iter)
                raise ValueError(f"There are {found}, not {n_clusters}: {why}.")
            penalty = self.largest if n_clusters == 1 else penalty_at(n_clusters, self.plateaus)
            partition = problem.partition(penalty, prior_weight, n_clusters)
            status = status_at(solution, problem, partition)
            solution = replace(solution.at_its_end(), status=status)
            fitted = fitted_attributes(
                solution, problem, partition, penalty, columns, self.matrix.dtype
            )
        model = clone(template).set_params(cluster_penalty=penalty, max_clusters=n_clusters)
        if prior_weight != self.prior_weight:
            model.prior_weight = prior_weight
        return model._set_fitted(fitted | self.names)


@dataclass(frozen=True)
class PublishedClusters:
    """The same for the published algorithms: from their own start, at the middle of a plateau."""

    template: DPMeans
    matrix: Matrix
    weights: Floats | None
    names: dict[str, Any]
    plateaus: list[Plateau]

    def __call__(self, n_clusters: int) -> DPMeans:
        """Return a fitted model."""
        capped = clone(self.template).set_params(max_clusters=n_clusters)
        for penalty in (penalty_at(n_clusters, self.plateaus), 0.0):
            penalties = np.array([penalty])
            model = fits_at(penalties, capped, self.matrix, self.weights, self.names)[0]
            if model.n_clusters_ == n_clusters:
                return model
        raise ValueError(
            f"The published search ends with {model.n_clusters_} clusters where {n_clusters} are "
            'allowed. Use search="split-merge" and method="joint".'
        )


def status_at(solution: Solution, problem: Problem, partition: Partition) -> Status:
    """Return how a fit of this partition would have ended at a solution of its path."""
    if solution.status is Status.OUT_OF_STEPS:
        return solution.status
    if len(solution.centres) < partition.max_clusters:
        return Status.CONVERGED
    state = problem.state(partition)
    n_above = state.rows_above(solution.centres, problem.opening_costs(partition))
    return Status.CAPPED if n_above else Status.CONVERGED


def trace_clusters(
    X: Any, template: DPMeans, penalties: Floats | None, n_penalties: int, sample_weight: Any
) -> PenaltyPath[Any]:
    """Return solutions at given penalties, or at ``n_penalties`` from one cluster to many."""
    if template.discount:  # whose clusters are among those of constant penalties
        template = clone(template).set_params(discount=0.0)
    plain = clone(template).set_params(cluster_penalty=1.0, n_clusters=None)
    plain._validate_params()
    geometry, cap = template._geometry, template.max_clusters
    every, every_weight, names = checked_data(template, geometry, X, sample_weight)
    exactly: ExactClusters | PublishedClusters
    with Pool(resolve_threads(template.n_jobs), template._progress()) as pool:
        # With the same seed as in a fit, so that path and model agree.
        prior_weight = template._prior_weight_for(every)
        rng = template._stream()
        choice = None
        if not has_chosen_for(template, every, every_weight):
            choice = choose_penalty(
                every, geometry, every_weight, prior_weight, cap, deepcopy(rng), pool
            )
        matrix, weights, rows = sample_rows(every, every_weight, rng)
        columns = used_columns(matrix, geometry)
        problem = pose(columns.of(matrix), geometry, weights, pool)
        if plain._search != "split-merge":
            if penalties is None:
                penalties = published_penalties(problem, prior_weight, n_penalties)
            models = fits_at(penalties, template, matrix, weights, names)
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
                fitted = fitted_attributes(
                    solution, problem, partition, penalty, columns, matrix.dtype
                )
                model = copy(plain).set_params(cluster_penalty=penalty)
                models.append(model._set_fitted(fitted | names))
        if choice is None:
            best_penalty, table = template.cluster_penalty_, dict(template.penalty_choice_)
        else:
            best_penalty = plain._penalty_for(choice.n_clusters, problem, prior_weight, choice)
            table = choice_table(choice)
    layers = layer_numbers(table) if plain._search == "split-merge" else None
    return PenaltyPath.of(penalties, models, found, best_penalty, exactly, rows, table, layers)


def _solution_at(partition: Partition, path: Path, problem: Problem, cap: int | None) -> Solution:
    """Return the best solution of a path at the penalty of a partition, and how a fit would end."""
    solution = path.best_at(partition.penalty, cap).at_its_end()
    status = Status.CAPPED
    if len(path.best_at(partition.penalty).centres) <= partition.max_clusters:
        status = status_at(solution, problem, partition)
    return replace(solution, status=status)
