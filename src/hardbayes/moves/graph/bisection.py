"""A cluster of vertices in two: eigenvectors give an order, and the best cut along it is taken.

With M the links of the cluster and ``inner`` on the diagonal, and V the volumes, the halves are to
maximise ``z'Mz / z'Vz`` summed over both. The relaxation are the two leading eigenvectors of
``V^-1/2 M V^-1/2``, whose eigenvalues bound that sum from above (Ky Fan). Where the cut is not good
enough but the bound is, vertices move between the halves.
"""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from hardbayes.executors.graph.protocol import Graph, Ids
from hardbayes.matrices import Floats
from hardbayes.moves.label_first.model import Division

MOST_DENSE = 96  # vertices up to which all eigenvectors are computed
LANCZOS_VECTORS = 40
MAX_RESTARTS = 3
MAX_PASSES = 8  # of moves between the halves
TOLERANCE = 0.005  # of eigenvalues: the cut along an order needs no more


def bisect(part: Graph, least: float, rng: np.random.RandomState) -> Division:
    """Return the division of all vertices of a graph that saves most, or none (zero).

    ``least``: no division is computed where none can save as much. The halves are those in the
    first and second half, as bool (n,).
    """
    inside, volume = part.statistics(np.zeros(part.n, np.int64), 1)
    whole = float(inside[0] / volume[0])
    nothing = Division(0.0, np.zeros(part.n, np.bool_))
    if part.n < 2:
        return nothing
    values, vectors = _leading(part, rng)
    if values.sum() - whole < least:
        return nothing
    best = nothing
    for vector in vectors.T:
        order = np.argsort(vector / np.sqrt(part.volume), kind="stable")
        ratios = _cuts(part, order)
        at = int(np.argmax(ratios))
        if ratios[at] - whole > best.saved:
            second = np.zeros(part.n, np.bool_)
            second[order[at + 1 :]] = True
            best = Division(float(ratios[at] - whole), second)
    return _moved(part, best, whole) if 0 < best.saved < least else best


def _moved(part: Graph, division: Division, whole: float) -> Division:
    """Return the division after moves of vertices between its halves."""
    halves = division.halves.astype(np.int64)
    labels, _ = part.move(halves, 0.0, 2, np.arange(part.n), MAX_PASSES)
    inside, volume = part.statistics(labels, 2)
    return Division(float(np.sum(inside / volume) - whole), labels == 1)


def _leading(part: Graph, rng: np.random.RandomState) -> tuple[Floats, Floats]:
    """Return the two largest eigenvalues and eigenvectors (n, 2) of the relaxation."""
    links, roots = part.links(), 1.0 / np.sqrt(part.volume)
    rows = np.repeat(np.arange(part.n), np.diff(links.indptr))
    values = links.data * roots[rows] * roots[links.indices]
    inner = part.inner / part.volume
    if part.n <= MOST_DENSE:
        matrix = np.diag(inner)
        matrix[rows, links.indices] = values
        found: tuple[Floats, Floats] = np.linalg.eigh(matrix)
        return found[0][-2:], found[1][:, -2:]
    scaled = sparse.csr_array((values, links.indices, links.indptr), shape=links.shape)
    operator = LinearOperator(scaled.shape, lambda x: scaled @ x + inner * x, dtype=np.float64)
    start = rng.uniform(0.5, 1.5, part.n)
    options = dict(ncv=min(LANCZOS_VECTORS, part.n - 1), maxiter=MAX_RESTARTS, tol=TOLERANCE)
    try:
        return eigsh(operator, 2, which="LA", v0=start, **options)
    except ArpackNoConvergence as error:
        missing = 2 - len(error.eigenvalues)
        return np.append(error.eigenvalues, [np.inf] * missing), error.eigenvectors


def _cuts(part: Graph, order: Ids) -> Floats:
    """Return ``inside / volume`` (n - 1,) summed over both halves, for each cut along the order."""
    between = part.links_to_earlier(order)
    totals = np.asarray(part.links().sum(axis=1))[order]
    inner, volume = part.inner[order], part.volume[order]
    first = np.cumsum(inner + 2.0 * between)
    second = np.cumsum((inner + 2.0 * (totals - between))[::-1])[::-1]
    left, right = np.cumsum(volume), np.cumsum(volume[::-1])[::-1]
    return first[:-1] / left[:-1] + second[1:] / right[1:]
