"""The prior matrix that a set of rows suggests: the scatter that its clusters have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardbayes.engine.gaussian import GaussianDescent, GaussianSolution, at_points, one_cluster
from hardbayes.structure.gaussians import statistics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.geometry.base import Floats
    from hardbayes.structure.gaussians import GaussianPartition

ROUNDS = 6
DRAWN_STARTS = 2
# Of the columns' own scatter: what keeps a matrix of rank less than d positive definite.
FLOOR = 1e-6


@dataclass(frozen=True)
class Whitening:
    """Coordinates in which a prior matrix is the identity."""

    middle: Floats  # (d,)
    forward: Floats  # (d, d), or (d,) where the prior is diagonal
    backward: Floats  # its inverse

    def to_working(self, rows: Floats) -> Floats:
        """Return rows (n, d) in working coordinates."""
        gaps = np.asarray(rows, np.float64) - self.middle
        return gaps * self.forward if self.forward.ndim == 1 else gaps @ self.forward

    def from_working(self, means: Floats) -> Floats:
        """Return points (k, d) in the user's coordinates."""
        seen = means * self.backward if self.backward.ndim == 1 else means @ self.backward
        return seen + self.middle

    def covariances(self, scatters: Floats, rate: float) -> Floats:
        """Return ``(S + Phi0) / rate`` of clusters, (k, d, d) or (k, d), in the user's units."""
        if self.backward.ndim == 1:
            return (scatters + 1.0) * self.backward**2 / rate
        whole = scatters + np.eye(scatters.shape[1])
        found: Floats = np.einsum("ai,kab,bj->kij", self.backward, whole, self.backward) / rate
        return (found + found.transpose(0, 2, 1)) / 2.0


def whitening(middle: Floats, prior: Floats) -> Whitening:
    """Return coordinates in which this prior, a matrix (d, d) or a diagonal (d,), is the identity.

    Raises LinAlgError where it is not positive definite.
    """
    if prior.ndim == 1:
        root = np.sqrt(prior)
        return Whitening(middle, 1.0 / root, root)
    # Columns are put on one scale first, so that only their correlations can be ill conditioned.
    scale = np.sqrt(np.diag(prior))
    root = np.linalg.cholesky(prior / np.outer(scale, scale))
    backward = root.T * scale
    forward = np.linalg.inv(root).T / scale[:, np.newaxis]
    return Whitening(middle, forward, backward)


def pooled_prior(
    rows: Floats,
    weights: Floats,
    partition: GaussianPartition,
    order: NDArray[np.intp],
    rng: np.random.RandomState,
    max_steps: int,
) -> tuple[Floats, NDArray[np.intp]]:
    """Return the pooled scatter of clusters, and the labels (n,) of the clusters it is pooled over.

    A first fit takes the scatter of all rows, column by column, as the prior. Its clusters have a
    pooled scatter ``sum_k S_k``, which is the next fit's prior, and so on until the partition
    repeats. Only the first fit may choose the number of clusters: a smaller prior makes clusters
    dearer, more of them, and the next prior smaller still.
    """
    middle = weights @ rows / weights.sum()
    spread = weights @ (rows - middle) ** 2
    spread[spread == 0] = 1.0  # a column of one value: any positive number will do
    prior = spread if partition.diagonal else np.diag(spread)
    labels = np.full(len(rows), -1)
    for _ in range(ROUNDS):
        seen = whitening(middle, prior).to_working(rows)
        found = _best_of_several(seen, weights, partition, order, rng, labels, max_steps)
        if np.array_equal(found.labels, labels):
            break
        labels = found.labels
        partition = partition.capped(found.clusters.k)
        clusters = statistics(rows, weights, labels, found.clusters.k, partition.diagonal)
        prior = clusters.scatters.sum(axis=0)
        prior += FLOOR * (spread if partition.diagonal else np.diag(spread))
    return prior, labels


def _best_of_several(
    rows: Floats,
    weights: Floats,
    partition: GaussianPartition,
    order: NDArray[np.intp],
    rng: np.random.RandomState,
    labels: NDArray[np.intp],
    max_steps: int,
) -> GaussianSolution:
    """Return the best fit from one cluster, from the last round's, and from rows drawn."""
    starts = [one_cluster(rows, weights, partition.diagonal)]
    if labels[0] >= 0:
        k = int(labels.max()) + 1
        last = statistics(rows, weights, labels, k, partition.diagonal)
        starts.append(last.pick(last.weights > 0))
        heavy = np.flatnonzero(weights > 0)
        for _ in range(DRAWN_STARTS):
            drawn = rng.choice(heavy, min(k, len(heavy)), replace=False)
            starts.append(at_points(rows[drawn], partition.diagonal))
    return min(
        (
            GaussianDescent(rows, weights, partition, order, rng, _say_nothing).run(
                start, "split-merge", max_steps
            )
            for start in starts
        ),
        key=lambda found: float(found.history[-1]),
    )


def _say_nothing(step: int, n_clusters: int, n_changed: int) -> None:
    pass
