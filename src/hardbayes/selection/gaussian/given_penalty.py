"""A prior matrix for a given penalty: the one whose fit makes the rows likeliest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.blas import one_blas_thread
from hardbayes.engine.gaussian.model import GaussianModel
from hardbayes.engine.gaussian.restarts import Options, descend
from hardbayes.problems.gaussian import whitening
from hardbayes.selection.gaussian.clusters import clusters_of
from hardbayes.selection.gaussian.evidence import likeliest_prior
from hardbayes.selection.gaussian.path import find_path
from hardbayes.selection.gaussian.prior import TIE, candidate_priors
from hardbayes.structure.gaussians import GaussianPartition, Gaussians

if TYPE_CHECKING:
    from hardbayes.executors.gaussian.mixture import MixtureRows
    from hardbayes.executors.gaussian.protocol import Ids
    from hardbayes.matrices import Floats


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
        clusters = clusters_of(rows, path[k].labels, k)
        return partition.objective(clusters._replace(scatters=clusters.scatters / rows.total))

    k = min((k for k in path if k <= options.max_clusters), key=cost)
    best: tuple[float, Floats, Ids] | None = None
    for prior in candidate_priors(rows, clusters_of(rows, path[k].labels, k)):
        labels = _fitted(rows, prior, path[k].labels, partition, options.max_steps)
        clusters = clusters_of(rows, labels, int(labels.max()) + 1)
        evidence = likeliest_prior(rows, clusters)[1]
        if best is None or evidence > best[0] + TIE * rows.total:
            best = evidence, prior, labels
        if clusters.k == k and evidence >= path[k].evidence - TIE * rows.total:
            break
    assert best is not None  # there are candidates
    return best[1:]


def _fitted(
    rows: MixtureRows, prior: Floats, labels: Ids, partition: GaussianPartition, max_steps: int
) -> Ids:
    """Return labels (n,) of a fit under a prior (h, d), from these."""
    frame = whitening(np.zeros(rows.d), prior[0] if rows.diagonal else prior)
    whitened = frame.rows(rows.rows, rows.weights, rows.pool)
    start = Gaussians(*whitened.statistics(labels, int(labels.max()) + 1))
    model = GaussianModel(whitened, partition, np.arange(rows.n))
    how = ("split-merge", max_steps, np.random.RandomState(0))
    return descend(model, start, *how).labels
