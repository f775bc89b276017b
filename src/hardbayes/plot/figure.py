"""Clusters and objective of a fit side by side."""

from typing import Any

from hardbayes.plot._matplotlib import check_matplotlib
from hardbayes.plot.clusters import ClustersDisplay
from hardbayes.plot.objective import ObjectiveDisplay


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
