"""From rows and parameters to the models that the compiled functions sweep: priors and their scale.

Variances that are "auto" or have "inverse-gamma" priors are measured on the rows, so that results
do not depend on the units of X. A prior counts as two observations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, Matrix, is_sparse
from hardbayes.core.geometry import (
    Geometry,
    KullbackLeibler,
    Logistic,
    Poisson,
    SquaredEuclidean,
)

# The order is that of the numbers in `compiled.clusters`.
FAMILIES = ("gaussian", "multinomial", "poisson", "bernoulli", "full-gaussian")
GEOMETRIES: dict[str, type[Geometry]] = {
    "gaussian": SquaredEuclidean,
    "multinomial": KullbackLeibler,
    "poisson": Poisson,
    "bernoulli": Logistic,
    "full-gaussian": SquaredEuclidean,
}
#: The divergence of `DPMeans` whose clusters are the limit of each family.
DIVERGENCES = {
    "gaussian": "squared_euclidean",
    "multinomial": "kl",
    "poisson": "poisson",
    "bernoulli": "logistic",
}
#: Shape and rate of the prior of a concentration that is "gamma".
CONCENTRATION = (1.0, 1.0)
#: Share of the variance of the rows that priors of noise variances are centred at.
NOISE_SHARE = 0.1
#: Least weight of the prior mean of a cluster with a covariance of its own, in rows.
LEAST_KAPPA = 0.01

Pair = tuple[float, float]
FIXED: Pair = (0.0, 0.0)  # instead of a prior, for numbers that are not drawn


@dataclass
class Posed:
    """Rows and a model, as numbers that a chain copies."""

    family: int
    rows: Any  # compiled.clusters.Rows
    means: bool
    base: Floats
    priors: Floats  # (3, 2)
    width: int
    #: Present numbers for the labels that a chain starts from.
    first_numbers: Callable[[NDArray[np.intp]], Floats]


def prior_and_value(given: Any, named: Pair, at_first: float) -> tuple[Pair, float]:
    """Return the prior of a number and its first value; a number that is given has no prior."""
    if isinstance(given, str):
        return named, at_first
    if isinstance(given, tuple | list):
        return (float(given[0]), float(given[1])), at_first
    return FIXED, float(given)


def rows_of(matrix: Matrix, is_dense: bool, mean: Floats) -> Any:
    """Return rows for the kernels: centred at ``mean`` if dense, else their entries."""
    from hardbayes.samplers.compiled.clusters import Rows

    n = matrix.shape[0]
    if is_dense:
        dense = np.ascontiguousarray(matrix, dtype=np.float64) - mean
        nothing = np.zeros(0)
        return Rows(dense, nothing, np.zeros(0, np.int64), np.zeros(1, np.int64), nothing)
    if is_sparse(matrix):
        values, columns, starts = matrix.data, matrix.indices, matrix.indptr
        kept = values != 0.0
        starts = np.concatenate([[0], np.cumsum(kept)])[starts]
        values, columns = values[kept], columns[kept]
    else:
        places, columns = np.nonzero(matrix)
        values = np.asarray(matrix)[places, columns]
        starts = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=n))])
    mass = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
    return Rows(
        np.zeros((0, 0)),
        np.array(values, dtype=np.float64),
        np.array(columns, dtype=np.int64),
        np.array(starts, dtype=np.int64),
        mass,
    )


def pose(
    matrix: Matrix, family: str, means: bool, parameters: dict[str, Any], labels: NDArray[np.intp]
) -> Posed:
    """Return rows and model; ``parameters``: those of the constructor that priors are made of.

    The covariances within the clusters of ``labels`` are the prior of "full-gaussian".
    """
    number = FAMILIES.index(family)
    mean = prior_mean(matrix, family, parameters["mean"])
    rows = rows_of(matrix, family.endswith("gaussian"), mean)
    alpha_prior, alpha = prior_and_value(parameters["concentration"], CONCENTRATION, 1.0)
    if family == "gaussian":
        noise, spread, numbers = _variances(rows.dense, parameters)
        width = rows.dense.shape[1]
        base: Floats = np.zeros((2, 1))
    elif family == "full-gaussian":
        return _with_covariances(number, rows, labels, (alpha_prior, alpha))
    else:
        width = matrix.shape[1]
        base = _base(family, mean)
        noise = FIXED
        rate = {"multinomial": 1.0 / width, "poisson": 1.0, "bernoulli": 0.5}[family]
        spread, strength = prior_and_value(
            parameters["prior_strength"], (1.0, rate), min(1.0 / rate, 50.0)
        )

        def numbers(labels: NDArray[np.intp]) -> Floats:
            return np.array([0.0, 1.0, strength, 0.0])

    def first_numbers(labels: NDArray[np.intp]) -> Floats:
        found = numbers(labels)
        found[0] = np.log(alpha)
        return found

    priors = np.array([alpha_prior, noise, spread])
    return Posed(number, rows, means, base, priors, width, first_numbers)


def prior_mean(matrix: Matrix, family: str, given: Any) -> Floats:
    """Return the prior mean of each column; "auto": that of all rows, which for counts is never 0.

    Shares that sum to one for multinomial.
    """
    n, d = matrix.shape
    if not isinstance(given, str):
        mean = np.array(np.broadcast_to(np.asarray(given, dtype=np.float64), (d,)))
        if family != "gaussian" and not (mean > 0).all():
            raise ValueError("The 'mean' parameter must be above 0 in every column of counts.")
        if family == "bernoulli" and not (mean < 1).all():
            raise ValueError("The 'mean' parameter must be below 1 in every column of yes and no.")
    else:
        total = np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()
        mean = total / n if family.endswith("gaussian") else (total + 0.5) / (n + 1.0)
    return mean / mean.sum() if family == "multinomial" else mean


def _base(family: str, mean: Floats) -> Floats:
    """Return what the strength is multiplied by: both parameters of the prior of each column."""
    if family == "multinomial":
        return np.array([mean, np.zeros_like(mean)])
    if family == "poisson":
        return np.array([np.ones_like(mean), 1.0 / mean])
    return np.array([mean, 1.0 - mean])


def residual_variance(centred: Floats, labels: NDArray[np.intp]) -> float:
    """Return the variance within clusters, per column, never zero."""
    count = np.bincount(labels)
    sums = np.array([np.bincount(labels, column) for column in centred.T]).T
    square = float((centred**2).sum() - (sums**2 / count[:, np.newaxis]).sum())
    total = float((centred**2).mean())
    free = max(1, len(centred) - len(count)) * centred.shape[1]
    return max(square / free, 1e-6 * total, np.finfo(float).tiny ** 0.5)


def _variances(centred: Floats, parameters: dict[str, Any]) -> tuple[Pair, Pair, Any]:
    total = max(float(centred.var(axis=0).mean()), np.finfo(float).tiny ** 0.5)
    noise, sigma = prior_and_value(
        parameters["noise_variance"], (1.0, NOISE_SHARE * total), float("nan")
    )
    given = parameters["mean_variance"]
    spread, rho = (FIXED, total) if given == "auto" else prior_and_value(given, (1.0, total), total)

    def numbers(labels: NDArray[np.intp]) -> Floats:
        first = residual_variance(centred, labels) if np.isnan(sigma) else sigma
        return np.array([0.0, first, rho, 0.0])

    return noise, spread, numbers


def _with_covariances(
    number: int, rows: Any, labels: NDArray[np.intp], concentration: tuple[Pair, float]
) -> Posed:
    """Return a model whose clusters have covariances of their own.

    The prior of a covariance counts as d + 2 rows; its mean is the covariance within the clusters
    of ``labels``.
    """
    n, d = rows.dense.shape
    within = np.zeros((d, d))
    for k in range(labels.max() + 1):
        part = rows.dense[labels == k]
        within += (part - part.mean(axis=0)).T @ (part - part.mean(axis=0))
    total = np.atleast_2d(np.cov(rows.dense.T, bias=True))
    floor = max(float(np.trace(total)) / d, np.finfo(float).tiny ** 0.5) * 1e-6
    within = within / max(1, n - labels.max() - 1) + floor * np.eye(d)
    kappa = float(np.clip(np.trace(within) / max(np.trace(total), floor), LEAST_KAPPA, 1.0))
    width = d + d * (d + 1) // 2
    base = np.zeros((2, width))
    base[0, d:] = within[np.tril_indices(d)]
    base[1, 0] = np.linalg.slogdet(within)[1]
    priors = np.array([concentration[0], FIXED, FIXED])

    def first_numbers(_: NDArray[np.intp]) -> Floats:
        return np.array([np.log(concentration[1]), 1.0, kappa, d + 2.0])

    return Posed(number, rows, False, base, priors, width, first_numbers)
