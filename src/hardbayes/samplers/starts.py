"""What chains start from: the hard solution, one cluster, random clusters, or given labels.

Of chains that start at the hard solution every other starts from one cluster instead. Chains that
agree although they began far apart say more than chains that began at the same place.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.validation import check_labels
from hardbayes.dp_means.estimator import DPMeans
from hardbayes.gaussian.estimator import GaussianDPMeans
from hardbayes.samplers.families import DIVERGENCES

#: Clusters of a random start.
N_RANDOM = 10
#: Rows from which the hard start of large data is found; other rows join the nearest cluster.
MOST_HARD = 20_000

Labels = NDArray[np.intp]


def hard_labels(matrix: Matrix, family: str, seed: int) -> Labels:
    """Return the labels of `DPMeans`, or of `GaussianDPMeans`, without their remarks."""
    n = matrix.shape[0]
    if n < 2:
        return np.zeros(n, np.intp)
    if family == "full-gaussian":
        return hard_gaussian_labels(np.asarray(matrix))
    model = DPMeans(divergence=DIVERGENCES[family], random_state=seed, n_jobs=1)
    if n <= MOST_HARD:
        return np.asarray(model._fit_rows(matrix, None)[0]["labels_"], np.intp)
    chosen = np.sort(np.random.default_rng(seed).choice(n, MOST_HARD, replace=False))
    fitted, _ = model._fit_rows(matrix[chosen], None)
    model.__dict__.update(fitted)
    return check_labels(model.predict(matrix), n)


def hard_gaussian_labels(dense: Floats) -> Labels:
    """Return the labels of `GaussianDPMeans`."""
    if len(dense) <= dense.shape[1] + 1:
        return np.zeros(len(dense), np.intp)
    model = GaussianDPMeans(random_state=0, n_jobs=1)
    return np.asarray(model._fit_rows(dense, None)[0]["labels_"], np.intp)


def starting_labels(
    start: Any, matrix: Matrix, family: str, n_chains: int, rng: np.random.RandomState
) -> list[Labels]:
    """Return the labels (n,) that each chain starts from."""
    n = matrix.shape[0]
    seed = int(rng.randint(2**31 - 1))
    one = np.zeros(n, np.intp)
    if not isinstance(start, str):
        if np.ndim(start) == 2 and len(start) == n_chains:
            return [check_labels(labels, n, "start") for labels in start]
        return [check_labels(start, n, "start")] * n_chains
    if start == "one":
        return [one] * n_chains
    if start == "random":
        drawn = np.random.default_rng(seed).integers(0, min(n, N_RANDOM), (n_chains, n))
        return [check_labels(labels, n) for labels in drawn]
    hard = hard_labels(matrix, family, seed)
    return [one if chain % 2 else hard for chain in range(n_chains)]
