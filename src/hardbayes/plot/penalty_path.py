"""Plot of the number of clusters and the objective against the penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hardbayes.plot._matplotlib import COLORS, check_matplotlib

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

# Plateaus that are labelled; more labels would overlap.
NAMED = 5


class PenaltyPathDisplay:
    """Plot of the number of clusters along a penalty path, its plateaus, and the objective.

    Use :meth:`from_path` to create one.

    Parameters
    ----------
    penalties : array-like of shape (n_penalties,)
        Penalties.
    n_clusters : array-like of shape (n_penalties,)
        Number of clusters at each.
    objectives : array-like of shape (n_penalties,)
        Objective at each.
    plateaus : sequence of objects with ``k``, ``low``, ``high`` and ``width``
        Numbers of clusters and the penalties between which they are optimal.

    Attributes
    ----------
    axes_ : tuple of two matplotlib Axes
        Number of clusters above, objective below.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from hardbayes import penalty_path
    >>> from hardbayes.datasets import make_three_gaussians
    >>> from hardbayes.plot import PenaltyPathDisplay
    >>> X, _ = make_three_gaussians(random_state=0)
    >>> display = PenaltyPathDisplay.from_path(penalty_path(X))  # doctest: +SKIP
    """

    axes_: Any
    figure_: Any

    def __init__(
        self,
        penalties: ArrayLike,
        n_clusters: ArrayLike,
        objectives: ArrayLike,
        plateaus: Sequence[Any],
    ) -> None:
        self.penalties: NDArray[Any] = np.asarray(penalties)
        self.n_clusters: NDArray[Any] = np.asarray(n_clusters)
        self.objectives: NDArray[Any] = np.asarray(objectives)
        self.plateaus = list(plateaus)

    @classmethod
    def from_path(cls, path: Any, *, axes: Any = None) -> PenaltyPathDisplay:
        """Draw a path.

        Parameters
        ----------
        path : PenaltyPath
            The result of `hardbayes.penalty_path`.
        axes : pair of matplotlib Axes or None, default=None
            Where to draw. If None, on a new figure.

        Returns
        -------
        display : PenaltyPathDisplay
            The display, drawn.
        """
        display = cls(path.penalties, path.n_clusters, path.objectives, path.plateaus)
        return display.plot(axes=axes)

    def plot(self, *, axes: Any = None) -> PenaltyPathDisplay:
        """Draw the display.

        Parameters
        ----------
        axes : pair of matplotlib Axes or None, default=None
            Where to draw. If None, on a new figure.

        Returns
        -------
        display : PenaltyPathDisplay
            This object.
        """
        check_matplotlib(f"{type(self).__name__}.plot")
        if axes is None:
            import matplotlib.pyplot as plt

            _, axes = plt.subplots(
                2, sharex=True, layout="constrained", height_ratios=(2, 1), figsize=(6.4, 5.6)
            )
        above, below = axes
        self._draw_clusters(above)
        # Of graphs, penalties and objectives are below zero.
        below.plot(np.abs(self.penalties), np.abs(self.objectives), color=COLORS[0])
        minus = "minus the " if self.penalties.max() < 0 else ""
        below.set(xlabel=f"{minus}penalty", ylabel=f"{minus}objective", xscale="log", yscale="log")
        below.grid(alpha=0.3)
        self.axes_, self.figure_ = (above, below), above.figure
        return self

    def _draw_clusters(self, ax: Any) -> None:
        from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

        ax.set(ylabel="clusters", xscale="log", yscale="log", title=self._title())
        sizes = np.abs(self.penalties)
        ax.step(sizes, self.n_clusters, where="mid", color=COLORS[0])
        ranked = sorted(self.plateaus, key=lambda plateau: -plateau.width)
        for rank, plateau in enumerate(ranked):
            ends = np.clip(np.abs([plateau.low, plateau.high]), sizes.min(), sizes.max())
            color = COLORS[1] if rank == 0 else COLORS[0]
            ax.hlines(plateau.k, *ends, color=color, linewidth=5, alpha=1.0 if rank == 0 else 0.4)
            if rank < NAMED:
                ax.annotate(
                    f"{plateau.k}",
                    (np.sqrt(ends[0] * ends[1]), plateau.k),
                    xytext=(0, 6),
                    textcoords="offset points",
                    ha="center",
                    fontweight="bold" if rank == 0 else "normal",
                )
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_ylim(0.9, 1.3 * self.n_clusters.max())
        ax.grid(alpha=0.3)

    def _title(self) -> str:
        if not self.plateaus:
            return "no plateau of two clusters or more"
        widest = max(self.plateaus, key=lambda plateau: plateau.width)
        if not np.isfinite(widest.width):
            return f"widest plateau: {widest.k} clusters, down to no penalty at all"
        return f"widest plateau: {widest.k} clusters, a factor of {np.exp(widest.width):.3g} wide"
