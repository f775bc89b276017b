"""Fränti's centroid index: how many centres are missing or too many, wherever they should be."""

import numpy as np


def orphans(centers, others):
    """How many of the others are nearest to none of the centres."""
    costs = ((centers[:, None] - others) ** 2).sum(axis=2)
    return len(others) - len(np.unique(costs.argmin(axis=1)))


def centroid_index(found, true):
    """0 where each found centre stands for one true centre and the other way round."""
    return max(orphans(found, true), orphans(true, found))
