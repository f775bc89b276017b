"""The automatic prior matrix: a multiple of the pooled scatter of the clusters."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.engine.gaussian.model import GaussianModel, clusters_of, nearest
from hardbayes.engine.gaussian.restarts import GaussianSolution, Options, descend, grown
from hardbayes.engine.label_first.descent import MAX_EXCHANGES
from hardbayes.executors.gaussian.protocol import GaussianRows, Ids
from hardbayes.matrices import Floats
from hardbayes.pool import Pool
from hardbayes.problems.gaussian import whitening
from hardbayes.selection.gaussian_likelihood import likelier, marginal_misfit, misfit
from hardbayes.structure.gaussians import GaussianPartition, at_points

WORTHWHILE = 1e-9
MAX_MEAN_WEIGHT = 1e6
# Part of the columns' own scatter that is added to a matrix to keep it positive definite.
FLOOR = 1e-6


class Effort(NamedTuple):
    """How thoroughly to search for a prior."""

    rounds: int  # of better partitions and the priors they suggest
    factors: tuple[float, ...]  # of the pooled scatter
    draws: int  # random starts of likely partitions in each round
    exchanges: int  # in each fit


THOROUGH = Effort(6, (0.25, 0.5, 1.0, 2.0, 4.0), 8, MAX_EXCHANGES)
QUICK = Effort(1, (0.5, 1.0, 2.0), 4, 2)


class Prior(NamedTuple):
    """A prior matrix and the partition that it was found with."""

    matrix: Floats  # (h, d), in the coordinates of a `PriorSearch`
    labels: Ids  # (n,)
    misfit: float


def _spread(matrix: NDArray[np.floating], weights: Floats, middle: Floats) -> Floats:
    """Return the scatter of each column (d,), and one for a constant column."""
    gaps = matrix - middle
    with np.errstate(over="ignore", under="ignore"):
        spread: Floats = weights @ gaps**2
    lost = (spread == 0) & gaps.any(axis=0)
    # A constant column differs from its mean by rounding.
    lost &= np.abs(gaps).max(axis=0) > 1e-12 * np.abs(middle)
    if lost.any() or not np.isfinite(spread).all():
        raise ValueError(
            "The variances of the columns of X do not fit float64. Rescale X, or remove rows with "
            "extreme values."
        )
    spread[spread == 0] = 1.0
    return spread


class PriorSearch:
    """Search for the multiple of the pooled scatter under which rows are likeliest.

    Rows (n, d), all with weight, may be a sample; then ``total`` is the weight of all. The prior
    found is scaled by it, as scatters are. ``middle`` (d,) is the mean row.
    """

    def __init__(
        self,
        matrix: NDArray[np.floating],
        weights: Floats,
        total: float,
        middle: Floats,
        options: Options,
        rng: np.random.RandomState,
        pool: Pool,
    ) -> None:
        # For likelihoods a weight is a number of rows: on average at least one.
        mean = float(weights.mean())
        weights = weights * (min(max(mean, 1.0), MAX_MEAN_WEIGHT) / mean)
        self.unit = total / float(weights.sum())
        spread = _spread(matrix, weights, middle)
        diagonal, d = options.diagonal, matrix.shape[1]
        eye = np.ones((1, d)) if diagonal else np.eye(d)
        self.floor = FLOOR * eye
        # In these coordinates columns have scatter one.
        self.frame = whitening(middle, spread if diagonal else np.diag(spread))
        self.rows = self.frame.rows(matrix, weights, pool)
        self.report = pool.report
        self.rng = rng
        self.max_steps = options.max_steps
        self.given: Floats | None = None
        if options.prior is not None:
            scale = np.diag(self.frame.forward) if not diagonal else self.frame.forward
            squares = scale * scale if diagonal else np.outer(scale, scale)
            self.given = (options.prior * squares / self.unit).reshape(eye.shape)

    def first(self, partition: GaussianPartition) -> Ids:
        """Return the partition found with the columns' own scatters as prior."""
        return grown(self.rows, partition, self.max_steps, self.rng).labels

    def improve(
        self, labels: Ids, partition: GaussianPartition, effort: Effort = THOROUGH
    ) -> Prior:
        """Return the prior under whose partition rows are likeliest, starting from these labels.

        Candidates are multiples of the pooled scatter ``sum_k S_k`` of the best partition so far,
        and of the likeliest found from it or from random rows. Only partitions into as many
        clusters as at the start are compared.
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
            before = best
            for base in (best.labels, self._likeliest(best.labels, k, effort.draws)):
                if base.tobytes() in seen:
                    continue
                seen.add(base.tobytes())
                pooled = self.pooled(base)
                for factor in effort.factors:
                    found = self.fit(
                        factor * pooled, [base, best.labels], partition, effort.exchanges
                    )
                    if found.statistics.k != k:
                        continue
                    reached = self.misfit(found.labels)
                    if reached < best.misfit - WORTHWHILE * abs(reached):
                        best = Prior(factor * pooled, found.labels, reached)
            if best is before:
                break
        return best

    def pooled(self, labels: Ids) -> Floats:
        """Return the pooled scatter of a partition, never singular."""
        return clusters_of(self.rows, labels).scatters.sum(axis=0) + self.floor

    def misfit(self, labels: Ids) -> float:
        """Return minus twice the classification log-likelihood of a partition."""
        return misfit(clusters_of(self.rows, labels), self.floor)

    def marginal_misfit(self, labels: Ids) -> float:
        """Return minus twice the marginal log-likelihood, of a likelier partition if there is one.

        The objective may not separate clusters that cross each other; that must not decide their
        number.
        """
        ends = [labels, likelier(self.rows, labels, self.floor)]
        return min(marginal_misfit(clusters_of(self.rows, each), self.floor) for each in ends)

    def whitened(self, prior: Floats) -> GaussianRows:
        """Return the rows in coordinates in which a prior (h, d) is the identity."""
        rows = self.rows
        frame = whitening(np.zeros(rows.d), prior[0] if rows.diagonal else prior)
        return frame.rows(rows.rows, rows.weights, rows.pool)

    def in_units(self, prior: Floats) -> Floats:
        """Return a prior (h, d) as (d, d), or (d,), in the user's units."""
        return self.unit * self.frame.scatters(prior[np.newaxis])[0]

    def fit(
        self,
        prior: Floats,
        starts: list[Ids],
        partition: GaussianPartition,
        exchanges: int = MAX_EXCHANGES,
    ) -> GaussianSolution:
        """Return the best fit under a prior (h, d) from these partitions."""
        rows = self.whitened(prior)
        model = GaussianModel(rows, partition, self.rng.permutation(rows.n))
        how = ("split-merge", self.max_steps, self.rng)
        clusters = [clusters_of(rows, start) for start in starts]
        ends = [descend(model, start, *how, exchanges=exchanges) for start in clusters]
        return min(ends, key=lambda end: end.objective)

    def _likeliest(self, labels: Ids, k: int, draws: int) -> Ids:
        starts = [labels]
        for _ in range(draws):
            drawn = self.rng.choice(self.rows.n, min(k, self.rows.n), replace=False)
            points = at_points(self.rows.take(drawn), self.rows.diagonal)
            starts.append(nearest(self.rows, points)[0])
        return min((likelier(self.rows, start, self.floor) for start in starts), key=self.misfit)
