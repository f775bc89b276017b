"""An executor in plain NumPy, as slow and as obvious as can be: the contract, spelled out."""

import math

import numpy as np

from hardbayes.core.arrays import Division, Summary, is_sparse, no_totals, total_weight
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
        self.heaviest, self.total_weight = weights.max(), total_weight(weights, self.n_rows)
        self.n_weighted = np.count_nonzero(np.broadcast_to(weights, self.n_rows))
        self.constants_size = np.sum(np.broadcast_to(weights * np.abs(constants), self.n_rows))
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

    def numbers(self, number_of):
        return self._labels.copy() if number_of is None else number_of[self._labels]

    def has_weight(self, part):
        return np.broadcast_to(self.weights, self.n_rows)[part] > 0

    def set_labels(self, ids, slots):
        self._labels = self._labels.copy()
        self._labels[ids] = slots

    def relabel(self, slots, n_slots=None):
        self._labels = np.append(slots, -1).astype(np.int32)[self._labels]

    def totals(self, n_slots, labels=None):
        labels = self._labels if labels is None else np.broadcast_to(labels, self.n_rows)
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

    def opening(self, rule):
        return rule(self.take())

    def assign(self, centres, opening, drift=None):
        self._before, weights = self._labels, np.broadcast_to(self.weights, self.n_rows)
        self._opening = np.broadcast_to(opening, self.n_rows)
        taken = np.flatnonzero(centres.rank >= 0)
        found = [self._cheapest(i, centres, taken) for i in range(self.n_rows)]
        self._labels = np.array([slot for slot, _ in found], np.int32)
        self._above = weights * np.array([cost for _, cost in found]) > self._opening
        self._are_openers = np.zeros(self.n_rows, bool)
        n_changed = int(np.count_nonzero(self._before != self._labels))
        return Summary(n_changed, int(self._above.sum()))

    def offer(self, centres, births, count):
        n_new, weights = len(births.openers), np.broadcast_to(self.weights, self.n_rows)
        self._labels[births.openers] = np.arange(centres.used - n_new, centres.used)
        self._are_openers[births.openers] = True
        ids = np.flatnonzero(self._above & ~self._are_openers)
        self._choose(ids, centres, births, n_new)
        costs = np.array([self._cost(i, centres, self._labels[i]) for i in ids])
        return births.order.first(ids[weights[ids] * costs > self._opening[ids]], count)

    def finish(self, centres, births):
        n_opened, heavy = len(births.opened), np.broadcast_to(self.weights, self.n_rows) > 0
        self._choose(np.flatnonzero(~self._above), centres, births, n_opened)
        n_changed = int(np.count_nonzero(self._before != self._labels))
        pairs = set(zip(self._before[heavy], self._labels[heavy], strict=True))
        n_sides = [len({pair[side] for pair in pairs}) for side in (0, 1)]
        same = n_sides == [len(pairs), len(pairs)]
        return Summary(n_changed, int(self._above.sum()), n_opened, same)

    def _choose(self, ids, centres, births, m):
        """Let rows choose among the last m births that they may see, too."""
        slots = np.arange(centres.used - m, centres.used)
        opened = births.opened[len(births.opened) - m :]
        for i, visit in zip(ids, births.order.ranks(ids), strict=True):
            visible = slots[opened < visit]
            self._labels[i] = self._cheapest(i, centres, [self._labels[i], *visible])[0]

    def costs(self, centres, labels=None):
        labels = self._labels if labels is None else np.broadcast_to(labels, self.n_rows)
        own = enumerate(labels)
        return np.array([self._cost(i, centres, k) if k >= 0 else 0.0 for i, k in own])

    def fit_term(self, centres):
        return math.fsum(self.weights * self.costs(centres))

    def candidates(self, centres, sizes, prior_weight, slack, part=None):
        return np.arange(self.n_rows)[slice(None) if part is None else part]

    def divide(self, slots, halves, into=None):
        form = halves  # centres 2 j and 2 j + 1 for slot j
        local = self.take().centres(form)
        ids, parts = [], []
        for j, slot in enumerate(slots):
            for i in np.flatnonzero(self._labels == slot):
                first, second = (self._cost(i, local, 2 * j + side) for side in (0, 1))
                if second < first:
                    ids.append(i)
                    parts.append(j)
        ids, parts = np.array(ids, np.intp), np.array(parts, np.intp)
        labels = np.full(self.n_rows, -1, np.int32)
        labels[ids] = parts
        division = Division(
            np.bincount(parts, minlength=len(slots)), self.totals(len(slots), labels)
        )
        if into is not None and len(ids):
            going = into[parts] >= 0
            self.set_labels(ids[going], into[parts[going]])
        return division

    # -- rows one by one ---

    def take(self, ids=None):
        rows = self._rows if ids is None else self._rows[ids]
        weights, constants = (
            values if len(values) == 1 or ids is None else values[ids]
            for values in (self.weights, self.constants)
        )
        matrix = kernel_rows(rows, np.zeros(self.n_columns), np.ones(1))
        return LocalRows(
            matrix, rows.shape, weights, constants, self.layout.dtype, self.pool, n_all=self.n_rows
        )
