"""The penalty that suits the data: the middle of the plateau of the chosen number of clusters."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hardbayes.engine.partition.stepped_path import SteppedPath
from hardbayes.geometry.base import Geometry
from hardbayes.matrices import Floats, Matrix, is_sparse
from hardbayes.pool import Pool
from hardbayes.selection.partition.choice import (
    Candidate,
    choose,
    needed_width,
    p_value_of,
    with_evidence,
)
from hardbayes.selection.partition.held_out import held_out_folds
from hardbayes.selection.partition.narrowing import View, view
from hardbayes.selection.partition.reference_paths import reference_widths
from hardbayes.selection.partition.references import Structureless
from hardbayes.selection.partition.repricing import reprice
from hardbayes.selection.partition.sampling import WIDE, Sample, cells_of_grid, draw, normalised
from hardbayes.selection.partition.tracing import (
    MOST_CENTRE_ENTRIES,
    MOST_CLUSTERS,
    WIDE_CLUSTERS,
    Traced,
    Tracer,
)

# Numbers of clusters up to which held-out rows are tested; larger ones if their plateaus are wide.
TESTED_CLUSTERS = 40
# Halvings, by the number of rows from which so many suffice: few rows say more if they are halved
# in several ways, and cost little. Fewer than eight are not halved.
HALVINGS = ((1 << 13, 1), (1000, 3), (8, 5), (0, 0))
SHUFFLES = 2  # draws of structureless rows that wide sparse rows are compared with
NEAR = 2.0  # numbers within this factor are compared with the valleys of structureless rows
OUTLIERS = 0.01  # of the weight: a second largest cluster below this is no division


class Choice(NamedTuple):
    """A penalty, and why."""

    penalty: float  # in the user's units
    n_clusters: int  # 1 where no number counts
    centres: Floats  # (k, d), in the user's coordinates; no more than the cap
    candidates: list[Candidate]
    penalties: dict[int, float]  # of the candidates, in the user's units

    @property
    def shown(self) -> Candidate | None:
        """The chosen candidate, else the one that came nearest; None where there are none."""
        chosen = [c for c in self.candidates if c.k == self.n_clusters]
        return max(chosen or self.candidates, key=lambda c: (c.strength, c.width), default=None)


def choose_penalty(
    matrix: Matrix,
    geometry: Geometry,
    weights: Floats | None,
    prior_weight: float,
    max_clusters: int | None,
    rng: np.random.RandomState,
    pool: Pool,
) -> Choice:
    """Return the middle of the plateau of the number of clusters that the rule chooses.

    Where it chooses none, a penalty for one cluster. The penalty is chosen as if there were no cap,
    which only counts for the clusters that come with it.
    """
    drawn = draw(matrix, weights, geometry, prior_weight, rng)
    sample, tracer = drawn.sample, Tracer(rng, pool)
    seen = view(sample, rng)
    traced = tracer.trace(seen, sample.weights, _most_clusters(sample, seen))
    candidates = _candidates(sample, drawn.unseen, seen, traced, tracer)
    k = choose(candidates)
    unit, left_out = traced.problem.unit, seen.left_out * traced.problem.unit
    middles = {p.k: p.middle for p in traced.plateaus}
    middles[1] = 2.0 * (traced.path.first_penalty + left_out)
    labels = traced.path.best_at(max(middles[k] - left_out, 0.0), max_clusters).labels
    centres = sample.clusters(labels, int(labels.max()) + 1)[1]
    penalties = {number: penalty / unit for number, penalty in middles.items()}
    if seen.geometry is not geometry:
        penalties = reprice(traced.path, sample)
    penalties = {number: penalty / drawn.frame.unit for number, penalty in penalties.items()}
    return Choice(penalties[k], k, drawn.in_user_coordinates(centres), candidates, penalties)


def _most_clusters(sample: Sample, seen: View) -> int:
    """Return at how many clusters a path of projected rows ends: centres have all columns."""
    if seen.geometry is sample.geometry:
        return MOST_CLUSTERS
    return min(MOST_CLUSTERS, max(MOST_CENTRE_ENTRIES // sample.rows.shape[1], WIDE_CLUSTERS))


def _candidates(
    sample: Sample, unseen: Sample, seen: View, traced: Traced, tracer: Tracer
) -> list[Candidate]:
    """Return the numbers of clusters that have a plateau, with the evidence for each."""
    cells, n = cells_of_grid(sample.rows), sample.n_rows
    widths = {k: width for k, width in traced.widths.items() if k != cells}
    if not widths:
        return []
    is_slow = not isinstance(traced.path, SteppedPath)
    references = reference_widths(widths, sample, seen, is_slow, tracer)
    numbers = [
        k
        for k in sorted(widths)
        if k <= TESTED_CLUSTERS or widths[k] > needed_width(k, references[k])
    ]
    n_halvings = next(number for least, number in HALVINGS if n >= least)
    n_halvings = min(n_halvings, 1) if is_slow else n_halvings
    folds = held_out_folds(sample, unseen, numbers, n_halvings, tracer)
    valleys = _valleys_without_structure(sample, numbers, tracer)
    return [
        with_evidence(
            k,
            widths[k],
            references[k],
            _is_division(traced, k, sample.weights),
            folds[k],
            min(p for q, p in valleys.items() if k / NEAR <= q <= k * NEAR),
        )
        for k in numbers
    ]


def _valleys_without_structure(
    sample: Sample, numbers: list[int], tracer: Tracer
) -> dict[int, float]:
    """Return the p-values of valleys in structureless rows; ones where no reference is needed.

    Entries of wide sparse rows, few and often integers, leave gaps where nothing is clustered. In
    a few columns noise fills them (``held_out.smoothed``); here they are compared.
    """
    if not is_sparse(sample.rows) or sample.rows.shape[1] <= WIDE:
        return dict.fromkeys(numbers, 1.0)
    source = Structureless(sample.rows, sample.geometry, sample.weights)
    found = dict.fromkeys(numbers, 1.0)
    for number in range(SHUFFLES):
        tracer.pool.report.stage(f"held-out reference {number + 1} of {SHUFFLES}")
        drawn = replace(sample, rows=normalised(source.draw(number, tracer.rng), sample.geometry))
        none = replace(drawn, rows=drawn.rows[:0], weights=drawn.weights[:0])
        folds = held_out_folds(drawn, none, numbers, 1, tracer)
        found = {k: min(found[k], p_value_of(k, folds[k])) for k in numbers}
    return found


def _is_division(traced: Traced, k: int, weights: Floats) -> bool:
    """Whether the second largest of k clusters is more than a few outliers."""
    labels = traced.path.labels_with(k)
    if labels is None:  # a number between those of a path of fits
        return True
    sizes, counts = np.sort(np.bincount(labels, weights)), np.sort(np.bincount(labels))
    return bool(counts[-2] >= 2 and sizes[-2] >= OUTLIERS * weights.sum())
