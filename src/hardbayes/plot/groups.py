"""Table of groups and clusters: which group uses which cluster, and how much."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardbayes.core.loop import counted
from hardbayes.plot._drawing import LITERAL, axes_or_new, check_at_least_one, check_estimator

# Cells that are few enough to hold a number each, and labels that are few enough to be read.
_MAX_NUMBERS = 240
_MAX_LABELS = 40


class GroupsDisplay:
    """Table of the groups (rows) and the clusters (columns) that they use.

    The darker a cell, the larger the share of the group's rows that the cluster has; a group does
    not use the clusters of its blank cells. Clusters are in order of how many groups use them,
    which is written above. Use :meth:`from_estimator` to create one.

    Parameters
    ----------
    weights : array-like of shape (n_groups, n_clusters)
        Weight of each group's rows in each cluster.
    groups : array-like of shape (n_groups,) or None, default=None
        Labels of the groups. If None, their numbers.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    cells_ : matplotlib QuadMesh
        The cells.
    order_ : ndarray of shape (n_clusters,)
        The cluster in each column.

    Examples
    --------
    >>> from hardbayes import HDPMeans
    >>> from hardbayes.datasets import make_shared_gaussians
    >>> from hardbayes.plot import GroupsDisplay
    >>> X, groups, y = make_shared_gaussians(random_state=0)
    >>> model = HDPMeans(random_state=0).fit(X, groups=groups)
    >>> display = GroupsDisplay.from_estimator(model)  # doctest: +SKIP
    """

    ax_: Any
    figure_: Any
    cells_: Any
    order_: NDArray[np.intp]

    def __init__(self, weights: ArrayLike, groups: ArrayLike | None = None) -> None:
        self.weights: NDArray[Any] = np.asarray(weights, np.float64)
        numbers = np.arange(len(self.weights)) if groups is None else groups
        self.groups = [str(group) for group in np.asarray(numbers, object)]

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, max_groups: int = 60, **mesh_kwargs: Any
    ) -> GroupsDisplay:
        """Draw which group of a fitted model uses which cluster.

        Parameters
        ----------
        estimator : fitted estimator
            A model with ``group_cluster_weights_`` and ``groups_``.
        ax : matplotlib Axes or None, default=None
            Where to draw. If None, on a new figure.
        max_groups : int, default=60
            Largest number of groups to draw: the first ones.
        **mesh_kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.pcolormesh`.

        Returns
        -------
        display : GroupsDisplay
            The display, drawn.
        """
        caller = f"{cls.__name__}.from_estimator"
        check_estimator(estimator, "group_cluster_weights_", caller, "Pass a fitted HDPMeans.")
        check_at_least_one("max_groups", max_groups, caller)
        display = cls(estimator.group_cluster_weights_, estimator.groups_)
        return display.plot(ax=ax, max_groups=max_groups, **mesh_kwargs)

    def plot(self, *, ax: Any = None, max_groups: int = 60, **mesh_kwargs: Any) -> GroupsDisplay:
        """Draw the display and return it. Parameters are those of :meth:`from_estimator`."""
        ax = axes_or_new(ax, f"{type(self).__name__}.plot")
        k = self.weights.shape[1]
        users = np.count_nonzero(self.weights, axis=0)
        self.order_ = np.lexsort((-self.weights.sum(axis=0), -users))
        drawn = self.weights[:max_groups, self.order_]
        totals = self.weights[:max_groups].sum(axis=1, keepdims=True)
        shares = np.ma.masked_equal(drawn / np.where(totals > 0, totals, 1.0), 0.0)
        style = {"cmap": "Blues", "vmin": 0.0, "edgecolors": "0.9", "linewidth": 0.5}
        self.cells_ = ax.pcolormesh(shares, **{**style, **mesh_kwargs})
        if drawn.size <= _MAX_NUMBERS:
            dark = 0.6 * shares.max()
            for row, column in zip(*np.nonzero(drawn), strict=True):
                ax.text(
                    column + 0.5, row + 0.5, f"{drawn[row, column]:.4g}", ha="center", va="center",
                    fontsize="small", color="white" if shares[row, column] > dark else "black",
                )  # fmt: skip
        labels = self.groups[:max_groups]
        if len(labels) <= _MAX_LABELS:
            ax.set_yticks(np.arange(len(labels)) + 0.5, labels, **LITERAL)
        if k <= _MAX_LABELS:
            ax.set_xticks(np.arange(k) + 0.5, [str(cluster) for cluster in self.order_])
            above = ax.secondary_xaxis("top")
            above.set_xticks(np.arange(k) + 0.5, [str(number) for number in users[self.order_]])
            above.set_xlabel("number of groups that use it")
            above.tick_params(length=0)
        ax.tick_params(length=0)
        ax.invert_yaxis()
        ax.set(xlabel="cluster", ylabel="group", title=self._title(len(labels)))
        ax.figure.colorbar(self.cells_, ax=ax, label="share of the group's rows")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _title(self, n_drawn: int) -> str:
        n_groups, k = self.weights.shape
        used = np.count_nonzero(self.weights) / n_groups
        title = (
            f"{counted(k, 'cluster')}, {counted(n_groups, 'group')}, {used:.1f} clusters in each"
        )
        return title if n_drawn == n_groups else f"{title} (the first {n_drawn})"
