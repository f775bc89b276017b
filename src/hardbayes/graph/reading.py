"""Graphs of any origin as one symmetric matrix of links."""

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hardbayes.core.arrays import Floats, refuse_lazy
from hardbayes.core.validation.matrix import canonical, check_structure

WHAT = (
    "a square matrix (dense or sparse), edges (m, 2) or (m, 3), a data frame of edges, or a graph "
    "of networkx or igraph"
)
# Edges that number their vertices much higher than there are edges would make most of the vertices
# isolated.
MAX_WEIGHT = 2.0**1022  # of all links: twice their sum still fits float64
MAX_VERTICES_BESIDE = 1_000_000
MAX_VERTICES_PER_EDGE = 100


class Adjacency(NamedTuple):
    """A graph without directions."""

    links: sparse.csr_array  # (n, n): symmetric, weights > 0 as float64, an empty diagonal
    loops: Floats  # (n,): weights of self-loops, zero where there is none
    names: NDArray[Any] | None  # (n,): of the vertices; None where they are 0 to n-1

    @property
    def vertex_names(self) -> NDArray[Any]:
        """Names of all vertices (n,), or their numbers."""
        return np.arange(len(self.loops)) if self.names is None else self.names


def check_graph(X: Any) -> Adjacency:
    """Return a graph without directions, its weights checked.

    The weight of a link is the mean of the entries (i, j) and (j, i) of a matrix; in a list of
    edges each edge is a link, and parallel ones add up.
    """
    refuse_lazy(X)
    home = type(X).__module__.partition(".")[0]
    names: Any = None
    if home == "networkx" and hasattr(X, "nodes"):
        names = list(X)
        _refuse_empty(len(names))
        matrix = import_module("networkx").to_scipy_sparse_array(
            X, nodelist=names, dtype=np.float64, format="csr"
        )
    elif home == "igraph":
        matrix, names = _from_igraph(X)
    elif sparse.issparse(X):
        matrix = X
    elif hasattr(X, "columns") and not _is_square_frame(X):
        return _from_edges(*_edge_columns(X))
    else:
        if hasattr(X, "columns"):
            X, names = _with_rows_as_columns(X), list(X.columns)
        array = _array(X)
        if array.shape[0] != array.shape[1]:
            weights = array[:, 2] if array.shape[1] == 3 else None
            return _from_edges(array[:, 0], array[:, 1], weights)
        matrix = array
    matrix = _checked_matrix(matrix)
    return _with_links(Adjacency(*_symmetric(matrix), _given_names(names)))


def check_links(X: Any, n: int) -> sparse.csr_array:
    """Return links (m, n) of new vertices to those of a fit, float64; raise where they are not."""
    if not sparse.issparse(X):
        X = np.asarray(X)
        if any(isinstance(cell, (str, bytes)) for cell in X.flat[:1]):
            raise ValueError(
                "predict takes links of new vertices to those of the fit, an array or sparse "
                f"matrix of shape (n_new, {n}), not names of vertices; those of the fit have "
                "labels_."
            )
        if X.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {X.ndim}D array instead: predict takes links of new "
                f"vertices to those of the fit, of shape (n_new, {n}). Reshape your data."
            )
    links = _checked_rows(X)
    if links.shape[1] != n:
        raise ValueError(
            f"X has {links.shape[1]} features, but GraphDPMeans is expecting {n} features as "
            "input: one for each vertex of the fit."
        )
    return links


def _array(X: Any) -> NDArray[Any]:
    """Return a matrix or a list of edges as an array (n, n), (m, 2) or (m, 3)."""
    try:
        array = np.asarray(X)
        if array.dtype.kind in "SU" and not isinstance(X, np.ndarray):
            array = np.array(X, dtype=object)  # or weights beside names would be text too
    except ValueError:  # rows of several lengths
        array = np.empty(0)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: weights of links must be real numbers.")
    if array.ndim == 2 and array.shape[0] and not array.shape[1]:
        raise ValueError(
            f"The graph has no edges: found array with 0 feature(s) (shape={array.shape}) while a "
            f"minimum of 1 is required. Pass {WHAT}."
        )
    if array.size == 0 and array.ndim == 2:
        _refuse_empty(0)
    if array.ndim != 2 or (array.shape[0] != array.shape[1] and array.shape[1] not in (2, 3)):
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead: a graph is {WHAT}. "
            f"Got {type(X).__name__} of shape {array.shape}. Reshape your data."
        )
    return array


