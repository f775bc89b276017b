"""The words that describe topics."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

RANKINGS = ("relevance", "share")


def top_word_ids(model: Any, n: int, by: str = "relevance") -> NDArray[np.intp]:
    """Return the columns (k, n) of the words of a fitted `HDPTopics`, the best of each topic first.

    Words that are no more frequent in a topic than elsewhere follow the others, by their share.
    """
    if by not in RANKINGS:
        raise ValueError(f"The 'by' parameter must be one of {RANKINGS}. Got {by!r} instead.")
    scores = model.relevance_ if by == "relevance" else model.components_
    order = np.lexsort((-model.components_, -np.maximum(scores, 0.0)), axis=1)
    return order[:, :n]
