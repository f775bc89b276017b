"""What is told about an automatic choice: the table of candidates, and sentences."""

from typing import Any

import numpy as np

from hardbayes.geometry.base import Geometry
from hardbayes.matrices import Floats, Matrix, is_sparse
from hardbayes.selection.choice_table import Columns, Table, table_of
from hardbayes.selection.partition.automatic import Choice
from hardbayes.selection.partition.choice import LEVEL, Candidate

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


def choice_attributes(choice: Choice) -> dict[str, Any]:
    """Return the fitted attributes that tell why a number of clusters was chosen."""
    shown = choice.shown
    return {
        "plateau_width_": shown.width if shown else 0.0,
        "plateau_reference_": shown.reference if shown else 0.0,
        "penalty_choice_": choice_table(choice),
    }


def choice_table(choice: Choice) -> Table:
    """Return the candidates of a choice."""
    rows = [
        (c.k, choice.penalties[c.k], c.width, c.reference, c.p_value, c.strength,
         c.k == choice.n_clusters)
        for c in choice.candidates
    ]  # fmt: skip
    return table_of(rows, COLUMNS)


def no_number_sentence(nearest: Candidate, call: str) -> str:
    """Return why there is one cluster, which number came nearest, and how to get it."""
    k = nearest.k
    return (
        "No number of clusters stood out from data without structure, so there is one cluster. "
        f"Nearest came {k} clusters: optimal over a factor of {np.exp(nearest.width):.3g} in the "
        f"penalty ({np.exp(nearest.reference):.3g} without structure), and fewer held-out rows "
        f"between them with a p-value of {nearest.p_value:.2g} ({LEVEL:g} is needed). "
        f"To use {k} clusters: {call}."
    )


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
