"""The automatic choice: number of clusters, prior matrix and penalty, and what spoke for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.core.alone import ONE_CLUSTER, Nearest, alone_sentences
from hardbayes.core.loop import counted
from hardbayes.core.plateaus import Columns
from hardbayes.core.pool import one_blas_thread
from hardbayes.gaussian.choice.borders import LEVEL, Borders, HeldOut, held_out
from hardbayes.gaussian.choice.evidence import classify, likeliest_prior, look_gaussian
from hardbayes.gaussian.choice.path import Path, Step, find_path, likeliest, plateaus, up_to
from hardbayes.gaussian.choice.prior import Keeper, Kept
from hardbayes.gaussian.choice.references import is_likelier
from hardbayes.gaussian.choice.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from hardbayes.core.arrays import Floats
    from hardbayes.gaussian.mixture import MixtureRows


LOSS = 0.05  # nats a row by which a partition to begin with may be less likely than the best
MERGED_AT_ONCE = 20  # one pair for so many clusters before rows choose anew
ROUNDS = 5  # of classification EM after merges: more take longer
# Clusters that are believed without valleys between them: more of those that touch are found, and
# skewed ones are divided more often (benchmarks.choosing).
FEW = 4
# That are believed so if they look Gaussian, and there are some valleys (benchmarks.choosing).
MAX_GAUSSIANS = 12


def separate(rows: MixtureRows, path: Path, dip_rows: MixtureRows) -> Step:
    """Return a partition after merges of neighbours without a valley between them.

    From the finest partition that is almost as likely as the best; those first that are least
    likely two.
    """
    least = likeliest(path).evidence - LOSS * rows.total
    start = max((step for step in path.values() if step.evidence >= least), key=lambda s: s.k)
    labels, k, guess = start.labels, start.k, None
    while k > 1:
        borders = Borders(rows, labels, k, dip_rows, guess)
        n_merged = 0
        while n_merged < max(1, k // MERGED_AT_ONCE) and k - n_merged > 1:
            weak = borders.weakest()
            if weak is None:
                break
            borders.merge(*weak)
            n_merged += 1
        if not n_merged:
            break
        used, names = np.unique(borders.names, return_inverse=True)
        labels, guess = names[labels], names[borders.guess]
        labels, clusters = classify(rows, labels, len(used), borders.prior.pooled_rows, ROUNDS)
        if clusters.k < len(used):
            guess = None  # clusters have other numbers now
        k = clusters.k
    return Step(k, likeliest_prior(rows, rows.statistics(labels, k))[1], labels)


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
        number of numbers; 1 where there are none, or where they were not looked for. Where one is
        at most 0.01, there is more than one cluster.
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
        any_number = "GaussianDPMeans(n_clusters=k)"
        if self.nearest is None:
            why = "The distinct rows are too few to tell of more"
            return alone_sentences(why, ONE_CLUSTER, None, any_number)
        k, evidence, p_value, _ = self.nearest
        reason = f"rows are less likely in them, by {-evidence:.3g} nats"
        if evidence > 0:
            reason = (
                f"rows are likelier in them, by {evidence:.3g} nats, but so are rows without "
                f"clusters, and they do not thin out between them (p-value {p_value:.2g}, where "
                f"{LEVEL:g} would do)"
            )
        near = Nearest(k, reason, f"GaussianDPMeans(n_clusters={k})")
        why = "No other number of clusters stood out"
        return alone_sentences(why, ONE_CLUSTER, near, any_number)


class Found(NamedTuple):
    """The clusters of a sample by covariances of one kind."""

    path: Path
    chosen: Step
    heard: HeldOut
    most: int  # clusters, that are believed
    allowed: Path  # the part of the path up to the user's bound
    plateau: Step  # the widest


@one_blas_thread()
def choose_number(
    sample: Sample,
    max_clusters: int,
    given_prior: Floats | None,
    say: Callable[[str], None],
    by_columns: Callable[[], Sample] | None = None,
) -> Choice:
    """Return the choice of a number of clusters, and a prior and a penalty for it.

    ``given_prior`` (h, d): in the sample's units, None where it is to be found; ``say`` is called
    with sentences on what was found so far. Where full covariances tell of one cluster, diagonal
    ones may tell of more, for they need fewer rows: those of the sample ``by_columns``.
    """
    rows = sample.rows
    found = _find(sample, max_clusters, say)
    if found.chosen.k == 1 and by_columns is not None:
        say("the same with diagonal covariances")
        other = _find(by_columns(), max_clusters, say, by_own_valleys=True)
        found = other if other.chosen.k > 1 else found
    path, chosen = found.path, found.chosen
    evidences = {k: step.evidence for k, step in path.items()}
    kept = Keeper(rows, path, found.most, given_prior).keep(chosen.labels, chosen.k)
    evidences.setdefault(chosen.k, chosen.evidence)  # a number that the path may lack
    p_values = found.heard.p_values
    candidates = {
        k: Candidate(k, evidences[k] - evidences[1], p_values.get(k, 1.0), k == kept.k)
        for k in sorted(evidences)
    }
    nearest = None
    if kept.k == 1 and len(found.allowed) > 1:
        k = found.plateau.k if found.plateau.k > 1 else _likeliest_of_several(found.allowed)
        nearest = candidates[k]
    return Choice(kept, tuple(candidates.values()), nearest)


def _find(
    sample: Sample, max_clusters: int, say: Callable[[str], None], by_own_valleys: bool = False
) -> Found:
    """Return the clusters of a sample that valleys between them, or likelihood, speak for.

    ``by_own_valleys``: where rows thin out, only between clusters of a number that shows it itself.
    """
    rows = sample.rows
    path = find_path(rows)
    allowed = up_to(path, max_clusters)
    plateau = plateaus(allowed, rows.total)[0]
    say(f"{counted(rows.n, 'row')}: the widest plateau has {counted(plateau.k, 'cluster')}")
    chosen, heard, most = path[1], HeldOut({}), max_clusters
    if len(allowed) > 1:
        heard = held_out(rows, path, max(2, plateau.k), sample.dip_rows, sample.unseen)
        if heard.is_several:
            if by_own_valleys:
                chosen = plateaus(heard.among(allowed), rows.total)[0]
            else:
                chosen = _with_valleys(sample, allowed)
            say(f"rows held out thin out between clusters: {counted(chosen.k, 'cluster')}")
        elif is_likelier(rows, path):
            most = min(max_clusters, FEW)
            chosen = plateaus(up_to(allowed, most), rows.total)[0]
            say(f"likelier than rows without clusters: {counted(chosen.k, 'cluster')}")
        else:
            say("no likelier than rows without clusters: one cluster")
    return Found(path, chosen, heard, most, allowed, plateau)


def _with_valleys(sample: Sample, path: Path) -> Step:
    """Return a partition where rows thin out between some clusters.

    The one on the widest plateau if its clusters look Gaussian and are not too many. Otherwise this
    one or that between all of whose clusters rows thin out: the finer one, if its clusters are few
    or less than twice as many as those of the other. Else the separate ones; but if there are
    valleys between all clusters of a much coarser partition on a wide plateau, that.
    """
    rows, dip_rows = sample.rows, sample.dip_rows
    wide = plateaus(path, rows.total)
    best = wide[0]
    if 1 < best.k <= MAX_GAUSSIANS and look_gaussian(rows, best.labels, best.k):
        return best
    apart = separate(rows, path, dip_rows)
    few = max(FEW, int(np.sqrt(rows.d)))  # in many columns valleys hardly show
    if apart.k == 1:
        return plateaus(up_to(path, few), rows.total)[0]
    coarser, finer = sorted((apart, best), key=lambda step: step.k)
    if finer.k <= few or finer.k < 2 * coarser.k:
        return finer
    for step in wide[:2]:
        is_much_coarser = 1 < step.k < apart.k / 2
        if is_much_coarser and Borders(rows, step.labels, step.k, dip_rows).weakest() is None:
            return step
    return apart


def _likeliest_of_several(path: Path) -> int:
    return likeliest({k: step for k, step in path.items() if k > 1}).k
