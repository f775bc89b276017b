"""Validation of input data, with errors that name the parameter, the row and the remedy."""

from hardbayes.core.validation.arguments import (
    check_centres,
    check_labels,
    check_membership,
    check_novelty,
    check_weights,
)
from hardbayes.core.validation.matrix import check_matrix, touches_border

__all__ = [
    "check_centres",
    "check_labels",
    "check_matrix",
    "check_membership",
    "check_novelty",
    "check_weights",
    "touches_border",
]
