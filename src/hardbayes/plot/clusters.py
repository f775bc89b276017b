"""Scatter plot of the rows, coloured by cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array

from hardbayes.core.loop import counted
from hardbayes.plot._drawing import (
    COLORS,
    LITERAL,
    MARKERS,
    axes_or_new,
    check_at_least_one,
    check_estimator,
    comparable_rows,
    project,
)

_MAX_IN_LEGEND = 20
_MAX_INSIDE = 10  # a longer legend stands beside the axes


class ClustersDisplay:
    """Scatter plot of the rows in the plane: a colour for each cluster, a cross for its centre.

    Use :meth:`from_estimator` to create one.

    Parameters
    ----------
    points : array-like of shape (n_points, 2)
        Positions of the rows.
    labels : array-like of shape (n_points,)
        The cluster of each row.
    centers : array-like of shape (n_clusters, 2), or (0, 2)
        Positions of the centres; none where clusters have no centres among the rows.
    cluster_penalty : float or None, default=None
        The penalty, for the title.
    axis_names : tuple of (str, str), default=("column 0", "column 1")
        Labels of the two axes. Dollar signs are not parsed as formulas.
    sizes : array-like of shape (n_clusters,) or None, default=None
        Number of rows in each cluster, for the legend. If None, counted from `labels`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    scatters_ : list of matplotlib PathCollection
        The rows; clusters that share colour and shape are one collection.
    centers_ : matplotlib PathCollection
        The crosses.

    Examples
    --------
    >>> from hardbayes import DPMeans
    >>> from hardbayes.datasets import make_three_gaussians
    >>> from hardbayes.plot import ClustersDisplay
    >>> X, _ = make_three_gaussians(random_state=0)
    >>> model = DPMeans(30.0, random_state=0).fit(X)
    >>> display = ClustersDisplay.from_estimator(model, X)  # doctest: +SKIP
    """

    ax_: Any
    figure_: Any
    scatters_: list[Any]
    centers_: Any

    def __init__(
        self,
        points: ArrayLike,
        labels: ArrayLike,
        centers: ArrayLike,
        *,
        cluster_penalty: float | None = None,
        axis_names: tuple[str, str] = ("column 0", "column 1"),
        sizes: ArrayLike | None = None,
    ) -> None:
        self.points: NDArray[Any] = np.asarray(points)
        self.labels: NDArray[Any] = np.asarray(labels)
        self.centers: NDArray[Any] = np.asarray(centers)
        self.cluster_penalty = cluster_penalty
        self.axis_names = axis_names
        if sizes is None:
            sizes = np.bincount(self.labels, minlength=self.centers.shape[0])
        self.sizes: NDArray[Any] = np.asarray(sizes)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        ax: Any = None,
        max_points: int = 20_000,
        **scatter_kwargs: Any,
    ) -> ClustersDisplay:
        """Draw rows, coloured by their predicted clusters.

        Two columns are drawn unchanged, more are reduced to their first two principal components,
        and a single column is drawn against the number of the row.

        Parameters
        ----------
        estimator : fitted estimator
            A model with ``predict``, and with ``cluster_centers_`` unless it has a kernel.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows to draw, those of the fit or others.
        ax : matplotlib Axes or None, default=None
            Where to draw. If None, on a new figure.
        max_points : int, default=20_000
            Largest number of rows to draw, evenly spaced through `X`. The sizes in the legend count
            all rows.
        **scatter_kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.scatter`.

        Returns
        -------
        display : ClustersDisplay
            The display, drawn.
        """
        caller = f"{cls.__name__}.from_estimator"
        has_kernel = hasattr(estimator, "kernel") and hasattr(estimator, "n_clusters_")
        needed = "n_clusters_" if has_kernel else "cluster_centers_"
        instead = "For features use ComponentsDisplay, for graphs GraphDisplay."
        check_estimator(estimator, needed, caller, instead)
        if hasattr(estimator, "column_kinds_"):
            raise TypeError(
                f"{caller} draws rows of numbers, and those of a mixed table are none. Use "
                "hardbayes.report, or model.summary(X)."
            )
        check_at_least_one("max_points", max_points, caller)
        labels = np.asarray(estimator.predict(X))
        rows = check_array(X, accept_sparse="csr")
        if has_kernel:
            centers = np.empty((0, rows.shape[1]))
        else:
            centers = np.asarray(estimator.cluster_centers_)
        n_clusters = estimator.n_clusters_ if has_kernel else centers.shape[0]
        sizes = np.bincount(labels, minlength=n_clusters)
        if rows.shape[0] > max_points:
            kept = np.linspace(0, rows.shape[0] - 1, max_points).astype(np.intp)
            rows, labels = rows[kept], labels[kept]
        points, placed, axis_names = project(comparable_rows(estimator, rows), centers)
        names = getattr(estimator, "feature_names_in_", None)
        if names is not None and len(names) == 2:
            axis_names = (str(names[0]), str(names[1]))
        display = cls(
            points,
            labels,
            placed,
            cluster_penalty=getattr(estimator, "cluster_penalty_", None),
            axis_names=axis_names,
            sizes=sizes,
        )
        return display.plot(ax=ax, **scatter_kwargs)

    def plot(self, *, ax: Any = None, **scatter_kwargs: Any) -> ClustersDisplay:
        """Draw the display and return it. Parameters are those of :meth:`from_estimator`."""
        ax = axes_or_new(ax, f"{type(self).__name__}.plot")
        n_clusters = len(self.sizes)
        with_legend = 1 < n_clusters <= _MAX_IN_LEGEND
        style = {"s": 18, "alpha": 0.75, "linewidths": 0.0, **scatter_kwargs}

        self.scatters_ = []
        n_styles = len(COLORS) * len(MARKERS)
        for first in range(min(n_clusters, n_styles)):
            drawn = self.labels % n_styles == first
            scatter = ax.scatter(
                self.points[drawn, 0],
                self.points[drawn, 1],
                **{
                    "color": COLORS[first % len(COLORS)],
                    "marker": MARKERS[first // len(COLORS)],
                    "label": f"{first} ({counted(self.sizes[first], 'row')})"
                    if with_legend
                    else None,
                    **style,
                },
            )
            self.scatters_.append(scatter)
        # A white cross below the black one keeps centres visible in dense clusters.
        ax.scatter(*self.centers.T, marker="x", s=110, linewidths=5.0, color="white", zorder=3)
        self.centers_ = ax.scatter(
            *self.centers.T,
            marker="x",
            s=80,
            linewidths=2.0,
            color="black",
            zorder=4,
            label="centres" if with_legend and len(self.centers) else None,
        )
        ax.set_xlabel(self.axis_names[0], **LITERAL)
        ax.set_ylabel(self.axis_names[1], **LITERAL)
        ax.set_title(self._title())
        if with_legend:
            self._draw_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_legend(self, ax: Any) -> None:
        # The search for the emptiest corner is slow with many points.
        place: dict[str, Any] = {"loc": "best" if len(self.points) <= 2_000 else "upper right"}
        if len(self.sizes) > _MAX_INSIDE:
            place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
        ax.legend(title="cluster", fontsize="small", framealpha=0.9, **place)

    def _title(self) -> str:
        title = counted(len(self.sizes), "cluster")
        if self.cluster_penalty is not None:
            title += f", penalty {self.cluster_penalty:.4g}"
        return title
