"""The penalty that suits the data: the middle of the plateau of the chosen number of clusters.

Here are also what is told about the choice (a table of candidates, and sentences), and penalties
for partitions that were found by other costs than those of the fit.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin

from hardbayes.core.alone import NOTHING_COMPARED, ONE_CLUSTER, Nearest, alone_sentences
from hardbayes.core.arrays import Floats, Matrix, is_sparse
from hardbayes.core.discrete import (
    Chosen,
    Dummies,
    choose_beside_discrete,
    codes_of,
    determine,
    left_out_sentence,
    name_columns,
)
from hardbayes.core.estimator import fingerprint
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.loop import Status, add_remark, add_warning
from hardbayes.core.plateaus import Columns, Table, lower_hull, plateaus, table_of
from hardbayes.core.pool import Pool
from hardbayes.dp_means.choice.held_out import held_out_folds
from hardbayes.dp_means.choice.path import (
    MAX_CENTRE_ENTRIES,
    MAX_CLUSTERS,
    WIDE_CLUSTERS,
    Structureless,
    Traced,
    Tracer,
    reference_widths,
)
from hardbayes.dp_means.choice.rule import (
    LEVEL,
    Candidate,
    choose,
    layer_numbers,
    needed_width,
    p_value_of,
    with_evidence,
)
from hardbayes.dp_means.choice.sample import (
    WIDE,
    Drawn,
    Sample,
    View,
    cells_of_grid,
    draw,
    normalise,
    takes_noise,
    view,
)
from hardbayes.dp_means.path import Path
from hardbayes.dp_means.problem import Problem
from hardbayes.dp_means.stepped_path import SteppedPath

Labels = NDArray[np.signedinteger]


def reprice(path: Path, sample: Sample, others: Sequence[Labels] = ()) -> dict[int, float]:
    """Return a penalty for each number of clusters of a path, in the units of a sample.

    The objective of each partition is computed by the divergence itself, and so is that of the
    ``others`` (n,), which compete with those of the path. The penalty is the middle of the plateau;
    off the convex hull, the one at which the numbers below and above are equal. That of one cluster
    is twice the largest at which others are better.
    """
    partitions = [path.labels_with(k) for k in range(1, path.n_clusters + 1)]
    fits = [
        (k, -sample.partition.potential(*sample.clusters(labels, k)))
        for labels in (*partitions, *others)
        if labels is not None
        for k in (int(labels.max()) + 1,)
    ]
    gains = [(fits[0][1] - fit) / (k - 1) for k, fit in fits[1:]]
    slope = max(gains, default=0.0)
    penalties = {1: 2.0 * slope} | {p.k: p.middle for p in plateaus(fits)}
    for (few, fit), (many, other) in pairwise(lower_hull(fits)):
        if fit > other:
            slope = (fit - other) / (many - few)
        for k in range(few + 1, many + 1):
            penalties.setdefault(k, slope)
    return penalties


def across(labels: Labels, codes: Labels) -> NDArray[np.intp]:
    """Return labels (n,) of the clusters divided by the levels of a category."""
    both = labels * (int(codes.max()) + 1) + codes
    return np.unique(both, return_inverse=True)[1]


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
    left_out: list[Dummies]  # categories and discrete columns that the choice did not see
    layers: dict[int, Floats]  # centres of the other numbers with evidence, within the cap

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
    which only counts for the clusters that come with it. Where the clusters follow from the values
    of one discrete column, it chooses again without that column.
    """
    state = rng.get_state()

    def choose_without(left_out: Sequence[Dummies]) -> Chosen:
        rng.set_state(state)  # for the same sample
        drawn = draw(matrix, weights, geometry, prior_weight, rng, left_out)
        choice, labels = _choose(drawn, max_clusters, rng, pool)
        values = drawn.values if takes_noise(drawn.values, geometry) else None
        return Chosen(choice, values, labels, drawn.left_out)

    found: Choice = choose_beside_discrete(choose_without)
    return found


