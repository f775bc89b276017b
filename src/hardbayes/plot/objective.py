"""Plot of the objective against the step of the fit, alone or beside the clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardbayes.core.loop import counted
from hardbayes.plot._drawing import COLORS, axes_or_new, check_estimator, check_matplotlib
from hardbayes.plot.clusters import ClustersDisplay


class ObjectiveDisplay:
    """Plot of the objective after each step of a fit: a sweep over the rows or a round of moves.

    Use :meth:`from_estimator` to create one.

    Parameters
    ----------
    objective_history : array-like of shape (n_steps,)
        The objective after each step.
    converged : bool, default=True
        Whether the fit converged. If not, the title says so.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    line_ : matplotlib Line2D
        The curve.

    Examples
    --------
    >>> from hardbayes import DPMeans
    >>> from hardbayes.datasets import make_three_gaussians
    >>> from hardbayes.plot import ObjectiveDisplay
    >>> X, _ = make_three_gaussians(random_state=0)
    >>> model = DPMeans(30.0, random_state=0).fit(X)
    >>> display = ObjectiveDisplay.from_estimator(model)  # doctest: +SKIP
    """

    ax_: Any
    figure_: Any
    line_: Any

    def __init__(self, objective_history: ArrayLike, *, converged: bool = True) -> None:
        self.objective_history: NDArray[Any] = np.asarray(objective_history)
        self.converged = converged

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, **line_kwargs: Any
    ) -> ObjectiveDisplay:
        """Draw the objective of a fitted model against the step.

        Parameters
        ----------
        estimator : fitted estimator
            A model with ``objective_history_``.
        ax : matplotlib Axes or None, default=None
            Where to draw. If None, on a new figure.
        **line_kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot`.

        Returns
        -------
        display : ObjectiveDisplay
            The display, drawn.
        """
        caller = f"{cls.__name__}.from_estimator"
        check_estimator(estimator, "objective_history_", caller, "Pass a model of this library.")
        display = cls(
            estimator.objective_history_, converged=getattr(estimator, "converged_", True)
        )
        return display.plot(ax=ax, **line_kwargs)

    def plot(self, *, ax: Any = None, **line_kwargs: Any) -> ObjectiveDisplay:
        """Draw the display and return it. Parameters are those of :meth:`from_estimator`."""
        ax = axes_or_new(ax, f"{type(self).__name__}.plot")
        from matplotlib.ticker import MaxNLocator

        n_steps = self.objective_history.shape[0]
        style = {"color": COLORS[0], "marker": "o" if n_steps <= 50 else None, "markersize": 5}
        steps = np.arange(1, n_steps + 1)
        (self.line_,) = ax.plot(steps, self.objective_history, **{**style, **line_kwargs})
        if n_steps:
            ax.annotate(
                f"{self.objective_history[-1]:.6g}",
                (n_steps, self.objective_history[-1]),
                xytext=(0, 7),
                textcoords="offset points",
                ha="right",
            )
        # Limits also for a single step, and ticks at whole steps.
        ax.set_xlim(0.5, max(n_steps, 1) + 0.5)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ax.grid(axis="y", alpha=0.3)
        ax.set(xlabel="step", ylabel="objective", title=self._title())
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _title(self) -> str:
        steps = counted(len(self.objective_history), "step")
        return f"objective, {steps}" + ("" if self.converged else ", not converged")


def fit_figure(estimator: Any, X: Any, *, figsize: tuple[float, float] = (10.0, 4.5)) -> Any:
    """Draw the clusters of a fitted model and, beside them, the history of its objective.

    The figure is not registered with pyplot: show it in a notebook, or write it with its
    ``savefig``. No screen is needed.

    Parameters
    ----------
    estimator : fitted estimator
        The model, with ``predict``, ``cluster_centers_`` and ``objective_history_``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows to draw.
    figsize : tuple of (float, float), default=(10.0, 4.5)
        Width and height in inches.

    Returns
    -------
    figure : matplotlib Figure
        The figure, with two axes.

    Examples
    --------
    >>> from hardbayes import DPMeans
    >>> from hardbayes.datasets import make_three_gaussians
    >>> from hardbayes.plot import fit_figure
    >>> X, y = make_three_gaussians(random_state=0)
    >>> figure = fit_figure(DPMeans(300.0, random_state=0).fit(X), X)
    >>> len(figure.axes)
    2
    """
    check_matplotlib("fit_figure")
    from matplotlib.figure import Figure

    figure = Figure(figsize=figsize, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    ClustersDisplay.from_estimator(estimator, X, ax=left)
    ObjectiveDisplay.from_estimator(estimator, ax=right)
    return figure
