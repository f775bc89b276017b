"""A picture of the objective, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from hardbayes.plot._matplotlib import COLORS, axes_or_new, check_matplotlib


class ObjectiveDisplay:
    """The objective after each step of a fit: a sweep over the rows, or a round of moves.

    Make one with :meth:`from_estimator`; the constructor takes what is drawn.

    Parameters
    ----------
    objective_history : array-like of shape (n_steps,)
        The objective after each step.
    converged : bool, default=True
        Whether the fit came to rest; the title says so if it did not.

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
            The picture, drawn.
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        check_is_fitted(estimator, "objective_history_")
        display = cls(
            estimator.objective_history_, converged=getattr(estimator, "converged_", True)
        )
        return display.plot(ax=ax, **line_kwargs)

    def plot(self, *, ax: Any = None, **line_kwargs: Any) -> ObjectiveDisplay:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw. If None, on a new figure.
        **line_kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot`.

        Returns
        -------
        display : ObjectiveDisplay
            This object.
        """
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
        # A fit of one step has no width of its own, and half a step means nothing.
        ax.set_xlim(0.5, max(n_steps, 1) + 0.5)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ax.grid(axis="y", alpha=0.3)
        ax.set(xlabel="step", ylabel="objective", title=self._title())
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _title(self) -> str:
        n_steps = self.objective_history.shape[0]
        steps = "1 step" if n_steps == 1 else f"{n_steps:,} steps"
        return f"objective, {steps}" + ("" if self.converged else ", not converged")
