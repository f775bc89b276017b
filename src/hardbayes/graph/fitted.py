"""Fitted clusters of a graph: labels for new vertices; to and from arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hardbayes.core import schema
from hardbayes.core.arrays import Floats
from hardbayes.core.fitted import AtOnce, trace_attributes
from hardbayes.core.loop import level_rounding
from hardbayes.graph.problem import GraphProblem
from hardbayes.graph.search import GraphSolution

#: The attributes of a fitted estimator in a file; columns are vertices.
ATTRIBUTES = {
    "n_clusters_": schema.length("k", low=1),
    "n_features_in_": schema.length("n"),
    "labels_": schema.array("n", dtype=np.int32, low=0, below="k"),
    "vertex_names_": schema.array("n", dtype=np.generic),
    "cluster_weights_": schema.array("k"),
    "cuts_per_cluster_": schema.array("k"),
    "cut_": schema.number(),
    "cluster_penalty_": schema.number(),
    **schema.TRACE,
    **schema.MOVES,
}
#: What a file holds of a fitted model.
MODEL = {
    "working_labels": schema.array("n", dtype=np.int64, low=0, below="k"),
    "working_inside": schema.array("k"),
    "working_degrees": schema.array("k"),
    "working_sizes": schema.array("k"),
    "working_ratio": schema.Entry(bool),
}
NO_CLUSTERS = (
    "One cluster: its cut is zero, and at a penalty of {penalty:g} more clusters raise the "
    "objective. Pass a negative cluster_penalty for more."
)


@dataclass(frozen=True, eq=False)
class FittedGraph:
    """Clusters of the vertices of a graph, in the user's units."""

    labels: NDArray[np.int64]  # (n,)
    inside: Floats  # (k,): links inside each cluster, from both ends
    degrees: Floats  # (k,)
    sizes: Floats  # (k,): numbers of vertices
    ratio: bool
    penalty: float

    def assign(self, links: sparse.csr_array) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return the cluster of each new vertex (m,), and whether one of its own would be better.

        ``links`` (m, n) join new vertices with those of the fit. Each joins the cluster at which
        the graph with this vertex alone added has the lowest objective; without links, the first.
        """
        m, n = links.shape
        k = len(self.sizes)
        member = sparse.csr_array((np.ones(n), self.labels, np.arange(n + 1)), shape=(n, k))
        reach = sparse.csr_array(links @ member).tocoo()
        rows, clusters, joined = reach.row, reach.col, reach.data
        own = np.asarray(links.sum(axis=1)).ravel()
        degree = own[rows]
        inside, degrees, sizes = (a[clusters] for a in (self.inside, self.degrees, self.sizes))
        if self.ratio:
            cut = degrees - inside
            change = (cut + degree - joined) / (sizes + 1) - (cut + joined) / sizes
        else:
            volume = degrees + joined
            before = np.divide(inside, volume, out=np.zeros(len(volume)), where=volume > 0)
            change = before - (inside + 2 * joined) / (volume + degree)
            own = np.ones(m)
        order = np.lexsort((clusters, change, rows))
        first = order[np.diff(rows[order], prepend=-1) > 0]
        labels = np.zeros(m, np.int32)
        least = np.full(m, np.inf)
        labels[rows[first]], least[rows[first]] = clusters[first], change[first]
        return labels, least > own + self.penalty

    def to_arrays(self) -> dict[str, Any]:
        """Return everything as arrays and numbers."""
        return schema.arrays_of(self, MODEL)

    @classmethod
    def from_arrays(cls, penalty: float, arrays: dict[str, Any]) -> FittedGraph:
        """Return what `to_arrays` was called on; raise ValueError where that cannot be."""
        labels, inside, degrees, sizes, ratio = schema.values_of(arrays, MODEL)
        if not np.array_equal(np.bincount(labels), sizes):
            raise schema.contradiction("its clusters have other sizes")
        return cls(labels, inside, degrees, sizes, ratio, penalty)


def measure(
    problem: GraphProblem, labels: NDArray[np.int64], penalty: float
) -> tuple[FittedGraph, Floats]:
    """Return clusters of all vertices, and the cut of each over its volume (k,), in user's units.

    ``penalty`` is in the user's units too.
    """
    k = int(labels.max()) + 1
    graph, own = problem.degree_graph(), labels[problem.linked]
    clusters = graph.statistics(own, k)
    inside, degrees = clusters.inside, clusters.volumes
    leaving = np.asarray(clusters.coarser.links().sum(axis=1)).ravel()
    sizes = np.bincount(labels, minlength=k).astype(np.float64)
    volumes = sizes if problem.ratio else degrees
    cuts = np.divide(leaving, volumes, out=np.zeros(k), where=volumes > 0)
    unit = problem.unit
    model = FittedGraph(labels, unit * inside, unit * degrees, sizes, problem.ratio, penalty)
    return model, problem.cost_unit * cuts


def fitted_attributes(
    solution: GraphSolution, problem: GraphProblem, penalty: float, max_clusters: int
) -> dict[str, Any]:
    """Return the attributes of a fitted estimator."""
    labels = problem.all_labels(solution.labels, max_clusters)
    alone = (int(labels.max()) - int(solution.labels.max())) * penalty  # of isolated vertices
    history = problem.cost_unit * solution.history + alone
    return _attributes(solution, problem, labels, penalty, history)


def one_cluster(problem: GraphProblem, penalty: float, status: str) -> dict[str, Any]:
    """Return the attributes where all vertices are one cluster."""
    n = len(problem.linked) + len(problem.isolated)
    found = _attributes(AtOnce(), problem, np.zeros(n, np.int64), penalty, np.array([penalty]))
    return found | {"status_": status.format(penalty=penalty)}


def undivided(
    problem: GraphProblem, components: NDArray[np.int64], max_clusters: int, status: str
) -> dict[str, Any]:
    """Return the attributes where connected components (m,) are the clusters."""
    own = np.minimum(components, max_clusters - 1)
    labels = problem.all_labels(own, max_clusters)
    found = _attributes(AtOnce(), problem, labels, 0.0, np.zeros(1))
    return found | {"status_": status}


def _attributes(
    end: GraphSolution | AtOnce,
    problem: GraphProblem,
    labels: NDArray[np.int64],
    penalty: float,
    history: Floats,
) -> dict[str, Any]:
    model, cuts = measure(problem, labels, penalty)
    cut = float(cuts.sum())
    history = np.append(history[:-1], cut + penalty * len(cuts))
    # Sums over clusters of other terms: they differ by rounding, a little for each.
    history = level_rounding(history, 1e-12 * len(cuts))
    return {
        "_model": model,
        "labels_": labels.astype(np.int32),
        "n_clusters_": len(cuts),
        "cut_": cut,
        "cuts_per_cluster_": cuts,
        "cluster_weights_": model.sizes,
        "cluster_penalty_": penalty,
        "n_features_in_": len(labels),
    } | trace_attributes(end, history, len(cuts))
