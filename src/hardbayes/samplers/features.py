"""Gibbs sampler of overlapping features: the Indian buffet process."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.pool import Pool, import_whole
from hardbayes.core.validation import check_membership
from hardbayes.features.estimator import BPMeans
from hardbayes.samplers.chains import CALL_WORK, N_KEPT, run_chains, streams
from hardbayes.samplers.diagnostics import effective_draws, split_r_hat
from hardbayes.samplers.families import CONCENTRATION, NOISE_SHARE, prior_and_value
from hardbayes.samplers.sampler import CHAIN_CONSTRAINTS, POSITIVE, Sampler

#: Features of a random start, of which each row has half.
N_RANDOM = 5
#: Places for features that a chain begins with; they double when they are used up.
N_PLACES = 32

Membership = NDArray[np.uint8]


class FeatureChain:
    """A chain of feature allocations: ``numbers``, the record of sweeps, and the best draw."""

    def __init__(
        self,
        rows: Floats,
        priors: Floats,
        numbers: Floats,
        membership: Membership,
        stream: NDArray[np.uint64],
        n_sweeps: int,
        first_kept: int = 0,
    ) -> None:
        self.rows, self.priors, self.stream = rows, priors, stream
        self.numbers = numbers.copy()
        self.record = np.zeros((n_sweeps, N_KEPT))
        self.first_kept = first_kept
        self.n_done = 0
        self.allocation = new_allocation(membership, rows.shape[1])

    @property
    def membership(self) -> Membership:
        """Which rows have which features now."""
        return self.allocation.member[:, : int(self.allocation.size[0])]

    @property
    def best(self) -> tuple[float, Membership]:
        """The highest log posterior, and the memberships that have it."""
        value, size = self.allocation.highest
        return float(value), self.allocation.best[:, : int(size)]

    def sweeps(self, n_sweeps: int) -> Iterator[tuple[int, Floats]]:
        """Run sweeps; yield the number of the first of some and the record of these."""
        import_whole("hardbayes.samplers.compiled.features")
        from hardbayes.samplers.compiled.features import advance_features

        n = len(self.rows)
        step, last = self.n_done * n, (self.n_done + n_sweeps) * n
        while step < last:
            first = step // n
            size = int(self.allocation.size[0]) + 2
            stop = min(last, step + max(1, CALL_WORK // (4 * size * (size + self.rows.shape[1]))))
            step = advance_features(
                self.rows, self.numbers, self.priors, self.allocation, self.stream, self.record,
                step, stop, self.first_kept,
            )  # fmt: skip
            if step < stop:
                self.allocation = grown(self.allocation)
            self.n_done = step // n
            yield first, self.record[first : self.n_done]


def new_allocation(membership: Membership, d: int, places: int = N_PLACES) -> Any:
    """Return an allocation with room; what follows from memberships is made by the first step."""
    import_whole("hardbayes.samplers.compiled.features")
    from hardbayes.samplers.compiled.features import Allocation

    n, size = membership.shape
    places = max(places, 2 * size + N_PLACES)
    member = np.zeros((n, places), np.uint8)
    member[:, :size] = membership
    return Allocation(
        member, np.array([size], np.int64), np.zeros(places, np.int64),
        np.zeros((places, places)), np.zeros((places, d)), np.zeros((places, d)),
        np.zeros(places), np.zeros(d), np.zeros(places, np.int64), np.zeros_like(member),
        np.array([-np.inf, 0.0]),
    )  # fmt: skip


def grown(old: Any) -> Any:
    """Return the same allocation with twice as many places."""
    before = old.member.shape[1]
    new = new_allocation(old.member[:, : old.size[0]], old.mean.shape[1], 2 * before)
    new.n_rows[:before] = old.n_rows
    new.inverse[:before, :before] = old.inverse
    new.mean[:before] = old.mean
    new.best[:, :before] = old.best
    new.highest[:] = old.highest
    return new


class IBPGibbs(Sampler):
    """Draw feature allocations from the posterior of the Indian buffet process.

    The sampler whose limit is `BPMeans`: rows are sums of the components of their features plus
    noise, components are normal, and any number of features exists, of which few have rows
    (Griffiths & Ghahramani 2006). Components are integrated out; nothing is truncated.

    Parameters
    ----------
    concentration : float, "gamma" or (shape, rate), default="gamma"
        alpha, the expected number of features of a row. A number fixes it; with a gamma prior it is
        drawn. "gamma" stands for (1, 1).
    noise_variance : float, "inverse-gamma" or (shape, scale), default="inverse-gamma"
        The variance of noise. "inverse-gamma" is a wide prior on the scale of X.
    weight_variance : float, "inverse-gamma" or (shape, scale), default="inverse-gamma"
        The variance of components.
    start : {"hard", "one", "random"} or array-like of shape (n_samples, n_features), \
