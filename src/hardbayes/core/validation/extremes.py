"""Cells so large that float64 loses, beside them, how the other rows of their column differ."""

import numpy as np

from hardbayes.core.arrays import Matrix, is_sparse
from hardbayes.core.validation.cells import place

# Of the largest deviation in a column: differences of rows below it are lost in means and sums of
# squares. Less would say nothing of columns that are lost, more would speak of wide ones.
LOST = 1e-14
MAX_ROWS = 64  # from which the usual difference is taken: a median of more differs little


def remark_on_extremes(matrix: Matrix, names: list[str] | None) -> str | None:
    """Return what is to be said of the cell that hides most of its column; None where none does."""
    if is_sparse(matrix):  # zeros are usual there, and differ by nothing
        return None
    some = matrix[:: -(-matrix.shape[0] // MAX_ROWS)].astype(np.float64)
    largest = float(max(matrix.max(), -matrix.min()))
    with np.errstate(over="ignore", invalid="ignore"):  # beyond float64 nothing is told
        middle = np.median(some, axis=0)
        apart = np.abs(some - middle)
        apart[apart == 0] = np.nan  # equal cells have no difference to lose
        apart.sort(axis=0)  # np.nanmedian would take a third of a millisecond, for few cells too
        last = np.maximum(np.count_nonzero(~np.isnan(apart), axis=0) - 1, 0)
        every = np.arange(matrix.shape[1])
        usual = 0.5 * (apart[last // 2, every] + apart[(last + 1) // 2, every])
    columns = np.flatnonzero(usual < LOST * largest)
    for column in columns:
        cells = matrix[:, column]
        row = int(np.argmax(np.abs(cells - middle[column])))
        if usual[column] < LOST * abs(float(cells[row]) - middle[column]):
            return (
                f"X holds {float(cells[row]):g} at {place(row, int(column), names)}. Beside it "
                f"float64 loses the differences of other rows there, about {usual[column]:.2g}. "
                "Remove that row, or take logarithms."
            )
    return None
