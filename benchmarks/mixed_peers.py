"""What people do with tables of numbers and categories: codings, distances, and k-prototypes."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from benchmarks.clouds import Labels, Table

MOST_CLUSTERS = 10  # that a silhouette is computed for
STARTS, SWEEPS = 5, 20  # of k-prototypes
OTHER = 0.5  # a number in standard deviations counts so much beside a category (Huang 1998)


class Parts:
    """A table as its peers take it: standardised numbers without holes, and levels."""

    def __init__(self, frame: pd.DataFrame) -> None:
        numbers, levels = [], []
        for name in frame.columns:
            column = frame[name]
            if pd.api.types.is_numeric_dtype(column) and column.dtype != bool:
                values = column.to_numpy(np.float64)
                values = np.where(np.isnan(values), np.nanmean(values), values)
                if values.std() > 0:
                    numbers.append((values - values.mean()) / values.std())
            else:
                codes = pd.factorize(column.astype(object).where(column.notna(), "missing"))[0]
                levels.append(codes)
        n = len(frame)
        self.numbers: Table = np.column_stack(numbers) if numbers else np.zeros((n, 0))
        self.levels: Labels = np.column_stack(levels) if levels else np.zeros((n, 0), np.int64)

    @property
    def dummies(self) -> Table:
        """The levels as zeros and ones."""
        blocks = [np.eye(codes.max() + 1)[codes] for codes in self.levels.T]
        return np.hstack(blocks) if blocks else np.zeros((len(self.numbers), 0))

    @property
    def one_hot(self) -> Table:
        """Numbers beside dummies, as `ColumnTransformer` makes them."""
        return np.hstack([self.numbers, self.dummies])

    @property
    def standardised(self) -> Table:
        """The same, dummies standardised, too."""
        table = self.one_hot
        return (table - table.mean(axis=0)) / np.maximum(table.std(axis=0), 1e-9)

    @property
    def factors(self) -> Table:
        """The principal coordinates of a factor analysis of mixed data (Pagès 2004)."""
        dummies = self.dummies
        shares = dummies.mean(axis=0)
        table = np.hstack([self.numbers, (dummies - shares) / np.sqrt(shares)])
        left, sizes, _ = np.linalg.svd(table - table.mean(axis=0), full_matrices=False)
        found: Table = left[:, :5] * sizes[:5]
        return found

    @property
    def gower(self) -> Table:
        """Gower's distances (1971) of all pairs of rows, condensed."""
        total = np.zeros((len(self.numbers), len(self.numbers)))
        for values in self.numbers.T:
            total += np.abs(values[:, None] - values) / np.ptp(values)
        for codes in self.levels.T:
            total += codes[:, None] != codes
        return np.asarray(squareform(total, checks=False))


def told_k_means(rows: Table, k: int) -> Labels:
    """Return the labels of k-means."""
    labels: Labels = KMeans(k, n_init=5, random_state=0).fit(rows).labels_
    return labels


def best_by_silhouette(rows: Table) -> Labels:
    """Return the labels of the k-means fit with the best silhouette."""
    fits = [told_k_means(rows, k) for k in range(2, MOST_CLUSTERS + 1)]
    return max(
        (labels for labels in fits if len(np.unique(labels)) > 1),
        key=lambda labels: silhouette_score(rows, labels, sample_size=1000, random_state=0),
        default=fits[0],
    )


def average_linkage(distances: Table, k: int) -> Labels:
    """Return the labels of k groups by average linkage."""
    return np.asarray(fcluster(linkage(distances, "average"), k, "maxclust"))


def k_prototypes(parts: Parts, k: int) -> Labels:
    """Return the labels of the best of some starts of k-prototypes (Huang 1998)."""
    fits = [_one_start(parts, k, np.random.RandomState(seed)) for seed in range(STARTS)]
    return min(fits, key=lambda fit: fit[0])[1]


def _one_start(parts: Parts, k: int, rng: np.random.RandomState) -> tuple[float, Labels]:
    numbers, levels = parts.numbers, parts.levels
    first = rng.permutation(len(numbers))[:k]
    means, modes = numbers[first], levels[first]
    labels: Any = None
    for _ in range(SWEEPS):
        costs = np.square(numbers[:, None] - means).sum(axis=2)
        costs += OTHER * (levels[:, None] != modes).sum(axis=2)
        before, labels = labels, costs.argmin(axis=1)
        if before is not None and (before == labels).all():
            break
        for c in np.unique(labels):
            own = labels == c
            means[c] = numbers[own].mean(axis=0)
            modes[c] = [np.bincount(codes[own]).argmax() for codes in levels.T]
    return float(costs.min(axis=1).sum()), labels
