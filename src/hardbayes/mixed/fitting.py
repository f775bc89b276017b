"""One fit of a mixed table: coding, the number of clusters, their descent, attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hardbayes.core.arrays import Floats
from hardbayes.core.fitted import AtOnce, measure_cost_quantiles, trace_attributes
from hardbayes.core.loop import Status, counted, level_rounding
from hardbayes.core.plateaus import table_of
from hardbayes.mixed.choice.association import associated_sentence
from hardbayes.mixed.choice.evidence import trace
from hardbayes.mixed.choice.references import Spike
from hardbayes.mixed.choice.rule import (
    COLUMNS,
    MAX_CLUSTERS,
    Choice,
    choose,
    penalties_of,
    take_sample,
)
from hardbayes.mixed.clusters import Labels, Prior, Rows, costs, first_clusters
from hardbayes.mixed.coding import Coding, find_coding
from hardbayes.mixed.divergence import Mixed
from hardbayes.mixed.fitted import FittedMixed
from hardbayes.mixed.reading import Table
from hardbayes.mixed.search import Found, Problem, descend, pose

# At most this part of the variance is added to the floors, p / n of it where that is less: with
# few rows, columns that depend on each other by chance would tell more than they know.
MOST_ADDED = 0.5


class Options(NamedTuple):
    """The parameters of a fit."""

    penalty: float | None  # None: by the evidence
    n_clusters: int | None
    max_clusters: int | None
    prior_rows: float
    n_init: int
    max_steps: int


class Result(NamedTuple):
    """What a sample says of the number of clusters."""

    found: Found  # of the sample
    problem: Problem
    ids: Labels  # its rows
    penalty: float  # for all rows
    choice: Choice | None


def fit_table(
    table: Table,
    weights: Floats,
    geometry: Mixed,
    options: Options,
    rng: np.random.RandomState,
    call: str,
    say: Callable[[str], None],
) -> tuple[dict[str, Any], Status]:
    """Return the fitted attributes for a table with weights (n,), and the status.

    ``call``: the call for a number of clusters, with ``{k}`` where the number stands.
    """
    # A weight says how often a row is there. But where rows weigh less than one, as shares of one
    # do, their number counts.
    counted_rows = weights * max(1.0, np.count_nonzero(weights) / weights.sum())
    coding = find_coding(table.matrix, table.columns, counted_rows)
    numbers, levels = coding.code(table.matrix)
    added = min(MOST_ADDED, numbers.shape[1] / counted_rows.sum())
    rows = Rows(numbers, levels, weights, coding.floors + added, coding.sizes)
    say("choosing the number of clusters")
    ids = take_sample(weights, rng)
    result = _solve_sample(rows, ids, coding, options, rng)
    say(f"{counted(result.found.k, 'cluster')} of a sample of {counted(len(result.ids), 'row')}")
    found = _of_all(rows, result, options)
    fitted, status = _attributes(table, rows, coding, geometry, options, result, found)
    remark = sentence_on(result.choice, found.k, options, coding, call)
    if remark:
        status = Status.REMARKED if status is Status.CONVERGED else status
        said = status.sentence(fitted["n_iter_"], found.k)
        fitted["status_"] = f"{said} {remark}"
    return fitted, status


def _solve_sample(
    rows: Rows, ids: Labels, coding: Coding, options: Options, rng: np.random.RandomState
) -> Result:
    """Return the clusters of a sample: as many as are told, or as the evidence says."""
    sample = rows.take(ids)
    sample.weights = sample.weights / sample.weights.mean()
    problem = pose(sample, Prior(options.prior_rows))
    scale = float(rows.weights.sum() / sample.n)
    told = options.n_clusters
    most = max(1, min(told or options.max_clusters or MAX_CLUSTERS, sample.n))
    if not len(rows.floors) + len(rows.sizes):
        most = 1
    if told is None and options.penalty is None:
        choice = choose(problem, spikes_of(coding), most, rng, options.n_init)
        chosen = choice.found[choice.k].found
        penalty = penalties_of({k: each.found for k, each in choice.found.items()})[choice.k]
        return Result(chosen, problem, ids, scale * penalty, choice)
    found = {k: each.found for k, each in trace(
        problem, most, rng, n_init=options.n_init, patient=told is not None
    ).items()}  # fmt: skip
    if told is not None:
        k = max(each for each in found if each <= told)
        return Result(found[k], problem, ids, scale * penalties_of(found)[k], None)
    assert options.penalty is not None
    penalty = options.penalty
    k = min(found, key=lambda each: (scale * found[each].value + penalty * each, each))
    return Result(found[k], problem, ids, penalty, None)


def spikes_of(coding: Coding) -> list[Spike]:
    """Return which numbers are missing at which levels of which categories."""
    return [
        Spike(at, to, len(category.spikes))
        for at, number in enumerate(coding.numbers)
        for to, category in enumerate(coding.categories)
        if number.spikes and category.column == number.column
    ]


def _of_all(rows: Rows, result: Result, options: Options) -> Found:
    """Return the descent of all rows from the clusters of a sample."""
    own = len(result.found.clusters.covariances) > 1
    common = result.problem.common
    prior = Prior(options.prior_rows)
    start = result.found.clusters
    if own:
        weights = start.weights / start.weights.sum()
        prior = prior._replace(covariance=np.einsum("k,kij->ij", weights, start.covariances))
    labels = costs(rows, start).whole.argmin(axis=1)
    labels[result.ids] = result.found.labels
    first = first_clusters(rows, labels, start.k, prior, common)
    return descend(rows, labels, first, prior, options.max_steps)


def _attributes(
    table: Table, rows: Rows, coding: Coding, geometry: Mixed, options: Options, result: Result,
    found: Found,
) -> tuple[dict[str, Any], Status]:  # fmt: skip
    """Return the fitted attributes, clusters by falling weight, and the status."""
    k, n = found.k, rows.n
    order = np.argsort(-found.clusters.weights, kind="stable")
    numbers = np.empty(k, np.int64)
    numbers[order] = np.arange(k)
    history = np.array(found.history) + result.penalty * k
    status = Status.CONVERGED if found.converged else Status.OUT_OF_STEPS
    divergences = costs(rows, found.clusters).divergences[np.arange(n), found.labels]
    labels = found.labels.astype(np.int32)
    quantiles = measure_cost_quantiles(divergences, labels, k, rows.weights)
    model = FittedMixed(
        geometry, coding, rows.floors, found.clusters, _shown(table, rows, coding, found),
        result.penalty, quantiles,
    ).reordered(order)  # fmt: skip
    fitted: dict[str, Any] = {
        "_model": model,
        "labels_": numbers[found.labels].astype(np.int32),
        "n_clusters_": k,
        "cluster_weights_": found.clusters.weights[order],
        "cluster_penalty_": float(result.penalty),
        "prior_weight_": float(options.prior_rows),
        "inertia_": float(found.fit),
    } | trace_attributes(AtOnce(status), level_rounding(history), k)
    if result.choice is not None:
        candidates = [(*each, each.k == result.choice.k) for each in result.choice.candidates]
        fitted["penalty_choice_"] = table_of(candidates, COLUMNS)
    return fitted, status


def _shown(table: Table, rows: Rows, coding: Coding, found: Found) -> Floats:
    """Return means of numbers in their own units (k, p); of all rows where a cluster has none."""
    shown = np.empty((found.k, len(coding.numbers)))
    for at, number in enumerate(coding.numbers):
        values = table.matrix[:, number.column]
        there = ~np.isnan(values) & ~np.isin(values, number.spikes)
        own, weights = found.labels[there], rows.weights[there]
        totals = np.bincount(own, weights, found.k)
        shown[:, at] = (weights / weights.sum()) @ values[there]
        shares = weights / totals[own]  # sums of products with weights may overflow
        means = np.bincount(own, shares * values[there], found.k)
        shown[totals > 0, at] = means[totals > 0]
    return shown


def sentence_on(choice: Choice | None, k: int, options: Options, coding: Coding, call: str) -> str:
    """Return what is to be said of a number of clusters; nothing where all is as it should be."""
    if options.n_clusters is not None and k < options.n_clusters:
        return (
            f"There are {counted(k, 'cluster')}, not {options.n_clusters}: no more were found "
            "whose rows differ."
        )
    if choice is None or k > 1:
        return ""
    nearest = choice.nearest
    if nearest is None:
        return "The columns do not vary enough to divide the rows, so there is one cluster."
    owners = [each.column for each in coding.categories]
    owners += [each.column for each in coding.numbers]
    names = [coding.columns[at].name for at in owners]
    return (
        "No number of clusters has more evidence than there is in such tables without clusters, "
        f"so there is one. Nearest came {nearest.k} clusters: {nearest.evidence:.2f} nats a row, "
        f"against {nearest.reference:.2f} without clusters. To use {nearest.k} clusters: "
        f"{call.format(k=nearest.k)}.{associated_sentence(choice, names)}"
    )