def _choose(
    drawn: Drawn, max_clusters: int | None, rng: np.random.RandomState, pool: Pool
) -> tuple[Choice, Labels]:
    """Return the choice for a sample, and the clusters of its rows."""
    geometry = drawn.sample.geometry
    sample, tracer = drawn.sample, Tracer(rng, pool)
    seen = view(sample, rng)
    traced = tracer.trace(seen, sample.weights, _most_clusters(sample, seen))
    candidates = _candidates(sample, drawn.unseen, seen, traced, tracer)
    k = choose(candidates)
    unit, left_out = traced.problem.unit, seen.left_out * traced.problem.unit
    middles = {p.k: p.middle for p in traced.plateaus}
    middles[1] = 2.0 * (traced.path.first_penalty + left_out)

    def partition(number: int) -> tuple[Labels, Floats]:
        penalty = max(middles[number] - left_out, 0.0)
        labels = traced.path.best_at(penalty, max_clusters).labels
        centres = drawn.exact.clusters(labels, int(labels.max()) + 1)[1]
        return labels, drawn.in_user_coordinates(centres)

    labels, points = partition(k)
    penalties = {number: penalty / unit for number, penalty in middles.items()}
    if seen.geometry is not geometry or drawn.exact is not sample:
        codes = [codes_of(drawn.exact.rows, dummies) for dummies in drawn.left_out]
        divided = [divided for each in codes for divided in (each, across(labels, each))]
        penalties = reprice(traced.path, drawn.exact, divided)
    if drawn.exact is not sample:  # no partition saves more than one cluster costs
        penalties[1] = drawn.exact.cost_of_one()
    penalties = {number: penalty / drawn.frame.unit for number, penalty in penalties.items()}
    choice = Choice(penalties[k], k, points, candidates, penalties, drawn.left_out, {})
    numbers = [number for number, _ in layer_numbers(choice_table(choice)) if number != k]
    most = max_clusters or max(numbers, default=1)
    layers = {number: partition(number)[1] for number in numbers if number <= most}
    return choice._replace(layers=layers), labels


