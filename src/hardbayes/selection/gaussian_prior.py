"""The prior matrix: as given, or the scatter that the clusters of a set of rows have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hardbayes.engine.gaussian.descent import (
    MOST_EXCHANGES,
    GaussianDescent,
    GaussianSolution,
    nearest,
)
from hardbayes.engine.gaussian.likelihood import clusters_of, likelier, marginal_misfit, misfit
from hardbayes.engine.gaussian.restarts import grown
from hardbayes.engine.status import say_nothing
from hardbayes.problems.gaussian import whitening
from hardbayes.structure.gaussians import at_points

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.gaussian.rows import GaussianRows
    from hardbayes.matrices import Floats
    from hardbayes.pool import Pool
    from hardbayes.structure.gaussians import GaussianPartition, Gaussians

    Ids = NDArray[np.int64]

WORTHWHILE = 1e-9
MOST_COUNTS = 1e6  # of a row, on average
# Of the columns' own scatter: what keeps a matrix of rank less than d positive definite.
FLOOR = 1e-6


class Effort(NamedTuple):
    """How thoroughly to look for a prior."""

    rounds: int  # of better partitions and the priors they suggest
    factors: tuple[float, ...]  # of the pooled scatter
    draws: int  # of rows around which likely partitions begin, each round
    exchanges: int  # in each fit


THOROUGH = Effort(6, (0.25, 0.5, 1.0, 2.0, 4.0), 8, MOST_EXCHANGES)
QUICK = Effort(1, (0.5, 1.0, 2.0), 4, 2)


class Prior(NamedTuple):
    """A prior matrix and the partition that it was found with."""

    matrix: Floats  # (h, d), in the coordinates of a `PriorSearch`
    labels: Ids  # (n,)
    misfit: float


def given_prior(prior: Any, d: int, diagonal: bool) -> Floats:
    """Return a prior as a matrix (d, d), or a diagonal (d,) where covariances are diagonal."""
    prior = np.array(prior, np.float64)
    if prior.ndim == 0:
        prior = np.full(d, float(prior))
    if prior.shape == (d, d) and diagonal:
        if np.count_nonzero(prior - np.diag(np.diag(prior))):
            raise ValueError(
                "The 'covariance_prior' parameter of GaussianDPMeans must be diagonal where "
                'covariance_type="diag". Pass its diagonal, or covariance_type="full".'
            )
        prior = np.diag(prior).copy()
    if prior.shape not in ((d,), (d, d)) or not np.isfinite(prior).all():
        raise ValueError(
            "The 'covariance_prior' parameter of GaussianDPMeans must be a number > 0, a "
            f"diagonal ({d},) or a matrix ({d}, {d}) of finite numbers. "
            f"Got shape {prior.shape} instead."
        )
    if (
        not np.allclose(prior, prior.T)
        or not (np.diag(prior) if prior.ndim == 2 else prior).min() > 0
    ):
        raise ValueError(NOT_DEFINITE)
    return np.diag(prior) if prior.ndim == 1 and not diagonal else prior


NOT_DEFINITE = (
    "The 'covariance_prior' parameter of GaussianDPMeans must be symmetric and positive definite. "
    "Add a small multiple of the identity."
)


def _spread(matrix: NDArray[np.floating], weights: Floats, middle: Floats) -> Floats:
    """Return the scatter of each column (d,); of one without any, one: any number will do."""
    gaps = matrix - middle
    with np.errstate(over="ignore", under="ignore"):
        spread: Floats = weights @ gaps**2
    lost = (spread == 0) & gaps.any(axis=0)
    # Means are rounded, so that a constant column may seem to vary by as much.
    lost &= np.abs(gaps).max(axis=0) > 1e-12 * np.abs(middle)
    if lost.any() or not np.isfinite(spread).all():
        raise ValueError(
            "The variances of the columns of X do not fit float64. Rescale X, or remove rows with "
            "extreme values."
        )
    spread[spread == 0] = 1.0
    return spread


class PriorSearch:
    """Looks for a multiple of the scatter that clusters have in common, which suits their rows.

    Parameters
    ----------
    matrix : array (n, d)
        Rows, all with weight.
    weights : array (n,)
    total : float
        Weight of all rows, where these are a sample. A prior is as large as its scatters are, so
        that costs do not depend on it.
    middle : array (d,)
    given : array (d, d) or (d,), or None
        The prior, where it is not to be looked for.
    diagonal : bool
    rng : RandomState
    max_steps : int
        Of each fit.
    pool : Pool
    """

    def __init__(
        self,
        matrix: NDArray[np.floating],
        weights: Floats,
        total: float,
        middle: Floats,
        given: Floats | None,
        diagonal: bool,
        rng: np.random.RandomState,
        max_steps: int,
        pool: Pool,
    ) -> None:
        # Weights say how often a row counts. Less than once each would be no rows at all.
        mean = float(weights.mean())
        weights = weights * (min(max(mean, 1.0), MOST_COUNTS) / mean)
        self.unit = total / float(weights.sum())
        spread = _spread(matrix, weights, middle)
        d = matrix.shape[1]
        eye = np.ones((1, d)) if diagonal else np.eye(d)
        self.floor = FLOOR * eye
        # Here columns have scatter one.
        self.frame = whitening(middle, spread if diagonal else np.diag(spread))
        self.data = self.frame.rows(matrix, weights, pool)
        self.rng = rng
        self.max_steps = max_steps
        self.given: Floats | None = None
        if given is not None:
            scale = np.diag(self.frame.forward) if not diagonal else self.frame.forward
            seen = given * (scale * scale if diagonal else np.outer(scale, scale)) / self.unit
            self.given = seen.reshape(eye.shape)

    def first(self, partition: GaussianPartition) -> Ids:
        """Return the partition found with the columns' own scatters as prior."""
        return grown(self.data, partition, self.max_steps, self.rng).labels

    def improve(
        self, labels: Ids, partition: GaussianPartition, effort: Effort = THOROUGH
    ) -> Prior:
        """Return the prior under whose partition rows are likeliest, beginning with these labels.

        Candidates are multiples of the pooled scatter ``sum_k S_k``: of the best partition so far,
        and of the likeliest that can be found near it or around rows drawn. Only partitions into
        as many clusters as at the beginning are compared.
        """
        k = int(labels.max()) + 1
        if self.given is not None:
            found = self.fit(self.given, [labels], partition)
            return Prior(self.given, found.labels, self.misfit(found.labels))
        best = Prior(self.pooled(labels), labels, np.inf)
        if k == 1:
            return best
        seen: set[bytes] = set()
        for _ in range(effort.rounds):
            known = best
            for base in (best.labels, self._likeliest(best.labels, k, effort.draws)):
                if base.tobytes() in seen:
                    continue
                seen.add(base.tobytes())
                pooled = self.pooled(base)
                for factor in effort.factors:
                    found = self.fit(
                        factor * pooled, [base, best.labels], partition, effort.exchanges
                    )
                    if found.clusters.k != k:
                        continue
                    reached = self.misfit(found.labels)
                    if reached < best.misfit - WORTHWHILE * abs(reached):
                        best = Prior(factor * pooled, found.labels, reached)
            if best is known:
                break
        return best

    def pooled(self, labels: Ids) -> Floats:
        """Return the pooled scatter of a partition, never singular."""
        return clusters_of(self.data, labels).scatters.sum(axis=0) + self.floor

    def misfit(self, labels: Ids) -> float:
        """Return how unlikely rows are under this partition."""
        return misfit(clusters_of(self.data, labels), self.floor)

    def marginal_misfit(self, labels: Ids) -> float:
        """Return the same in a way that numbers of clusters can be compared by.

        Of the likeliest partition near this one: whether the objective can tell clusters apart that
        lie across each other does not decide how many there are.
        """
        ends = [labels, likelier(self.data, labels, self.floor)]
        return min(marginal_misfit(clusters_of(self.data, each), self.floor) for each in ends)

    def seen_through(self, prior: Floats) -> GaussianRows:
        """Return the rows in coordinates in which a prior (h, d) is the identity."""
        data = self.data
        frame = whitening(np.zeros(data.d), prior[0] if data.diagonal else prior)
        return frame.rows(data.rows, data.weights, data.pool)

    def solve(
        self,
        data: GaussianRows,
        starts: list[Gaussians],
        partition: GaussianPartition,
        exchanges: int = MOST_EXCHANGES,
    ) -> GaussianSolution:
        """Return the best fit from these starts."""
        order = self.rng.permutation(data.n)
        found = []
        for start in starts:
            descent = GaussianDescent(data, partition, order, self.rng, say_nothing)
            descent.exchanges = exchanges
            found.append(descent.run(start, "split-merge", self.max_steps))
        return min(found, key=lambda solution: float(solution.history[-1]))

    def in_units(self, prior: Floats) -> Floats:
        """Return a prior (h, d) as (d, d), or (d,), in the user's units."""
        return self.unit * self.frame.scatters(prior[np.newaxis])[0]

    def fit(
        self,
        prior: Floats,
        labels: list[Ids],
        partition: GaussianPartition,
        exchanges: int = MOST_EXCHANGES,
    ) -> GaussianSolution:
        """Return the best fit under a prior (h, d) from these partitions."""
        data = self.seen_through(prior)
        starts = [clusters_of(data, each) for each in labels]
        return self.solve(data, starts, partition, exchanges)

    def _likeliest(self, labels: Ids, k: int, draws: int) -> Ids:
        starts = [labels]
        for _ in range(draws):
            drawn = self.rng.choice(self.data.n, min(k, self.data.n), replace=False)
            points = at_points(self.data.rows[drawn], self.data.diagonal)
            starts.append(nearest(self.data, points)[0])
        return min((likelier(self.data, start, self.floor) for start in starts), key=self.misfit)
