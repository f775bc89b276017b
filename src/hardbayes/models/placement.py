"""Rows placed in fitted clusters whose costs are compared with a penalty."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.matrices import Floats
from hardbayes.models.spread import costs_at_share


class CostPlacement(ABC):
    """Rows placed by a ``model`` with a ``penalty`` and the ``spread`` of its clusters."""

    model: Any

    @abstractmethod
    def labels(self) -> NDArray[np.int32]:
        """Return the number of each row's cluster."""

    @abstractmethod
    def costs(self) -> Floats:
        """Return each row's cost there."""

    @property
    @abstractmethod
    def _rounding(self) -> Floats | float:
        """What a row at the mean of its cluster may cost, for each row or for all."""

    def novel(self) -> NDArray[np.bool_]:
        """Return which rows cost more than a cluster of their own, rounding apart."""
        return self.costs() > np.maximum(self.model.penalty, self._rounding)

    def strangers(self, share: float) -> NDArray[np.bool_]:
        """Return which rows cost more than all but this share of their cluster's training rows."""
        limits = costs_at_share(self.model.spread, share)[self.labels()]
        return self.costs() > np.maximum(limits, self._rounding)