default="hard"
        Memberships that chains start from. "hard": the first, third, ... chain from those of
        `BPMeans`, the others from one feature that all rows share. "random": five features.
    n_chains, n_sweeps, n_burn_in, random_state, n_jobs, verbose
        As for `DPMixtureGibbs`.

    Attributes
    ----------
    n_components_draws_ : ndarray of shape (n_chains, n_sweeps)
        Number of features after each sweep.
    n_components_posterior_ : dict
        The probability of each number of features that was drawn.
    membership_ : ndarray of shape (n_samples, n_components_), bool
        The draw of highest posterior; features in the order of their number of rows.
    components_ : ndarray of shape (n_components_, n_features)
        The expected components given those memberships.
    n_components_ : int
        Their number.
    concentration_draws_, noise_variance_draws_, weight_variance_draws_, log_posterior_draws_ : \
ndarrays of shape (n_chains, n_sweeps)
        After each sweep.
    rhat_, ess_ : dict
        Split R-hat and effective number of draws, of "n_components" and of "log_posterior".
    n_features_in_, feature_names_in_
        As for `BPMeans`.

    See Also
    --------
    BPMeans : The limit.

    Examples
    --------
    >>> import numpy as np
    >>> from hardbayes.samplers import IBPGibbs
    >>> rng = np.random.RandomState(0)
    >>> Z = rng.rand(60, 2) < 0.5
    >>> X = Z @ np.array([[4.0, 4.0, 0.0], [0.0, 1.0, 3.0]]) + 0.1 * rng.normal(size=(60, 3))
    >>> IBPGibbs(n_sweeps=200, random_state=0).fit(X).components_.round(0) + 0.0
    array([[0., 1., 3.],
           [4., 4., 0.]])
    """

    n_components_draws_: NDArray[np.integer]
    n_components_posterior_: dict[int, float]
    membership_: NDArray[np.bool_]
    components_: Floats
    n_components_: int
    concentration_draws_: Floats
    noise_variance_draws_: Floats
    weight_variance_draws_: Floats
    log_posterior_draws_: Floats
    rhat_: dict[str, float]
    ess_: dict[str, float]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "concentration": [StrOptions({"gamma"}), POSITIVE, tuple, list],
        "noise_variance": [StrOptions({"inverse-gamma"}), POSITIVE, tuple, list],
        "weight_variance": [StrOptions({"inverse-gamma"}), POSITIVE, tuple, list],
        **CHAIN_CONSTRAINTS,
    }

    def __init__(
        self,
        concentration: Any = "gamma",
        *,
        noise_variance: Any = "inverse-gamma",
        weight_variance: Any = "inverse-gamma",
        start: Any = "hard",
        n_chains: int = 4,
        n_sweeps: int = 1000,
        n_burn_in: int = 200,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.concentration = concentration
        self.noise_variance = noise_variance
        self.weight_variance = weight_variance
        self.start = start
        self.n_chains = n_chains
        self.n_sweeps = n_sweeps
        self.n_burn_in = n_burn_in
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _family(self) -> str:
        return "gaussian"

    def _draw(self, matrix: Matrix, rng: np.random.RandomState, pool: Pool) -> dict[str, Any]:
        rows = np.ascontiguousarray(matrix, dtype=np.float64)
        starts = self._starts(rows, rng)
        priors, numbers = self._priors(rows)
        total = self.n_burn_in + self.n_sweeps
        chains = [
            FeatureChain(rows, priors, numbers, membership, stream, total, self.n_burn_in)
            for membership, stream in zip(starts, streams(rng, self.n_chains), strict=True)
        ]
        run_chains(chains, total, lambda chain, first, drawn: None, pool)
        best = max(chains, key=lambda chain: chain.best[0]).best[1]
        order = np.argsort(-best.sum(axis=0, dtype=np.intp), kind="stable")
        membership = best[:, order].astype(bool)
        record = np.array([chain.record[self.n_burn_in :] for chain in chains])
        sizes = record[:, :, 0].astype(int)
        counted = Counter(sizes.ravel().tolist())
        ratio = record[:, :, 3].mean() / record[:, :, 4].mean()
        followed = {"n_components": record[:, :, 0], "log_posterior": record[:, :, 1]}
        return {
            "n_components_draws_": sizes,
            "n_components_posterior_": {k: counted[k] / sizes.size for k in sorted(counted)},
            "membership_": membership,
            "components_": expected_components(rows, membership, ratio),
            "n_components_": membership.shape[1],
            "log_posterior_draws_": record[:, :, 1],
            "concentration_draws_": record[:, :, 2],
            "noise_variance_draws_": record[:, :, 3],
            "weight_variance_draws_": record[:, :, 4],
            "rhat_": {name: split_r_hat(values) for name, values in followed.items()},
            "ess_": {name: effective_draws(values) for name, values in followed.items()},
        }

    def _starts(self, rows: Floats, rng: np.random.RandomState) -> list[Membership]:
        n = len(rows)
        seed = int(rng.randint(2**31 - 1))
        one = np.ones((n, 1), np.uint8)
        if not isinstance(self.start, str):
            given = np.asarray(self.start)
            if given.ndim != 2 or len(given) != n:
                raise ValueError(
                    f"The 'start' parameter must have one row of zeros and ones for each of the "
                    f"{n} rows. Got shape {given.shape}."
                )
            membership = np.asarray(check_membership(given, given.shape[1])).astype(np.uint8)
            return [membership] * self.n_chains
        if self.start == "one":
            return [one] * self.n_chains
        if self.start == "random":
            drawn = np.random.default_rng(seed).integers(0, 2, (self.n_chains, n, N_RANDOM))
            return list(drawn.astype(np.uint8))
        hard = BPMeans(random_state=seed, n_jobs=1)._fit_rows(rows, None)[0]["membership_"]
        return [one if chain % 2 else hard.astype(np.uint8) for chain in range(self.n_chains)]

    def _priors(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the priors (3, 2) and the first numbers: log alpha, and the two variances."""
        square = max(float((rows**2).mean()), np.finfo(float).tiny ** 0.5)
        alpha_prior, alpha = prior_and_value(self.concentration, CONCENTRATION, 1.0)
        share = NOISE_SHARE * square
        noise, sigma = prior_and_value(self.noise_variance, (1.0, share), share)
        weight, rho = prior_and_value(self.weight_variance, (1.0, square), square)
        return np.array([alpha_prior, noise, weight]), np.array([np.log(alpha), sigma, rho])


def expected_components(rows: Floats, membership: NDArray[np.bool_], ratio: float) -> Floats:
    """Return the components (K, d) given memberships; ``ratio``: of noise to component variance."""
    Z = membership.astype(np.float64)
    gram = Z.T @ Z + ratio * np.eye(Z.shape[1])
    return np.linalg.solve(gram, Z.T @ rows) if Z.shape[1] else np.zeros((0, rows.shape[1]))
