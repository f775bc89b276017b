"""Rows for tests of the automatic choice, as its parts take them."""

from contextlib import contextmanager

import numpy as np

from hardbayes.core.pool import Pool
from hardbayes.gaussian.choice.sample import take_sample


@contextmanager
def sampled(matrix, *, diagonal=False, weights=None):
    weights = np.ones(len(matrix)) if weights is None else weights
    with Pool(1) as pool:
        yield take_sample(matrix, weights, diagonal, pool)


def blobs(centres, n=60, spread=1.0, seed=0):
    """Round clusters of n rows at these centres, and whose each row is."""
    rng = np.random.default_rng(seed)
    centres = np.array(centres, float)
    labels = np.repeat(np.arange(len(centres)), n)
    return centres[labels] + spread * rng.normal(size=(len(labels), centres.shape[1])), labels


SQUARE = [[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]]
