"""One fit of clusters with covariances: its prior and penalty, its start, and the descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hardbayes.engine.gaussian.model import GaussianModel
from hardbayes.engine.gaussian.restarts import (
    GaussianSolution,
    Options,
    descend,
    minimise,
    one_cluster,
)
from hardbayes.engine.status import Status, counted
from hardbayes.models.gaussian import fitted_attributes
from hardbayes.problems.gaussian import weighted_mean, whitening
from hardbayes.selection.choice_table import table_of
from hardbayes.selection.gaussian.choice import COLUMNS, Choice, choose_number
from hardbayes.selection.gaussian.given_penalty import choose_prior
from hardbayes.selection.gaussian.sampling import Sample, take_sample
from hardbayes.structure.gaussians import GaussianPartition, Gaussians, at_points

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hardbayes.executors.gaussian.protocol import GaussianRows, Ids
    from hardbayes.matrices import Floats
    from hardbayes.pool import Pool
    from hardbayes.selection.gaussian.prior import Kept

MAX_TRIES = 4  # penalties, where all rows merge clusters that the sample keeps


def fit_rows(
    matrix: NDArray[np.floating],
    weights: Floats,
    options: Options,
    rng: np.random.RandomState,
    pool: Pool,
    report: Callable[[int, int, int], None],
    say: Callable[[str], None],
) -> tuple[dict[str, Any], Status]:
    """Return the fitted attributes for a matrix (n, d) with weights (n,), and the status."""
    middle = weighted_mean(matrix, weights)
    prior, penalty, rate = options.prior, options.penalty, options.rate
    if prior is not None:
        whitening(middle, prior)  # raises before the search if it is not definite
    chosen, choice = None, None
    if prior is None or penalty is None:
        sample = take_sample(matrix, weights, options.diagonal, pool)
        if penalty is None:
            given = None if prior is None else sample.to_sample(prior)
            choice = choose_number(sample, options.max_clusters, given, say)
            found, labels = choice.kept.prior, choice.kept.labels
            penalty = rate * choice.kept.penalty
        else:
            found, labels = choose_prior(sample.rows, penalty / rate, options)
        prior = sample.from_sample(found) if prior is None else prior
        chosen = sample, labels
    frame = whitening(middle, prior)
    rows = frame.rows(matrix, weights, pool)
    partition = GaussianPartition(penalty, rate, options.max_clusters)
    start = one_cluster(rows)
    if options.centres is not None:
        start = at_points(frame.rows(options.centres, np.zeros(0), pool).rows, options.diagonal)
    elif chosen is not None and options.search != "paper":
        start = _start(rows, *chosen)
    if choice is not None and options.centres is None and options.search != "paper":
        solution, partition = _keep_number(rows, choice.kept, start, options, report)
    else:
        solution = minimise(rows, partition, start, options, rng, report)
    fitted = fitted_attributes(solution, frame, partition, weights, matrix.dtype)
    fitted["covariance_prior_"] = prior
    if choice is None:
        return fitted, solution.status
    fitted["penalty_choice_"] = table_of(choice.candidates, COLUMNS)
    return _told(fitted, solution, choice)


def _start(rows: GaussianRows, sample: Sample, labels: Ids) -> Gaussians:
    """Return the clusters of a sample as clusters of all rows."""
    some = rows.sample(sample.ids, sample.unit * sample.rows.weights)
    return Gaussians(*some.statistics(labels, int(labels.max()) + 1))


def _keep_number(
    rows: GaussianRows,
    kept: Kept,
    start: Gaussians,
    options: Options,
    report: Callable[[int, int, int], None],
) -> tuple[GaussianSolution, GaussianPartition]:
    """Return the descent of all rows from the clusters of a sample, and what it minimised.

    Rows and clusters follow each other, and merges are considered. The number was chosen: where
    clusters merge, a lower penalty is tried.
    """
    penalty, rng = kept.penalty, np.random.RandomState(0)
    for _ in range(MAX_TRIES):
        partition = GaussianPartition(options.rate * penalty, options.rate, options.max_clusters)
        model = GaussianModel(rows, partition, np.arange(rows.n))
        solution = descend(model, start, "local", options.max_steps, rng, report)
        if solution.statistics.k >= kept.k:
            break
        penalty = float(np.sqrt(kept.low * penalty)) if 0 < kept.low < penalty else penalty / 2
    return solution, partition


def _told(
    fitted: dict[str, Any], solution: GaussianSolution, choice: Choice
) -> tuple[dict[str, Any], Status]:
    """Return the attributes and the status of an automatic fit, with what is to be said of it."""
    k, status = solution.statistics.k, solution.status
    if status is not Status.CONVERGED:
        return fitted, status
    if k == 1:
        fitted["status_"] = choice.sentence()
        return fitted, Status.CONVERGED if choice.nearest is None else Status.REMARKED
    if choice.kept.is_capped:
        steps = counted(fitted["n_iter_"], "step")
        fitted["status_"] = (
            f"Converged after {steps} with the {k} clusters that were chosen. At this penalty more "
            f"would lower the objective: pass max_clusters={k} with it."
        )
    return fitted, status
