"""Clusters whose covariances are known: a list, of which every cluster has another one.

What is minimised is, over partitions into K clusters, their means and which of the known
covariances each has,

    sum_k [sum_i w_i (x_i - mu_k)' Sigma_k^-1 (x_i - mu_k) + rate log(|Sigma_k| / |Sigma_0|) + c]

c being the penalty and Sigma_0 the one of least determinant (Broderick, Kulis & Jordan 2013,
supplement E; their formula has neither c nor Sigma_0, which only add a constant for a given K).

To learned covariances ``(I + S) / rate`` these are clusters with the scatters ``rate Sigma - I``,
so that fitted models, files and predictions are the same. Only the descent differs: which
covariance a cluster has is a problem of assignment, and is solved exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids, Merges
from hardbayes.core.exact_number import add_told, unjudged
from hardbayes.core.loop import Status
from hardbayes.core.pool import Pool
from hardbayes.gaussian.choice.sample import take_sample
from hardbayes.gaussian.clusters import GaussianRows
from hardbayes.gaussian.exactly import FEWER, partitions
from hardbayes.gaussian.fitted import fitted_attributes
from hardbayes.gaussian.problem import (
    GaussianPartition,
    Gaussians,
    Whitening,
    at_points,
    merge_pairs,
    weighted_mean,
    whitening,
)
from hardbayes.gaussian.search import MAX_SAMPLE, Options, descend, sample_rows, sampled

# Starts at drawn rows, beside those from a path: more find lower ends, and take longer. Of 120
# draws of six rows 65, 117 and 120 ended at the optimum with 0, 10 and 30 (not measured otherwise).
N_DRAWN = 30
RELATIVE_TOLERANCE = 1e-9  # by which a move must lower a row's cost: less is rounding


def given_covariances(given: Any, d: int, diagonal: bool) -> Floats:
    """Return covariances as an array (m, d, d), or (m, d) where they are diagonal.

    Raises ValueError where they are none.
    """
    found = np.array(given, np.float64)
    shape = (d,) if diagonal else (d, d)
    if found.shape[1:] != shape or not len(found) or not np.isfinite(found).all():
        raise ValueError(
            "The 'covariances' parameter of GaussianDPMeans must be finite numbers of shape "
            f"(m, {', '.join(map(str, shape))}), a covariance for each of up to m clusters. "
            f"Got shape {found.shape} instead."
        )
    if diagonal:
        definite = bool((found > 0).all())
    else:
        scales = np.sqrt(np.abs(np.einsum("mii->mi", found)))
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = found / (scales[:, :, np.newaxis] * scales[:, np.newaxis])
        definite = bool(
            np.isfinite(scaled).all()
            and np.allclose(scaled, scaled.swapaxes(1, 2))
            and np.linalg.eigvalsh(scaled).min() > d * np.finfo(np.float64).eps
        )
    if not definite:
        raise ValueError(
            "The 'covariances' parameter of GaussianDPMeans must hold symmetric and positive "
            "definite matrices. Add a small multiple of the identity."
        )
    return found


class Known(NamedTuple):
    """Known covariances."""

    covariances: Floats  # (m, d, d), or (m, d) where they are diagonal, in the user's units
    scatters: Floats  # (m, h, d): ``rate Sigma - I`` in working coordinates
    frame: Whitening
    prior: Floats  # that of the frame, in the user's units


@dataclass(eq=False)
class KnownRows(GaussianRows):
    """Rows whose clusters have known covariances."""

    known: Known = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.max_clusters = len(self.known.scatters)
        self._roots, logarithms = self.roots(self.known.scatters)
        self._fixed = self.unit * (logarithms - logarithms.min())

    def matched(self, statistics: Gaussians) -> tuple[NDArray[np.intp], Floats]:
        """Return which covariance (k,) each cluster has, at the least cost, and the costs (k,)."""
        if self.diagonal:
            traces = np.einsum("th,kh->kt", self._roots[:, 0] ** 2, statistics.scatters[:, 0])
        else:
            precisions = np.einsum("tij,til->tjl", self._roots, self._roots)
            traces = np.einsum("tjl,kjl->kt", precisions, statistics.scatters)
        costs = self.unit * traces + self._fixed
        costs[statistics.weights == 0] = 0.0  # whichever is left
        rows, which = linear_sum_assignment(costs)
        return which, costs[rows, which]

    def sample(self, ids: NDArray[np.integer], weights: Floats) -> KnownRows:
        """Return some of the rows, with these weights (m,)."""
        return replace(self, rows=self.rows[ids], weights=weights, order=None)

    # -- what the descent of models without centres calls ------------------------------------------

    def costs(self, statistics: Gaussians) -> Floats:
        """Return what each cluster costs with the covariance that is best for all together."""
        return self.matched(statistics)[1]

    def assign(self, clusters: Gaussians) -> tuple[Ids, Floats]:
        """Return each row's nearest cluster (n,), the first of equals, and its distance (n,)."""
        return self.nearest(clusters.means, self._roots[self.matched(clusters)[0]])

    def sweep(self, statistics: Gaussians) -> tuple[Ids, bool]:
        """Assign rows to clusters; none opens, because there are as many as covariances at most."""
        return self.choose(statistics), False

    def merges(self, statistics: Gaussians) -> Merges:
        """Return the merges of all pairs; the others may then change their covariances."""
        lefts, rights = np.triu_indices(statistics.k, 1)
        before, costs = float(self.costs(statistics).sum()), np.empty(len(lefts))
        merged = merge_pairs(statistics.pick(lefts), statistics.pick(rights))
        for at, pair in enumerate(zip(lefts, rights, strict=True)):
            rest = np.setdiff1d(np.arange(statistics.k), pair)
            kept = zip(statistics.pick(rest), merged.pick([at]), strict=True)
            costs[at] = self.costs(Gaussians(*map(np.concatenate, kept))).sum() - before
        order = np.argsort(costs, kind="stable")
        return Merges(lefts[order], rights[order], costs[order])

    def move_rows(self, labels: Ids, statistics: Gaussians, max_passes: int) -> tuple[Ids, int]:
        """Move single rows: means follow, covariances stay, and no cluster is left empty."""
        labels, sizes, means = labels.copy(), statistics.weights.copy(), statistics.means.copy()
        roots, n_moves = self._roots[self.matched(statistics)[0]], 0
        for _ in range(max_passes):
            before = n_moves
            apart = self.distances(means, roots)
            for i in np.flatnonzero(_changes(apart, labels, self.weights, sizes).min(axis=1) < 0):
                own, row = int(labels[i]), slice(i, i + 1)
                apart[i] = _distances_of(self.rows[i], means, roots)
                change = _changes(apart[row], labels[row], self.weights[row], sizes)[0]
                best = int(change.argmin())
                if change[best] < 0:
                    for c, added in ((own, -self.weights[i]), (best, self.weights[i])):
                        sizes[c] += added
                        means[c] += added / sizes[c] * (self.rows[i] - means[c])
                    labels[i], n_moves = best, n_moves + 1
            if n_moves == before:
                break
        return labels, n_moves

    def fixed_costs(self, clusters: Gaussians) -> float:
        """Return what clusters cost besides their rows."""
        return float(self._fixed[self.matched(clusters)[0]].sum()) + self.penalty * clusters.k


