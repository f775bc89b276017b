"""Several numbers of clusters with evidence: from coarse to fine, and how they lie in each other.

Titles of papers have two broad fields and ten subjects in them: both numbers have evidence, and a
choice shows only one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats

Labels = NDArray[np.signedinteger]


@dataclass(frozen=True)
class Layers:
    """Fitted models with few to many clusters, and the tree of their overlaps.

    Attributes
    ----------
    n_clusters : list of int
        Numbers of clusters with evidence, rising.
    strengths : list of float
        The evidence for each, of which 1 is needed.
    models : list of estimators
        A fitted model with each number.
    parents : list of ndarrays of shape (n_clusters,)
        For each layer, the cluster of the layer before that holds most of each cluster's rows;
        zeros in the first, where the root stands for all rows.
    shares : list of ndarrays of shape (n_clusters,)
        How much of each cluster that is: 1 where a cluster lies within its parent.

    Examples
    --------
    >>> import numpy as np
    >>> from hardbayes import DPMeans, penalty_path
    >>> rng = np.random.RandomState(0)
    >>> corners = np.array([[0, 0], [0, 9], [60, 0], [60, 9]])
    >>> X = np.repeat(corners, 60, axis=0) + rng.normal(size=(240, 2))
    >>> layers = penalty_path(X, estimator=DPMeans(random_state=0)).layers()
    >>> layers.n_clusters
    [2, 4]
    >>> np.bincount(layers.parents[1])  # two of the four in each of the two
    array([2, 2])
    """

    n_clusters: list[int]
    strengths: list[float]
    models: list[Any]
    parents: list[NDArray[np.intp]]
    shares: list[Floats]

    def __len__(self) -> int:
        """Return the number of layers."""
        return len(self.models)

    def __iter__(self) -> Iterator[Any]:
        """Go through the models, from coarse to fine."""
        return iter(self.models)

    def __getitem__(self, layer: int) -> Any:
        """Return the model of a layer."""
        return self.models[layer]

    def __repr__(self) -> str:
        """Return a line for each layer."""
        if not self.models:
            return "Layers: no number of clusters has evidence"
        lines = [
            f"  {k} clusters, strength {strength:.3g}"
            + (f", {share.min():.0%} or more of each in one of the layer before" if at else "")
            for at, (k, strength, share) in enumerate(
                zip(self.n_clusters, self.strengths, self.shares, strict=True)
            )
        ]
        return "\n".join(["Layers, from coarse to fine", *lines])

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the layers as rows of bars, each cluster below its parent.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw. If None, on a new figure.

        Returns
        -------
        display : hardbayes.plot.LayersDisplay
            The picture.
        """
        from hardbayes.plot import LayersDisplay

        return LayersDisplay.from_layers(self, ax=ax)


def layers_of(numbers: list[tuple[int, float]], models: list[Any]) -> Layers:
    """Return layers of these numbers with their strengths, and models with so many clusters."""
    parents, shares = tree_of([model.labels_ for model in models])
    return Layers([k for k, _ in numbers], [s for _, s in numbers], models, parents, shares)


def tree_of(layers: list[Labels]) -> tuple[list[NDArray[np.intp]], list[Floats]]:
    """Return where most rows of each cluster are in the layer before, and what share of them.

    ``layers``: labels (n,) of each, from 0 on, without gaps.
    """
    parents: list[NDArray[np.intp]] = []
    shares: list[Floats] = []
    for above, labels in pairwise([*(np.zeros_like(each) for each in layers[:1]), *layers]):
        table = np.zeros((int(labels.max()) + 1, int(above.max()) + 1))
        np.add.at(table, (labels, above), 1.0)
        parents.append(table.argmax(axis=1))
        shares.append(table.max(axis=1) / table.sum(axis=1))
    return parents, shares
