"""What the draws of a partition say: one partition, how sure its rows are, and a credible ball.

The estimate is the partition of least expected variation of information (Wade & Ghahramani 2018)
among draws, which a greedy search then improves by uniting clusters. The certainty of a row is the
share of draws in which it lies in the cluster that matches its own: if the model is right, it is
the probability that this row is where it belongs.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats
from hardbayes.core.pool import import_whole

#: Labels that are compared in the search for the estimate, some seconds at most.
SEARCH_WORK = 1 << 28
#: Draws that candidates are compared with, at most.
MOST_COMPARED = 400
#: Rows of a matrix of co-clustering, at most: it has the square of that many cells.
MOST_ROWS = 20_000
#: Labels that are read at once.
PART = 1 << 22

Draws = NDArray[np.signedinteger]
Labels = NDArray[np.int32]


class CredibleBall(NamedTuple):
    """Partitions around the estimate that hold the given share of the posterior."""

    radius: float  #: Largest variation of information within the ball, in nats.
    upper: Labels  #: Of those with fewest clusters, the one farthest from the estimate.
    lower: Labels  #: Of those with most clusters, the one farthest from the estimate.
    horizon: Labels  #: The one farthest from the estimate.


def variations_of(partitions: Draws, others: Draws) -> Floats:
    """Return the variation of information (p, q) of each pair, in nats."""
    import_whole("hardbayes.samplers.compiled.summaries")
    from hardbayes.samplers.compiled.summaries import variations

    n = partitions.shape[1]
    size = int(max(partitions.max(), others.max())) + 1
    with np.errstate(divide="ignore"):
        logs = np.log(np.arange(n + 1))
    logs[0] = 0.0
    scratch = np.zeros((size, size), np.int64), np.zeros((2, size), np.int64)
    out = np.empty((len(partitions), len(others)))
    step = max(1, PART // (len(partitions) * n))
    first = np.ascontiguousarray(partitions, dtype=np.int32)
    for start in range(0, len(others), step):
        part = np.ascontiguousarray(others[start : start + step], dtype=np.int32)
        found = np.empty((len(first), len(part)))
        variations(first, part, *scratch, logs, found)
        out[:, start : start + step] = found
    return out


def spread_out(draws: Draws, most: int) -> Draws:
    """Return at most so many of the draws, evenly spread."""
    if len(draws) <= most:
        return draws
    return draws[np.linspace(0, len(draws) - 1, most).round().astype(np.intp)]


def least_variation(draws: Draws, others: list[NDArray[np.signedinteger]]) -> Labels:
    """Return the partition of least expected variation of information from draws (s, n).

    Candidates are draws and ``others``; then unions of two clusters of the best, as long as they
    help.
    """
    n = draws.shape[1]
    most = int(min(MOST_COMPARED, max(20, (SEARCH_WORK // n) ** 0.5)))
    compared = spread_out(draws, most)
    distinct = [canonical(labels) for labels in others]
    candidates = np.unique(np.vstack([compared, *distinct]).astype(np.int32), axis=0)
    expected = variations_of(candidates, compared).mean(axis=1)
    best = int(np.argmin(expected))
    labels, value = candidates[best], float(expected[best])
    for _ in range(10):
        size = int(labels.max()) + 1
        pairs = [(a, b) for a in range(size) for b in range(a)]
        if not pairs or len(pairs) * most > most * most:
            break
        united = np.array([canonical(np.where(labels == a, b, labels)) for a, b in pairs])
        expected = variations_of(united, compared).mean(axis=1)
        if float(expected.min()) >= value - 1e-12:
            break
        labels, value = united[np.argmin(expected)], float(expected.min())
    return canonical(labels)


def canonical(labels: NDArray[np.signedinteger]) -> Labels:
    """Return labels 0, 1, ... in the order of the first rows of clusters."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    names = np.empty(len(first), np.int32)
    names[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return names[inverse.ravel()]


def certainty_of(labels: NDArray[np.signedinteger], draws: Draws) -> Floats:
    """Return the share of draws (s, n) in which each row is in the cluster that matches its own."""
    import_whole("hardbayes.samplers.compiled.summaries")
    from hardbayes.samplers.compiled.summaries import agreeing_rows

    own = canonical(labels)
    size = int(max(draws.max(), own.max())) + 1
    table, taken = np.zeros((size, size), np.int64), np.empty((2, size), np.int64)
    pairs, agreed = np.empty((2, len(own)), np.int64), np.zeros(len(own), np.int64)
    step = max(1, PART // len(own))
    for start in range(0, len(draws), step):
        part = np.ascontiguousarray(draws[start : start + step], dtype=np.int32)
        agreeing_rows(part, own, table, taken, pairs, agreed)
    return agreed / len(draws)


def coclustering_of(draws: Draws, rows: Any) -> Floats:
    """Return the share of draws (s, n) in which two of the rows share a cluster."""
    import_whole("hardbayes.samplers.compiled.summaries")
    from hardbayes.samplers.compiled.summaries import shared_clusters

    n = draws.shape[1]
    chosen = np.arange(n)[slice(None) if rows is None else rows]
    if chosen.ndim != 1:
        raise ValueError("The 'rows' parameter must be a list of row numbers.")
    if len(chosen) > MOST_ROWS:
        raise ValueError(
            f"A matrix of {len(chosen)} rows would not fit in memory. Pass at most {MOST_ROWS} "
            "row numbers as 'rows'."
        )
    together = np.zeros((len(chosen), len(chosen)), np.int64)
    step = max(1, min(PART // n, (1 << 27) // max(1, len(chosen) ** 2)))
    for start in range(0, len(draws), step):
        part = np.ascontiguousarray(draws[start : start + step], dtype=np.int32)
        shared_clusters(part, chosen.astype(np.int64), together)
    lower = np.tril(together, -1)
    return (lower + lower.T + np.diag(np.diag(together))) / len(draws)


def credible_ball_of(labels: Labels, draws: Draws, level: float) -> CredibleBall:
    """Return the ball around ``labels`` that holds the share ``level`` of the draws (s, n)."""
    distances = variations_of(labels[np.newaxis], draws)[0]
    radius = float(np.quantile(distances, level, method="inverted_cdf"))
    inside = np.flatnonzero(distances <= radius)
    sizes = draws[inside].max(axis=1)

    def farthest(of: NDArray[np.bool_]) -> Labels:
        among = inside[of]
        return draws[among[np.argmax(distances[among])]].astype(np.int32)

    return CredibleBall(
        radius,
        farthest(sizes == sizes.min()),
        farthest(sizes == sizes.max()),
        farthest(np.ones(len(inside), bool)),
    )