def _distances_of(row: Floats, means: Floats, roots: Floats) -> Floats:
    """Return the distance (k,) of a row (d,) from every cluster."""
    gaps = row - means
    diagonal = roots.shape[1] == 1
    seen = roots[:, 0] * gaps if diagonal else np.einsum("kij,kj->ki", roots, gaps)
    return np.einsum("ki,ki->k", seen, seen)


def _changes(apart: Floats, labels: Ids, weights: Floats, sizes: Floats) -> Floats:
    """Return by how much the fit changes (m, k) when rows move alone; zero where they stay.

    ``apart`` (m, k): distances from clusters of these sizes (k,). Sole members stay, and so do rows
    whose move changes no more than rounding does.
    """
    at = np.arange(len(labels)), labels
    own = sizes[labels]
    left = own - weights
    stays = (weights == 0) | (left <= RELATIVE_TOLERANCE * own)
    frees = weights * own / np.where(stays, 1.0, left) * apart[at]
    joined = weights[:, np.newaxis]
    changes = joined * sizes / np.where(joined > 0, sizes + joined, 1.0) * apart
    changes -= frees[:, np.newaxis]
    changes[changes >= -RELATIVE_TOLERANCE * frees[:, np.newaxis]] = 0.0
    changes[at] = 0.0
    changes[stays] = 0.0
    return changes


