"""Plot of overlapping features: components, memberships and reconstructed rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from hardbayes.core.loop import counted
from hardbayes.plot._drawing import COLORS, check_estimator, check_matplotlib

_MAX_COMPONENTS = 12
_MAX_ROWS = 2_000


class ComponentsDisplay:
    """Plot of components, the membership matrix, and some rows beside their reconstructions.

    Use :meth:`from_estimator` to create one.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        The component that each feature adds to a row.
    membership : array-like of shape (n_samples, n_components)
        Which rows have which features.
    examples : array-like of shape (n_examples, n_features) or None, default=None
        Rows to draw beside their reconstructions.
    rebuilt : array-like of shape (n_examples, n_features) or None, default=None
        The reconstructions.
    image_shape : tuple of (int, int) or None, default=None
        Height and width if rows are images; if None, they are drawn as curves.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure drawn on.
    component_axes_ : list of matplotlib Axes
        One for each component. A base shared by all rows is grey; others are red where they are
        positive and blue where they are negative.
    membership_ax_ : matplotlib Axes
        The membership matrix, a row for each row and a column for each feature.
    example_axes_ : list of (matplotlib Axes, matplotlib Axes)
        Originals and reconstructions.

    Examples
    --------
    >>> from hardbayes import BPMeans
    >>> from hardbayes.datasets import make_dice
    >>> from hardbayes.plot import ComponentsDisplay
    >>> X, _ = make_dice(random_state=0)
    >>> model = BPMeans(random_state=0).fit(X)
    >>> display = ComponentsDisplay.from_estimator(
    ...     model, X, image_shape=(14, 14)
    ... )  # doctest: +SKIP
    """

    figure_: Any
    component_axes_: list[Any]
    membership_ax_: Any
    example_axes_: list[tuple[Any, Any]]

    def __init__(
        self,
        components: ArrayLike,
        membership: ArrayLike,
        *,
        examples: ArrayLike | None = None,
        rebuilt: ArrayLike | None = None,
        image_shape: tuple[int, int] | None = None,
    ) -> None:
        self.components: NDArray[Any] = np.asarray(components)
        self.membership: NDArray[Any] = np.asarray(membership, dtype=bool)
        nothing = np.empty((0, self.components.shape[1]))
        self.examples: NDArray[Any] = nothing if examples is None else np.asarray(examples)
        self.rebuilt: NDArray[Any] = nothing if rebuilt is None else np.asarray(rebuilt)
        self.image_shape = image_shape
        if image_shape is not None and np.prod(image_shape) != self.components.shape[1]:
            raise ValueError(
                "The 'image_shape' parameter of ComponentsDisplay must have a product of "
                f"{self.components.shape[1]}, the number of columns. Got {image_shape!r} instead."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        image_shape: tuple[int, int] | None = None,
        n_examples: int = 4,
        figure: Any = None,
    ) -> ComponentsDisplay:
        """Draw the features of a fitted model and some reconstructed rows.

        Parameters
        ----------
        estimator : fitted estimator
            A model with ``transform``, ``inverse_transform`` and ``components_``.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows to draw, those of the fit or others.
        image_shape : tuple of (int, int) or None, default=None
            Height and width if rows are images.
        n_examples : int, default=4
            Number of rows to draw beside their reconstructions, evenly spaced through `X`.
        figure : matplotlib Figure or None, default=None
            Where to draw. If None, on a new figure.

        Returns
        -------
        display : ComponentsDisplay
            The display, drawn.
        """
        caller = f"{cls.__name__}.from_estimator"
        check_estimator(estimator, "components_", caller, "For clusters use ClustersDisplay.")
        membership = np.asarray(estimator.transform(X), dtype=bool)
        rows = check_array(X, accept_sparse="csr")
        examples = rebuilt = None
        if n_examples:
            shown = np.unique(np.linspace(0, rows.shape[0] - 1, n_examples).astype(np.intp))
            examples = rows[shown]
            examples = examples.toarray() if issparse(examples) else examples
            rebuilt = estimator.inverse_transform(membership[shown])
        display = cls(
            estimator.components_,
            membership,
            examples=examples,
            rebuilt=rebuilt,
            image_shape=image_shape,
        )
        return display.plot(figure=figure)

    def plot(self, *, figure: Any = None) -> ComponentsDisplay:
        """Draw the display and return it. Parameters are those of :meth:`from_estimator`."""
        check_matplotlib(f"{type(self).__name__}.plot")
        shown = min(len(self.components), _MAX_COMPONENTS)
        columns = max(shown, len(self.examples), 1)
        if figure is None:
            import matplotlib.pyplot as plt

            figure = plt.figure(figsize=(1.8 * columns + 2.2, 6.0), layout="constrained")
        heights = (1, 1, 1) if len(self.examples) else (1,)
        grid = figure.add_gridspec(len(heights), columns + 1, width_ratios=[1] * columns + [1.2])
        self.component_axes_ = [figure.add_subplot(grid[0, k]) for k in range(shown)]
        for k, ax in enumerate(self.component_axes_):
            self._draw_component(ax, k)
        self.membership_ax_ = figure.add_subplot(grid[:, columns])
        self._draw_membership(self.membership_ax_)
        self.example_axes_ = [
            (figure.add_subplot(grid[1, at]), figure.add_subplot(grid[2, at]))
            for at in range(len(self.examples))
        ]
        low, high = self._range(self.examples)
        for at, axes in enumerate(self.example_axes_):
            pairs = (("original", self.examples[at]), ("rebuilt", self.rebuilt[at]))
            for ax, (name, values) in zip(axes, pairs, strict=True):
                self._draw_values(ax, values, cmap="gray", vmin=low, vmax=high)
                ax.set_title(name, fontsize="small")
        self.figure_ = figure
        return self

    def _draw_component(self, ax: Any, k: int) -> None:
        values, members = self.components[k], int(self.membership[:, k].sum())
        if members == len(self.membership):
            low, high = self._range(values)
            self._draw_values(ax, values, cmap="gray", vmin=low, vmax=high)
            ax.set_title("base, all rows", fontsize="small")
            return
        largest = float(np.abs(values).max(initial=0.0)) or 1.0
        self._draw_values(ax, values, cmap="RdBu_r", vmin=-largest, vmax=largest)
        ax.set_title(f"feature {k}, {counted(members, 'row')}", fontsize="small")

    def _draw_membership(self, ax: Any) -> None:
        ax.set(xlabel="feature", ylabel="row", title=self._title())
        if not self.membership.size:
            return
        # Evenly spaced rows; more would exceed the resolution.
        n = len(self.membership)
        kept = np.unique(np.linspace(0, max(n - 1, 0), min(n, _MAX_ROWS)).astype(np.intp))
        ax.imshow(
            self.membership[kept],
            aspect="auto",
            cmap="gray_r",
            vmin=0,
            vmax=1,
            interpolation="nearest",
            extent=(-0.5, self.membership.shape[1] - 0.5, n - 0.5, -0.5),
        )
        ax.set_xticks(range(0, self.membership.shape[1], max(1, self.membership.shape[1] // 12)))

    def _draw_values(self, ax: Any, values: NDArray[Any], **image_kwargs: Any) -> None:
        if self.image_shape is None:
            ax.plot(values, color=COLORS[0], linewidth=1.0)
            ax.set_ylim(image_kwargs["vmin"], image_kwargs["vmax"])
            ax.tick_params(labelsize="x-small")
            return
        ax.imshow(np.asarray(values).reshape(self.image_shape), **image_kwargs)
        ax.set_xticks([])
        ax.set_yticks([])

    @staticmethod
    def _range(values: NDArray[Any]) -> tuple[float, float]:
        if not values.size:
            return 0.0, 1.0
        low, high = float(values.min()), float(values.max())
        return (low, high) if high > low else (low - 0.5, high + 0.5)

    def _title(self) -> str:
        return counted(len(self.components), "feature")
