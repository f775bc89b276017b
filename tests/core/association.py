"""A centre-free model in plain NumPy: kernel k-means, ratio cut and normalised cut of a matrix.

With links M (n, n), symmetric, and weights w (n,), a cluster z (0 or 1 for each row) costs
``-z'Mz / z'w``. M a kernel and w = 1 is kernel k-means, up to the trace of M; M = A and w the
degrees is the normalised cut, up to a constant for each cluster; M = sigma I - (D - A) and w = 1 is
the ratio cut (Kulis & Jordan 2012, section 5).
"""

from typing import NamedTuple

import numpy as np

from hardbayes.core.centre_free import CentreFreeModel, Merges, Split


class Association(NamedTuple):
    reach: np.ndarray  # (n, k): links of each row to each cluster
    links: np.ndarray  # (k, k)
    degrees: np.ndarray  # (k,)


class AssociationModel(CentreFreeModel[Association]):
    def __init__(self, links, weights, penalty, max_clusters=10**9):
        self.links, self.weights, self.unit = links, weights, 1.0
        self.penalty, self.max_clusters = penalty, max_clusters

    def statistics(self, labels, k):
        members = np.eye(k)[labels]
        reach = self.links @ members
        return Association(reach, members.T @ reach, members.T @ self.weights)

    def costs(self, statistics):
        return -ratio(np.diag(statistics.links), statistics.degrees)

    def merges(self, statistics):
        lefts, rights = np.triu_indices(len(statistics.degrees), 1)
        inside, costs = np.diag(statistics.links), self.costs(statistics)
        links = inside[lefts] + inside[rights] + 2 * statistics.links[lefts, rights]
        together = -ratio(links, statistics.degrees[lefts] + statistics.degrees[rights])
        rises = together - costs[lefts] - costs[rights]
        order = np.argsort(rises, kind="stable")
        return Merges(lefts[order], rights[order], rises[order])

    def split(self, members, statistics, which, rng):
        return [self._split(members[c], rng) for c in which]

    def _split(self, ids, rng):
        """Return the best of a few random halves after single-row moves."""
        part = AssociationModel(self.links[np.ix_(ids, ids)], self.weights[ids], 0.0, 2)
        best = Split(0.0, ids[:0])
        for _ in range(4):
            labels = rng.randint(2, size=len(ids))
            labels, _ = part.move_rows(labels, part.statistics(labels, 2), 10)
            one, two = (part.costs(part.statistics(x, 2)).sum() for x in (0 * labels, labels))
            best = max(best, Split(one - two, ids[labels == 1]), key=lambda each: each.saved)
        return best

    def second_half(self, ids, split):
        return np.isin(ids, split.halves)

    def move_rows(self, labels, statistics, max_passes):
        labels, n_moves = labels.copy(), 0
        for i in np.tile(np.arange(len(labels)), max_passes):
            k = min(labels.max() + 2, self.max_clusters)  # one that is empty, or the last
            reach, links, degrees = self.statistics(labels, k)
            own, inside, costs = labels[i], np.diag(links), -ratio(np.diag(links), degrees)
            w, m = self.weights[i], self.links[i, i]
            joined = -ratio(inside + 2 * reach[i] + m, degrees + w) - costs
            joined += self.penalty * (degrees == 0)
            left = -ratio(inside - 2 * reach[i] + m, degrees - w)[own] - costs[own]
            left -= self.penalty * (np.count_nonzero(labels == own) == 1)
            joined[own] = -left
            if left + joined.min() < -1e-9:
                labels[i], n_moves = int(joined.argmin()), n_moves + 1
        return labels, n_moves

    def work(self, k):
        return self.links.size


class KernelModel(AssociationModel):
    """With the choice at frozen means that a positive semidefinite M and w = 1 allow."""

    def choose(self, statistics):
        reach, links, degrees = statistics
        return (np.diag(links) / degrees**2 - 2 * reach / degrees).argmin(axis=1)


def ratio(links, degrees):
    return np.divide(links, degrees, out=np.zeros(len(links)), where=degrees > 1e-12)


def random_graph(rng, n, share=0.5):
    """Return a symmetric matrix of weights without isolated rows."""
    links = np.triu(rng.uniform(0.2, 1.0, (n, n)) * (rng.uniform(size=(n, n)) < share), 1)
    links[np.arange(n - 1), np.arange(1, n)] += 0.05
    return links + links.T


def normalised_cut(rng, n=7):
    links = random_graph(rng, n)
    return AssociationModel(links, links.sum(axis=0), float(rng.uniform(0.1, 0.6)))


def ratio_cut(rng, n=7):
    links = random_graph(rng, n)
    sigma = 2 * links.sum(axis=0).max()
    laplacian = np.diag(links.sum(axis=0)) - links
    penalty = sigma - float(rng.uniform(0.2, 1.5))
    return AssociationModel(sigma * np.eye(n) - laplacian, np.ones(n), penalty)


def kernel_means(rng, n=7):
    rows = rng.normal(size=(n, 2)) + 3 * rng.integers(0, 2, (n, 1))
    return KernelModel(rows @ rows.T, np.ones(n), float(rng.uniform(1.0, 8.0)))


MODELS = [normalised_cut, ratio_cut, kernel_means]
