"""Births within a sweep, exactly as a row-by-row loop would make them.

A row above its opening cost opens a cluster, and rows visited later in the same sweep see it. Old
centres are frozen within a sweep, so one parallel pass finds each row's cheapest old centre; a new
centre can only make a row cheaper. So only rows above their opening cost in that pass can open a
cluster, and only they are visited in order, in windows:

- All rows of a window choose among the clusters opened before the window, in parallel.
- Those still above are visited one by one: a row opens a cluster at its own centre, unless one
  opened before in the window costs it no more than its opening cost (`weight * cost <= opening`,
  compared in `find_openings` of `dp_means/compiled/births.py`).
- Then the rows of the window, and in the end all other rows, choose among the clusters opened
  before their own visit.

Every row thus compares exactly the centres that the serial loop would show it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.core.arrays import Births, inverse_permutation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hardbayes.core.arrays import Centres, Floats
    from hardbayes.dp_means.centres import CentreTable
    from hardbayes.dp_means.objective import Partition
    from hardbayes.dp_means.rows import Rows

    Ids = NDArray[np.signedinteger]

FIRST_WINDOW = 256
LARGEST_WINDOW = 1 << 15
# Entries of the centres that rows would open, held at a time.
ENTRIES_AT_ONCE = 1 << 19


def open_clusters(
    rows: Rows,
    table: CentreTable,
    partition: Partition,
    opening: Floats,
    visit_rank: Ids,
    above: Ids,
    max_clusters: int,
) -> Centres | None:
    """Open clusters for rows above their opening cost; return the centres with the new ones.

    ``opening`` (n,) or (1,); ``visit_rank`` (n,): each row's place in the visiting order; ``above``
    (m,): the rows, ascending. OUT table. None where no cluster opens.
    """
    n_before, first_slot = len(table.slots), table.used
    opened: list[int] = []  # the visit rank at which each opened

    def births(since: int, openers: Ids) -> Births:
        return Births(visit_rank, opening, np.array(opened, np.int64), since, openers)

    no_rows = np.empty(0, visit_rank.dtype)
    at_once = min(max(16, ENTRIES_AT_ONCE // rows.n_columns), rows.most_taken)
    for window in _windows(above, visit_rank):
        rest = window
        while len(rest) and n_before + len(opened) < max_clusters:
            done = still = rest
            if opened:
                still = rows.offer(table.view(), births(first_slot, no_rows), rest)
            if len(still) > at_once:
                still = still[:at_once]
                done = rest[: int(np.flatnonzero(rest == still[-1])[0]) + 1]
            room = max_clusters - n_before - len(opened)
            openers, centres = _openers(rows, partition, opening, still, room)
            window_slot = table.used
            if len(openers):
                table.open(centres)
                opened += visit_rank[openers].tolist()
            if opened:
                rows.offer(table.view(), births(window_slot, openers), done, decide=True)
            rest = rest[len(done) :]
    if not opened:
        return None
    rows.offer(table.view(), births(first_slot, no_rows))
    return table.view()


def _openers(
    rows: Rows, partition: Partition, opening: Floats, ids: Ids, room: int
) -> tuple[Ids, Floats]:
    """Return which of these rows open a cluster, visited one by one, and its centre (m, d)."""
    local = rows.take(ids.astype(np.intp))
    centres = partition.opening_centres(local.dense(), local.weights_at())
    costs = opening[ids] if len(opening) > 1 else opening
    found = local.openings(costs, partition.direct_form(centres))[:room]
    return ids[found], centres[found]


def _windows(above: Ids, visit_rank: Ids) -> Iterator[Ids]:
    """Yield the rows in visiting order; few at first, when each may open a cluster."""
    if 8 * len(above) >= len(visit_rank):
        is_above = np.zeros(len(visit_rank), bool)
        is_above[above] = True
        order = inverse_permutation(visit_rank)
        order = order[is_above[order]]
    else:
        order = above.astype(visit_rank.dtype)
        order = order[np.argsort(visit_rank[order])]
    start, size = 0, FIRST_WINDOW
    while start < len(order):
        yield order[start : start + size]
        start += size
        size = min(2 * size, LARGEST_WINDOW)
