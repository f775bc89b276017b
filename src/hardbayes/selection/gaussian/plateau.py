"""Numbers of clusters that are the likeliest for a range of penalties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.selection.gaussian.path import likeliest

if TYPE_CHECKING:
    from hardbayes.selection.gaussian.path import Path, Step

LEAST = 0.02  # nats a row: penalties below are not considered, nor any below `FEWEST` nats
FEWEST = 3.0


def plateaus(path: Path, total: float) -> list[Step]:
    """Return partitions that are the best for some range of penalties, the widest range first.

    Marginal likelihood less a penalty times ``log k``: dividing all clusters of a partition costs
    as much, however many there are. The width is the logarithm of the ratio of both ends. If no
    partition is the best at the least penalty, the likeliest is all that there is. ``total``:
    weight of the rows.
    """
    widths: dict[int, float] = {}
    for k, step in path.items():
        slopes = {
            j: (other.evidence - step.evidence) / np.log(j / k)
            for j, other in path.items()
            if j != k
        }
        low = max([FEWEST, LEAST * total, *(slope for j, slope in slopes.items() if j > k)])
        high = min((slope for j, slope in slopes.items() if j < k), default=0.0)
        if high > low:
            widths[k] = float(np.log(high / low))
    widest = sorted(widths, key=lambda k: -widths[k])
    return [path[k] for k in widest] or [likeliest(path)]
