"""What Gibbs samplers share: estimators whose fits are draws from a posterior."""

from abc import abstractmethod
from collections import Counter
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.estimator import (
    AT_LEAST_ONE,
    SHARED_CONSTRAINTS,
    Estimator,
    checked_data,
    fit_task,
)
from hardbayes.core.loop import Status
from hardbayes.core.pool import Pool, resolve_threads
from hardbayes.core.schema import Schema
from hardbayes.core.validation import fit_method
from hardbayes.samplers.chains import Chain, run_chains, streams
from hardbayes.samplers.diagnostics import effective_draws, split_r_hat
from hardbayes.samplers.families import GEOMETRIES, pose
from hardbayes.samplers.partitions import (
    CredibleBall,
    certainty_of,
    coclustering_of,
    credible_ball_of,
    least_variation,
)
from hardbayes.samplers.starts import hard_labels, starting_labels

#: Labels that a fit keeps; of longer ones every second, third, ... sweep.
MOST_KEPT = 1 << 27
POSITIVE = Interval(Real, 0, None, closed="neither")
CHAIN_CONSTRAINTS: dict[str, list[Any]] = {
    "start": [StrOptions({"hard", "one", "random"}), "array-like"],
    "n_chains": [AT_LEAST_ONE],
    "n_sweeps": [AT_LEAST_ONE],
    "n_burn_in": [Interval(Integral, 0, None, closed="left")],
    **{name: SHARED_CONSTRAINTS[name] for name in ("random_state", "n_jobs", "verbose")},
}


