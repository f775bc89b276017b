"""Streams of random numbers."""

from typing import Any

import numpy as np
from numpy.random import MT19937, RandomState, SeedSequence


class _FirstState(SeedSequence):
    """A first state that takes no time, for a generator that is seeded at once."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        return np.ones(n_words, dtype)


_FIRST = _FirstState(0)


def seeded_stream(seed: int) -> RandomState:
    """Return ``RandomState(seed)``, which would first collect and spread entropy for nothing.

    That takes as long as all sweeps over a hundred rows.
    """
    stream = RandomState(MT19937(_FIRST))
    stream.seed(seed)
    return stream
