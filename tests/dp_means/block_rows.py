"""An executor whose rows exist only as an iterable of blocks, read anew by every pass.

Single rows are handed out by `take`, a bounded number at a time. Each block is worked on by the
compiled passes of `MemoryRows`, and what they leave is added up: totals exactly.
"""

import numpy as np

from hardbayes.core.arrays import (
    GIVEN_ORDER,
    Births,
    DirectForm,
    Division,
    Summary,
    Totals,
    is_sparse,
    no_totals,
)
from hardbayes.core.rows import kernel_rows
from hardbayes.dp_means.local_rows import LocalRows
from hardbayes.dp_means.memory import MemoryRows
from hardbayes.dp_means.totals import Rounding


class BlockRows:
    """Rows in blocks.

    ``read``: a function that returns an iterator over blocks (m, d) in working coordinates, dense
    or CSR; no block is kept.
    """

    def __init__(self, read, shape, weights, constants, largest, layout, pool, most_taken):
        self.n_rows, self.n_columns = shape
        self.weights = weights
        self.rounding = Rounding(weights, shape[0], largest)
        self.layout = layout
        self.most_taken = most_taken
        self.pool = pool
        self.n_reads = 0
        self._read = read
        self.constants = constants
        self._largest = largest
        first = next(iter(read()))
        self.entries_per_row = (
            max(1, first.nnz // first.shape[0]) if is_sparse(first) else self.n_columns
        )
        self.start()

    def _blocks(self):
        """Yield each block as rows in memory that have its labels, with the slice of its rows."""
        self.n_reads += 1
        start = 0
        for block in self._read():
            part = slice(start, start + block.shape[0])
            start = part.stop
            rows = MemoryRows(
                kernel_rows(block, np.zeros(self.n_columns), np.ones(1)), block.shape,
                self._of(self.weights, part), self._of(self.constants, part), self._largest,
                self.layout, self.pool,
            )  # fmt: skip
            rows.rounding = self.rounding  # of all rows, so that totals of blocks add up
            rows.start(self._labels[part].copy(), no_totals(0, self.n_columns))
            yield part, rows

    @staticmethod
    def _of(values, part):
        return values if len(values) == 1 else values[part]

    # -- labels and totals ---

    def start(self, labels=None, totals=None):
        self._labels = np.full(self.n_rows, -1, np.int32) if labels is None else labels.copy()

    def labels(self, ids=slice(None)):
        return self._labels[ids]

    def set_labels(self, ids, slots):
        self._labels[ids] = slots

    def relabel(self, slots, n_slots=None):
        self._labels = np.append(slots, -1).astype(np.int32)[self._labels]

    def totals(self, n_slots, labels=None):
        labels = self._labels if labels is None else labels
        whole = no_totals(n_slots, self.n_columns)
        for part, rows in self._blocks():
            added = rows.totals(n_slots, labels[part])
            for total, more in zip(whole[:4], added[:4], strict=True):
                total += more
        whole.touched[:] = True
        return whole

    # -- passes ---

    def assign(self, centres, opening, drift=None):
        self._before, self._opening = self._labels.copy(), opening
        self._above = np.zeros(self.n_rows, bool)
        for part, rows in self._blocks():
            m = part.stop - part.start
            if rows.assign(centres, self._of(opening, part)).n_above:
                nothing = Births(GIVEN_ORDER, np.empty(0, np.int64), np.empty(0, np.int32))
                self._above[part.start + rows.offer(centres, nothing, m)] = True
            self._labels[part] = rows.labels()
        self._are_openers = np.zeros(self.n_rows, bool)
        return Summary(self._n_changed, int(self._above.sum()))

    @property
    def _n_changed(self):
        return int(np.count_nonzero(self._before != self._labels))

    def offer(self, centres, births, count):
        n_new = len(births.openers)
        self._labels[births.openers] = np.arange(centres.used - n_new, centres.used)
        self._are_openers[births.openers] = True
        wanted = self._above & ~self._are_openers
        still = [np.empty(0, np.int64)]
        for ids, costs in self._choose(wanted, centres, births, n_new):
            weights = np.broadcast_to(self.weights, self.n_rows)[ids]
            still.append(ids[weights * costs > np.broadcast_to(self._opening, self.n_rows)[ids]])
        return births.order.first(np.concatenate(still), count)

    def finish(self, centres, births):
        n_opened = len(births.opened)
        for _ in self._choose(~self._above, centres, births, n_opened):
            pass
        heavy = np.broadcast_to(self.weights, self.n_rows) > 0
        pairs = np.unique(np.stack([self._before[heavy], self._labels[heavy]]), axis=1)
        same = all(len(np.unique(side)) == pairs.shape[1] for side in pairs)
        return Summary(self._n_changed, int(self._above.sum()), n_opened, same)

    def _choose(self, wanted, centres, births, m):
        """Let rows choose among the last m births too; yield rows with what they cost, by block."""
        new = slice(centres.used - m, centres.used)
        form = DirectForm(centres.exact[new], centres.exact_offset[new], centres.squared)
        for part, rows in self._blocks():
            inside = np.flatnonzero(wanted[part])
            ids, costs = part.start + inside, rows.costs(centres)[inside]
            if m and len(ids):
                visible = births.opened[-m:] < births.order.ranks(ids)[:, np.newaxis]
                offered = np.where(visible, rows.take(inside).costs(form), np.inf)
                better = offered.min(axis=1) < costs  # of equal costs the older centre wins
                self._labels[ids[better]] = new.start + offered.argmin(axis=1)[better]
                costs = np.minimum(costs, offered.min(axis=1))
            yield ids, costs

    def costs(self, centres, labels=None):
        labels = self._labels if labels is None else labels
        return np.concatenate([rows.costs(centres, labels[part]) for part, rows in self._blocks()])

    def candidates(self, centres, sizes, prior_weight, slack):
        return np.concatenate(
            [
                part.start + rows.candidates(centres, sizes, prior_weight, slack)
                for part, rows in self._blocks()
            ]
        )

    def divide(self, slots, halves):
        ids, parts, whole = [], [], no_totals(len(slots), self.n_columns)
        for part, rows in self._blocks():
            found = rows.divide(slots, halves)
            ids.append(part.start + found.ids)
            parts.append(found.parts)
            for total, more in zip(whole[:4], found.totals[:4], strict=True):
                total += more
        return Division(np.concatenate(ids), np.concatenate(parts), Totals(*whole))

    # -- rows one by one ---

    def take(self, ids=None):
        ids = np.arange(self.n_rows) if ids is None else ids
        assert len(ids) <= self.most_taken, "more rows than may be taken"
        found, rank = None, np.argsort(ids, kind="stable")
        pieces, start = [], 0
        for block in self._read():
            stop = start + block.shape[0]
            inside = ids[rank][(ids[rank] >= start) & (ids[rank] < stop)]
            pieces.append(block[inside - start])
            start = stop
        if is_sparse(pieces[0]):
            from scipy.sparse import csr_array, vstack

            found = csr_array(vstack(pieces))[np.argsort(rank)]
        else:
            found = np.concatenate(pieces)[np.argsort(rank)]
        matrix = kernel_rows(found, np.zeros(self.n_columns), np.ones(1))
        weights, constants = (self._of(v, ids) for v in (self.weights, self.constants))
        return LocalRows(matrix, found.shape, weights, constants, self.layout.dtype, self.pool)
