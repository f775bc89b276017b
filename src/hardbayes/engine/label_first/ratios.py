"""Clusters that cost minus what is inside them by their volume: those of kernels and of graphs."""

import numpy as np
from numpy.typing import NDArray

from hardbayes.matrices import Floats
from hardbayes.moves.label_first.model import Unions


def ratio(inside: Floats, volumes: Floats) -> Floats:
    """Return ``inside / volumes``, zero where a cluster is empty."""
    return np.divide(inside, volumes, out=np.zeros(len(inside)), where=volumes > 0)


def unions_of(
    inside: Floats,
    volumes: Floats,
    lefts: NDArray[np.integer],
    rights: NDArray[np.integer],
    links: Floats,
) -> Unions:
    """Return the unions of pairs (m,) of clusters (k,) with these links (m,) between them."""
    ratios = ratio(inside, volumes)
    both = inside[lefts] + inside[rights] + 2.0 * links
    rises = ratios[lefts] + ratios[rights] - both / (volumes[lefts] + volumes[rights])
    order = np.lexsort((rights, lefts, rises))
    return Unions(lefts[order], rights[order], rises[order])
