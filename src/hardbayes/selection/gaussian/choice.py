"""The automatic choice: number of clusters, prior matrix and penalty, and what spoke for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.blas import one_blas_thread
from hardbayes.engine.status import counted
from hardbayes.selection.choice_table import Columns
from hardbayes.selection.gaussian.clusters import clusters_of
from hardbayes.selection.gaussian.evidence import likeliest_prior
from hardbayes.selection.gaussian.finest import finest
from hardbayes.selection.gaussian.held_out import LEVEL, HeldOut, held_out
from hardbayes.selection.gaussian.path import find_path, likeliest
from hardbayes.selection.gaussian.prior import Keeper, Kept
from hardbayes.selection.gaussian.sampling import Sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from hardbayes.matrices import Floats


class Candidate(NamedTuple):
    """A number of clusters that was considered.

    Attributes
    ----------
    n_clusters : int
        The number.
    evidence : float
        By how many nats a sample of the rows is likelier in so many Gaussian clusters than in one:
        logarithm of the ratio of marginal likelihoods.
    p_value : float
        Of the valleys that rows held out show between the clusters of others, corrected for the
        number of numbers; 1 where there are none, or where they were not looked for. It takes 0.05,
        of any number, for more than one cluster.
    chosen : bool
        Whether it is the number of clusters that was chosen.
    """

    n_clusters: int
    evidence: float
    p_value: float
    chosen: bool


#: Fields of a candidate as columns of a table.
COLUMNS: Columns = {
    "n_clusters": np.int64, "evidence": np.float64, "p_value": np.float64, "chosen": np.bool_,
}  # fmt: skip


class Choice(NamedTuple):
    """Prior and penalty, the clusters of a sample, and the numbers that were considered."""

    kept: Kept
    candidates: tuple[Candidate, ...]  # by number of clusters
    nearest: Candidate | None  # the number that came nearest, where one cluster was chosen

    def sentence(self) -> str:
        """Return what is to be said of a choice of one cluster."""
        if self.nearest is None:
            return "One cluster: the distinct rows are too few to tell of more."
        k, evidence, p_value, _ = self.nearest
        reason = f"rows are less likely in them, by {-evidence:.3g} nats"
        if evidence > 0:
            reason = (
                f"rows are likelier in them, by {evidence:.3g} nats, but do not thin out between "
                f"them (p-value {p_value:.2g}, where {LEVEL:g} would do)"
            )
        return (
            f"One cluster: no other number stood out. {k} clusters came nearest: {reason}. "
            f"GaussianDPMeans(0, max_clusters={k}) takes {k}."
        )


@one_blas_thread()
def choose_number(
    sample: Sample, max_clusters: int, given_prior: Floats | None, say: Callable[[str], None]
) -> Choice:
    """Return the choice of a number of clusters, and a prior and a penalty for it.

    ``given_prior`` (h, d): in the sample's units, None where it is to be found; ``say`` is called
    with sentences on what was found so far.
    """
    rows = sample.rows
    path = find_path(rows)
    allowed = {k: step for k, step in path.items() if k <= max_clusters}
    say(f"{counted(rows.n, 'row')}: likeliest in {counted(likeliest(allowed).k, 'cluster')}")
    separate_labels, separate = finest(rows, allowed, sample.dip_rows)
    say(f"{counted(separate, 'separate cluster')}")
    labels, k, heard = separate_labels, separate, HeldOut({})
    if separate > 1:
        heard = held_out(rows, path, separate, sample.dip_rows, sample.unseen)
        if not heard.is_several:
            labels, k = path[1].labels, 1
        say(f"rows held out show {'several clusters' if k > 1 else 'one cluster'}")
    evidences = {k: step.evidence for k, step in path.items()}
    if separate not in path:
        clusters = clusters_of(rows, separate_labels, separate)
        evidences[separate] = likeliest_prior(rows, clusters)[1]
    kept = Keeper(rows, path, max_clusters, given_prior).keep(labels, k)
    evidences.setdefault(kept.k, kept.evidence)
    candidates = {
        k: Candidate(k, evidences[k] - evidences[1], heard.straight.get(k, 1.0), k == kept.k)
        for k in sorted(evidences)
    }
    nearest = None
    if kept.k == 1 and len(allowed) > 1:
        several = {k: step for k, step in allowed.items() if k > 1}
        nearest = candidates[separate if separate > 1 else likeliest(several).k]
    return Choice(kept, tuple(candidates.values()), nearest)
