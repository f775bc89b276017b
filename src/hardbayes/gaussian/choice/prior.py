"""A prior matrix and a penalty at which the objective keeps a partition, or a prior for a penalty.

The objective is ``sum_k [penalty + log|I + Phi0^-1 S_k|]``, in units of the covariance penalty. Its
rows go where ``(x - mu)' (Phi0 + S)^-1 (x - mu)`` is least, so not every partition can be kept: not
if one cluster lies inside another. Where the penalty is given, the prior is the one whose fit makes
the rows likeliest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.core.pool import one_blas_thread
from hardbayes.gaussian.choice.evidence import choose, likeliest_prior
from hardbayes.gaussian.choice.path import find_path, find_splits
from hardbayes.gaussian.problem import (
    GaussianPartition,
    Gaussians,
    merge_pairs,
    nearest_means,
    whitening,
)
from hardbayes.gaussian.search import Options, descend

if TYPE_CHECKING:
    from hardbayes.core.arrays import Floats
    from hardbayes.core.centre_free import Ids
    from hardbayes.gaussian.choice.path import Path
    from hardbayes.gaussian.mixture import MixtureRows


FACTORS = (16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.125)  # of the pooled scatter, the roundest first
TIE = 0.002  # nats a row that a less round prior must gain, where the penalty is given
MARGIN = 1.2  # by which the highest penalty must exceed the lowest
# Share of the rows that a less round prior, or one without such penalties, must keep besides where
# they were chosen to be. From .002 to .02 the mean ARI of 73 labelled tables moves by .002.
SLACK = 0.01
FARTHEST = 20.0  # times the highest penalty: where the lowest one is higher, there is no penalty
UPPER = 0.75  # of the way from the lowest penalty, of which less is certain, to the highest
BELOW = 0.8  # times the highest penalty, where there is no lowest
MAX_ROUNDS = 12  # in which rows choose by the objective, patience: fewer if none moves
N_KNOWN = 16  # partitions into other numbers of clusters that a penalty is compared with
N_NEIGHBOURS = 8  # clusters with which a merge is considered: more take longer
MUCH = 0.1  # share of the rows that may leave their clusters before other partitions are tried


class Kept(NamedTuple):
    """A partition that the objective keeps, and how."""

    k: int
    labels: Ids  # (n,)
    prior: Floats  # (h, d), in the sample's units
    low: float  # penalties between which no other known partition is better
    high: float
    is_capped: bool  # at every such penalty more clusters would lower the objective
    loss: float  # share of the rows that are not in the cluster that was chosen for them

    @property
    def penalty(self) -> float:
        """A penalty between the two."""
        if self.is_capped:
            return BELOW * self.high
        if self.high == np.inf:
            return 2.0 * self.low if self.low > 0 else 1.0
        if self.low <= 0:
            return self.high / 2
        return float(self.low ** (1 - UPPER) * self.high**UPPER)


def candidate_priors(rows: MixtureRows, clusters: Gaussians) -> list[Floats]:
    """Return multiples (h, d) of the pooled scatter of a partition, the roundest first."""
    pooled = rows.add_floor(clusters.scatters.sum(axis=0, keepdims=True), rows.total)[0]
    return [factor * pooled for factor in FACTORS]


class Keeper:
    """Finds priors and penalties for partitions of a path.

    Parameters
    ----------
    rows : MixtureRows
    path : Path
    max_clusters : int
    given_prior : array (h, d), optional
        The only prior; else multiples of the pooled scatter of a partition are tried.
    """

    def __init__(
        self, rows: MixtureRows, path: Path, max_clusters: int, given_prior: Floats | None = None
    ) -> None:
        self.rows = rows
        self.path = path
        self.max_clusters = max_clusters
        self.given_prior = given_prior

    def keep(self, labels: Ids, k: int) -> Kept:
        """Return a partition near this one that the objective keeps.

        If many rows would move, the path's own partitions into as many clusters and one more are
        tried, and if none can be kept, those into fewer.
        """
        best = self.near(labels, k)
        for j in sorted(self.path):
            if best is not None and best.loss <= MUCH:
                return best
            if k <= j <= min(k + 1, self.max_clusters):
                max_loss = MUCH if best is None else max(MUCH, best.loss)
                found = self.near(self.path[j].labels, j, max_loss)
                if found is not None and (best is None or found.loss < best.loss):
                    best = found
        for j in sorted(self.path, reverse=True):
            if best is None and j < k:
                best = self.near(self.path[j].labels, j)
        assert best is not None  # one cluster can always be kept
        return best

    def near(self, labels: Ids, k: int, max_loss: float = np.inf) -> Kept | None:
        """Return what is kept of this partition, with as many clusters; None if nothing.

        Nor if a greater share of the rows than ``max_loss`` would move. The roundest prior that
        moves few, preferably one with penalties at which no other number of clusters is better.
        """
        candidates = self._candidates(labels, k)
        if all(found.loss > max_loss for found in candidates):
            return None
        others = self._others(k)
        best: dict[bool, Kept] = {}
        for found in candidates:
            if False in best and found.loss >= best[False].loss - SLACK:
                continue
            low, high = self._penalties(found, others)
            is_capped = not high > MARGIN * low
            moves_fewer = is_capped not in best or found.loss < best[is_capped].loss - SLACK
            if moves_fewer and high > low / FARTHEST:
                best[is_capped] = found._replace(low=low, high=high, is_capped=is_capped)
        if len(best) == 2 and best[False].loss <= best[True].loss + SLACK:
            return best[False]
        return best.get(True, best.get(False))

    def _candidates(self, labels: Ids, k: int) -> list[Kept]:
        """Return what is kept under priors, the roundest first, down to one that moves no row."""
        rows = self.rows
        clusters = rows.statistics(labels, k)
        priors = candidate_priors(rows, clusters)
        if self.given_prior is not None:
            priors = [self.given_prior]
        if k == 1:
            return [Kept(1, labels, priors[0], np.nan, np.nan, False, 0.0)]
        found = []
        for prior in priors:
            kept = self._descend(labels, clusters, prior)
            if kept is None:
                continue
            loss = float(rows.weights[kept != labels].sum()) / rows.total
            found.append(Kept(k, kept, prior, np.nan, np.nan, False, loss))
            if loss <= SLACK:
                break
        return found

    def _descend(self, labels: Ids, clusters: Gaussians, prior: Floats) -> Ids | None:
        """Return labels after rounds of the objective's own choice; None if a cluster is lost."""
        rows, k = self.rows, clusters.k
        for _ in range(MAX_ROUNDS):
            roots = rows.factorise(clusters.scatters + prior)[0]
            chosen = choose(rows, clusters, roots, np.zeros(k), labels)
            if np.array_equal(chosen, labels):
                break
            labels, clusters = chosen, rows.statistics(chosen, k)
            if not (clusters.weights > 0).all():
                return None
        return labels

    def _others(self, k: int) -> list[Gaussians]:
        """Return partitions into other numbers, those most like k and one."""
        others = [j for j in self.path if j != k and j <= 2 * k + 2]
        others = sorted(others, key=lambda j: (abs(np.log(j / k)), j))[:N_KNOWN]
        known = sorted({1, *others} - {k})
        return [self.rows.statistics(self.path[j].labels, j) for j in known]

    def _penalties(self, kept: Kept, others: list[Gaussians]) -> tuple[float, float]:
        """Return the least and the largest penalty at which a partition is the best known.

        Compared with partitions into other numbers, and with its own merges and splits.
        """
        rows, k, prior = self.rows, kept.k, kept.prior
        clusters = rows.statistics(kept.labels, k)
        own = self._costs(clusters, prior)
        low, high = 0.0, np.inf
        if len(self.path) == 1:  # rows are too few to be split; no split would save more
            return float(own.sum()), high
        for other in others:
            each = float(self._costs(other, prior).sum() - own.sum()) / (k - other.k)
            if other.k > k:
                low = max(low, each)
            else:
                high = min(high, each)
        if k > 1:
            roots = rows.factorise(clusters.scatters + prior)[0]
            near = nearest_means(clusters.means, roots, N_NEIGHBOURS)
            lefts, rights = np.repeat(np.arange(k), near.shape[1]), near.ravel()
            merged = merge_pairs(clusters.pick(lefts), clusters.pick(rights))
            rises = self._costs(merged, prior) - own[lefts] - own[rights]
            high = min(high, float(rises.min()))
            if not high > MARGIN * low:
                return low, high
        gains, halves, _ = find_splits(rows, kept.labels, clusters)
        found = np.isfinite(gains)
        if found.any():
            pairs = [array[found] for array in halves]
            flat = Gaussians(*(array.reshape(-1, *array.shape[2:]) for array in pairs))
            saved = own[found] - self._costs(flat, prior).reshape(-1, 2).sum(axis=1)
            low = max(low, float(saved.max()))
        return low, high

    def _costs(self, clusters: Gaussians, prior: Floats) -> Floats:
        """Return ``log|I + Phi0^-1 S|`` (k,)."""
        whole = self.rows.factorise(clusters.scatters + prior)[1]
        return whole - self.rows.factorise(prior[np.newaxis])[1]


