"""How well clusters agree with classes, as the papers measure it."""

from typing import Any

from sklearn.metrics import normalized_mutual_info_score


def nmi(classes: Any, labels: Any) -> float:
    """Return the normalised mutual information; the geometric mean reproduces KJ's numbers."""
    return float(normalized_mutual_info_score(classes, labels, average_method="geometric"))
