"""Fits with exactly so many clusters, whether or not any penalty gives as many.

A fit at a penalty of zero under a cap of k has k clusters, and begins with the partition of the
path that has as many. Where k has a plateau, the model tells the penalty in its middle.
"""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from hardbayes.engine.partition.descent import Solution
from hardbayes.engine.partition.restarts import Starts, minimise
from hardbayes.engine.status import Status, counted
from hardbayes.estimators.bp_means import BPMeans
from hardbayes.estimators.dp_means import DPMeans
from hardbayes.geometry import geometry_for
from hardbayes.matrices import Floats, Matrix
from hardbayes.models.partition import fitted_attributes
from hardbayes.moves.partition.merges import nearest_partners
from hardbayes.paths.published import fits_at
from hardbayes.pool import Pool, resolve_threads
from hardbayes.problems.columns import Columns, used_columns
from hardbayes.problems.partition import Problem, pose
from hardbayes.selection.hull import Plateau
from hardbayes.structure.partition import Partition

HALVINGS = 8  # of an automatic prior that keeps rows together; then there is none


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
        priors = [self.prior_weight]
        if template.prior_weight == "auto" and self.prior_weight:
            priors += [self.prior_weight * 0.5**n for n in range(1, HALVINGS + 1)] + [0.0]
        with Pool(resolve_threads(template.n_jobs), template._progress()) as pool:
            geometry = geometry_for(template.divergence)
            columns = used_columns(self.matrix, geometry)
            problem = pose(columns.of(self.matrix), geometry, self.weights, pool)
            start = problem.centres_in_frame(self._start(n_clusters, columns, pool))
            for prior_weight in priors:
                free = problem.partition(0.0, prior_weight, n_clusters)
                solution = self._fit(problem, start, free)
                if len(solution.centres) == n_clusters:
                    break
            else:
                raise self._too_many(n_clusters, solution)
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
        model.__dict__.update(fitted, **self.names)
        return model

    def _fit(self, problem: Problem, start: Floats, partition: Partition) -> Solution:
        template = self.template
        starts = Starts(start, template.order, 1, "split-merge", template.max_iter)
        opening = problem.opening_costs(partition)
        state = problem.state(partition)
        rng = template._stream()
        return minimise(
            state, partition, opening, lambda: problem.mean, starts, rng, template._report
        )

    def _start(self, n_clusters: int, columns: Columns, pool: Pool) -> Floats:
        """Return centres (k, d) to start from, in the user's coordinates: not more of them."""
        matrix, weights = self.traced
        geometry = geometry_for(self.template.divergence)
        problem = pose(columns.of(matrix), geometry, weights, pool)
        partition = problem.partition(0.0, self.prior_weight, None)
        enough = [k for k in self.partitions if k >= n_clusters]
        found = self.partitions[min(enough) if enough else max(self.partitions)]
        used, labels = np.unique(found, return_inverse=True)
        numbers = np.arange(len(used))
        totals = problem.rows.totals(len(used), labels.astype(np.int32))
        weights, centres = totals.weights(numbers), totals.sums(numbers)
        kept = np.flatnonzero(weights)
        centres = united(partition, weights[kept], centres[kept], n_clusters)
        return problem.frame.from_working(centres)

    def _too_many(self, n_clusters: int, solution: Solution) -> ValueError:
        """Return the error for a number of clusters that was not reached."""
        why = "X has no more different rows"
        if self.prior_weight:
            why = f"prior_weight={self.prior_weight:g} keeps rows together; set it to 0"
        elif solution.status is Status.OUT_OF_STEPS:
            why = f"max_iter={self.template.max_iter} ended the search; raise it"
        found = counted(len(solution.centres), "cluster")
        return ValueError(f"There are {found}, not {n_clusters}: {why}.")


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
            model = fits_at(np.array([penalty]), capped, self.matrix, self.weights)[0]
            if model.n_clusters_ == n_clusters:
                model.__dict__.update(self.names)
                return model
        raise ValueError(
            f"The published search ends with {model.n_clusters_} clusters where {n_clusters} are "
            'allowed. Use search="split-merge" and method="joint".'
        )


@dataclass(frozen=True)
class ExactFeatures:
    """The models of a path of features, by their number."""

    models: dict[int, BPMeans]

    def __call__(self, n_components: int) -> BPMeans:
        """Return a copy of the fitted model."""
        if n_components not in self.models:
            raise ValueError(
                f"The path has {min(self.models)} to {max(self.models)} features, not "
                f"{n_components}. Use KFeatures({n_components}), or a path to smaller penalties."
            )
        return copy(self.models[n_components])


def penalty_at(number: int, plateaus: list[Plateau]) -> float:
    """Return the middle of the plateau of a number; zero where it has none and takes a cap."""
    return next((plateau.middle for plateau in plateaus if plateau.k == number), 0.0)


def united(partition: Partition, weights: Floats, totals: Floats, n_clusters: int) -> Floats:
    """Return the centres of clusters with these weights (k,) and totals (k, d), at most so many.

    While there are more, the two unite whose union costs least.
    """
    while len(weights) > n_clusters:
        partners, costs = nearest_partners(partition, weights, partition.centres(weights, totals))
        younger = int(costs.argmin())
        older = partners[younger]
        weights[older] += weights[younger]
        totals[older] += totals[younger]
        weights, totals = np.delete(weights, younger), np.delete(totals, younger, axis=0)
    return partition.centres(weights, totals)


def status_at(solution: Solution, problem: Problem, partition: Partition) -> Status:
    """Return how a fit of this partition would have ended at a solution of its path."""
    if solution.status is Status.OUT_OF_STEPS:
        return solution.status
    if len(solution.centres) < partition.max_clusters:
        return Status.CONVERGED
    state = problem.state(partition)
    n_above = state.rows_above(solution.centres, problem.opening_costs(partition))
    return Status.CAPPED if n_above else Status.CONVERGED
