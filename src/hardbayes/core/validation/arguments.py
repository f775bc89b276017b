"""Validation of what is passed beside a data matrix: weights, labels, centres, memberships."""

import numbers
from collections.abc import Callable
from typing import Any, SupportsFloat, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import validate_params
from sklearn.utils.validation import check_array

from hardbayes.core.arrays import Floats, Matrix, is_sparse, refuse_lazy
from hardbayes.core.geometry import Geometry
from hardbayes.core.validation.cells import one_sentence, place
from hardbayes.core.validation.matrix import check_matrix, first_cell

# A row with a share of the total weight below n times this would be lost in the sums of weights.
LIGHTEST_SHARE = 2.0**-72
SMALLEST_WEIGHT = 1e-250  # whose products with squares do not underflow

F = TypeVar("F", bound=Callable[..., Any])

# scikit-learn's decorators carry no types: what they decorate would be Any to type checkers.


def checking_parameters(constraints: dict[str, list[Any]]) -> Callable[[F], F]:
    """Return a decorator of functions that checks their arguments against constraints."""
    decorator = validate_params(constraints, prefer_skip_nested_validation=True)
    return cast(Callable[[F], F], decorator)


def fit_method(method: F) -> F:
    """Decorate a method that fits: parameters are checked first, and callbacks torn down."""
    return cast(F, _fit_context(prefer_skip_nested_validation=True)(method))


def check_weights(
    sample_weight: Any, matrix: Matrix, geometry: Geometry | None = None
) -> Floats | None:
    """Return weights as float64 (n,), as (1,) where all are equal, or None."""
    if geometry is not None and geometry.length_as_weight:
        given = check_weights(sample_weight, matrix)
        lengths = geometry.row_sizes(matrix)
        return check_weights(lengths if given is None else lengths * given, matrix)
    if sample_weight is None:
        return None
    weights = read_weights(sample_weight, matrix)
    check_weight_range(weights)
    return weights[:1] if (weights == weights[0]).all() else weights


def read_weights(sample_weight: Any, matrix: Matrix, first_row: int = 0) -> Floats:
    """Return weights as float64 (n,), each of them valid; errors count rows from ``first_row``."""
    if isinstance(sample_weight, numbers.Number):
        weights = np.full(matrix.shape[0], float(cast(SupportsFloat, sample_weight)))
    else:
        refuse_lazy(sample_weight, "sample_weight")
        weights = np.asarray(sample_weight)
        if weights.dtype.kind not in "buif":
            raise ValueError(
                f"The 'sample_weight' parameter must hold real numbers. Got dtype {weights.dtype}."
            )
        if weights.shape != matrix.shape[:1]:
            raise ValueError(
                f"The 'sample_weight' parameter must have one weight for each of the "
                f"{matrix.shape[0]} rows. Got shape {weights.shape} instead."
            )
        weights = weights.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise ValueError(
            f"The 'sample_weight' parameter must hold finite numbers >= 0. "
            f"Got {weights[bad[0]]} at row {first_row + bad[0]}."
        )
    return weights


def check_weight_range(weights: Floats) -> None:
    """Raise where weights (n,) are too different, too large or too small to be added up."""
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    positive = weights[weights > 0]
    check_total_weight(total, float(positive.min(initial=np.inf)), len(weights))


def check_total_weight(total: float, lightest: float, n_rows: int) -> None:
    """Raise where so many weights, the lightest positive one among them, cannot be added up."""
    if not total > 0:
        raise ValueError(
            "The 'sample_weight' parameter must hold at least one number > 0. All are zero."
        )
    if not np.isfinite(total):
        raise ValueError("The 'sample_weight' parameter sums to infinity. Scale the weights down.")
    if total < SMALLEST_WEIGHT or lightest < n_rows * LIGHTEST_SHARE * total:
        raise ValueError(
            f"The 'sample_weight' parameter spans too wide a range: from {lightest:g} to a sum of "
            f"{total:g}. Scale the weights, or set those that do not matter to zero."
        )


def check_labels(labels: Any, n_rows: int, name: str = "labels") -> NDArray[np.intp]:
    """Return labels as cluster numbers 0..k-1; ``name`` is the parameter in error messages."""
    try:
        labels = np.asarray(labels)
    except ValueError:
        raise ValueError(f"The '{name}' parameter must be a list of labels, one a row.") from None
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        row = int(np.flatnonzero(np.isnan(labels))[0])
        raise ValueError(f"The '{name}' parameter holds NaN at row {row}. Give every row a label.")
    if labels.shape != (n_rows,):
        raise ValueError(
            f"The '{name}' parameter must have one label for each of the {n_rows} rows. "
            f"Got shape {labels.shape}."
        )
    try:
        return np.unique(labels, return_inverse=True)[1]
    except TypeError:
        raise ValueError(f"The '{name}' parameter must hold labels of one kind.") from None


def check_centres(
    init: Any, geometry: Geometry, n_columns: int, max_clusters: int | None
) -> Floats:
    """Return the centres of an ``init`` array (k, d)."""
    must = "The 'init' parameter must be an array of centres (k, n_features) like rows of X"
    try:
        centres = check_matrix(init, geometry)
    except ValueError as error:
        trouble = str(error).replace("Input X", "It").replace("of X", "of it")
        raise ValueError(f"{must}. {trouble}") from None
    if centres.shape[1] != n_columns:
        raise ValueError(
            f"{must}, which has {n_columns} columns. Got {centres.shape[1]} columns instead."
        )
    if max_clusters is not None and centres.shape[0] > max_clusters:
        raise ValueError(
            f"{must}, at most max_clusters={max_clusters}. Got {centres.shape[0]} centres instead."
        )
    return centres.toarray() if is_sparse(centres) else centres


def check_novelty(novelty: Any) -> float | None:
    """Return the share of a ``novelty`` that is one; None for True and False."""
    if isinstance(novelty, bool | np.bool_):
        return None
    if isinstance(novelty, numbers.Real) and 0 < float(novelty) < 1:
        return float(novelty)
    raise ValueError(
        "The 'novelty' parameter must be True, False or a share between 0 and 1, both excluded. "
        f"Got {novelty!r} instead."
    )


def check_membership(membership: Any, n_components: int) -> NDArray[np.bool_]:
    """Return memberships (n, n_components) of zeros and ones as booleans."""
    try:
        numbers = check_array(membership, dtype=np.float64, ensure_min_features=0)
    except (TypeError, ValueError, OverflowError) as error:
        raise one_sentence(membership, error) from None
    if numbers.shape[1] != n_components:
        raise ValueError(
            f"X must have one column for each of the {n_components} features. "
            f"Got {numbers.shape[1]} columns instead."
        )
    cell = (
        first_cell(numbers, lambda values: (values != 0) & (values != 1)) if n_components else None
    )
    if cell is not None:
        raise ValueError(
            f"X must hold memberships: zeros and ones. "
            f"Got {numbers[cell]:g} at {place(*cell, None)} instead."
        )
    return np.asarray(numbers, np.bool_)
