"""Layers of clusters: rows of bars from coarse to fine, each cluster below its parent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.layers import Layers
from hardbayes.core.loop import counted
from hardbayes.plot._drawing import COLORS, axes_or_new

_MIN_LABELLED = 0.02  # of all rows: narrower bars have no number
_GAP = 0.08  # between rows of bars


class LayersDisplay:
    """Rows of bars, from the fewest clusters to the most.

    A bar is as wide as its cluster has rows, holds the cluster's number, stands below the cluster
    that has most of its rows, and has the colour of the first one above. Use :meth:`from_layers`.

    Parameters
    ----------
    layers : Layers
        From ``penalty_path(X).layers()``.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    bars_ : list of matplotlib BarContainers
        The bars of each layer.
    orders_ : list of ndarrays
        Numbers of the clusters of each layer, from left to right.

    Examples
    --------
    >>> from hardbayes import penalty_path
    >>> from hardbayes.datasets import make_three_gaussians
    >>> X, y = make_three_gaussians(random_state=0)
    >>> display = penalty_path(X).layers().plot()  # doctest: +SKIP
    """

    ax_: Any
    figure_: Any
    bars_: list[Any]
    orders_: list[NDArray[np.intp]]

    def __init__(self, layers: Layers) -> None:
        self.layers = layers

    @classmethod
    def from_layers(cls, layers: Layers, *, ax: Any = None) -> LayersDisplay:
        """Draw layers.

        Parameters
        ----------
        layers : Layers
            From ``penalty_path(X).layers()``.
        ax : matplotlib Axes or None, default=None
            Where to draw. If None, on a new figure.

        Returns
        -------
        display : LayersDisplay
            The display, drawn.
        """
        if not isinstance(layers, Layers):
            raise TypeError(
                f"{cls.__name__}.from_layers takes what penalty_path(X).layers() returns. "
                f"Got {type(layers).__name__}."
            )
        return cls(layers).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> LayersDisplay:
        """Draw the display and return it. Parameters are those of :meth:`from_layers`."""
        ax = axes_or_new(ax, f"{type(self).__name__}.plot")
        self.bars_, self.orders_ = [], []
        place, color = np.zeros(1), np.zeros(1, np.intp)  # of the clusters of the layer before
        for row, (model, parents) in enumerate(
            zip(self.layers.models, self.layers.parents, strict=True)
        ):
            sizes = np.bincount(model.labels_, minlength=model.n_clusters_) / len(model.labels_)
            order = np.lexsort((-sizes, place[parents]))
            color = np.argsort(order) if row == 0 else color[parents]
            left = np.cumsum(sizes[order]) - sizes[order]
            bars = ax.barh(
                np.full(len(order), row), sizes[order], 1.0 - _GAP, left,
                color=[COLORS[c % len(COLORS)] for c in color[order]], edgecolor="white",
            )  # fmt: skip
            for at, cluster in enumerate(order):
                if sizes[cluster] >= _MIN_LABELLED:
                    middle = left[at] + sizes[cluster] / 2
                    ax.text(middle, row, str(cluster), ha="center", va="center", color="white")
            place = np.empty(len(order))
            place[order] = left
            self.bars_.append(bars)
            self.orders_.append(order)
        names = [counted(k, "cluster") for k in self.layers.n_clusters]
        ax.set_yticks(np.arange(len(names)), names)
        ax.set(xlim=(0, 1), xlabel="share of the rows", title=counted(len(names), "layer"))
        ax.invert_yaxis()
        ax.tick_params(length=0)
        for side in ("top", "right", "left"):
            ax.spines[side].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
