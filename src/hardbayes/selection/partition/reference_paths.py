"""How wide plateaus are in structureless data."""

from dataclasses import replace

import numpy as np

from hardbayes.matrices import is_sparse
from hardbayes.selection.partition.choice import needed_width
from hardbayes.selection.partition.narrowing import View, view
from hardbayes.selection.partition.references import Structureless
from hardbayes.selection.partition.sampling import Sample, normalised
from hardbayes.selection.partition.tracing import Tracer

Widths = dict[int, float]  # of plateaus, by number of clusters

MOST_ROWS = 1 << 11  # of a draw
# Draws, by the number of rows from which so many suffice: few rows vary more, and cost less.
DRAWS = ((1000, 6), (400, 12), (0, 20))
CLUSTERS = 12  # to which paths go, unless there are wide plateaus beyond
# Plateaus of numbers within this factor are compared. Of the widest in each draw this quantile is
# taken: the largest of a few varies too much.
WINDOW = 1.2
QUANTILE = 0.9
FAR = 10  # from here on, widths fall at most as 1 / sqrt(k)


def reference_widths(
    widths: Widths, sample: Sample, seen: View, is_slow: bool, tracer: Tracer
) -> Widths:
    """Return for each plateau of a sample how wide it would be without structure.

    ``seen``: the sample as its path saw it. ``is_slow``: paths take long, so few are traced.
    """
    few = sample.some(np.sort(tracer.rng.permutation(sample.n_rows)[:MOST_ROWS]))
    n_draws = DRAWS[0][1] if is_slow else next(d for least, d in DRAWS if few.n_rows >= least)
    views = _draws(sample, few, seen, n_draws, tracer.rng)

    def traced(most: int) -> list[Widths]:
        found = []
        for number, drawn in enumerate(views, 1):
            tracer.pool.report.stage(f"reference {number} of {n_draws}")
            found.append(tracer.trace(drawn, few.weights, most).widths)
        return found

    found = traced(CLUSTERS)
    expected = {k: width_at(k, found) for k in widths}
    # Numbers beyond these paths that would stand out are compared with longer ones.
    far = [k for k in widths if k > CLUSTERS and widths[k] > needed_width(k, expected[k])]
    if far:
        found = traced(int(WINDOW * max(far)) + 1)
        expected = {k: width_at(k, found) for k in widths}
    return expected


def width_at(k: int, references: list[Widths]) -> float:
    """Return how wide plateaus of about k clusters are in several draws."""
    if k <= FAR:
        return _quantile_near(k, references)
    beyond = _quantile_near(k, references) if k > CLUSTERS else 0.0
    return max(beyond, _quantile_near(FAR, references) * float(np.sqrt(FAR / k)))


def _quantile_near(k: int, references: list[Widths]) -> float:
    near = [
        max((w for q, w in widths.items() if k / WINDOW <= q <= k * WINDOW), default=0.0)
        for widths in references
    ]
    return float(np.quantile(near, QUANTILE))


def _draws(
    sample: Sample, few: Sample, seen: View, n_draws: int, rng: np.random.RandomState
) -> list[View]:
    """Return draws like ``few`` of the sample's rows, as a path sees them."""
    is_projected = seen.rows is not sample.rows
    if is_projected and not is_sparse(sample.rows) and seen.geometry is sample.geometry:
        # Along the directions that the path saw.
        ids = np.sort(rng.permutation(sample.n_rows)[: few.n_rows])
        source = Structureless(seen.rows[ids], sample.geometry, few.weights)
        return [seen._replace(rows=source.draw(number, rng)) for number in range(n_draws)]
    source = Structureless(few.rows, sample.geometry, few.weights)
    drawn = [normalised(source.draw(number, rng), sample.geometry) for number in range(n_draws)]
    return [view(replace(few, rows=rows), rng) for rows in drawn]
