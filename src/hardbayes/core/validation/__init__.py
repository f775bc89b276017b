"""Validation of input data, with errors that name the parameter, the row and the remedy."""

from hardbayes.core.validation.arguments import (
    check_centres,
    check_labels,
    check_membership,
    check_novelty,
    check_total_weight,
    check_weights,
    checking_parameters,
    fit_method,
    read_weights,
)
from hardbayes.core.validation.matrix import as_matrix, check_matrix, stored, touches_border

__all__ = [
    "as_matrix",
    "check_centres",
    "check_labels",
    "check_matrix",
    "check_membership",
    "check_novelty",
    "check_total_weight",
    "check_weights",
    "checking_parameters",
    "fit_method",
    "read_weights",
    "stored",
    "touches_border",
]
