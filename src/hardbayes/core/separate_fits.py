"""The path of penalties where each penalty has a fit of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.estimator import RowEstimator, checked_data
from hardbayes.core.penalty_path import PenaltyPath
from hardbayes.core.plateaus import Plateau, runs
from hardbayes.core.pool import Pool, resolve_threads

FACTOR = 4.0  # between penalties tried to find the last: fits, against a path that ends too far
MAX_TRIED = 24  # of these, patience: the last is FACTOR**24, about 3e14, times less
MOST = 64  # clusters down to whose penalty a path goes, or one for every eight rows


class Names(NamedTuple):
    """What an estimator calls its penalty, its number of clusters, and its cap on that."""

    penalty: str
    number: str
    cap: str


@dataclass(frozen=True)
class SeparateFits:
    """Makes fits of an estimator to checked data."""

    template: Any
    names: Names
    matrix: Matrix
    weights: Floats | None
    described: dict[str, Any]  # attributes that tell of the columns
    params: dict[str, Any]  # of fit
    found: list[Plateau]

    def fit(self, penalty: float, cap: int | None = None) -> Any:
        """Return a fitted model; ``cap`` in place of that of the template."""
        model = clone(self.template).set_params(**{self.names.penalty: penalty})
        if cap is not None:
            model.set_params(**{self.names.cap: cap})
        with Pool(resolve_threads(model.n_jobs)) as pool:
            fitted, _ = model._fitted(
                self.matrix, self.weights, model._stream(), pool, **self.params
            )
        return model._set_fitted(fitted | self.described)

    def number_of(self, model: Any) -> int:
        """Return how many clusters or topics a model has."""
        return int(getattr(model, self.names.number))

    def useful_penalties(self, n_penalties: int) -> Floats:
        """Return falling penalties, from one cluster to many."""
        cap = getattr(self.template, self.names.cap)
        enough = max(2, min(MOST, self.matrix.shape[0] // 8, cap or MOST))
        # No partition saves more than the cost of all rows in one cluster.
        penalty = first = max(self.fit(0.0, 1).objective_, float(np.finfo(np.float64).tiny))
        for _ in range(MAX_TRIED):
            penalty /= FACTOR
            k = self.number_of(self.fit(penalty))
            if k <= 1:
                first = penalty
            elif k >= enough:
                break
        return np.geomspace(2.0 * first, penalty, n_penalties)

    def __call__(self, n_clusters: int) -> Any:
        """Return a model with exactly so many: at the middle of a range, or without a penalty."""
        for penalty in [p.middle for p in self.found if p.k == n_clusters] + [0.0]:
            model = self.fit(penalty, n_clusters)
            if self.number_of(model) == n_clusters:
                return model
        raise ValueError(
            f"No fit of this path has {n_clusters} clusters; the nearest has "
            f"{self.number_of(model)}. Ask for that number, or pass smaller penalties."
        )


def trace_separate_fits(
    X: Any,
    template: RowEstimator,
    names: Names,
    penalties: Floats | None,
    n_penalties: int,
    sample_weight: Any,
    params: dict[str, Any],
) -> PenaltyPath[Any]:
    """Return fits at given penalties, or at ``n_penalties`` from one cluster to many."""
    # A number of clusters that is asked for is no part of a path.
    template = clone(template).set_params(**{names.number.removesuffix("_"): None})
    clone(template).set_params(**{names.penalty: 1.0})._validate_params()
    data = checked_data(template, template._geometry, X, sample_weight)
    found: list[Plateau] = []
    fits = SeparateFits(template, names, *data, params, found)
    if penalties is None:
        penalties = fits.useful_penalties(n_penalties)
    models = [fits.fit(float(penalty)) for penalty in penalties]
    best = fits.fit("auto")  # type: ignore[arg-type]
    chosen = float(getattr(best, f"{names.penalty}_"))
    pairs = [(float(p), fits.number_of(m)) for p, m in zip(penalties, models, strict=True)]
    found += runs([(chosen, fits.number_of(best)), *pairs])
    return PenaltyPath.of(penalties, models, found, chosen, fits, number=names.number)
