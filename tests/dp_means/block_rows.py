"""An executor whose rows exist only as an iterable of blocks, read anew by every pass.

Single rows are handed out by `take`, a bounded number at a time. Each block is worked on by the
compiled passes of `MemoryRows`, and what they leave is added up: totals exactly.
"""

import numpy as np

from hardbayes.core.arrays import Births, Division, Summary, Totals, is_sparse, no_totals
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

    def assign(self, centres, opening, drift=None, open_clusters=None):
        before, n_above, above = self._labels.copy(), 0, []
        for part, rows in self._blocks():
            marked = []
            summary = rows.assign(centres, self._of(opening, part), open_clusters=marked.append)
            n_above += summary.n_above
            above += [part.start + ids for ids in marked]
            self._labels[part] = rows.labels()
        born = None
        if n_above and open_clusters is not None:
            self._decided = np.zeros(self.n_rows, bool)
            born = open_clusters(np.concatenate(above))
        n_changed = int(np.count_nonzero(before != self._labels))
        if born is None:
            return Summary(n_changed, n_above, 0, False)
        heavy = np.broadcast_to(self.weights, self.n_rows) > 0
        pairs = np.unique(np.stack([before[heavy], self._labels[heavy]]), axis=1)
        same = all(len(np.unique(side)) == pairs.shape[1] for side in pairs)
        return Summary(n_changed, n_above, born.used - centres.used, same)

    def offer(self, centres, births, ids=None, decide=False):
        n_new = len(births.openers)
        self._labels[births.openers] = np.arange(centres.used - n_new, centres.used)
        self._decided[births.openers] = True
        chosen = np.arange(self.n_rows) if ids is None else ids
        looking = np.zeros(self.n_rows, bool)
        looking[chosen] = True
        looking &= ~self._decided
        still = np.zeros(self.n_rows, bool)
        for part, rows in self._blocks():
            own = np.flatnonzero(looking[part])
            if not len(own):
                continue
            opening = self._of(births.opening, part)
            local = Births(
                births.visit_rank[part], opening, births.opened, births.first_slot,
                np.empty(0, births.visit_rank.dtype),
            )  # fmt: skip
            rows.offer(centres, local, own.astype(births.visit_rank.dtype))
            self._labels[part] = rows.labels()
            weights = np.broadcast_to(self._of(self.weights, part), part.stop - part.start)
            still[part] = weights * rows.costs(centres) > opening
        above = chosen[still[chosen] & looking[chosen]]
        if decide:
            self._decided[chosen] = True
        return above if ids is not None else np.empty(0, births.visit_rank.dtype)

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
