"""The contract of executors for features in NumPy: slow, and nothing but the definitions."""

from itertools import product

import numpy as np

from hardbayes.features.rows import (
    Allocation,
    Combination,
    Description,
    LocalSearch,
    NewFeature,
    Sums,
)
from tests.reference.features import least_squares, literal_collapsed_sweep, rank

# Either, exactly one, both, only the first, only the second.
FACTORS = [(1, 1, -1), (1, 1, -2), (0, 0, 1), (1, 0, -1), (0, 1, -1)]


class NumpyFeatureRows:
    """Rows (n, d) with an origin of zero; those above ``most`` are searched by a sample."""

    def __init__(self, X, weights=None, most=10**6):
        self.X = np.asarray(X, float)
        self.weights = np.ones(len(X)) if weights is None else np.asarray(weights, float)
        self.most = most

    def describe(self):
        return Description(*self.X.shape, self.weights, 1e-20)

    def sample(self, rng):
        if len(self.X) <= self.most:
            return None
        drawn = rng.permutation(len(self.X))[: self.most]
        return NumpyFeatureRows(self.X[drawn], self.weights[drawn], self.most)

    def run_starts(self, task, n_starts):
        for start in range(n_starts):
            task(start, self)

    def seed(self, with_base, penalty, most, rng):
        draws = rng.random_sample(most)
        components, Z = np.empty((0, self.X.shape[1])), np.empty((len(self.X), 0), np.uint8)
        if with_base:
            components = np.average(self.X, axis=0, weights=self.weights)[np.newaxis]
            Z = np.ones((len(self.X), 1), np.uint8)
        while len(components) < most:
            left = self.X - Z @ components
            costs = self.weights * (left**2).sum(axis=1)
            if not costs.max() > self.describe().negligible:
                break
            cumulative = np.cumsum(costs)
            drawn = np.searchsorted(cumulative, draws[len(components)] * cumulative[-1], "right")
            feature = self._new_feature(left, left[drawn])
            if not self.weights @ (feature.rows * feature.gains) > penalty:
                break
            components = np.vstack([components, feature.component])
            Z = np.column_stack([Z, feature.rows])
        return Allocation(components, np.ascontiguousarray(Z))

    def sweep(self, allocation, *, literal=False):
        A, Z = allocation
        before = Z.copy()
        for i, x in enumerate(self.X):
            if literal:
                for a in range(len(A)):
                    residuals = x - (Z[i] - Z[i] * np.eye(len(A))[a]) @ A
                    Z[i, a] = (residuals**2).sum() > ((residuals - A[a]) ** 2).sum() + 1e-12
                continue
            subsets = np.array(list(product([0, 1], repeat=len(A))), np.uint8)
            costs = ((x - subsets @ A) ** 2).sum(axis=1)
            if costs.min() < ((x - Z[i] @ A) ** 2).sum() - 1e-12:
                Z[i] = subsets[costs.argmin()]
        return self.collect(allocation)._replace(changed=int((before != Z).any(axis=1).sum()))

    def collect(self, allocation):
        A, Z = allocation.components, allocation.membership.astype(float)
        left, ZW = self.X - Z @ A, Z.T * self.weights
        costs = (left**2).sum(axis=1)
        return Sums(float(self.weights @ costs), 0, ZW @ Z, ZW @ left, costs)

    def refit(self, components, sums):
        if rank(sums.gram) < len(sums.gram):
            return False
        components += np.linalg.solve(sums.gram, sums.correction)
        return True

    def local_search(self, allocation, *, is_refitted, max_sweeps):
        sums = self.sweep(allocation)
        converged = sums.changed == 0 and is_refitted
        is_independent = converged or self.refit(allocation.components, sums)
        return LocalSearch(sums, [sums.fit], converged, is_independent)

    def collapsed_sweep(self, allocation, gram, penalty, max_components):
        Z = allocation.membership.astype(float)
        Z, changed = literal_collapsed_sweep(self.X, Z, penalty, max_components, self.weights)
        A = least_squares(self.X, Z, self.weights)[0]
        return Allocation(A, np.ascontiguousarray(Z, np.uint8)), changed

    def feature_at_row(self, allocation, row):
        left = self.X - allocation.membership @ allocation.components
        return self._new_feature(left, left[row])

    def grow_feature(self, allocation, costs, rng):
        left = self.X - allocation.membership @ allocation.components
        costs = self.weights * costs
        cumulative = np.cumsum(costs)
        drawn = np.searchsorted(cumulative, cumulative[-1] * rng.random_sample(2), "right")
        best = None
        for seed in np.unique([costs.argmax(), *drawn]):
            feature, before = self._new_feature(left, left[seed]), None
            for _ in range(9):
                if feature.weight == 0 or np.array_equal(before, feature.rows):
                    break
                before = feature.rows
                feature = self._new_feature(left, feature.total / feature.weight)
            gain = self.weights @ (feature.rows * feature.gains)
            if best is None or gain > best[0]:
                best = gain, feature
        return best[1]

    def _new_feature(self, left, component):
        gains = (left**2).sum(axis=1) - ((left - component) ** 2).sum(axis=1)
        joined = (gains > 0).astype(np.uint8)
        weights = joined * self.weights
        return NewFeature(component, joined, gains, float(weights.sum()), weights @ left)

    def best_combination(self, allocation, gram, inverse, penalty):
        Z = allocation.membership.astype(float)
        now = self._least_fit(Z)
        best = Combination(np.inf, [0, 0], (0, 0), FACTORS[0])
        for a, b in zip(*np.triu_indices(Z.shape[1], 1), strict=True):
            for kind, factors in enumerate(FACTORS):
                for removed in ([a], [b], [a, b])[: 3 if kind < 3 else 2]:
                    column = np.stack([Z[:, a], Z[:, b], Z[:, a] * Z[:, b]], axis=1) @ factors
                    trial = np.column_stack([np.delete(Z, removed, axis=1), column])
                    change = self._least_fit(trial) - now - penalty * (len(removed) - 1)
                    if change < best.change - 1e-12:
                        best = Combination(change, removed, (a, b), factors)
        return best

    def _least_fit(self, Z):
        """The fit term after least squares; infinite where columns are dependent."""
        gram = (Z.T * self.weights) @ Z
        if rank(gram) < len(gram):
            return np.inf
        left = self.X - Z @ np.linalg.solve(gram, (Z.T * self.weights) @ self.X)
        return self.weights @ (left**2).sum(axis=1)