class Sampler(Estimator):
    """Base of the samplers: parameters, checks, and that there is nothing to save."""

    @abstractmethod
    def _draw(self, matrix: Matrix, rng: np.random.RandomState, pool: Pool) -> dict[str, Any]:
        """Return the fitted attributes for checked rows."""

    @property
    @abstractmethod
    def _family(self) -> str:
        """The family, which says what rows are accepted."""

    @fit_method
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw from the posterior given X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; sparse for counts and for yes and no.
        y : ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : sampler
            With its draws. If an error is raised, the sampler is unchanged.
        """
        self._check_pairs()
        with fit_task(self, X, y):
            matrix, _, names = checked_data(self, GEOMETRIES[self._family](), X, None)
            self._say("fit of {} rows, {} columns".format(*matrix.shape))
            with Pool(resolve_threads(self.n_jobs), self._progress()) as pool:
                fitted = self._draw(matrix, self._stream(), pool)
            self._keep(fitted | names, Status.CONVERGED)
        return self

    def _check_pairs(self) -> None:
        """Raise where a prior is given by anything but two positive numbers."""
        for name in (
            "concentration",
            "noise_variance",
            "mean_variance",
            "prior_strength",
            "weight_variance",
        ):
            given = getattr(self, name, None)
            if isinstance(given, tuple | list) and not (
                len(given) == 2
                and all(
                    isinstance(each, int | float | np.number) and 0 < each < np.inf
                    for each in given
                )
            ):
                raise ValueError(
                    f"The {name!r} parameter of {type(self).__name__} must be a number, a name, or "
                    f"the two positive numbers of its prior. Got {given!r} instead."
                )

    def _schema(self, state: dict[str, Any]) -> Schema:
        return self._model_from(state)

    def _model_from(self, state: dict[str, Any]) -> Any:
        raise NotImplementedError("Samplers are not saved: keep the draws that you need.")


def kept_sweeps(n_rows: int, n_chains: int, n_sweeps: int) -> int:
    """Return every how many sweeps labels are kept, so that memory stays bounded."""
    return max(1, -(-n_rows * n_chains * n_sweeps // MOST_KEPT))


class PartitionSampler(ClusterMixin, Sampler):
    """Base of the samplers of partitions."""

    draws_: NDArray[np.signedinteger]
    thinning_: int
    labels_: NDArray[np.int32]
    n_clusters_: int
    n_clusters_posterior_: dict[int, float]
    certainty_: Floats
    n_clusters_draws_: NDArray[np.integer]
    concentration_draws_: Floats
    noise_variance_draws_: Floats
    prior_spread_draws_: Floats
    log_posterior_draws_: Floats
    rhat_: dict[str, float]
    ess_: dict[str, float]
    algorithm: str
    split_merge: bool
    start: Any
    n_chains: int
    n_sweeps: int
    n_burn_in: int

    @abstractmethod
    def _prior_parameters(self) -> dict[str, Any]:
        """Return the parameters that priors are made of."""

    def _draw(self, matrix: Matrix, rng: np.random.RandomState, pool: Pool) -> dict[str, Any]:
        family, n = self._family, matrix.shape[0]
        check_counts(matrix, family)
        starts = starting_labels(self.start, matrix, family, self.n_chains, rng)
        guide = starts[0]
        if family == "full-gaussian":
            if self.algorithm == "means":
                raise ValueError("family='full-gaussian' is sampled by algorithm='collapsed' only.")
            if isinstance(self.start, str) and self.start != "hard":
                guide = hard_labels(matrix, family, 0)
        posed = pose(matrix, family, self.algorithm == "means", self._prior_parameters(), guide)
        total = self.n_burn_in + self.n_sweeps
        chains = [
            Chain(posed, labels, stream, total, self.split_merge)
            for labels, stream in zip(starts, streams(rng, self.n_chains), strict=True)
        ]
        thin = kept_sweeps(n, self.n_chains, self.n_sweeps)
        small = np.int16 if n < np.iinfo(np.int16).max else np.int32
        draws = np.empty((self.n_chains, -(-self.n_sweeps // thin), n), small)
        if thin > 1:
            self._say(f"labels of every {thin}th sweep are kept, {draws.nbytes >> 20} MiB")

        def take(chain: int, first: int, drawn: NDArray[np.int32]) -> None:
            numbers = np.arange(first, first + len(drawn)) - self.n_burn_in
            wanted = np.flatnonzero((numbers >= 0) & (numbers % thin == 0))
            draws[chain, numbers[wanted] // thin] = drawn[wanted]

        run_chains(chains, total, take, pool)
        record = np.array([chain.record[self.n_burn_in :] for chain in chains])
        return summarize(draws, record, starts, thin)

    def coclustering(self, rows: Any = None) -> Floats:
        """Return how often rows share a cluster.

        Parameters
        ----------
        rows : array-like of int or None, default=None
            Numbers of rows of the fit; None: all of them.

        Returns
        -------
        shares : ndarray of shape (n_chosen, n_chosen)
            Share of the draws in which two rows are in one cluster.
        """
        check_is_fitted(self)
        return coclustering_of(self._flat_draws(), rows)

    def credible_ball(self, level: float = 0.95) -> CredibleBall:
        """Return the partitions around `labels_` that hold a share of the posterior.

        Parameters
        ----------
        level : float, default=0.95
            The share of draws within the ball.

        Returns
        -------
        ball : CredibleBall
            ``radius``, in nats of variation of information; ``upper``, ``lower`` and ``horizon``:
            the draws at its border with fewest and with most clusters, and the farthest of all
            (Wade & Ghahramani 2018).
        """
        check_is_fitted(self)
        if not 0.0 < level <= 1.0:
            raise ValueError(f"The 'level' parameter must be a share of draws. Got {level!r}.")
        return credible_ball_of(self.labels_, self._flat_draws(), level)

    def certainty_of(self, labels: Any) -> Floats:
        """Return how sure each row is of its cluster in any labelling of the rows of the fit.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            Numbers of clusters.

        Returns
        -------
        certainty : ndarray of shape (n_samples,)
            Share of the draws in which the row is in the cluster that matches its own.
        """
        check_is_fitted(self)
        return certainty_of(np.asarray(labels), self._flat_draws())

    def _flat_draws(self) -> NDArray[np.signedinteger]:
        return self.draws_.reshape(-1, self.draws_.shape[-1])


def check_counts(matrix: Matrix, family: str) -> None:
    """Raise where rows are not the whole numbers, or zeros and ones, that a family draws."""
    if family.endswith("gaussian"):
        return
    values = np.asarray(getattr(matrix, "data", matrix)) if hasattr(matrix, "indptr") else matrix
    if (values != np.floor(values)).any():
        what = "zeros and ones" if family == "bernoulli" else "whole numbers"
        raise ValueError(
            f"X must hold {what} for family={family!r}, which draws them. Pass counts instead of "
            "shares, or use family='gaussian'."
        )


def summarize(
    draws: NDArray[np.signedinteger], record: Floats, starts: list[Any], thin: int
) -> dict[str, Any]:
    """Return the fitted attributes of draws (chains, kept, n) and record (chains, sweeps, 5)."""
    flat = draws.reshape(-1, draws.shape[-1])
    sizes = record[:, :, 0].astype(int)
    counted = Counter(sizes.ravel().tolist())
    labels = least_variation(flat, starts)
    followed = {"n_clusters": record[:, :, 0], "log_posterior": record[:, :, 1]}
    return {
        "draws_": draws,
        "thinning_": thin,
        "n_clusters_draws_": sizes,
        "n_clusters_posterior_": {k: counted[k] / sizes.size for k in sorted(counted)},
        "labels_": labels,
        "n_clusters_": int(labels.max()) + 1,
        "certainty_": certainty_of(labels, flat),
        "log_posterior_draws_": record[:, :, 1],
        "concentration_draws_": record[:, :, 2],
        "noise_variance_draws_": record[:, :, 3],
        "prior_spread_draws_": record[:, :, 4],
        "rhat_": {name: split_r_hat(values) for name, values in followed.items()},
        "ess_": {name: effective_draws(values) for name, values in followed.items()},
    }
