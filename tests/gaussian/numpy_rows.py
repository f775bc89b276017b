"""The passes over rows with covariances, slowly and literally with NumPy."""

import numpy as np

from hardbayes.core.pool import Pool
from hardbayes.gaussian.clusters import GaussianRows
from hardbayes.gaussian.problem import Gaussians


class NumpyGaussianRows(GaussianRows):
    def __init__(self, rows, weights, diagonal, pool=None, **options):
        super().__init__(rows, weights, diagonal, pool or Pool(1), **options)

    def sample(self, ids, weights):
        return NumpyGaussianRows(self.rows[ids], weights, self.diagonal)

    def full(self, matrices):
        return np.array([np.diag(m[0]) if self.diagonal else m for m in matrices])

    def packed(self, matrices):
        matrices = np.reshape(matrices, (-1, self.d, self.d))
        return np.array([[np.diag(m)] if self.diagonal else m for m in matrices])

    def statistics(self, labels, k):
        weights = np.bincount(labels, self.weights, k)
        means, scatters = np.zeros((k, self.d)), np.zeros((k, self.d, self.d))
        for c in np.flatnonzero(weights):
            w = np.where(labels == c, self.weights, 0.0)
            means[c] = w @ self.rows / weights[c]
            gaps = self.rows - means[c]
            scatters[c] = (w[:, None] * gaps).T @ gaps
        return Gaussians(weights, means, self.packed(scatters))

    def roots(self, scatters):
        whole = np.eye(self.d) + self.full(scatters)
        return self.packed(np.linalg.inv(np.linalg.cholesky(whole))), np.linalg.slogdet(whole)[1]

    def distances(self, means, roots):
        gaps = self.rows[:, None, :] - means
        return (np.einsum("ked,nkd->nke", self.full(roots), gaps) ** 2).sum(axis=2)

    def nearest(self, means, roots, offsets=None):
        apart = self.distances(means, roots) + (0.0 if offsets is None else offsets)
        return apart.argmin(axis=1), apart.min(axis=1)

    def sweep(self, statistics):
        labels, apart = self.assign(statistics)
        opening_cost, n_births = self.penalty / self.unit, 0
        max_births = self.max_clusters - statistics.k
        order = np.arange(self.n) if self.order is None else self.order
        for turn, row in enumerate(order):
            if self.weights[row] * apart[row] > opening_cost and n_births < max_births:
                for other in order[turn:]:
                    between = ((self.rows[other] - self.rows[row]) ** 2).sum()
                    if between < apart[other]:
                        labels[other], apart[other] = statistics.k + n_births, between
                n_births += 1
        return labels, bool((self.weights * apart > opening_cost).any())

    def value(self, labels, k):
        """Return the sum of log|I + S|."""
        return self.roots(self.statistics(labels, k)[2])[1].sum()

    def best_cluster(self, labels, row, k):
        """Return where a row costs least; where it is if that is the same, up to rounding."""
        own = labels[row]
        shares = (labels == own) & (self.weights > 0)
        if self.weights[row] == 0 or shares.sum() < 2:
            return own
        moved = [np.where(np.arange(self.n) == row, c, labels) for c in range(k)]
        values = [self.value(each, k) for each in moved]
        return int(np.argmin(values)) if min(values) < values[own] - 1e-9 else own

    def move_rows(self, labels, statistics, max_passes):
        k, n_moves = statistics.k, 0
        for _ in range(max_passes):
            before = n_moves
            candidates = [i for i in range(self.n) if self.best_cluster(labels, i, k) != labels[i]]
            for row in candidates:
                best = self.best_cluster(labels, row, k)
                n_moves += best != labels[row]
                labels = np.where(np.arange(self.n) == row, best, labels)
            if n_moves == before:
                break
        return labels, n_moves

    def split_trials(self, trials):
        return [self.best_halves(*trial) for trial in trials]

    def best_halves(self, rows, weights, starts, whole):
        best = (0.0, np.empty((0, self.d)), np.empty((0, 1 if self.diagonal else self.d, self.d)))
        part = NumpyGaussianRows(rows, weights, self.diagonal)
        for sides in starts.astype(np.int64):
            for step in range(13):
                sizes, means, scatters = part.statistics(sides, 2)
                roots, logarithms = part.roots(scatters)
                again = part.nearest(means, roots)[0]
                if not sizes.min() > 0 or step == 12 or (again == sides).all():
                    break
                sides = again
            if sizes.min() > 0 and whole - logarithms.sum() > best[0]:
                best = (whole - logarithms.sum(), means, roots)
        return best
