"""Births within a sweep, exactly as a row-by-row loop would make them.

A row above its opening cost opens a cluster, and rows visited later in the same sweep see it. Old
centres are frozen within a sweep, so one parallel pass finds each row's cheapest old centre; a new
centre can only make a row cheaper. So only rows above their opening cost in that pass can open a
cluster. They do so in rounds, after Pan et al. 2013:

- The first rows in visiting order that are still above are visited one by one: a row opens a
  cluster at its own centre, unless one opened before in the round costs it no more than its opening
  cost (`weight * cost <= opening`, compared in `find_openings` of `dp_means/compiled/births.py`).
- These clusters are offered to all rows that were above; those that still are come next.

In the end the other rows choose among all clusters opened before their own visit. Every row thus
compares exactly the centres that the serial loop would show it.

So a birth is decided in two steps: `compiled.assign` marks rows above, `compiled.births` opens for
them. Small data is visited row by row in one call (`compiled.sweeping`), with the same result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.core.arrays import Births

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.core.arrays import Floats, Summary, VisitOrder
    from hardbayes.dp_means.centres import CentreTable
    from hardbayes.dp_means.objective import Partition
    from hardbayes.dp_means.rows import Rows

    Ids = NDArray[np.signedinteger]

# Rows that are visited in a round: few at first, when each may open a cluster.
FIRST_ROUND = 256
MAX_ROUND = 1 << 15
# Entries of the centres that rows would open, held at a time.
ENTRIES_AT_ONCE = 1 << 19


def open_clusters(
    rows: Rows,
    table: CentreTable,
    partition: Partition,
    opening: Floats,
    order: VisitOrder,
    max_clusters: int,
) -> Summary:
    """Open clusters for rows above their opening cost, right after an assignment; finish it.

    ``opening`` (n,), (1,), or a function of rows; OUT table.
    """
    n_before = len(table.slots)
    opened: list[int] = []  # the visit rank at which each opened

    def births(openers: Ids) -> Births:
        return Births(order, np.array(opened, np.int64), openers)

    none = np.empty(0, np.int64)
    most = min(max(16, ENTRIES_AT_ONCE // rows.n_columns), rows.most_taken, MAX_ROUND)
    size = min(FIRST_ROUND, most)
    above = rows.offer(table.view(), births(none), size)
    while len(above) and (room := max_clusters - n_before - len(opened)):
        openers, centres = _openers(rows, partition, opening, above, room)
        table.open(centres)
        opened += order.ranks(openers).tolist()
        size = min(2 * size, most)
        above = rows.offer(table.view(), births(openers), size)
    return rows.finish(table.view(), births(none))


def _openers(
    rows: Rows, partition: Partition, opening: Floats, ids: Ids, room: int
) -> tuple[Ids, Floats]:
    """Return which of these rows open a cluster, visited one by one, and its centre (m, d)."""
    local = rows.take(ids.astype(np.intp))
    centres = partition.opening_centres(local.dense(), local.weights_at())
    if callable(opening):
        costs = opening(local)
    else:
        costs = opening[ids] if len(opening) > 1 else opening
    found = local.openings(costs, partition.direct_form(centres))[:room]
    return ids[found], centres[found]
