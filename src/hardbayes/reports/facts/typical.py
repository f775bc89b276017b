"""Rows that are most typical of their clusters, and rows that could be elsewhere."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

N_TYPICAL = 24  # of all clusters, but three of each at most, and one at least
N_DOUBTFUL = 12
_CELLS = 1 << 21  # distances that are held at once


class Doubtful(NamedTuple):
    """A row, its cluster and the next one."""

    row: int
    cluster: int
    other: int
    ratio: float  # of its distance from the other cluster to that from its own


class Rows(NamedTuple):
    """Rows worth looking at."""

    typical: dict[int, list[int]]  # the rows nearest to the centre of each cluster
    doubtful: list[Doubtful]  # the nearest to another cluster first


def rows_of(model: Any, X: Any, labels: NDArray[np.int32], shown: list[int]) -> Rows | None:
    """Return the rows of these clusters; None for a model that tells no distances."""
    if not hasattr(model, "transform"):
        return None
    k = int(model.n_clusters_)
    n = X.shape[0]
    own, other = np.empty(n), np.full(n, np.inf)
    second = np.full(n, -1)
    step = max(1, _CELLS // k)
    for begin in range(0, n, step):
        part = slice(begin, min(begin + step, n))
        distances = np.array(model.transform(X[part]), np.float64)
        places = np.arange(len(distances)), labels[part]
        own[part] = distances[places]
        if k > 1:
            distances[places] = np.inf
            second[part] = distances.argmin(axis=1)
            other[part] = distances.min(axis=1)
    order = np.lexsort((own, labels))
    begins = np.searchsorted(labels[order], np.arange(k + 1))
    number = min(3, max(1, N_TYPICAL // len(shown)))
    typical = {each: order[begins[each] : begins[each + 1]][:number].tolist() for each in shown}
    if k == 1:
        return Rows(typical, [])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(own > 0, other / own, np.inf)
    first = np.argsort(ratios, kind="stable")[:N_DOUBTFUL]
    doubtful = [
        Doubtful(int(row), int(labels[row]), int(second[row]), float(ratios[row]))
        for row in first
        if np.isfinite(ratios[row])
    ]
    return Rows(typical, doubtful)
