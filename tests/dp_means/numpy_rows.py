"""An executor in plain NumPy, as slow and as obvious as can be: the contract, spelled out."""

import numpy as np

from hardbayes.core.arrays import Division, Summary, is_sparse, no_totals
from hardbayes.core.rows import kernel_rows
from hardbayes.dp_means.local_rows import LocalRows
from hardbayes.dp_means.totals import Rounding

EPSILON = np.finfo(np.float64).eps


class NumpyRows:
    """Rows in working coordinates (n, d), dense or CSR, float64."""

    def __init__(self, rows, weights, constants, largest, layout, pool):
        self.n_rows, self.n_columns = rows.shape
        entries = rows.nnz if is_sparse(rows) else rows.size
        self.entries_per_row = max(1, entries // self.n_rows)
        self.weights = weights
        self.rounding = Rounding(weights, self.n_rows, largest)
        self.layout = layout._replace(dtype=np.dtype(np.float64))
        self.most_taken = self.n_rows
        self.pool = pool
        self._rows = rows
        self._dense = rows.toarray() if is_sparse(rows) else rows
        self.constants = constants
        self.start()

    # -- labels and totals ---

    def start(self, labels=None, totals=None):
        self._labels = np.full(self.n_rows, -1, np.int32) if labels is None else labels.copy()
        self._totals = None

    def labels(self, ids=slice(None)):
        return self._labels[ids]

    def set_labels(self, ids, slots):
        self._labels = self._labels.copy()
        self._labels[ids] = slots

    def relabel(self, slots, n_slots=None):
        self._labels = np.append(slots, -1).astype(np.int32)[self._labels]

    def totals(self, n_slots, labels=None):
        labels = self._labels if labels is None else labels
        totals = no_totals(n_slots, self.n_columns)
        weights = np.broadcast_to(self.weights, self.n_rows)
        (coarse, fine), (weight_coarse, weight_fine) = self.rounding.rows, self.rounding.weights
        for i in np.flatnonzero(labels >= 0):
            k, added = labels[i], weights[i] * self._dense[i]
            rounded = (added + coarse) - coarse
            totals.coarse[k] += rounded
            totals.fine[k] += ((added - rounded) + fine) - fine
            rounded = (weights[i] + weight_coarse[0]) - weight_coarse[0]
            totals.weight_coarse[k] += rounded
            totals.weight_fine[k] += ((weights[i] - rounded) + weight_fine[0]) - weight_fine[0]
        totals.touched[:] = True
        return totals

    # -- passes ---

    def _cost(self, i, centres, k):
        """The direct formula, with the roundings of zero that the contract asks for."""
        x, exact = self._dense[i], centres.exact[k]
        if centres.squared:
            return float(np.sum((x - exact) ** 2))
        constant, offset = self.constants[i], centres.exact_offset[k]
        product = float(x @ exact)
        m = np.count_nonzero(x) if self.layout.sparse else self.n_columns
        noise = (m + 8) * EPSILON * (abs(constant) + abs(offset) + abs(product))
        cost = constant + (offset - product)
        return cost if cost > noise else 0.0

    def _cheapest(self, i, centres, slots, own=-1):
        """The slot with the least cost, the oldest of equals; and that cost."""
        best = (np.inf, np.inf, -1)
        for k in slots:
            best = min(best, (self._cost(i, centres, k), centres.rank[k], k))
        return best[2], best[0]

    def assign(self, centres, opening, drift=None, open_clusters=None):
        before, weights = self._labels, np.broadcast_to(self.weights, self.n_rows)
        opening = np.broadcast_to(opening, self.n_rows)
        taken = np.flatnonzero(centres.rank >= 0)
        found = [self._cheapest(i, centres, taken) for i in range(self.n_rows)]
        self._labels = np.array([slot for slot, _ in found], np.int32)
        costs = np.array([cost for _, cost in found])
        above = np.flatnonzero(weights * costs > opening)
        born = None
        if len(above) and open_clusters is not None:
            self._decided = np.zeros(self.n_rows, bool)
            born = open_clusters(above)
        n_changed = int(np.count_nonzero(before != self._labels))
        if born is None:
            return Summary(n_changed, len(above), 0, False)
        heavy = weights > 0
        pairs = set(zip(before[heavy], self._labels[heavy], strict=True))
        n_sides = [len({pair[side] for pair in pairs}) for side in (0, 1)]
        same = n_sides == [len(pairs), len(pairs)]
        return Summary(n_changed, len(above), born.used - centres.used, same)

    def offer(self, centres, births, ids=None, decide=False):
        n_births, n_new = len(births.opened), len(births.openers)
        self._labels[births.openers] = np.arange(centres.used - n_new, centres.used)
        self._decided[births.openers] = True
        slots = np.arange(centres.used - n_births, centres.used)
        offered = slots >= births.first_slot
        for i in np.arange(self.n_rows) if ids is None else ids:
            if not self._decided[i]:
                visible = slots[offered & (births.opened < births.visit_rank[i])]
                own = self._labels[i]
                self._labels[i] = self._cheapest(i, centres, [own, *visible])[0]
        named = np.empty(0, np.int64) if ids is None else ids
        weights = np.broadcast_to(self.weights, self.n_rows)
        opening = np.broadcast_to(births.opening, self.n_rows)
        above = [
            not self._decided[i]
            and weights[i] * self._cost(i, centres, self._labels[i]) > opening[i]
            for i in named
        ]
        if decide:
            self._decided[named] = True
        return named[np.array(above, bool)]

    def costs(self, centres, labels=None):
        labels = self._labels if labels is None else labels
        own = enumerate(labels)
        return np.array([self._cost(i, centres, k) if k >= 0 else 0.0 for i, k in own])

    def candidates(self, centres, sizes, prior_weight, slack):
        return np.arange(self.n_rows)

    def divide(self, slots, halves):
        form = halves  # centres 2 j and 2 j + 1 for slot j
        local = self.take().centres(form)
        ids, parts = [], []
        for j, slot in enumerate(slots):
            for i in np.flatnonzero(self._labels == slot):
                first, second = (self._cost(i, local, 2 * j + side) for side in (0, 1))
                if second < first:
                    ids.append(i)
                    parts.append(j)
        order = np.argsort(ids, kind="stable")
        ids, parts = np.array(ids, np.intp)[order], np.array(parts, np.intp)[order]
        labels = np.full(self.n_rows, -1, np.int32)
        labels[ids] = parts
        return Division(ids, parts, self.totals(len(slots), labels))

    # -- rows one by one ---

    def take(self, ids=None):
        rows = self._rows if ids is None else self._rows[ids]
        weights, constants = (
            values if len(values) == 1 or ids is None else values[ids]
            for values in (self.weights, self.constants)
        )
        matrix = kernel_rows(rows, np.zeros(self.n_columns), np.ones(1))
        return LocalRows(matrix, rows.shape, weights, constants, self.layout.dtype, self.pool)
