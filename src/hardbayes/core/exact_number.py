"""Exactly so many clusters: what all models do where ``n_clusters`` is told.

A fit with k clusters is one at a penalty so low that every division pays, under a cap of k. Its
penalty follows from the fit terms of other numbers, as those of a path do: where k is best for some
penalties, the middle of these; else the penalty at which least is lost by it, that of the edge of
the convex hull above which it lies.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils._param_validation import InvalidParameterError

from hardbayes.core.loop import Status, counted
from hardbayes.core.plateaus import ROUNDING, Plateau, lower_hull

#: The penalties that say how many clusters there are.
PENALTIES = ("cluster_penalty", "global_penalty")


def check_told(estimator: Any) -> None:
    """Raise or warn where ``n_clusters`` and other parameters say different things."""
    told, most = estimator.n_clusters, estimator.max_clusters
    if most is not None and told > most:
        raise _must(estimator, f"at most max_clusters={most}", "Leave max_clusters out.")
    for name in PENALTIES:
        if getattr(estimator, name, "auto") != "auto":
            warnings.warn(
                f"{type(estimator).__name__} has n_clusters={told}, so its {name!r} is not used: "
                f"'{name}_' will fit that number. Leave one of them out.",
                UserWarning,
                stacklevel=4,  # skips the validation, scikit-learn's wrapper of fit, and fit
            )


def told_number(estimator: Any, n_rows: int, rows: str = "rows") -> int | None:
    """Return ``n_clusters`` of an estimator; raise where there are fewer rows."""
    told: int | None = estimator.n_clusters
    if told is not None and told > n_rows:
        raise _must(estimator, f"at most the number of {rows}, {n_rows}", "Pass fewer clusters.")
    return told


def _must(estimator: Any, what: str, remedy: str) -> InvalidParameterError:
    return InvalidParameterError(
        f"The 'n_clusters' parameter of {type(estimator).__name__} must be {what}. "
        f"Got {estimator.n_clusters} instead. {remedy}"
    )


class ToldPenalty(NamedTuple):
    """A penalty for a number of clusters, in the units of the points that it was found from."""

    penalty: float
    low: float  # the number is best between the two; where none is, both are the penalty
    high: float

    @property
    def is_best(self) -> bool:
        """Whether the number is best at the penalty."""
        return self.low < self.high and not np.isclose(self.low, self.high, rtol=ROUNDING, atol=0.0)

    def scaled(self, factor: float, shift: float = 0.0) -> ToldPenalty:
        """Return the same in other units."""
        return ToldPenalty(*(factor * value + shift for value in self))


def unjudged(penalty: float) -> ToldPenalty:
    """Return a penalty by a rule that does not compare numbers of clusters."""
    return ToldPenalty(penalty, np.nan, np.nan)


def told_penalty(points: list[tuple[int, float]], k: int, unit: float = 1.0) -> ToldPenalty:
    """Return the penalty for k clusters among ``points``: numbers of clusters and fit terms.

    ``unit``: a penalty for one cluster, where no larger number fits better.
    """
    hull = lower_hull(points)
    below = [point for point in hull if point[0] < k]
    above = [point for point in hull if point[0] > k]
    own = [point for point in hull if point[0] == k]
    if not own:  # between two numbers, each of which is as good as the other here
        edge = _saving(below[-1], above[0]) if below and above else 0.0
        edge = max(edge, 0.0)
        return ToldPenalty(edge, edge, edge)
    low = max(_saving(own[0], above[0]), 0.0) if above else 0.0
    if not below:
        return ToldPenalty(2.0 * low or unit, low, np.inf)
    high = max(_saving(below[-1], own[0]), 0.0)
    return ToldPenalty(Plateau(k, low, high).middle, low, high)


def _saving(fewer: tuple[int, float], more: tuple[int, float]) -> float:
    return (fewer[1] - more[1]) / (more[0] - fewer[0])


def told_sentence(steps: int, k: int, told: ToldPenalty) -> str:
    """Return how a fit ended that has as many clusters as were asked for."""
    head = f"Converged after {counted(steps, 'step')} with the {counted(k, 'cluster')} asked for"
    if np.isnan(told.low):
        return f"{head}."
    if not told.is_best:
        return f"{head}: best at no penalty, and nearest to it at {told.penalty:.4g}."
    if told.high == np.inf:
        return f"{head}: best for penalties above {told.low:.4g}."
    return f"{head}: best for penalties from {told.low:.4g} to {told.high:.4g}."


def add_told(
    fitted: dict[str, Any], status: Status, k: int, told: ToldPenalty, why_fewer: str
) -> Status:
    """Return the status of a fit with a told number of clusters.

    IN/OUT fitted: ``status_`` tells where the number is best; or, with a warning, why there are
    fewer.
    """
    found, steps = fitted["n_clusters_"], fitted["n_iter_"]
    if found != k:
        head = (Status.REMARKED if status is not Status.OUT_OF_STEPS else status).sentence(steps, k)
        missing = f"Found {counted(found, 'cluster')}, not {k}: {why_fewer}."
        fitted["status_"] = f"{head} {missing}"
        return status if status is Status.OUT_OF_STEPS else Status.REMARKED
    if status is Status.OUT_OF_STEPS:
        return status
    fitted["status_"] = told_sentence(steps, k, told)
    return Status.CONVERGED