def _most_clusters(sample: Sample, seen: View) -> int:
    """Return at how many clusters a path of projected rows ends: centres have all columns."""
    if seen.geometry is sample.geometry:
        return MAX_CLUSTERS
    return min(MAX_CLUSTERS, max(MAX_CENTRE_ENTRIES // sample.rows.shape[1], WIDE_CLUSTERS))


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
    a few columns noise fills them (``held_out.smooth``); here they are compared.
    """
    if not is_sparse(sample.rows) or sample.rows.shape[1] <= WIDE:
        return dict.fromkeys(numbers, 1.0)
    source = Structureless(sample.rows, sample.geometry, sample.weights)
    found = dict.fromkeys(numbers, 1.0)
    for number in range(SHUFFLES):
        tracer.pool.report.stage(f"held-out reference {number + 1} of {SHUFFLES}")
        drawn = replace(sample, rows=normalise(source.draw(number, tracer.rng), sample.geometry))
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


COLUMNS: Columns = {
    "n_clusters": np.int64,
    "penalty": np.float64,
    "width": np.float64,
    "reference": np.float64,
    "p_value": np.float64,
    "strength": np.float64,
    "chosen": np.bool_,
}
# Standard deviations of columns differ by orders of magnitude where their ratio is above this.
ORDERS_OF_MAGNITUDE = 100.0
ALONE = 0.99  # of the variance: a column with this share decides alone
ENOUGH_ROWS = 10_000  # to estimate them


def choice_attributes(
    choice: Choice, fitted: dict[str, Any], problem: Problem, matrix: Matrix, pool: Pool
) -> dict[str, Any]:
    """Return the fitted attributes that tell why a number of clusters was chosen, and of others."""
    shown = choice.shown
    return {
        "plateau_width_": shown.width if shown else 0.0,
        "plateau_reference_": shown.reference if shown else 0.0,
        "penalty_choice_": choice_table(choice),
        "layers_": _layers(choice, fitted, problem, matrix, pool),
    }


def choice_inputs(estimator: Any, matrix: Matrix, weights: Floats | None) -> tuple[Any, ...]:
    """Return what an automatic penalty of a `DPMeans` depends on, to know it again."""
    names = (
        "divergence", "prior_weight", "search", "method", "max_clusters", "random_state",
    )  # fmt: skip
    return fingerprint(matrix, weights), *(getattr(estimator, name) for name in names)


def has_chosen_for(estimator: Any, matrix: Matrix, weights: Floats | None) -> bool:
    """Whether a fit with these parameters has chosen the penalty for these rows."""
    known = getattr(estimator, "_chosen_for", None)
    return known is not None and known == choice_inputs(estimator, matrix, weights)


def _layers(
    choice: Choice, fitted: dict[str, Any], problem: Problem, matrix: Matrix, pool: Pool
) -> NDArray[np.int32]:
    """Return the labels of rows (layers, n) in each number of clusters with evidence, rising.

    Those of the fit among them; in the others rows go to the nearest centre of the choice.
    """
    model, layers = fitted["_model"], [fitted["labels_"]] * (choice.n_clusters > 1)
    for k, points in choice.layers.items():
        if k == fitted["n_clusters_"]:  # under a cap the fit may have this number
            continue
        other = replace(model, centres=problem.centres_in_frame(points), _tables={})
        labels = np.unique(other.assign(matrix, pool).labels(), return_inverse=True)[1]
        # A centre of the sample may be that of no row: then the layer may be there already.
        if all(labels.max() != layer.max() for layer in layers):
            layers.append(labels.astype(np.int32))
    layers.sort(key=np.max)
    return np.stack(layers) if layers else np.empty((0, matrix.shape[0]), np.int32)


def choice_table(choice: Choice) -> Table:
    """Return the candidates of a choice."""
    rows = [
        (c.k, choice.penalties[c.k], c.width, c.reference, c.p_value, c.strength,
         c.k == choice.n_clusters)
        for c in choice.candidates
    ]  # fmt: skip
    return table_of(rows, COLUMNS)


def tell_choice(
    fitted: dict[str, Any],
    status: Status,
    choice: Choice,
    alone: str,
    matrix: Matrix,
    geometry: Geometry,
    call_for: Callable[[int], str],
) -> Status:
    """Return the status of a fit with a chosen penalty.

    ``alone``: why a category alone makes one cluster of all, or nothing. ``call_for(k)``: the call
    that gives k clusters. IN/OUT fitted: ``status_`` tells why the number was chosen.
    """
    if alone:
        return add_warning(fitted, status, alone)
    if choice.n_clusters == fitted["n_clusters_"] == 1:
        nearest = choice.shown
        if nearest is not None:
            how = f"{call_for(nearest.k)}, or DPMeans(n_clusters={nearest.k})"
            return add_warning(
                fitted, status, no_number_sentence(nearest, how),
                left_out_sentence(choice.left_out), spread_sentence(matrix, geometry),
            )  # fmt: skip
        if status is Status.CONVERGED:
            add_remark(fitted, no_number_sentence(None, ""))
    elif fitted["n_clusters_"] > 1 and (sentence := one_column_sentence(matrix, geometry)):
        return add_warning(fitted, status, sentence)
    return status


def told_by_a_category(choice: Choice, matrix: Matrix, labels: NDArray[np.int32]) -> str:
    """Return why there is one cluster where a category alone divides the chosen ones in a fit.

    Nothing where none does.
    """
    some = slice(None, None, 1 + matrix.shape[0] // ENOUGH_ROWS)
    for dummies in choice.left_out:
        chosen = pairwise_distances_argmin(matrix[some], choice.centres)
        both = across(chosen, codes_of(matrix[some], dummies))
        if determine(both, labels[some]) and not determine(chosen, labels[some]):
            k = choice.n_clusters
            there = f"{k} clusters were chosen" if k > 1 else "no clusters were found"
            return (
                f"The {name_columns(dummies)}, alone would divide the rows, so there is one "
                f"cluster. Without regard to them {there}: leave them out, or scale them down."
            )
    return ""


def no_number_sentence(nearest: Candidate | None, call: str) -> str:
    """Return why there is one cluster, which number came nearest, and how to get it."""
    if nearest is None:
        why = NOTHING_COMPARED.format("clusters")
        return alone_sentences(why, ONE_CLUSTER, None, "DPMeans(n_clusters=k)")
    evidence = (
        f"optimal over a factor of {np.exp(nearest.width):.3g} in the penalty "
        f"({np.exp(nearest.reference):.3g} without structure), and fewer held-out rows between "
        f"them with a p-value of {nearest.p_value:.2g} ({LEVEL:g} is needed)"
    )
    why = "No number of clusters stood out from data without structure"
    return alone_sentences(why, ONE_CLUSTER, Nearest(nearest.k, evidence, call), call)


def spread_sentence(matrix: Matrix, geometry: Geometry) -> str:
    """Return a sentence on columns whose spreads differ by orders of magnitude; else nothing."""
    spreads = _spreads(matrix, geometry)
    spreads = spreads[spreads > 0]
    if not len(spreads) or spreads.max() < ORDERS_OF_MAGNITUDE * spreads.min():
        return ""
    return (
        "The columns of X differ in spread by a factor of about "
        f"{float(f'{spreads.max() / spreads.min():.1g}'):,.0f}, so that a few of them decide: "
        "scale them first, as StandardScaler does."
    )


def one_column_sentence(matrix: Matrix, geometry: Geometry) -> str:
    """Return a sentence on the column that decides alone, such as an identifier; else nothing."""
    spreads = _spreads(matrix, geometry)
    if np.count_nonzero(spreads) < 2:
        return ""
    shares = (spreads / spreads.max()) ** 2
    shares /= shares.sum()
    if shares.max() < ALONE:
        return ""
    return (
        f"Column {shares.argmax()} of X has {100 * shares.max():.4g} % of the variance, so that "
        "the clusters are those of this column: leave it out if it is an identifier, or scale "
        "the columns, as StandardScaler does."
    )


def _spreads(matrix: Matrix, geometry: Geometry) -> Floats:
    """Return the standard deviations of columns (d,), 0 where they overflow; none of sparse rows.

    They only count for squared distances.
    """
    if is_sparse(matrix) or geometry.degree != 2:
        return np.zeros(0)
    some = matrix[:: 1 + len(matrix) // ENOUGH_ROWS]
    with np.errstate(over="ignore", invalid="ignore"):
        spreads: Floats = np.std(some, axis=0, dtype=np.float64)
    return np.where(np.isfinite(spreads), spreads, 0.0)
