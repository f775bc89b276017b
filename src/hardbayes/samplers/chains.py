"""Chains of a sampler: their state, the calls of the kernel, and threads that run them.

A chain has a stream of random numbers of its own, so its draws do not depend on the number of
threads. The kernel runs for a fraction of a second at a time, between which Ctrl-C is seen.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.pool import Pool, import_whole
from hardbayes.samplers.families import Posed

#: Multiply-adds of one call of the kernel, about a tenth of a second.
CALL_WORK = 1 << 26
#: Labels that one call may return.
CALL_LABELS = 1 << 21
#: Slots for clusters that a chain begins with; they double when they are used up.
N_SLOTS = 32
#: Numbers kept of each sweep: k, log posterior, alpha, noise variance, spread.
N_KEPT = 5

Drawn = NDArray[np.int32]


def streams(rng: np.random.RandomState, n_chains: int) -> list[NDArray[np.uint64]]:
    """Return the first state of each chain's random numbers."""
    entropy = [int(word) for word in rng.randint(0, 2**32, 4, dtype=np.uint64)]
    children = np.random.SeedSequence(entropy).spawn(n_chains)
    return [child.generate_state(4, np.uint64).astype(np.uint64) for child in children]


class Chain:
    """A chain of partitions: ``labels`` (n,), ``numbers``, and the record of sweeps."""

    def __init__(
        self,
        posed: Posed,
        labels: NDArray[np.intp],
        stream: NDArray[np.uint64],
        n_sweeps: int,
        split_merge: bool,
    ) -> None:
        import_whole("hardbayes.samplers.compiled.mixture")
        from hardbayes.samplers.compiled.clusters import Model

        self.posed = posed
        self.numbers = posed.first_numbers(labels)
        self.model = Model(posed.family, int(posed.means), self.numbers, posed.priors, posed.base)
        self.stream = stream
        self.split_merge = split_merge
        self.record = np.zeros((n_sweeps, N_KEPT))
        self.n_done = 0
        n, size = len(labels), int(labels.max()) + 1
        slots = min(max(N_SLOTS, 2 * size), n + 2)
        self.clusters = new_clusters(labels, posed.width, slots)
        self._draw_first_parameters()

    @property
    def labels(self) -> NDArray[np.int64]:
        """The slot of each row."""
        return self.clusters.labels

    def _draw_first_parameters(self) -> None:
        if self.posed.means:
            from hardbayes.samplers.compiled.mixture import begin

            begin(self.posed.rows, self.model, self.clusters, self.stream)

    def sweeps(self, n_sweeps: int) -> Iterator[tuple[int, Drawn]]:
        """Run sweeps; yield the number of the first of some and the labels after each (s, n)."""
        n = len(self.labels)
        step, last = self.n_done * n, (self.n_done + n_sweeps) * n
        kept = np.empty((0, n), np.int32)
        while step < last:
            first = step // n
            stop = min(last, step + self._steps_of_a_call())
            if len(kept) < (stop - 1) // n - first + 1:
                kept = np.empty(((stop - 1) // n - first + 1, n), np.int32)
            reached = self._advance(kept, step, stop)
            if reached < stop:
                self.clusters = grown(self.clusters, self.posed.width, n + 2)
            self.n_done = reached // n
            if self.n_done > first:
                yield first, kept[: self.n_done - first]
            step = reached

    def _advance(self, kept: Drawn, begin: int, end: int) -> int:
        from hardbayes.samplers.compiled.mixture import Record, Scratch, advance

        n = len(self.labels)
        scratch = Scratch(
            np.empty(n, np.int64), np.empty(n, np.int8), np.empty(len(self.clusters.active), int)
        )
        record = Record(kept, self.record)
        return advance(
            self.posed.rows, self.model, self.clusters, self.stream, scratch, record,
            begin, end, self.split_merge,
        )  # fmt: skip

    def _steps_of_a_call(self) -> int:
        """Return how many rows choose in one call, whole sweeps where that takes short."""
        n = len(self.labels)
        rows = self.posed.rows
        entries = rows.dense.shape[1] or max(1, 20 * len(rows.values) // n)
        size = int(self.clusters.size[0])
        work = (size + 4) * (entries + 16) + 4 * self.posed.width
        steps = max(1, min(CALL_WORK // work, CALL_LABELS))
        return steps // n * n if steps >= n else steps


def new_clusters(labels: NDArray[np.intp], width: int, slots: int) -> Any:
    """Return the clusters of these labels; their sums are made by the first step of a sweep."""
    from hardbayes.samplers.compiled.clusters import N_EXTRA, Clusters

    places = np.arange(slots, dtype=np.int64)
    size = np.array([int(labels.max()) + 1], np.int64)
    numbers = (np.zeros(slots + N_EXTRA) for _ in range(5))
    mass, offset, scale, within, log_count = numbers
    return Clusters(
        labels.astype(np.int64), places, places.copy(), size,
        np.zeros(slots + N_EXTRA, np.int64), mass,
        np.zeros((slots + N_EXTRA, width)), np.zeros((slots + N_EXTRA, width)),
        offset, scale, within, log_count, np.zeros(slots + N_EXTRA + width),
    )  # fmt: skip


def grown(old: Any, width: int, most: int) -> Any:
    """Return the same clusters with twice as many slots, but no more than ``most``."""
    from hardbayes.samplers.compiled.clusters import N_EXTRA

    before = len(old.active)
    slots = min(2 * before, most)
    new = new_clusters(old.labels, width, slots)
    new.labels[:] = old.labels
    new.size[:] = old.size
    new.active[:before], new.place[:before] = old.active, old.place
    for name in ("n_rows", "mass", "total", "theta", "offset", "scale", "within", "log_count"):
        source, target = getattr(old, name), getattr(new, name)
        target[:before] = source[:before]
        target[slots:] = source[before : before + N_EXTRA]
    return new


def run_chains(
    chains: list[Any],
    n_sweeps: int,
    take: Callable[[int, int, Any], None],
    pool: Pool,
) -> None:
    """Run every chain for so many sweeps; ``take(chain, first sweep, labels)`` gets what it draws.

    Chains take turns on threads.
    """
    done = [0] * len(chains)

    def work(number: int, worker: int) -> None:
        for first, drawn in chains[number].sweeps(n_sweeps):
            take(number, first, drawn)
            done[number] = first + len(drawn)
            pool.stop_if_given_up()
            if worker == 0:
                pool.report.step("sweep", sum(done), n_sweeps * len(chains))

    pool.report.stage(f"{len(chains)} chains")
    pool.run(work, len(chains))