def known_rows(
    matrix: NDArray[np.floating],
    weights: Floats,
    given: Any,
    diagonal: bool,
    penalty: float,
    rate: float,
    pool: Pool,
) -> KnownRows:
    """Return the rows of a matrix (n, d) whose clusters have given covariances.

    The prior, which is the identity in working coordinates, is the largest multiple of the first
    covariance that none is below in any direction: so all of them might have been learned.
    """
    covariances = given_covariances(given, matrix.shape[1], diagonal)
    middle, prior = weighted_mean(matrix, weights), rate * covariances[0]
    seen = rate * _seen(covariances, whitening(middle, prior))
    prior = prior * (seen.min() if diagonal else np.linalg.eigvalsh(seen).min())
    frame = whitening(middle, prior)
    seen = rate * _seen(covariances, frame)
    scatters = seen[:, np.newaxis] - 1.0 if diagonal else seen - np.eye(len(middle))
    known = Known(covariances, np.ascontiguousarray(scatters), frame, prior)
    partition = GaussianPartition(penalty, rate, len(covariances))
    rows = frame.rows(matrix, weights, pool).rows
    return KnownRows(rows, weights, diagonal, pool, partition, known=known)


def _seen(covariances: Floats, frame: Whitening) -> Floats:
    """Return covariances in working coordinates."""
    if frame.diagonal:
        return covariances * frame.forward**2
    return np.einsum("ia,tij,jb->tab", frame.forward, covariances, frame.forward)


def fit_known(
    matrix: NDArray[np.floating],
    weights: Floats,
    options: Options,
    given: Any,
    pool: Pool,
    rng: np.random.RandomState,
    report: Callable[[int, int, int], None],
) -> tuple[dict[str, Any], Status]:
    """Return the fitted attributes for a matrix (n, d) with weights (n,), and the status.

    Without a penalty there are as many clusters as covariances, or as ``options.n_clusters``.
    """
    is_told = options.n_clusters is not None or options.penalty is None
    penalty = 0.0 if options.penalty is None else options.penalty
    rows = known_rows(matrix, weights, given, options.diagonal, penalty, options.rate, pool)
    known, most = rows.known, options.n_clusters or min(rows.max_clusters, options.max_clusters)
    wanted = max(most, 0 if options.centres is None else len(options.centres))
    if wanted > rows.max_clusters:
        raise ValueError(
            f"The 'covariances' parameter of GaussianDPMeans must hold at least {wanted}, one for "
            f"each cluster. Got {rows.max_clusters} instead."
        )
    search = "paper" if options.search == "paper" else ("rows" if is_told else "local")
    how = (search, options.max_steps, rng)
    some = rows if rows.n <= MAX_SAMPLE else sampled(rows, sample_rows(weights, rng))
    if options.centres is not None:
        points = known.frame.rows(options.centres, np.zeros(0), pool).rows
        starts = [at_points(points, options.diagonal)]
    else:
        sample = take_sample(matrix, weights, options.diagonal, pool)
        numbers = [most] if is_told else range(1, most + 1)
        starts = [sample.clusters(rows, labels) for labels in partitions(sample, numbers)]
        heavy = np.flatnonzero(some.weights > 0)
        for _ in range(N_DRAWN * options.n_init):
            drawn = rng.choice(heavy, min(most, len(heavy)), replace=False)
            starts.append(at_points(some.rows[drawn], options.diagonal))
    best = min((descend(some, each, *how) for each in starts), key=lambda end: end.objective)
    if some is not rows:
        best = descend(rows, best.statistics, *how, report)
    which = rows.matched(best.statistics)[0]
    best = best._replace(statistics=best.statistics._replace(scatters=known.scatters[which]))
    fitted = fitted_attributes(best, known.frame, rows.partition, weights, matrix.dtype)
    fitted |= {"covariances_": known.covariances[which], "covariance_prior_": known.prior}
    if options.n_clusters is None:
        return fitted, best.status
    return fitted, add_told(fitted, best.status, options.n_clusters, unjudged(penalty), FEWER)