def _checked_matrix(matrix: Any) -> sparse.csr_array:
    """Return a square matrix of finite weights >= 0 as canonical CSR, float64."""
    shape = matrix.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"The adjacency matrix of a graph must be square. Got shape {shape}.")
    _refuse_empty(shape[0])
    return _checked_rows(matrix)


def _checked_rows(matrix: Any) -> sparse.csr_array:
    """Return a matrix of finite weights >= 0, dense or sparse, as canonical CSR, float64."""
    if sparse.issparse(matrix):
        check_structure(matrix)
        if matrix.dtype.kind not in "buif":
            raise ValueError(f"The weights of links must be real numbers. Got {matrix.dtype}.")
        matrix = canonical(sparse.csr_array(matrix, dtype=np.float64))
    else:
        matrix = sparse.csr_array(_numbers(matrix, "the entries of an adjacency matrix"))
    bad = np.flatnonzero(~((matrix.data >= 0) & (matrix.data < np.inf)))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        _refuse_weight(matrix.data[bad[0]], f"from vertex {row} to {matrix.indices[bad[0]]}")
    if not np.all(matrix.data):
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def _symmetric(matrix: sparse.csr_array) -> tuple[sparse.csr_array, Floats]:
    """Return the links without directions, and the self-loops apart."""
    transposed = matrix.T.tocsr()
    same = (
        np.array_equal(transposed.indptr, matrix.indptr)
        and np.array_equal(transposed.indices, matrix.indices)
        and np.array_equal(transposed.data, matrix.data)
    )
    links = transposed if same else 0.5 * matrix + 0.5 * transposed
    links.sort_indices()
    loops = links.diagonal()
    if loops.any():
        links = links - sparse.dia_array((loops[np.newaxis], [0]), shape=links.shape)
        links = sparse.csr_array(links)
        links.eliminate_zeros()
    return links, loops


def _from_edges(sources: Any, targets: Any, weights: Any) -> Adjacency:
    """Return the graph of edges (m,); vertices are numbers from 0 on, or have names."""
    if len(sources) == 0:
        _refuse_empty(0)
    ends = [np.asarray(sources), np.asarray(targets)]
    if any(end.dtype.kind in "OSUT" or not _is_numeric(end) for end in ends):
        named = np.concatenate([end.astype(object) for end in ends])
        _refuse_missing(named)
        kinds = {isinstance(name, str) for name in named}
        if kinds == {True}:
            names, numbers = np.unique(named.astype(str), return_inverse=True)
            lefts, rights = np.split(numbers, 2)
            return _join(lefts, rights, weights, len(names), names.astype(object))
        ends = list(np.split(_numbers(named, "the vertices of edges"), 2))
    for end in ends:
        _refuse_infinite(end)
        wrong = np.flatnonzero(~((end >= 0) & (end == np.floor(end))))
        if len(wrong):
            raise ValueError(
                "Vertices of edges must be integers from 0 on, or all strings. "
                f"Got {end[wrong[0]]} in edge {wrong[0]}. Edges are (source, target) or "
                "(source, target, weight), one a row."
            )
    n = 1 + int(max(end.max() for end in ends))
    if n > MAX_VERTICES_BESIDE + MAX_VERTICES_PER_EDGE * len(sources):
        raise ValueError(
            f"{len(sources)} edges number their vertices up to {n - 1}. "
            "Renumber them from 0 on, or pass names as strings."
        )
    lefts, rights = (end.astype(np.int64) for end in ends)
    return _join(lefts, rights, weights, n, None)


def _join(sources: Any, targets: Any, weights: Any, n: int, names: Any) -> Adjacency:
    values: Floats = np.ones(len(sources))
    if weights is not None:
        values = _numbers(np.asarray(weights), "the weights of edges")
        bad = np.flatnonzero(~((values >= 0) & (values < np.inf)))
        if len(bad):
            _refuse_weight(values[bad[0]], f"in edge {bad[0]}")
    is_loop = sources == targets
    loops = np.bincount(sources[is_loop], values[is_loop], n).astype(np.float64)
    kept = ~is_loop & (values > 0)
    one_way = (values[kept], (sources[kept], targets[kept]))
    upper = canonical(sparse.coo_array(one_way, shape=(n, n)).tocsr())
    links = canonical(sparse.csr_array(upper + upper.T))
    return _with_links(Adjacency(links, loops, names))


