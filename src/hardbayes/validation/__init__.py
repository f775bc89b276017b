"""What is accepted as data, and the sentences for what is not."""

from hardbayes.validation.arguments import (
    check_centres,
    check_labels,
    check_membership,
    check_weights,
)
from hardbayes.validation.matrix import check_matrix, touches_border

__all__ = [
    "check_centres",
    "check_labels",
    "check_matrix",
    "check_membership",
    "check_weights",
    "touches_border",
]
