"""The objective's trace: rises that are rounding are levelled."""

import numpy as np

from hardbayes.matrices import Floats


def level_rounding(history: Floats, floor: float = 0.0) -> Floats:
    """Return the trace without rises that are mere rounding; a real one would stay.

    Sweeps that change less than float64 can show may seem to raise the objective in its last
    places, or by ``floor`` where it is the difference of larger numbers.
    """
    levelled = np.maximum.accumulate(history[::-1])[::-1].copy()
    is_noise = np.abs(levelled - history).max() <= 1e-9 * np.abs(history).max() + floor
    return levelled if is_noise else history
