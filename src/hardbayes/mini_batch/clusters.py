"""Clusters of a summary: the macro step.

`DPMeans` minimises the same objective over partitions of the weighted means of the micro-clusters,
from the clusters found last. What the summary hides, the scatter within micro-clusters, is the same
for all partitions of them, and is added.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hardbayes.core.arrays import Floats, Matrix, is_sparse
from hardbayes.core.fitted import measure_cost_quantiles, trace_attributes
from hardbayes.core.frame import Columns, Frame, column_range, power_of_two_scale
from hardbayes.core.loop import Status, level_rounding
from hardbayes.dp_means.choice.automatic import choose_penalty, no_number_sentence
from hardbayes.dp_means.fitted import FittedPartition, check_history
from hardbayes.dp_means.problem import Problem, rows_in_memory
from hardbayes.dp_means.starts import Starts, minimise

if TYPE_CHECKING:
    from hardbayes.core.geometry import Geometry
    from hardbayes.core.pool import Pool
    from hardbayes.mini_batch.summary import Summary

# Steps of the macro step at most: as in `DPMeans`.
MAX_STEPS = 300


class Terms(NamedTuple):
    """What clusters cost, in the user's units."""

    penalty: float
    prior_weight: float
    max_clusters: int | None


class Clusters(NamedTuple):
    """Clusters of micro-clusters, in working coordinates, and what is told of them."""

    labels: NDArray[np.int32]  # (m,)
    centres: Floats  # (k, d)
    weights: Floats  # (k,)
    fit: float  # weighted costs of all rows seen, in working units
    attributes: dict[str, Any]
    status: Status

    def in_order(self, order: NDArray[np.intp]) -> Clusters:
        """Return the same clusters in another order (k,)."""
        model = self.attributes["_model"]
        moved = {
            "_model": replace(
                model, centres=model.centres[order], cost_quantiles=model.cost_quantiles[order]
            ),
            "cluster_weights_": self.weights[order],
        }
        labels = np.argsort(order).astype(np.int32)[self.labels]
        attributes = self.attributes | moved
        return self._replace(
            labels=labels, centres=self.centres[order], weights=self.weights[order],
            attributes=attributes,
        )  # fmt: skip


class View(NamedTuple):
    """A summary as rows that an engine takes: the means, in working coordinates."""

    matrix: Matrix  # (m, d)
    weights: Floats  # (m,)
    prior_factor: float  # by which these rows need more pseudo-rows than the rows seen


def view(summary: Summary, geometry: Geometry, as_sparse: bool) -> View:
    """Return a summary as rows.

    Where rows are divided by their lengths, a mean is shorter than they: it becomes a row of length
    one and of less weight, which costs the same everywhere.
    """
    means, weights = summary.means(geometry), summary.weights
    factor = 1.0
    if geometry.row_unit is not None:
        lengths = geometry.row_sizes(means)
        means[lengths == 0, 0] = 1.0  # no direction, and no weight
        factor = float(weights @ lengths / weights.sum())
        weights = weights * lengths
        # Lengths that rounding alone has made differ from one are left alone.
        means /= np.where(lengths > 0, lengths, 1.0)[:, np.newaxis]
    return View(sparse.csr_array(means) if as_sparse else means, weights, factor)


class Chosen(NamedTuple):
    """An automatic penalty."""

    penalty: float  # of the sum of costs, in working units
    centres: Floats  # (k, d), in working coordinates
    sentence: str  # what is to be told of it


def choose(
    summary: Summary,
    geometry: Geometry,
    as_sparse: bool,
    terms: Terms,
    rng: np.random.RandomState,
    pool: Pool,
) -> Chosen:
    """Choose the penalty as `DPMeans` does, for the weighted means of a summary."""
    seen = view(summary, geometry, as_sparse)
    prior_weight = terms.prior_weight * seen.prior_factor
    choice = choose_penalty(
        seen.matrix, geometry, seen.weights, prior_weight, terms.max_clusters, rng, pool
    )
    nearest, sentence = choice.shown, ""
    if choice.n_clusters == 1 and nearest is not None:
        sentence = no_number_sentence(nearest, "a cluster_penalty of your own")
    return Chosen(choice.penalties[choice.n_clusters], choice.centres, sentence)


def find_clusters(
    summary: Summary,
    frame: Frame,
    geometry: Geometry,
    as_sparse: bool,
    dtype: np.dtype,
    terms: Terms,
    start: Floats | None,
    rng: np.random.RandomState,
    pool: Pool,
) -> Clusters:
    """Find the clusters of a summary, from centres ``start`` (k, d) or from one cluster."""
    seen = view(summary, geometry, as_sparse)
    problem = _pose(seen, geometry, frame, pool)
    partition = problem.partition(
        terms.penalty, terms.prior_weight * seen.prior_factor, terms.max_clusters
    )
    solution = minimise(
        problem.state(partition), partition, problem.opening_costs(partition),
        lambda: problem.mean,
        Starts("mean" if start is None else start, "random", 1, "split-merge", MAX_STEPS),
        rng, lambda *_: None,
    )  # fmt: skip
    k, labels, weights = len(solution.centres), solution.labels, summary.weights
    cluster_weights = np.asarray(np.bincount(labels, weights, k), np.float64)
    spread = float(summary.scatter.sum())
    history = (solution.trace / problem.unit + spread / frame.unit) + [
        terms.penalty * n for n in solution.cluster_counts.tolist()
    ]
    check_history(history, solution.trace, geometry)
    mean = summary.sums.sum(axis=0) / weights.sum()
    own = replace(
        partition,
        penalty=terms.penalty * frame.unit,
        prior_weight=terms.prior_weight,
        prior_mean=mean if partition.prior_mean.any() else partition.prior_mean,
    )
    # Rows lie around their micro-cluster's mean: what they cost there counts for them.
    costs = problem.state(partition).costs_at(solution.centres, labels)
    costs = costs * seen.weights / weights + summary.scatter / weights
    quantiles = measure_cost_quantiles(costs, labels, k, weights)
    every = Columns(None, len(frame.shift))
    model = FittedPartition(own, frame, solution.centres, every, dtype, quantiles)
    fit = solution.terms.fit / problem.weight_unit + spread
    attributes = {
        "_model": model,
        "n_clusters_": k,
        "cluster_weights_": cluster_weights,
        "cluster_penalty_": terms.penalty,
        "prior_weight_": terms.prior_weight,
        "inertia_": fit / frame.unit,
        "micro_centers_": geometry.shown(frame.from_working(summary.means(geometry))),
        "micro_weights_": weights,
        "summary_error_": spread / frame.unit,
    } | trace_attributes(solution, level_rounding(history, problem.rounding), k)
    return Clusters(labels, solution.centres, cluster_weights, fit, attributes, solution.status)


def _pose(seen: View, geometry: Geometry, frame: Frame, pool: Pool) -> Problem:
    """Pose the problem for rows that are in working coordinates already."""
    matrix = seen.matrix
    largest = np.abs(column_range(matrix)).max(axis=0)
    weight_unit = power_of_two_scale(float(seen.weights.max()))
    here = Frame(np.zeros(len(largest)), 1.0, frame.degree)
    rows = rows_in_memory(matrix, geometry, here, seen.weights * weight_unit, largest, pool)
    problem = Problem(rows, frame, geometry, weight_unit, float(largest.max()) / frame.scale)
    if geometry.needs_mean and not is_sparse(matrix):
        rows.layout = rows.layout._replace(anchor=problem.mean)
    return problem
