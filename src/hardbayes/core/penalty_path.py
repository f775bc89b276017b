"""Solutions along falling penalties, and what they say about the number of clusters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats
from hardbayes.core.layers import Layers, layers_of
from hardbayes.core.plateaus import Plateau, Table

E = TypeVar("E")  # the estimator whose solutions a path has


@dataclass(frozen=True, repr=False)
class PenaltyPath(Generic[E]):
    """Solutions at penalties from large to small, that is from few clusters to many.

    The larger the penalty, the fewer clusters: at each penalty stands the best of all solutions
    found on the way. With a published search it is that search's own fit at each penalty, whatever
    the number.

    Attributes
    ----------
    penalties : ndarray of shape (n_penalties,)
        Falling.
    n_clusters : ndarray of shape (n_penalties,)
        Number of clusters, of features or of topics at each penalty; it never falls, but where
        each penalty has a fit of its own.
    objectives : ndarray of shape (n_penalties,)
        Objective at each penalty.
    models : list of estimators
        The fitted model at each penalty; where the rows were sampled, fitted to the sample.
    plateaus : list of Plateau
        Numbers of clusters with the penalties ``low`` to ``high`` between which they are best,
        and the ``width`` of that interval in the logarithm of the penalty; with a prior, of what a
        cluster must save, which ``prices`` tell: the penalty is only a part of that.
    sample_indices : ndarray or None
        Numbers of the rows that the path was traced on; None for all rows.
    best_penalty : float
        The penalty that `suggest` returns.
    choice : dict of ndarrays or None
        What ``DPMeans()`` compares to choose the number of clusters, and its choice, as in its
        ``penalty_choice_``; None for a path of features.

    See Also
    --------
    penalty_path : Makes one.

    Examples
    --------
    >>> from hardbayes import DPMeans, penalty_path
    >>> from hardbayes.datasets import make_three_gaussians
    >>> X, y = make_three_gaussians(random_state=0)
    >>> path = penalty_path(X, estimator=DPMeans(random_state=0))
    >>> DPMeans(path.suggest(), random_state=0).fit(X).n_clusters_
    3
    >>> DPMeans(path.for_n_clusters(4), random_state=0).fit(X).n_clusters_
    4
    >>> path.model(7).n_clusters_
    7
    >>> [plateau.k for plateau in path.plateaus][:3]
    [2, 3, 4]
    """

    penalties: Floats
    n_clusters: NDArray[np.int64]
    objectives: Floats
    models: list[E]
    plateaus: list[Plateau]
    sample_indices: NDArray[np.intp] | None
    best_penalty: float
    choice: Table | None = None
    #: Numbers of clusters that `layers` shows, with the strength of their evidence.
    layer_numbers: list[tuple[int, float]] | None = None
    _exactly: Callable[[int], E] | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls,
        penalties: Floats,
        models: list[E],
        plateaus: list[Plateau],
        best_penalty: float,
        exactly: Callable[[int], E],
        sample_indices: NDArray[np.intp] | None = None,
        choice: Table | None = None,
        layer_numbers: list[tuple[int, float]] | None = None,
        number: str = "n_clusters_",
    ) -> PenaltyPath[E]:
        """Return the path of these models, one at each penalty.

        ``exactly`` makes a model with a given number of clusters or features, which models have as
        ``number``.
        """
        fitted: list[Any] = models
        counts = np.array([getattr(model, number) for model in fitted])
        objectives = np.array([model.objective_ for model in fitted])
        return cls(
            penalties, counts, objectives, models, plateaus, sample_indices, best_penalty, choice,
            layer_numbers, exactly,
        )  # fmt: skip

    def __repr__(self) -> str:
        """Return three lines: the rows and penalties, the numbers, and the number suggested."""
        first, last = self.penalties[[0, -1]]
        few, many = self.n_clusters[[0, -1]]
        kinds = {"n_components_": "features", "n_topics_": "topics"}
        things = next((kinds[n] for n in kinds if hasattr(self.models[0], n)), "clusters")
        rows = "all rows"
        if self.sample_indices is not None:
            rows = f"a sample of {len(self.sample_indices)} rows"
        best = self.suggest()
        number = next((p.k for p in self.plateaus if p.low <= best <= p.high), few)
        return (
            f"PenaltyPath of {rows}: {len(self.penalties)} penalties from {first:.4g} to "
            f"{last:.4g}\n  {few} to {many} {things}\n  suggested: {number}, at {best:.4g}"
        )

    def suggest(self) -> float:
        """Return the penalty that the estimator itself would choose.

        Of features, the middle of the widest plateau; a base alone that all rows share does not
        count. Of graphs, 0 where no connected component is divided.

        Returns
        -------
        penalty : float
            A value for ``cluster_penalty``, the one of ``DPMeans()`` with the same parameters and
            seed: of one cluster where no other number stands out.
        """
        return self.best_penalty

    def for_n_clusters(self, n_clusters: int) -> float:
        """Return a penalty for this number of clusters, or for the nearest that has one.

        Not every number is best at some penalty; `model` gives exactly as many. A warning says
        where the penalty is for another number.

        Parameters
        ----------
        n_clusters : int
            Number of clusters.

        Returns
        -------
        penalty : float
            The middle of the penalties at which the nearest number of clusters is best.
        """
        check_number(n_clusters)
        # The ends of the path have no plateau, but a penalty.
        ends = [(int(self.n_clusters[at]), float(self.penalties[at])) for at in (0, -1)]
        known = [(p.k, p.middle) for p in self.plateaus] + ends
        found, penalty = min(known, key=lambda pair: abs(pair[0] - n_clusters))
        if found != n_clusters:
            warnings.warn(
                f"No penalty of this path is for {n_clusters} clusters; this one, {penalty:.6g}, "
                f"is for {found}. Use path.model({n_clusters}) for exactly {n_clusters}.",
                UserWarning,
                stacklevel=2,
            )
        return penalty

    def model(self, n_clusters: int) -> E:
        """Return a fitted estimator with exactly this number of clusters.

        Also where the number is best at no penalty. It is fitted to all rows, beginning with the
        best partition of the path that has as many clusters; X must not have changed since. Its
        ``max_clusters`` is the number, and its ``cluster_penalty`` the middle of the plateau, or
        zero where the number has none. Where a ``prior_weight`` of "auto" keeps rows together in
        fewer clusters even at a penalty of zero, it is lowered.

        Parameters
        ----------
        n_clusters : int
            Number of clusters; of features, where the path is one of features.

        Returns
        -------
        model : estimator
            Fitted; of the class of the template.

        Raises
        ------
        ValueError
            If X has fewer different rows, or if a given prior keeps rows together.
        """
        check_number(n_clusters)
        assert self._exactly is not None  # `penalty_path` sets it
        return self._exactly(int(n_clusters))

    def layers(self) -> Layers:
        """Return the numbers of clusters that have evidence, with models and their tree.

        The number that the estimator chooses, and those whose plateaus are wider than in data
        without structure: of numbers within a factor of 1.5 the widest. There may be none.

        Returns
        -------
        layers : Layers
            ``n_clusters``, rising, ``strengths``, ``models`` fitted to all rows, and for each the
            ``parents`` of its clusters in the layer before, with ``shares``.

        Raises
        ------
        ValueError
            If the path has no evidence for numbers of clusters: only paths of ``DPMeans`` with
            ``search="split-merge"`` have.
        """
        if self.layer_numbers is None:
            raise ValueError(
                "Layers need evidence for numbers of clusters, which this path does not have. "
                "Use penalty_path(X, estimator=DPMeans())."
            )
        return layers_of(self.layer_numbers, [self.model(k) for k, _ in self.layer_numbers])

    def to_frame(self) -> Any:
        """Return penalty, clusters, objective and fit term as a pandas DataFrame.

        Returns
        -------
        frame : pandas.DataFrame
            One row for each penalty.

        Raises
        ------
        ImportError
            If pandas is not installed: this method alone needs it.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "PenaltyPath.to_frame needs pandas. Install it: pip install pandas"
            ) from error

        fit = "inertia" if hasattr(self.models[0], "inertia_") else "cut"
        return pd.DataFrame(
            {
                "penalty": self.penalties,
                "n_clusters": self.n_clusters,
                "objective": self.objectives,
                fit: [getattr(model, f"{fit}_") for model in self.models],
            }
        )

    def plot(self, **options: Any) -> Any:
        """Draw the number of clusters and the objective against the penalty.

        Parameters
        ----------
        **options
            For `hardbayes.plot.PenaltyPathDisplay.from_path`.

        Returns
        -------
        display : hardbayes.plot.PenaltyPathDisplay
            The picture.
        """
        from hardbayes.plot import PenaltyPathDisplay

        return PenaltyPathDisplay.from_path(self, **options)


def check_number(n_clusters: Any) -> None:
    """Raise unless this is a number of clusters."""
    if not isinstance(n_clusters, Integral) or n_clusters < 1:
        raise ValueError(f"The 'n_clusters' must be an int >= 1. Got {n_clusters!r} instead.")
