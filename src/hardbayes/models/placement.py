"""Rows placed in fitted clusters whose costs are compared with a penalty."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.matrices import Floats
from hardbayes.models.spread import costs_at_share


class Placed(NamedTuple):
    """Where rows are."""

    labels: NDArray[np.int32]  # (n,): the number of each row's cluster
    costs: Floats  # (n,): of each row there
    rounding: Floats | float  # (n,) or for all: what a row at the mean of its cluster may cost


class CostPlacement(ABC):
    """Rows placed by a ``model`` with a ``penalty`` and the ``spread`` of its clusters."""

    model: Any

    @property
    @abstractmethod
    def placed(self) -> Placed:
        """Where the rows are."""

    def labels(self) -> NDArray[np.int32]:
        """Return the number of each row's cluster."""
        return self.placed.labels

    def costs(self) -> Floats:
        """Return each row's cost there."""
        return self.placed.costs

    def novel(self) -> NDArray[np.bool_]:
        """Return which rows cost more than a cluster of their own, rounding apart."""
        return self.costs() > np.maximum(self.model.penalty, self.placed.rounding)

    def strangers(self, share: float) -> NDArray[np.bool_]:
        """Return which rows cost more than all but this share of their cluster's training rows."""
        limits = costs_at_share(self.model.spread, share)[self.labels()]
        return self.costs() > np.maximum(limits, self.placed.rounding)
