"""The automatic choice of a kernel, and of the number of clusters in its space.

**Candidates.** The eigenvalues of a balanced kernel are at most one, and ``1 - e_k`` is about the
share of links that k clusters cut. Numbers after which this share rises most are tried: clusters
are read from so many eigenvectors. So they are for the kernel of the densest 90 % of the rows, to
which the others follow, since a few rows between clusters join them. The linear kernel has one
candidate, the clusters of `DPMeans`. Other kernels have no such scale: there clusters are divided
one by one.

**Evidence.** All are compared on one graph of neighbours, by what borders cut and by what halves
of clusters would cut (`neighbour_score`). A candidate of a kernel counts if each cluster's border
costs less than a third of what halving it costs; with few rows, chance makes cheaper borders, and
less is asked for. Of those that count, the one with most clusters is taken. Clusters of `DPMeans`
have its own evidence, and count if they are more than one.

**One answer.** A kernel does not hide what `DPMeans` sees: a part is divided further as `DPMeans`
does, if these borders cost less than half of halves; pieces of a ring or an arm do not pass. And
the linear kernel wins where its borders are as cheap, up to a margin. On a line all clusters
are intervals, which `DPMeans` finds, and there it decides alone.

The constants were chosen on the tuned half of ``python -m benchmarks choosing-kernels``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.metrics.pairwise import euclidean_distances

from hardbayes.core.arrays import Floats, is_sparse
from hardbayes.core.centre_free import Ids, labelled
from hardbayes.core.centre_free_descent import Splits
from hardbayes.core.plateaus import Columns, Table, table_of
from hardbayes.core.pool import import_whole, one_blas_thread
from hardbayes.kernel.neighbour_score import Apart, NeighbourScore
from hardbayes.kernel.problem import KernelProblem
from hardbayes.kernel.spectrum import cluster_qr, leading, weighted_matrix
from hardbayes.kernel.splitting import centre

if TYPE_CHECKING:
    from hardbayes.kernel.clusters import KernelMatrix

MAX_CLUSTERS = 25  # of a kernel: so many eigenvectors are found
# Numbers of clusters tried of each spectrum, those of the largest rises: more take longer
# (benchmarks.choosing_kernels).
RISES = 3
# Share of the rows, the densest, that have a kernel of their own: fewer rows between clusters join
# them, and small clusters may be left out (benchmarks.choosing_kernels).
DENSE = 0.9
# Of a border, by halves: circles with noise .09 have .31; without structure from .42
# (benchmarks.choosing_kernels).
LIMIT = 1 / 3
ENOUGH = 300  # rows from which the limit holds; below it shrinks with their root
# The same for what DPMeans divides: pieces of shapes have .52 on, clusters up to .46
# (benchmarks.choosing_kernels).
HALF = 0.5
# By which the ratio of the linear kernel may be larger: more gives round clusters more often
# (benchmarks.choosing_kernels).
MARGIN = 0.02
FEWEST = 10  # rows of a cluster of a kernel; fewer join their neighbours
OUTLIERS = 0.01  # of the rows: a second largest cluster below this is no division
MAX_PASSES = 20  # of single-row moves
BELOW = 1.0 - 1e-6  # of a penalty at which two clusters had better be one
SMALLEST_CUT = 1e-4  # of the largest: below it differences of cuts say nothing
TINIEST = 1e-30  # kernel value of two rows, by those with themselves


class Candidate(NamedTuple):
    """Clusters of a sample of the rows, and how clearly they are apart."""

    k: int
    labels: Ids  # (m,)
    apart: Apart
    strength: float  # from 1 on it counts
    is_linear: bool  # whether they are those of `DPMeans`
    dense: Ids | None  # (s,): the rows whose kernel has them, where these are not all
    penalty: float  # between the eigenvalues on both sides of the gap; of `DPMeans`, its own


class Linear(NamedTuple):
    """What `DPMeans` found, in all rows."""

    labels: NDArray[np.integer]  # (n,)
    n_clusters: int
    penalty: float
    strength: float


@dataclass(frozen=True, eq=False)
class KernelChoice:
    """A kernel and a number of clusters, with clusters of a sample of the rows."""

    problem: KernelProblem  # with the kernel of all rows
    k: int
    ids: Ids  # (m,): the sample
    weights: Floats  # (m,): with the sum that all rows have
    labels: Ids  # (m,)
    spectral_penalty: float  # between the eigenvalues on both sides of the gap
    candidates: list[Candidate]
    chosen: Candidate | None  # None: one cluster

    @property
    def is_linear(self) -> bool:
        """Whether the clusters are those of `DPMeans`."""
        return self.chosen is not None and self.chosen.is_linear

    @property
    def nearest(self) -> Candidate | None:
        """The candidate with the strongest evidence; None where there are none."""
        return max(self.candidates, key=lambda each: each.strength, default=None)

    def stable(self, rng: np.random.RandomState) -> tuple[Ids, float]:
        """Return clusters (m,) after moves of rows, and a penalty at which they stay.

        Below what the cheapest merge would cost and, if possible, above what a split would save;
        within the gap of the spectrum where that is between both.
        """
        part = part_of(self.problem, self.ids, self.weights)
        current = labelled(part, _move_rows(part, self.labels, int(self.labels.max()) + 1))
        labels, k, clusters = current.labels, current.k, current.statistics
        low = max(each.saved for each in Splits(rng).of(current))
        between = self.spectral_penalty
        if k == 1:
            return labels, max(between, low / BELOW)
        high = BELOW * float(part.merges(clusters).costs[0])
        if low < high:
            return labels, between if low < between < high else (low + high) / 2.0
        return labels, high

    def table(self, penalty: float) -> Table:
        """Return what was compared; ``penalty``: of the choice."""
        rows = [
            (c.k, penalty if c is self.chosen else c.penalty, c.is_linear, c.apart.ratio,
             c.apart.border, c.strength, c is self.chosen)
            for c in self.candidates
        ]  # fmt: skip
        return table_of(rows, COLUMNS)


COLUMNS: Columns = {
    "n_clusters": np.int64,
    "penalty": np.float64,
    "linear": np.bool_,
    "ratio": np.float64,
    "border": np.float64,
    "strength": np.float64,
    "chosen": np.bool_,
}


def choose_clusters(
    problem: KernelProblem, max_clusters: int, rng: np.random.RandomState
) -> KernelChoice:
    """Return the number of clusters of a given kernel."""
    sample = _Sample(problem, max_clusters)
    if problem.options.balance:
        found = sample.of_spectrum()
    else:
        found = sample.of_divisions(rng)
    return sample.choice(found, _clearest(found))


def choose_kernel(
    problem: KernelProblem,
    adapted: Callable[[Ids], KernelProblem],
    linear: Linear,
    max_clusters: int,
) -> KernelChoice:
    """Return clusters of the kernel, of the densest rows' kernel, or those of `DPMeans`.

    ``adapted`` returns the problem of some rows alone.
    """
    sample = _Sample(problem, max_clusters)
    round_ = sample.of_linear(linear)
    found: list[Candidate] = []
    if problem.options.balance and not sample.score.on_a_line:
        found = sample.of_spectrum()
        order = np.argsort(sample.score.reaches, kind="stable")
        dense = np.sort(order[: round(DENSE * len(order))])
        if len(dense) >= 2 * FEWEST:
            found += sample.of_spectrum(dense, adapted)
    best = _clearest(found)
    if best is not None and round_.strength >= 1.0:
        whole = sample.refined(best, round_)
        if round_.apart.ratio <= whole.apart.ratio + MARGIN:
            best = round_
        else:
            found = [whole if each is best else each for each in found]
            best = whole
    elif round_.strength >= 1.0:
        best = round_
    return sample.choice([round_, *found] if round_.strength > 0 else found, best)


def _clearest(found: list[Candidate]) -> Candidate | None:
    """Return the candidate with most clusters of those that count, of equals the clearest."""
    counting = [each for each in found if each.strength >= 1.0]
    return max(counting, key=lambda each: (each.k, -each.apart.ratio), default=None)


class _Sample:
    """The rows from which a choice is made, with their links."""

    def __init__(self, problem: KernelProblem, max_clusters: int) -> None:
        self.problem = problem
        self.ids, self.weights = _distinct(problem)
        self.part = part_of(problem, self.ids, self.weights)
        self.most = min(MAX_CLUSTERS, max_clusters, self.part.n - 1)
        self.squares = _squares(problem, self.part, self.ids)
        self.score = NeighbourScore(self.squares, self.weights)
        self.limit = LIMIT * min(1.0, float(np.sqrt(len(self.ids) / ENOUGH)))

    def of_spectrum(
        self, some: Ids | None = None, adapted: Callable[[Ids], KernelProblem] | None = None
    ) -> list[Candidate]:
        """Return the candidates of a balanced kernel; ``some``: which of the rows it is for."""
        if self.most < 2:
            return []
        part, dense = self.part, None
        if some is not None and adapted is not None:
            dense = self.ids[some]
            own = adapted(dense)
            part = part_of(own, own.anchors, own.anchor_weights)
        values, vectors = leading(weighted_matrix(part), min(self.most, part.n - 2) + 1)
        entries = vectors / np.sqrt(part.weights)[:, np.newaxis]
        cuts = np.maximum(1.0 - values, SMALLEST_CUT * max(1.0 - values[-1], 1e-12))
        rises = cuts[2:] / cuts[1:-1]
        found = []
        for k in sorted(2 + np.argsort(-rises, kind="stable")[:RISES]):
            labels = cluster_qr(entries[:, :k])[0]
            if some is not None:
                labels = labels[self.squares[:, some].argmin(axis=1)]
            between = 1.0 - float(np.sqrt(cuts[k - 1] * cuts[k]))
            found += self._candidate(labels, between, dense)
        return found

    def of_divisions(self, rng: np.random.RandomState) -> list[Candidate]:
        """Return the candidates of any kernel: clusters divided one by one."""
        if self.most < 2:
            return []
        centring = self.problem.options.kernel == "linear"  # one eigenvector less than clusters
        matrix = weighted_matrix(self.part)
        matrix = centre(matrix, self.part.weights) if centring else matrix
        with one_blas_thread():
            least = max(0, self.part.n - self.most - 2)
            values = eigh(matrix, eigvals_only=True, subset_by_index=[least, self.part.n - 1])[::-1]
        found = []
        for labels in _divided(self.part, self.most, rng):
            at = int(labels.max()) + 1 - centring
            if at < len(values) and values[at - 1] > 0:
                low = max(float(values[at]), 0.0)
                high = float(values[at - 1])
                between = float(np.sqrt(high) * np.sqrt(low)) if low > 0 else high / 2.0
                found += self._candidate(labels, between)
        return found

    def of_linear(self, linear: Linear) -> Candidate:
        """Return the clusters of `DPMeans`."""
        labels = np.unique(linear.labels[self.ids], return_inverse=True)[1]
        apart = self.score.of(labels) if labels.max() > 0 else Apart(1.0, 1.0)
        return Candidate(
            linear.n_clusters, labels, apart, linear.strength, True, None, linear.penalty
        )

    def refined(self, coarse: Candidate, fine: Candidate) -> Candidate:
        """Return a candidate whose parts are divided by another, where that has clear borders.

        A cluster of the other belongs to the part that has most of its weight.
        """
        shares = np.zeros((int(fine.labels.max()) + 1, coarse.k))
        np.add.at(shares, (fine.labels, coarse.labels), self.weights)
        home = shares.argmax(axis=1)
        labels, k = coarse.labels.copy(), coarse.k
        for part in range(coarse.k):
            ids = np.flatnonzero(coarse.labels == part)
            own = np.where(home[fine.labels[ids]] == part, fine.labels[ids], -1)
            halves = self._followed(own, ids)
            n_halves = int(halves.max()) + 1
            if n_halves > 1 and self.score.within(ids, halves).border < HALF:
                labels[ids[halves > 0]] = k + halves[halves > 0] - 1
                k += n_halves - 1
        if k == coarse.k:
            return coarse
        return coarse._replace(k=k, labels=labels, apart=self.score.of(labels))

    def choice(self, found: list[Candidate], best: Candidate | None) -> KernelChoice:
        """Return the choice of a candidate, or of one cluster."""
        if best is None:
            alone = np.zeros(len(self.ids), np.int64)
            return KernelChoice(
                self.problem, 1, self.ids, self.weights, alone, self._above_all(), found, None
            )
        return KernelChoice(
            self.problem, best.k, self.ids, self.weights, best.labels, best.penalty, found, best
        )

    def _candidate(self, labels: Ids, between: float, dense: Ids | None = None) -> list[Candidate]:
        """Return the candidate of these labels; none where they divide off outliers alone."""
        sizes = np.bincount(labels)
        labels = self._followed(np.where(sizes[labels] < FEWEST, -1, labels))
        sizes = np.sort(np.bincount(labels))
        if len(sizes) < 2 or sizes[-2] < OUTLIERS * len(labels):
            return []
        apart = self.score.of(labels)
        strength = self.limit / max(apart.border, 1e-3 * self.limit)
        return [Candidate(len(sizes), labels, apart, strength, False, dense, between)]

    def _followed(self, labels: Ids, ids: Ids | None = None) -> Ids:
        """Return labels from 0 on, where rows of -1 follow their nearest row with a label."""
        rest = labels < 0
        if rest.all():
            return np.zeros(len(labels), np.int64)
        if rest.any():
            every = np.arange(len(self.ids)) if ids is None else ids
            near = self.squares[np.ix_(every[rest], every[~rest])].argmin(axis=1)
            labels = labels.copy()
            labels[rest] = labels[~rest][near]
        return np.unique(labels, return_inverse=True)[1]

    def _above_all(self) -> float:
        """Return a penalty that no eigenvalue but that of one cluster exceeds."""
        n = self.part.n
        matrix = weighted_matrix(self.part)
        if self.problem.options.kernel == "linear":
            matrix = centre(matrix, self.part.weights)
        with one_blas_thread():
            first = eigh(matrix, eigvals_only=True, subset_by_index=[max(0, n - 2), n - 1])[::-1]
        if self.problem.options.kernel == "linear":
            return max(2.0 * float(first[0]), 1e-300)
        return max(float(first[0] + max(first[-1], 0.0) * (n > 1)) / 2.0, 1e-300)


def part_of(problem: KernelProblem, ids: Ids, weights: Floats) -> KernelMatrix:
    """Return some rows with their kernel values, without those of the other rows."""
    import_whole("hardbayes.kernel.clusters")
    from hardbayes.kernel.clusters import KernelMatrix, hold

    if problem.mercer is None or problem.seen is None or len(problem.anchors) == problem.n:
        return problem.rows.part(ids, weights)
    seen = problem.seen.take(ids)
    with one_blas_thread():
        values = problem.mercer.between(seen, seen)
    return KernelMatrix(hold(values), np.diag(values).copy(), weights, problem.pool)


def _distinct(problem: KernelProblem) -> tuple[Ids, Floats]:
    """Return the anchors with their weights, of equal rows the first with the weights of all.

    Cells of a lattice hold many equal rows, and are no clusters of them.
    """
    ids, weights = problem.anchors, problem.anchor_weights
    if problem.seen is None or is_sparse(problem.seen.rows):
        return ids, weights
    rows = problem.seen.rows[ids]
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(ids):
        return ids, weights
    order = np.argsort(first)
    sums = np.bincount(which.ravel(), weights).astype(np.float64)
    return ids[first[order]].astype(np.int64), sums[order]


def _squares(problem: KernelProblem, part: KernelMatrix, ids: Ids) -> Floats:
    """Return squared distances (m, m): of the rows where the kernel follows them, else its own.

    Distances of kernels like "rbf" saturate. Where no value is negative, rows are as far apart as
    in the kernel ``exp(-d^2)`` of these values.
    """
    if problem.seen is not None and problem.mercer is not None and problem.mercer.has_bandwidths:
        rows = problem.seen.rows[ids]
        rows = rows - rows.mean(axis=0) if isinstance(rows, np.ndarray) else rows
        squares = euclidean_distances(rows, squared=True)
    else:
        values, own = part.whole(), part.diagonal
        if problem.options.kernel != "linear" and values.min() >= 0 and own.min() > 0:
            roots = np.sqrt(own)
            squares = -np.log(np.clip(values / roots / roots[:, np.newaxis], TINIEST, 1.0))
        else:
            squares = np.maximum(own[:, np.newaxis] + own - 2.0 * values, 0.0)
    squares[np.diag_indices(len(squares))] = 0.0
    return squares


def _divided(part: KernelMatrix, most: int, rng: np.random.RandomState) -> list[Ids]:
    """Return clusters in growing numbers, split one by one, rows moving after each split."""
    part = replace(part, max_clusters=most + 1)
    splits = Splits(rng)
    current = labelled(part, np.zeros(part.n, np.int64))
    found: dict[int, Ids] = {}
    while current.k < most:
        tried = splits.of(current)
        best = max(range(current.k), key=lambda c: tried[c].saved)
        if not tried[best].saved > 0:
            break
        labels = current.labels.copy()
        members = current.members[best]
        labels[members[part.second_half(members, tried[best])]] = current.k
        current = labelled(part, _move_rows(part, labels, current.k + 1))
        if current.k < 2 or current.k in found:
            break
        found[current.k] = current.labels
    return list(found.values())


def _move_rows(part: KernelMatrix, labels: Ids, k: int) -> Ids:
    """Return labels after moves of rows among k clusters, at no penalty."""
    return part.move_rows(labels, part.statistics(labels, k), MAX_PASSES)[0]
