"""What passes over rows and their features leave: small named tuples of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hardbayes.kernels.features.combining import COMBINATIONS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hardbayes.matrices import Floats


class Sums(NamedTuple):
    """What a pass over the rows leaves."""

    fit: float  # weighted sum of squared residuals
    changed: int  # rows whose features changed
    gram: Floats  # (k, k): Z'WZ
    correction: Floats  # (k, d): Z'WR
    costs: Floats  # (n,): squared residuals


class Settled(NamedTuple):
    """Where sweeps and refits led."""

    sums: Sums  # of the last sweep
    fits: list[float]  # the fit term after each sweep
    at_rest: bool  # the last sweep changed nothing, with components at least squares
    is_sound: bool  # no column of Z depends on the others; if one does, nothing was refitted


class Joined(NamedTuple):
    """What rows make of a candidate feature."""

    rows: NDArray[np.uint8]  # (n,): which would have it
    gains: Floats  # (n,): how much cheaper each becomes with it
    gain: float  # weighted sum over those that would have it
    weight: float  # their weight
    total: Floats  # (d,): their weighted residuals


class Combination(NamedTuple):
    """An exchange of columns a and b of Z, or one of them, for a combination of both."""

    change: float  # of the objective
    a: int
    b: int
    kind: int  # a row of COMBINATIONS
    a_goes: bool
    b_goes: bool

    @property
    def factors(self) -> tuple[int, int, int]:
        """The new column as multiples of a, of b and of their product."""
        alpha, beta, delta = COMBINATIONS[self.kind]
        return int(alpha), int(beta), int(delta)
