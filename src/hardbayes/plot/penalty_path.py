"""Plot of the number of clusters and the objective against the penalty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardbayes.plot._drawing import COLORS, check_matplotlib

# Plateaus that are labelled; more labels would overlap.
NAMED = 5
UNBOUNDED = 30.0  # widths from here on stand for infinity


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
    choice : dict of arrays or None, default=None
        The candidates among them, as in ``DPMeans().penalty_choice_``: "n_clusters", "width",
        "reference" and "chosen". None marks the widest plateau.

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
        choice: dict[str, Any] | None = None,
    ) -> None:
        self.penalties: NDArray[Any] = np.asarray(penalties)
        self.n_clusters: NDArray[Any] = np.asarray(n_clusters)
        self.objectives: NDArray[Any] = np.asarray(objectives)
        self.plateaus = list(plateaus)
        self.choice = choice

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
        if not hasattr(path, "plateaus"):
            raise TypeError(
                f"{cls.__name__}.from_path takes the result of penalty_path. "
                f"Got {type(path).__name__}."
            )
        display = cls(path.penalties, path.n_clusters, path.objectives, path.plateaus, path.choice)
        return display.plot(axes=axes)

    def plot(self, *, axes: Any = None) -> PenaltyPathDisplay:
        """Draw the display and return it. Parameters are those of :meth:`from_path`."""
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
        sizes = np.abs(self.penalties)  # those of graphs are below zero
        ax.step(sizes, self.n_clusters, where="mid", color=COLORS[0])
        ends = np.array([sizes.min(), sizes.max()])
        self._draw_references(ax, ends)
        marked = self._marked()
        ranked = sorted(self.plateaus, key=lambda plateau: (plateau.k != marked, -plateau.width))
        for rank, plateau in enumerate(ranked):
            low, high = np.clip(np.abs([plateau.low, plateau.high]), *ends)
            is_marked = plateau.k == marked
            color, alpha = (COLORS[1], 1.0) if is_marked else (COLORS[0], 0.4)
            ax.hlines(plateau.k, low, high, color=color, linewidth=5, alpha=alpha)
            if rank < NAMED:
                ax.annotate(
                    f"{plateau.k}",
                    (np.sqrt(low * high), plateau.k),
                    xytext=(0, 6),
                    textcoords="offset points",
                    ha="center",
                    fontweight="bold" if is_marked else "normal",
                )
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_ylim(0.9, 1.3 * self.n_clusters.max())
        ax.grid(alpha=0.3)

    def _draw_references(self, ax: Any, ends: NDArray[Any]) -> None:
        """Draw how wide the plateaus would be without structure, around their middles."""
        if self.choice is None:
            return
        numbers = self.choice["n_clusters"].tolist()
        references = dict(zip(numbers, self.choice["reference"].tolist(), strict=True))
        compared = [p for p in self.plateaus if p.k in references and p.low > 0]
        if not compared:
            return
        middles = np.array([np.sqrt(p.low * p.high) for p in compared])
        halves = np.exp([references[p.k] / 2 for p in compared])
        low, high = np.clip([middles / halves, middles * halves], *ends)
        bars = ax.hlines([p.k for p in compared], low, high, color="0.85", linewidth=10, zorder=1)
        bars.set_label("range without structure")
        ax.legend(loc="upper right")

    def _marked(self) -> int | None:
        """Return the chosen number of clusters, or without a choice that of the widest plateau."""
        if self.choice is not None:
            chosen = self.choice["n_clusters"][self.choice["chosen"]]
            return int(chosen[0]) if len(chosen) else None
        widest = max(self.plateaus, key=lambda plateau: plateau.width, default=None)
        return None if widest is None else int(widest.k)

    def _title(self) -> str:
        marked = self._marked()
        if not self.plateaus:
            return "no plateau of two clusters or more"
        if marked is None:
            return "one cluster: no other number stands out"
        if self.choice is None:
            width = max(plateau.width for plateau in self.plateaus)
            return f"widest plateau: {marked} clusters, {factor(width)}"
        at = self.choice["chosen"]
        width, reference = (float(self.choice[name][at][0]) for name in ("width", "reference"))
        return f"{marked} clusters: {factor(width)}, without structure {np.exp(reference):.3g}"


def factor(width: float) -> str:
    """Return the width of a plateau in words."""
    if width >= UNBOUNDED:
        return "down to no penalty at all"
    return f"a factor of {np.exp(width):.3g} wide"
