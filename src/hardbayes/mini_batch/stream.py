"""The state of a stream: a summary of the rows seen, rows that wait, and the clusters found last.

The summary, and with it every number that is told, is a function of the rows in their order alone.
Results are read from a copy that has taken up the waiting rows; of a reading, only the names of the
clusters that it told are kept.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, is_sparse
from hardbayes.core.frame import cluster_bound, column_range, frame_for
from hardbayes.mini_batch.clusters import Clusters, Terms, choose, find_clusters
from hardbayes.mini_batch.identities import Identities
from hardbayes.mini_batch.summary import Summary, reduce, without_faded
from hardbayes.mini_batch.watch import Watch
from hardbayes.mini_batch.windows import WINDOW, Absorbed, MicroStep, Window, joined

if TYPE_CHECKING:
    from hardbayes.core.frame import Frame
    from hardbayes.core.geometry import Geometry
    from hardbayes.core.pool import Pool

# Micro-clusters by default: at least so many, so many for each cluster, and at most so many. More
# take longer, fewer hide more: sorted rows are summarised before it shows how many clusters there
# are, and a floor of 200 left the objective of such tables up to 14 percent above that of a fit of
# all rows, 1,000 up to 5, 2,000 up to 4 (benchmarks.streams).
FEWEST_MICRO = 2000
MICRO_A_CLUSTER = 50
# Of the numbers that a table of centres may have, the floor above takes at most one in so many:
# with thousands of columns memory counts for more than the last percent.
FLOOR_SHARE = 8
MOST_MICRO = 20_000
# Pseudo-rows of a micro-cluster, for each of a cluster's: enough to make costs finite where an
# entry is the first of its column, and so few that rows have micro-clusters of their own while
# there is room. With 1 in 50, counts of few columns had 100 micro-clusters in a budget of 2,000,
# and objectives up to 4 percent above those of a fit of all rows.
PRIOR_SHARE = 1e-3
# Where the potential of a cluster has a formula, the costs of all pairs are held at once.
MOST_PAIRED = 4096
# Part of the micro-clusters that is left where there were too many: smaller ones need fewer unions
# of many, larger ones keep more.
KEPT = 0.8
# By this factor it becomes cheaper in each window to open a micro-cluster, as long as there is more
# room than unions leave. Less fills the room sooner, and needs more unions.
CHEAPER = 0.5
# Windows before an automatic penalty is chosen: their rows are kept one by one for it.
WARM_UP = 4


class Rules(NamedTuple):
    """What the parameters of the estimator say."""

    penalty: float | None  # None: automatic
    per_row: bool  # the penalty is for each unit of weight seen
    prior_weight: float | None  # None: by whether rows are at the border of the domain
    max_clusters: int | None
    max_micro: int | None  # None: by the number of clusters
    half_life: float | None
    refresh: int | None  # rows; None: when what came no longer fits


@dataclass
class Stream:
    """All that is known of a stream."""

    geometry: Geometry
    n_columns: int
    is_sparse: bool
    is_timed: bool  # each row comes with a time
    dtype: np.dtype  # of the first rows
    seed: int
    summary: Summary
    watch: Watch
    identities: Identities
    frame: Frame | None = None  # of the first window
    n_rows: int = 0  # in the summary
    opening: float = 0.0  # what a row must cost to open a micro-cluster
    at_border: bool = False  # some entries are at the border of the domain
    n_clusters: int = 0  # found last; 0: none yet
    centres: Floats | None = None  # (k, d): of these
    row_penalty: float | None = None  # automatic, for a unit of weight
    origin: float = 0.0  # the time of rows that weigh one in the summary
    now: float = -np.inf  # the latest time
    told: float = -np.inf  # the time when names were last given
    waiting: tuple[Window, ...] = ()
    first: int = 0  # row at which the last call began
    recent: NDArray[np.int32] | None = None  # (n,): micro-cluster of each row of the last call
    sentence: str = ""  # on the choice of the penalty

    @classmethod
    def begin(cls, geometry: Geometry, rows: Window, seed: int) -> Stream:
        """Return the stream before its first rows, which these are."""
        d = int(rows.matrix.shape[1])
        return cls(
            geometry, d, is_sparse(rows.matrix), rows.times is not None, rows.matrix.dtype, seed,
            Summary.of_nothing(d), Watch.of_nothing(d), Identities.of_nothing(d),
        )  # fmt: skip

    @property
    def n_waiting(self) -> int:
        """Rows that wait for their window to fill."""
        return sum(map(len, self.waiting))

    @property
    def n_seen(self) -> int:
        """All rows of the stream."""
        return self.n_rows + self.n_waiting

    def check_range(self, rows: Window) -> None:
        """Raise ValueError where costs of more rows would not fit float64."""
        start = joined([*self.waiting, rows.part(slice(0, WINDOW))]).matrix
        frame = frame_for(start, self.geometry)[0] if self.frame is None else self.frame
        self.geometry.check_reach(rows.matrix, frame.scale, "Squared distances")
        low, high = column_range(rows.matrix)
        reach = np.maximum(np.abs(low - frame.shift), np.abs(high - frame.shift)).max()
        came = sum(window.total_weight() for window in (*self.waiting, rows))
        weight = float(self.summary.weights.sum()) + came
        if not np.isfinite(weight):
            raise ValueError(
                "The 'sample_weight' parameter sums to infinity. Scale the weights down."
            )
        if weight > 0:
            largest = max(float(reach), 1.0 / frame.scale)
            self.geometry.check_scale(self.n_columns, weight, largest)

    # -- rows come in ------------------------------------------------------------------------------

    def after(self, rows: Window, rules: Rules, pool: Pool) -> Stream:
        """Return the stream with more rows; those of a window that is not full wait."""
        new = copy(self)
        new.first = self.n_rows + self.n_waiting
        new.recent = np.full(len(rows), -1, np.int32)
        step, start = MicroStep(self.geometry, pool), 0
        while new.n_waiting + len(rows) - start >= WINDOW:
            stop = start + WINDOW - new.n_waiting
            window = joined([*new.waiting, rows.part(slice(start, stop))])
            new.waiting = ()
            new._take_window(window, rules, step)
            start = stop
        if start < len(rows):
            new._wait(rows.part(slice(start, None)).copy())
        return new

    def _wait(self, rows: Window) -> None:
        """Let rows wait; those before them are joined, so that there are few windows to go through.

        Each is longer than the next: rows that come one by one are copied a few times in all.
        """
        *others, last = *self.waiting, rows
        while others and len(others[-1]) <= len(last):
            last = joined([others.pop(), last])
        self.waiting = (*others, last)

    def flushed(self, rules: Rules, pool: Pool) -> Stream:
        """Return the stream as if the waiting rows were a window of their own."""
        new = copy(self)
        if self.waiting:
            assert self.recent is not None
            new.recent, new.waiting = self.recent.copy(), ()
            step = MicroStep(self.geometry, pool)
            new._take_window(joined([*self.waiting]), rules, step)
        return new

    def _take_window(self, window: Window, rules: Rules, step: MicroStep) -> None:
        pool = step.pool
        if self.frame is None:
            self.frame = frame_for(window.matrix, self.geometry)[0]
        weights = self._weights(window, rules, step)
        self.at_border |= self._touches_border(window)
        self.summary, absorbed = step.absorb(
            window.matrix, weights, self.frame, self.summary, self.opening,
            self.micro_prior(rules),
        )  # fmt: skip
        self._note_numbers(absorbed, len(window))
        self.n_rows += len(window)
        if not len(self.summary):
            return
        is_due = self._is_due(absorbed, rules, pool)
        if is_due or (len(self.summary) > self._most(rules) and rules.max_micro is None):
            self.refresh(rules, pool)
        most = self._most(rules)
        if len(self.summary) > most:
            self._shrink(rules, step)
        elif len(self.summary) < KEPT * most:  # there has come to be room
            self.opening *= CHEAPER

    def _touches_border(self, window: Window) -> bool:
        """Whether rows are at the border of the domain, where it makes a difference."""
        from hardbayes.core.validation import touches_border

        geometry = self.geometry
        if geometry.default_prior_weight(True) == geometry.default_prior_weight(False):
            return False
        return not self.at_border and touches_border(window.matrix, geometry)

    def prior_weight(self, rules: Rules) -> float:
        """Return the pseudo-rows of each cluster."""
        if rules.prior_weight is not None:
            return rules.prior_weight
        return self.geometry.default_prior_weight(self.at_border)

    def micro_prior(self, rules: Rules) -> float:
        """Return the pseudo-rows of a micro-cluster."""
        return PRIOR_SHARE * self.prior_weight(rules)

    def _note_numbers(self, absorbed: Absorbed, n: int) -> None:
        """Note the micro-clusters of those rows of a window that came with the last call."""
        assert self.recent is not None
        skipped = max(0, self.first - self.n_rows)
        at = self.n_rows + skipped - self.first
        self.recent[at : at + n - skipped] = absorbed.numbers[skipped:]

    def _rename(self, numbers: NDArray[np.intp], step: MicroStep) -> None:
        """Note that micro-clusters have other numbers (m,)."""
        step.forget()
        if self.recent is not None:
            names = np.append(numbers, -1).astype(np.int32)
            self.recent = names[self.recent]

    # -- decay -------------------------------------------------------------------------------------

    def _weights(self, window: Window, rules: Rules, step: MicroStep) -> Floats:
        """Return what rows weigh in the summary (n,) or (1,); move the origin of time if due."""
        times = window.times
        if times is None:
            times = np.arange(self.n_rows, self.n_rows + len(window), dtype=np.float64)
        if self.now == -np.inf or rules.half_life is None:
            self.origin = self.now = max(self.now, float(times.max()))
        if rules.half_life is None:
            return np.ones(1) if window.weights is None else window.weights
        self._advance(float(times.max()), rules.half_life, step)
        factors = np.exp2((times - self.origin) / rules.half_life)
        return factors if window.weights is None else factors * window.weights

    def _advance(self, time: float, half_life: float, step: MicroStep) -> None:
        """Note that it is so late; rows of the last half-life weigh from one to two."""
        self.now = max(self.now, time)
        lives = np.floor((self.now - self.origin) / half_life)
        if lives > 0:
            self.origin += lives * half_life
            self._scale(float(np.exp2(-lives)), step)

    def _scale(self, factor: float, step: MicroStep) -> None:
        """Multiply all weights by a power of two."""
        self.summary = self.summary.scaled(factor)
        self.opening *= factor
        self.watch = self.watch.scaled(factor)
        kept, numbers = without_faded(self.summary, self.geometry)
        if len(kept) < len(self.summary):
            self.summary = kept
            self._rename(numbers, step)

    def present(self, rules: Rules) -> float:
        """Return what a weight of one in the summary is, where rows that are new now weigh one."""
        if rules.half_life is None:
            return 1.0
        return float(np.exp2((self.origin - self.now) / rules.half_life))

    # -- clusters ----------------------------------------------------------------------------------

    def terms(self, rules: Rules, weight: float, penalty: float | None) -> Terms:
        """Return what clusters cost of so much weight; ``penalty`` is an automatic one of a row."""
        if rules.penalty is None:
            total = 0.0 if penalty is None else penalty * weight
        else:
            total = rules.penalty * (weight if rules.per_row else 1.0)
        return Terms(total, self.prior_weight(rules), rules.max_clusters)

    def find(self, rules: Rules, pool: Pool) -> tuple[Clusters, Summary, float | None, str]:
        """Find the clusters of the summary.

        Return them, the summary as rows that are new now count, and an automatic penalty of a row
        with what is to be told of it.
        """
        assert self.frame is not None
        summary = self.summary.scaled(self.present(rules))
        rng = np.random.RandomState((self.seed + self.n_rows) % 2**32)
        weight, start = float(summary.weights.sum()), self.centres
        penalty, sentence = self.row_penalty, self.sentence
        if rules.penalty is None and penalty is None:
            chosen = choose(
                summary, self.geometry, self.is_sparse, self.terms(rules, weight, None), rng, pool
            )
            penalty = chosen.penalty / self.frame.unit / weight
            sentence, start = chosen.sentence, chosen.centres
        found = find_clusters(
            summary, self.frame, self.geometry, self.is_sparse, self.dtype,
            self.terms(rules, weight, penalty), start, rng, pool,
        )  # fmt: skip
        return found, summary, penalty, sentence

    def refresh(self, rules: Rules, pool: Pool) -> None:
        """Find clusters anew, at a row that the stream alone decides."""
        found, summary, self.row_penalty, self.sentence = self.find(rules, pool)
        self.name(found, summary, rules)
        self.n_clusters, self.centres = len(found.centres), found.centres
        self.watch = Watch.of(found, self.present(rules), self.n_rows, self.now)

    def name(self, found: Clusters, summary: Summary, rules: Rules) -> None:
        """Give clusters their names."""
        names = self.identities
        if rules.half_life is not None and self.told > -np.inf:
            names = names.decayed(float(np.exp2((self.told - self.now) / rules.half_life)))
        self.told = self.now
        self.identities = names.follow(found, summary, self.geometry, self.n_rows)

    def _is_due(self, absorbed: Absorbed, rules: Rules, pool: Pool) -> bool:
        """Whether it is time to find clusters anew."""
        if rules.penalty is None and self.row_penalty is None:
            return self.n_rows >= WARM_UP * WINDOW
        if rules.refresh is not None:
            return self.n_rows - self.watch.row >= rules.refresh
        assert self.frame is not None
        present = self.present(rules)
        weight = float(self.summary.weights.sum()) * present
        penalty = self.terms(rules, weight, self.row_penalty).penalty * self.frame.unit / present
        self.watch, is_due = self.watch.after(
            absorbed, self.summary, self.geometry, penalty, rules.half_life, self.n_rows, self.now,
            pool,
        )  # fmt: skip
        return is_due

    # -- the budget --------------------------------------------------------------------------------

    def _most(self, rules: Rules) -> int:
        """Return how many micro-clusters there may be."""
        if rules.max_micro is not None:
            return rules.max_micro
        most = MOST_MICRO if self.geometry.formula is None else MOST_PAIRED
        if rules.penalty is None and self.row_penalty is None:
            wished = WARM_UP * WINDOW
        else:
            fewest = min(FEWEST_MICRO, cluster_bound(FLOOR_SHARE * self.n_columns))
            wished = max(fewest, MICRO_A_CLUSTER * self.n_clusters)
        return min(wished, most, cluster_bound(self.n_columns))

    def _shrink(self, rules: Rules, step: MicroStep) -> None:
        """Unite micro-clusters until there is room for more."""
        from hardbayes.dp_means.objective import Partition

        mean = self.summary.sums.sum(axis=0) / self.summary.weights.sum()
        partition = Partition(self.geometry, 0.0, self.micro_prior(rules), mean, 0)
        most = max(1, int(KEPT * self._most(rules)))
        self.summary, numbers, dearest = reduce(self.summary, partition, most, step.pool)
        self.opening = max(0.0, dearest)
        self._rename(numbers, step)

    # -- several streams ---------------------------------------------------------------------------

    def united(self, other: Stream, rules: Rules, others: Rules, pool: Pool) -> Stream:
        """Return the stream with all that another has seen; names are those of this one.

        Times that are given hold for both; rows that are numbered count as if both streams had run
        side by side.
        """
        new, other = self.flushed(rules, pool), other.flushed(others, pool)
        assert new.frame is not None and other.frame is not None
        step = MicroStep(new.geometry, pool)
        if not (new.is_timed and rules.half_life is not None):
            new.origin, new.now, new.told = (
                time + other.n_rows for time in (new.origin, new.now, new.told)
            )
            factor = other.present(others)
        else:
            new._advance(other.now, rules.half_life, step)
            factor = other.present(others)
            factor *= float(np.exp2((other.now - new.now) / rules.half_life))
        factor /= new.present(rules)
        came = other.summary.scaled(factor).in_frame(other.frame, new.frame)
        new.summary = new.summary.followed_by(came)
        new.opening = max(new.opening, other.opening * factor * new.frame.unit / other.frame.unit)
        if other.centres is not None:  # from those of both, the search goes on
            centres = new.frame.to_working(other.frame.from_working(other.centres))
            known = () if new.centres is None else (new.centres,)
            new.centres = np.concatenate([*known, centres])
        new.n_rows += other.n_rows
        new.first += other.n_rows
        new.at_border |= other.at_border
        if new.row_penalty is None:
            new.row_penalty, new.sentence = other.row_penalty, other.sentence
        new.n_clusters += other.n_clusters
        new.watch = Watch.of_nothing(new.n_columns)
        if len(new.summary) > new._most(rules):
            new._shrink(rules, step)
        return new
