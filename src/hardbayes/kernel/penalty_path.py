"""The path of penalties for kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids
from hardbayes.core.estimator import checked_data
from hardbayes.core.loop import Status
from hardbayes.core.penalty_path import PenaltyPath
from hardbayes.core.plateaus import Plateau, plateaus, runs
from hardbayes.core.pool import Pool, resolve_threads
from hardbayes.kernel.choice import choose_clusters
from hardbayes.kernel.estimator import KernelDPMeans
from hardbayes.kernel.fitted import fitted_attributes
from hardbayes.kernel.problem import KernelProblem
from hardbayes.kernel.search import KernelSolution, descend, one_partition
from hardbayes.kernel.spectral import SpectralDPMeans

if TYPE_CHECKING:
    from hardbayes.kernel.clusters import KernelMatrix

MAX_CLUSTERS = 64  # down to whose penalty a path goes, or one for every eight rows
FACTOR = 1.5  # between penalties tried to find that
MAX_TRIED = 40  # of these, patience: the last is FACTOR**40, about 1e7, times less


def trace_kernel(
    X: Any,
    template: KernelDPMeans | SpectralDPMeans,
    penalties: Floats | None,
    n_penalties: int,
    sample_weight: Any,
) -> PenaltyPath[Any]:
    """Return solutions at given penalties, or at ``n_penalties`` from one cluster to many.

    Fits of `KernelDPMeans` begin with one cluster and go on from one another; at each penalty
    stands the best of all partitions found. With landmarks, with ``search="paper"`` and for
    `SpectralDPMeans` each penalty has a fit of its own.
    """
    template = clone(template).set_params(n_clusters=None)
    plain = clone(template).set_params(cluster_penalty=1.0)
    plain._validate_params()
    matrix, weights, names = checked_data(template, template._geometry, X, sample_weight)
    rng = template._stream()
    with Pool(resolve_threads(template.n_jobs), template._progress()) as pool:
        problem = template._posed(matrix, weights, rng, pool)
        choice = choose_clusters(problem, template._most_clusters, rng)
        continues = (
            isinstance(template, KernelDPMeans)
            and template.search != "paper"
            and template.n_landmarks is None
        )
        search = _Continued(problem, template, rng)
        if penalties is None:
            penalties = search.useful_penalties(n_penalties)
        if continues:
            models = search.models(plain, penalties, names)
        else:
            models = [clone(plain).set_params(cluster_penalty=float(p)) for p in penalties]
            for model in models:
                fitted, _ = model._fitted(matrix, weights, model._stream(), pool)
                model._set_fitted(fitted | names)
    is_spectral = isinstance(template, SpectralDPMeans)
    best = choice.spectral_penalty if is_spectral else choice.stable(rng)[1]
    if continues:
        found = search.plateaus()
    else:
        found = runs([(best, choice.k)] + [(m.cluster_penalty_, m.n_clusters_) for m in models])
    exactly = ExactKernel(plain, matrix, weights, names, found)
    return PenaltyPath.of(penalties, models, found, best, exactly)


class _Continued:
    """Fits that go on from one another; the best partition of each number of clusters."""

    def __init__(
        self,
        problem: KernelProblem,
        template: KernelDPMeans | SpectralDPMeans,
        rng: np.random.RandomState,
    ) -> None:
        self.problem = problem
        self.most = template._most_clusters
        self.max_steps = getattr(template, "max_iter", 300)
        self.rng = rng
        self.order = rng.permutation(problem.n)
        self.found: dict[int, tuple[float, KernelSolution]] = {}  # by k: the fit term, and where
        model = self._model(0.0)
        self._keep(one_partition(model, np.zeros(problem.n, np.int64)))

    def fit(self, penalty: float, labels: Ids, stages: str = "split-merge") -> KernelSolution:
        """Return the fit from these labels, and keep it."""
        end = descend(self._model(penalty), labels, stages, self.max_steps, self.rng)
        self._keep(end)
        return end

    def useful_penalties(self, n_penalties: int) -> Floats:
        """Return falling penalties, from one cluster to many."""
        labels = np.zeros(self.problem.n, np.int64)
        total = self.found[1][0]
        enough = max(2, min(MAX_CLUSTERS, self.problem.n // 8, self.most))
        penalty = first = max(total, np.finfo(np.float64).tiny)
        for _ in range(MAX_TRIED):
            penalty /= FACTOR
            end = self.fit(penalty, labels, "divide")
            labels = end.labels
            if labels.max() == 0:
                first = penalty
            elif labels.max() + 1 >= enough:
                break
        return np.geomspace(2.0 * first, penalty, n_penalties)

    def models(self, plain: Any, penalties: Floats, names: dict[str, Any]) -> list[Any]:
        """Return a model at each penalty: the best of all partitions."""
        labels = self.found[1][1].labels
        for penalty in penalties:
            labels = self.fit(float(penalty), labels).labels
        models = []
        for penalty in penalties:
            k, (fit, end) = min(
                self.found.items(), key=lambda each: (each[1][0] + penalty * each[0], each[0])
            )
            status = Status.CONVERGED if k < self.most else Status.CAPPED
            end = end._replace(history=np.array([fit + penalty * k]), status=status)
            model = clone(plain).set_params(cluster_penalty=float(penalty))
            fitted = fitted_attributes(end, self.problem, self._model(float(penalty)))
            models.append(model._set_fitted(fitted | names))
        return models

    def plateaus(self) -> list[Plateau]:
        """Return the plateaus of all partitions found."""
        return plateaus([(k, fit) for k, (fit, _) in self.found.items()])

    def _model(self, penalty: float) -> KernelMatrix:
        rows = self.problem.rows
        return replace(rows, penalty=penalty, max_clusters=self.most, order=self.order)

    def _keep(self, end: KernelSolution) -> None:
        k = int(end.labels.max()) + 1
        if k not in self.found or end.fit < self.found[k][0]:
            self.found[k] = (end.fit, end)


@dataclass(frozen=True)
class ExactKernel:
    """Makes fits with exactly so many clusters."""

    template: KernelDPMeans | SpectralDPMeans
    matrix: Any
    weights: Any
    names: dict[str, Any]
    plateaus: list[Plateau]

    def __call__(self, n_clusters: int) -> Any:
        """Return a fitted model: at the middle of a plateau, or at no penalty, with a cap."""
        for penalty in [p.middle for p in self.plateaus if p.k == n_clusters] + [0.0]:
            model = clone(self.template)
            model.set_params(cluster_penalty=penalty, max_clusters=n_clusters)
            with Pool(resolve_threads(model.n_jobs)) as pool:
                fitted, _ = model._fitted(self.matrix, self.weights, model._stream(), pool)
            if fitted["n_clusters_"] == n_clusters:
                return model._set_fitted(fitted | self.names)
        raise ValueError(
            f"There are {fitted['n_clusters_']} clusters, not {n_clusters}: the kernel tells no "
            "more rows apart."
        )