@one_blas_thread()
def choose_prior(rows: MixtureRows, penalty: float, options: Options) -> tuple[Floats, Ids]:
    """Return a prior (h, d) in the units of the rows, and the labels (n,) that it leads to.

    ``penalty`` is in units of the covariance penalty. With the scatter of all rows as prior one
    partition of the path costs least. Multiples of its pooled scatter are candidates; the objective
    is minimised from there under each.
    """
    path = find_path(rows)
    partition = GaussianPartition(penalty, 1.0, options.max_clusters)

    def cost(k: int) -> float:
        clusters = rows.statistics(path[k].labels, k)
        return partition.objective(clusters._replace(scatters=clusters.scatters / rows.total))

    k = min((k for k in path if k <= options.max_clusters), key=cost)
    best: tuple[float, Floats, Ids] | None = None
    for prior in candidate_priors(rows, rows.statistics(path[k].labels, k)):
        labels = _fit(rows, prior, path[k].labels, partition, options.max_steps)
        clusters = rows.statistics(labels, int(labels.max()) + 1)
        evidence = likeliest_prior(rows, clusters)[1]
        if best is None or evidence > best[0] + TIE * rows.total:
            best = evidence, prior, labels
        if clusters.k == k and evidence >= path[k].evidence - TIE * rows.total:
            break
    assert best is not None  # there are candidates
    return best[1:]


def _fit(
    rows: MixtureRows, prior: Floats, labels: Ids, partition: GaussianPartition, max_steps: int
) -> Ids:
    """Return labels (n,) of a fit under a prior (h, d), from these."""
    frame = whitening(np.zeros(rows.d), prior[0] if rows.diagonal else prior)
    whitened = replace(frame.rows(rows.rows, rows.weights, rows.pool), partition=partition)
    start = whitened.statistics(labels, int(labels.max()) + 1)
    how = ("split-merge", max_steps, np.random.RandomState(0))
    return descend(whitened, start, *how).labels
