"""The contract between the algorithms and the place where rows live.

Rows live somewhere: in memory, in blocks of a file, on workers, on a graphics card. Whatever holds
them offers the passes of `Rows`. What goes in are named tuples of small arrays, what comes out is a
summary; `core.arrays` defines both. The descent and the moves use nothing else of the rows.

Clusters (centres, names, refits) live in the memory of the process that runs the fit, in
`dp_means.centres`. An executor keeps three things beside the rows: the slot of each row, the
exact totals of the slots, and whatever makes its passes faster (in `MemoryRows`: bounds).

What must be exact, so that every executor gives the same labels:

- Decisions. The cheapest centre is the one with the least cost by the direct formula in float64:
  ``|x - c|^2`` from ``exact`` where ``centres.squared``, else ``phi(x) + exact_offset -
  <x, exact>``, where a result below its rounding error counts as zero (`affine_cost` in
  `core.rows`). Of equal costs the lowest ``rank`` wins. Scores (theta, offset) may
  propose, and decide where their error bound leaves no doubt.
- Totals. Each ``weight * x`` is rounded to a coarse and a fine part by the constants of
  ``rounding`` before it is added, so that sums are exact (`dp_means.totals`).

- Sums of costs, rounded once (`ExactSum` in `core.arrays`).

Costs of single rows may differ in their last bits. `candidates` may return more rows than needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from hardbayes.core.arrays import (
        Births,
        Centres,
        DirectForm,
        Division,
        Drift,
        Floats,
        Layout,
        Summary,
        Totals,
    )
    from hardbayes.core.pool import Pool
    from hardbayes.dp_means.local_rows import LocalRows
    from hardbayes.dp_means.totals import Rounding

    Ids = NDArray[np.signedinteger]
    Labels = NDArray[np.int32]
    OpeningRule = Callable[[LocalRows], Floats]  # what each of some rows pays to open a cluster


class Rows(Protocol):
    """Rows in working coordinates, each with the slot of its cluster, or -1."""

    n_rows: int
    n_columns: int
    entries_per_row: int  # numbers that a row holds, in the mean; n_columns where rows are dense
    rounding: Rounding  # constants of the exact totals
    layout: Layout  # how `assign` and `offer` read centres; it may change between assignments
    most_taken: int  # how many rows `take` returns at most
    pool: Pool  # threads for work on clusters

    @property
    def weights(self) -> Floats:
        """Weights (n,), or (1,) for all rows; few algorithms need them all."""

    @property
    def heaviest(self) -> float:
        """The largest weight."""

    @property
    def total_weight(self) -> float:
        """The sum of the weights, rounded once."""

    @property
    def n_weighted(self) -> int:
        """How many rows weigh more than nothing."""

    @property
    def constants_size(self) -> float:
        """The sum of ``weight |phi(x)|``; what it is of squared distances is not used."""

    # -- labels and totals -------------------------------------------------------------------------

    def start(self, labels: Labels | None = None, totals: Totals | None = None) -> None:
        """Forget all labels; or begin with these labels (n,), whose exact totals are given.

        The executor may keep the array ``labels`` and write into it.
        """

    def labels(self, ids: Ids | slice = ...) -> Labels:
        """Return the slots (m,) of rows ``ids``, all rows by default. Not to be written into."""

    def numbers(self, number_of: Labels | None) -> Labels:
        """Return ``number_of`` the slot of each row (n,), or the slot: what a fit ends with.

        Not changed by anything that follows. Where labels live elsewhere, something that looks like
        an array and is turned into one when it is read.
        """

    def has_weight(self, part: slice) -> NDArray[np.bool_] | None:
        """Return which rows of a part weigh more than nothing; None where all do."""

    def set_labels(self, ids: Ids, slots: Ids) -> None:
        """Give rows ``ids`` (m,), each of them once, to ``slots`` (m,)."""

    def relabel(self, slots: Ids, n_slots: int | None = None) -> None:
        """Give all rows of slot c to ``slots[c]``; -1 where no row is in it.

        Without ``n_slots`` clusters unite: ``slots[c]`` is c, or the slot that takes its rows. With
        it, slots get new places among so many, no two the same.
        """

    def totals(self, n_slots: int, labels: Labels | None = None) -> Totals:
        """Return the exact totals of so many slots, of the present labels or of others.

        Others are (n,), or (1,) for all rows.

        Those of the present labels are the executor's own: flags of ``touched`` may be cleared.
        """

    # -- passes over all rows ----------------------------------------------------------------------

    def opening(self, rule: OpeningRule) -> Floats:
        """Return opening costs that depend on the row, in the form that `assign` reads."""

    def assign(self, centres: Centres, opening: Floats, drift: Drift | None = None) -> Summary:
        """Give every row to its cheapest centre; count rows above their opening cost.

        A row is above where ``weight * cost`` exceeds its opening cost even at its cheapest centre.
        ``opening``: (1,), or what the method above returned.
        Such rows may open clusters: any number of times `offer`, then `finish`. Without these the
        assignment is as it is.

        ``drift``: how far centres have moved since the last assignment, for executors that carry
        bounds; None where no other assignment will follow.
        """

    def offer(self, centres: Centres, births: Births, count: int) -> Ids:
        """Offer the newest births to the rows that were above; return those that still are.

        Rows ``births.openers`` get the last slots, and never choose again. The others compare their
        present centre with those slots, as far as these were opened before their own visit. Of rows
        that even so are above their opening cost, the first ``count`` in visiting order return.

        What it returns is final up to the last row: all births that these rows may see are there.
        """

    def finish(self, centres: Centres, births: Births) -> Summary:
        """Offer all births to the rows that were never above; return what was done in all."""

    def costs(self, centres: Centres, labels: Labels | None = None) -> Floats:
        """Return the cost (n,) of each row at the centre in its slot; 0 where it has none (-1).

        ``labels`` (n,), or (1,) for all rows.
        """

    def fit_term(self, centres: Centres) -> float:
        """Return the sum of the weighted costs of all rows in their slots, rounded once."""

    def candidates(
        self,
        centres: Centres,
        sizes: Floats,
        prior_weight: float,
        slack: float,
        part: slice | None = None,
    ) -> NDArray[np.intp]:
        """Return, in ascending order, the rows that might lower the objective by moving alone.

        Of all rows, or of a part.

        At least those for which ``slack N / (N + w) cost <= N' / (N' - w) cost'`` at some other
        cluster, N' and cost' being those of the row's own, w the largest weight; and those alone in
        their cluster. ``sizes`` (slots,): weights of the clusters with ``prior_weight`` each.
        """

    def divide(
        self, slots: NDArray[np.intp], halves: DirectForm, into: NDArray[np.intp] | None = None
    ) -> Division:
        """Let the rows of ``slots`` (c,) choose between two centres each.

        ``halves`` (2c, d): centres 2 j and 2 j + 1 are for slot j; of equal costs the first wins.
        Nothing changes but where ``into`` (c,) tells to which slot those that choose the second go;
        -1: they stay.
        """

    # -- rows one by one ---------------------------------------------------------------------------

    def take(self, ids: NDArray[np.intp] | None = None) -> LocalRows:
        """Return rows ``ids``, or all, in the memory of this process; at most ``most_taken``."""
