"""The adjacency matrix of a graph in the order of its clusters, and a drawing where it is small."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph

from hardbayes.core.loop import counted
from hardbayes.graph.estimator import graph_of_fit
from hardbayes.plot._drawing import COLORS, MARKERS, check_estimator, check_matplotlib

_MAX_CELLS = 400  # of the picture of a matrix, along a side
_MAX_BORDERS = 60  # clusters between which lines are drawn
_STEPS = 100  # of the search for a good drawing


class GraphDisplay:
    """Adjacency matrix ordered by cluster, beside a drawing of a small graph.

    Use :meth:`from_estimator` to create one.

    Parameters
    ----------
    links : sparse matrix of shape (n_vertices, n_vertices)
        Weights of the links, symmetric.
    labels : array-like of shape (n_vertices,)
        The cluster of each vertex.
    cluster_penalty : float or None, default=None
        The penalty, for the title.
    cut : float or None, default=None
        The cut, for the title.

    Attributes
    ----------
    axes_ : tuple of matplotlib Axes
        The matrix and, where there is one, the drawing.
    figure_ : matplotlib Figure
        Their figure.
    order_ : ndarray of shape (n_vertices,)
        Vertices in the order of the rows of the picture: large clusters first, in each of them
        vertices of high degree first.
    positions_ : ndarray of shape (n_vertices, 2) or None
        Positions of the vertices in the drawing.

    Examples
    --------
    >>> from hardbayes import GraphDPMeans
    >>> from hardbayes.datasets import load_karate_club
    >>> from hardbayes.plot import GraphDisplay
    >>> links, factions = load_karate_club()
    >>> model = GraphDPMeans(random_state=0).fit(links)
    >>> display = GraphDisplay.from_estimator(model, links)  # doctest: +SKIP
    """

    axes_: tuple[Any, ...]
    figure_: Any

    def __init__(
        self,
        links: Any,
        labels: ArrayLike,
        *,
        cluster_penalty: float | None = None,
        cut: float | None = None,
    ) -> None:
        self.links = sparse.csr_array(links)
        self.labels: NDArray[Any] = np.asarray(labels)
        self.cluster_penalty = cluster_penalty
        self.cut = cut
        degrees = np.asarray(self.links.sum(axis=1)).ravel()
        sizes = np.bincount(self.labels)
        ranks = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")
        self.order_ = np.lexsort((-degrees, ranks[self.labels]))
        self.positions_: NDArray[Any] | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, axes: Any = None, max_drawn: int = 150
    ) -> GraphDisplay:
        """Draw the graph that a model was fitted to.

        Parameters
        ----------
        estimator : GraphDPMeans
            The fitted model.
        X : graph
            The graph of the fit, in any form that `GraphDPMeans.fit` takes.
        axes : matplotlib Axes, sequence of Axes or None, default=None
            Where to draw: the matrix alone, or the matrix and the drawing. If None, on a new
            figure.
        max_drawn : int, default=150
            Largest number of vertices of a graph that is drawn as points and lines too.

        Returns
        -------
        display : GraphDisplay
            The display, drawn.
        """
        caller = f"{cls.__name__}.from_estimator"
        check_estimator(estimator, "cuts_per_cluster_", caller, "Pass a fitted GraphDPMeans.")
        links = graph_of_fit(estimator, X)
        display = cls(
            links,
            estimator.labels_,
            cluster_penalty=estimator.cluster_penalty_,
            cut=estimator.cut_,
        )
        return display.plot(axes=axes, max_drawn=max_drawn)

    def plot(self, *, axes: Any = None, max_drawn: int = 150) -> GraphDisplay:
        """Draw the display and return it. Parameters are those of :meth:`from_estimator`."""
        check_matplotlib(f"{type(self).__name__}.plot")
        if axes is None:
            import matplotlib.pyplot as plt

            n_axes = 2 if len(self.labels) <= max_drawn else 1
            _, axes = plt.subplots(1, n_axes, layout="constrained", figsize=(5.2 * n_axes, 5.2))
        self.axes_ = tuple(np.atleast_1d(axes))
        self.figure_ = self.axes_[0].figure
        self._draw_matrix(self.axes_[0])
        if len(self.axes_) > 1:
            self._draw_graph(self.axes_[1])
        return self

    def _draw_matrix(self, ax: Any) -> None:
        from matplotlib.colors import LogNorm

        n = len(self.labels)
        weights = ordered_cells(self.links, self.order_, _MAX_CELLS)
        shown = np.ma.masked_equal(weights, 0.0)
        ax.imshow(
            shown,
            cmap="Blues",
            norm=LogNorm(weights.max() / 100, 1.2 * weights.max(), clip=True),
            extent=(0, n, n, 0),
            interpolation="nearest",
        )
        sizes = np.sort(np.bincount(self.labels))[::-1]
        if len(sizes) <= _MAX_BORDERS:
            ends = np.concatenate([[0], np.cumsum(sizes)])
            for number in range(len(sizes)):
                low, high = ends[number], ends[number + 1]
                color = COLORS[self._styles()[number] % len(COLORS)]
                square = ([low, high, high, low, low], [low, low, high, high, low])
                ax.plot(*square, color=color, linewidth=1.5)
        ax.set(xlabel="vertices by cluster", ylabel="vertices by cluster", title=self._title())

    def _styles(self) -> NDArray[np.intp]:
        """Return the clusters (k,), the largest first, as they are numbered."""
        return np.argsort(-np.bincount(self.labels), kind="stable")

    def _draw_graph(self, ax: Any) -> None:
        from matplotlib.collections import LineCollection

        self.positions_ = positions(self.links)
        upper = sparse.triu(self.links, 1).tocoo()
        lines = self.positions_[np.column_stack([upper.row, upper.col])]
        inside = self.labels[upper.row] == self.labels[upper.col]
        for chosen, color in ((~inside, "#d0d0d0"), (inside, "#707070")):
            ax.add_collection(LineCollection(lines[chosen], colors=color, linewidths=0.7, zorder=1))
        for label in range(int(self.labels.max()) + 1):
            ax.scatter(
                *self.positions_[self.labels == label].T,
                color=COLORS[label % len(COLORS)],
                marker=MARKERS[label // len(COLORS) % len(MARKERS)],
                s=45,
                edgecolors="white",
                linewidths=0.6,
                zorder=2,
            )
        ax.set(xticks=[], yticks=[], aspect="equal", title="links inside clusters are dark")
        ax.set_frame_on(False)

    def _title(self) -> str:
        title = counted(int(self.labels.max()) + 1, "cluster")
        if self.cluster_penalty is not None:
            title += f", penalty {self.cluster_penalty:.3g}"
        if self.cut is not None:
            title += f", cut {self.cut:.3g}"
        return title


def ordered_cells(
    links: sparse.csr_array, order: NDArray[np.intp], most: int
) -> NDArray[np.float64]:
    """Return the weights (m, m) of links in this order (n,), m being n or the most cells a side."""
    n = len(order)
    side = min(n, most)
    places = np.empty(n, np.int64)
    places[order] = np.arange(n) * side // n
    entries = links.tocoo()
    cells = places[entries.row] * side + places[entries.col]
    weights = np.bincount(cells, entries.data, side * side).astype(np.float64)
    return weights.reshape(side, side)


def positions(links: sparse.csr_array) -> NDArray[np.float64]:
    """Return points (n, 2) whose distances are about the numbers of steps between vertices.

    Classical scaling, then stress majorisation with weights ``distance^-2`` (Gansner, Koren & North
    2005).
    """
    n = links.shape[0]
    steps = csgraph.shortest_path(links, directed=False, unweighted=True)
    reached = np.isfinite(steps)
    steps[~reached] = steps[reached].max() + 1.0  # other components are farther than any vertex
    middle = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * middle @ np.square(steps) @ middle)
    points = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-9))
    points = points + 1e-3 * np.column_stack([np.cos(np.arange(n)), np.sin(np.arange(n))])
    np.fill_diagonal(steps, 1.0)
    weights = steps**-2.0
    np.fill_diagonal(weights, 0.0)
    laplacian = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    for _ in range(_STEPS):
        gaps = np.linalg.norm(points[:, np.newaxis] - points, axis=2)
        ratio = weights * steps / np.maximum(gaps, 1e-9)
        np.fill_diagonal(ratio, 0.0)
        points = laplacian @ (np.diag(ratio.sum(axis=1)) - ratio) @ points
    return points