def _from_igraph(graph: Any) -> tuple[sparse.csr_array, Any]:
    n = graph.vcount()
    _refuse_empty(n)
    edges = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    has_weights = "weight" in graph.es.attributes()
    values = np.array(graph.es["weight"], np.float64) if has_weights else np.ones(len(edges))
    matrix = sparse.coo_array((values, (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()
    if not graph.is_directed():
        loops = sparse.dia_array((matrix.diagonal()[np.newaxis], [0]), shape=(n, n))
        matrix = sparse.csr_array(matrix + matrix.T - loops)
    names = graph.vs["name"] if "name" in graph.vs.attributes() else None
    return matrix, names


def _is_square_frame(X: Any) -> bool:
    """Whether a data frame is an adjacency matrix, not a list of edges."""
    n_rows, n_columns = X.shape
    return n_rows == n_columns and not {"source", "target"} <= {str(name) for name in X.columns}


def _with_rows_as_columns(X: Any) -> Any:
    """Return an adjacency matrix with its rows in the order of its columns, if rows have names."""
    columns, rows = list(X.columns), list(getattr(X, "index", X.columns))
    if rows in (columns, list(range(len(rows)))):
        return X
    if len(set(columns)) < len(columns) or set(rows) != set(columns):
        odd = next(iter(set(rows) ^ set(columns)), rows[0])
        raise ValueError(
            "The rows and columns of an adjacency matrix must name the same vertices, each once. "
            f"Got {odd!r} in one of them alone."
        )
    return X.loc[columns]


def _edge_columns(X: Any) -> tuple[Any, Any, Any]:
    """Return sources, targets and weights (or None) of a data frame of edges."""
    names = {str(name): name for name in X.columns}
    if {"source", "target"} <= set(names):
        picked = [names[name] for name in ("source", "target", "weight") if name in names]
    else:
        picked = list(X.columns)
    if len(picked) not in (2, 3):
        raise ValueError(
            "A data frame of edges must have columns 'source', 'target' and perhaps 'weight', or "
            f"two or three columns in that order. Got shape {X.shape} and columns "
            f"{[str(name) for name in X.columns][:6]}."
        )
    columns = [X[name].to_numpy() for name in picked]
    return columns[0], columns[1], columns[2] if len(columns) == 3 else None


def _given_names(names: Any) -> NDArray[Any] | None:
    """Return names of vertices; None where there are none, or they are 0 to n-1."""
    if names is None or all(name == number for number, name in enumerate(names)):
        return None
    found = np.empty(len(names), object)
    found[:] = names
    return found


def _is_numeric(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "buif"


def _numbers(array: Any, what: str) -> Floats:
    """Return real numbers as float64; raise where some are text or complex."""
    array = np.asarray(array)
    if array.dtype.kind in "SUTmM":
        raise ValueError(
            f"could not convert string to float: {what} must be numbers. Got {array.dtype}."
        )
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {what} must be real numbers.")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{error}: {what} must be numbers.") from None


def _refuse_missing(names: NDArray[Any]) -> None:
    missing = np.flatnonzero([name is None or name != name for name in names])
    if len(missing):
        edge = missing[0] % (len(names) // 2)
        raise ValueError(
            f"Edge {edge} lacks a vertex: got {names[missing[0]]!r}. Remove that edge."
        )


def _refuse_infinite(ends: Floats) -> None:
    bad = np.flatnonzero(~np.isfinite(ends))
    if len(bad):
        kind = "NaN" if np.isnan(ends[bad[0]]) else "infinity"
        raise ValueError(f"Input X contains {kind} as a vertex of edge {bad[0]}. Remove that edge.")


def _with_links(graph: Adjacency) -> Adjacency:
    if not graph.links.nnz:
        raise ValueError(
            "The graph has no links between different vertices, so there is nothing to cut "
            f"(n_samples = {len(graph.loops)}). Pass a graph with links."
        )
    with np.errstate(over="ignore"):
        total = float(graph.links.data.sum() + graph.loops.sum())
    if not total < MAX_WEIGHT:
        raise ValueError("The weights of links sum to more than float64 holds. Scale them down.")
    return graph


def _refuse_empty(n: int) -> None:
    if n == 0:
        raise ValueError(
            f"The graph has no vertices: found array with 0 sample(s) while a minimum of 1 is "
            f"required. Pass {WHAT}."
        )


def _refuse_weight(value: float, where: str) -> None:
    if np.isnan(value) or np.isinf(value):
        kind = "NaN" if np.isnan(value) else "infinity"
        raise ValueError(
            f"Input X contains {kind}: the weight {where}. Remove that link or give it a weight."
        )
    raise ValueError(
        f"Negative values in data passed to GraphDPMeans: the weight {where} is {value:g}. A cut "
        "has no meaning for negative weights: remove such links, or shift all weights."
    )
