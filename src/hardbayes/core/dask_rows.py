"""Dask arrays and data frames: the one file that knows Dask.

Passes over blocks are tasks that depend on a block, on what is known of its rows and on a few small
arrays. Nothing is scattered and no task is pinned, so Dask may run any of them again on any worker,
when one is lost. What is known of the rows is in the client.

Only Dask's public interface is used: blocks by ``to_delayed``, tasks by ``dask.delayed``, and a
client of the user's, where there is one. Clusters are never made, closed or set up here.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from queue import Empty, Queue
from typing import Any

import numpy as np

# Seconds between two looks at the workers, while no task ends.
TICK = 0.5
# Seconds without any task that ends, in which workers were lost, after which a pass is given up: a
# lost worker comes back within some ten, and a task that kills every worker must not take minutes.
GIVEN_UP = 40.0
# Lost workers that a task was on, after which it is held to be the reason.
DEATHS = 3
# Part of the cluster's free memory that data may take to be kept there between passes.
KEPT_SHARE = 0.5
# Tasks that a scheduler without a client is given at a time: their results are all in memory.
AT_ONCE = 32


class Packed:
    """Something that Dask takes as it is, without looking for tasks in it."""

    def __init__(self, value: Any) -> None:
        self.value = value


def call(task: Callable[..., Any], X: Any, weights: Any, own: Packed, shared: Packed) -> Any:
    """Call a task in a worker; every task of a pass goes through here."""
    return task(X, weights, *own.value, *shared.value)


def running_client() -> Any:
    """Return the client that Dask would use, or None; raise TypeError for an asynchronous one."""
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        client = get_client()
    except ValueError:
        return None
    if client.asynchronous:
        raise TypeError(
            "The Dask client is asynchronous, and fit is not. Call fit from a thread with a "
            "synchronous client, such as Client(cluster)."
        )
    return client


def blocks_of(X: Any) -> list[Any]:
    """Return the blocks of rows of an array or a frame, as delayed objects."""
    if not isinstance(getattr(X, "ndim", None), int):
        raise TypeError(
            f"X must be a Dask array or data frame. Got {type(X).__name__} of Dask instead."
        )
    if X.ndim == 2 and hasattr(X, "columns"):
        return list(X.to_delayed())
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: X must have rows and columns."
        )
    return list(with_whole_rows(X).to_delayed().ravel())


def with_whole_rows(X: Any) -> Any:
    """Return an array whose blocks hold all columns."""
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def weights_by_block(X: Any, weights: Any, n_blocks: int) -> list[Any]:
    """Return the weights of each block of X: delayed objects, arrays, or None."""
    if weights is None:
        return [None] * n_blocks
    sizes = () if hasattr(X, "columns") else X.chunks[0]
    known = len(sizes) > 0 and not np.isnan(sizes).any()
    if hasattr(weights, "to_delayed"):
        if hasattr(weights, "rechunk") and known and weights.chunks[0] != sizes:
            _check_shape(weights, sum(sizes))
            weights = weights.rechunk((sizes,))
        parts = list(np.ravel(np.asarray(weights.to_delayed(), object)))
        if len(parts) != n_blocks:
            raise ValueError(
                f"The 'sample_weight' parameter must have a chunk for each of the {n_blocks} of X. "
                f"Got {len(parts)}: make it from X, or give X known chunks."
            )
        return parts
    weights = np.asarray(weights)
    if not known:
        raise ValueError(
            "The 'sample_weight' parameter must be a Dask array or series where the lengths of the "
            "blocks of X are not known. Make it from X."
        )
    _check_shape(weights, sum(sizes))
    ends = np.cumsum(sizes)
    return [Packed(part) for part in np.split(weights, ends[:-1])]


def _check_shape(weights: Any, n_rows: int) -> None:
    if weights.shape != (n_rows,):
        raise ValueError(
            f"The 'sample_weight' parameter must have one weight for each of the {n_rows} rows. "
            f"Got shape {weights.shape} instead."
        )


class DaskMapper:
    """Blocks of a Dask array or data frame, on which workers carry out passes."""

    def __init__(self, X: Any, sample_weight: Any = None) -> None:
        self._client = running_client()
        weights = weights_by_block(X, sample_weight, len(blocks_of(X)))
        if self._client is not None:
            X = _kept(X, self._client)
        self._kept = X  # as long as this is there, so is what was persisted
        self._blocks = list(zip(blocks_of(X), weights, strict=True))
        self.n_passes = 0

    def threads(self, pool: Any) -> int:
        """Return one: a worker runs as many tasks as it has threads."""
        return 1

    def map(
        self, task: Callable[..., Any], calls: list[Any], phase: str, shared: tuple[Any, ...] = ()
    ) -> Iterator[tuple[int, Any]]:
        """Let workers call the task for some blocks."""
        import dask

        if not calls:
            return
        self.n_passes += 1
        every = dask.delayed(Packed(shared), pure=False, traverse=False)
        do = dask.delayed(call, pure=False, traverse=False)
        tasks = {}
        for each in calls:
            X, weights = self._blocks[each.number]
            if isinstance(weights, Packed):
                weights = weights.value
            tasks[each.number] = do(task, X, weights, Packed(each.arguments), every)
        if self._client is None:
            numbers = list(tasks)
            for start in range(0, len(numbers), AT_ONCE):
                some = numbers[start : start + AT_ONCE]
                yield from zip(some, dask.compute(*(tasks[n] for n in some)), strict=True)
            return
        yield from _Watch(self._client, tasks, phase).results()

    def scan(self, task: Callable[..., Any], shared: tuple[Any, ...]) -> Iterator[tuple[int, Any]]:
        """Let workers call the task for all blocks."""
        calls = [_EveryBlock(number) for number in range(len(self._blocks))]
        found = dict(self.map(task, calls, "first pass", shared))
        yield from sorted(found.items(), key=lambda item: item[0])

    def one(self, number: int, task: Callable[..., Any], shared: tuple[Any, ...]) -> Any:
        """Let a worker call the task for one block."""
        return dict(self.map(task, [_EveryBlock(number)], "first pass", shared))[number]


class _EveryBlock:
    """A call without arguments of its own."""

    arguments: tuple[Any, ...] = ()

    def __init__(self, number: int) -> None:
        self.number = number


def _kept(X: Any, client: Any) -> Any:
    """Return X persisted where it fits into a part of the cluster's free memory; else as it is."""
    from distributed import futures_of

    if futures_of(X):
        return X
    size = getattr(X, "nbytes", np.nan)
    if not _workers(client):  # they may be starting, or coming back
        client.wait_for_workers(1, timeout=GIVEN_UP)
    free = 0.0
    for worker in _workers(client).values():
        used = worker.get("metrics", {}).get("memory", 0)
        free += max(0.0, (worker.get("memory_limit") or 0) - used)
    if size <= KEPT_SHARE * free:
        return client.persist(X)
    told = "of unknown size" if np.isnan(size) else f"of {size / 1e9:.3g} GB"
    warnings.warn(
        f"X, {told}, is read anew by every pass, because it may not fit into half of the "
        f"cluster's free memory, {free / 1e9:.3g} GB. Call X.persist() if it does.",
        UserWarning,
        stacklevel=6,
    )
    return X


def _workers(client: Any) -> dict[str, Any]:
    """Return what the scheduler knows of each worker, by address."""
    try:
        info = client.scheduler_info(n_workers=-1)
    except TypeError:  # an older version, which tells of all
        info = client.scheduler_info()
    workers: dict[str, Any] = info["workers"]
    return workers


class _Watch:
    """Tasks of a pass that a cluster runs: their results, or an error that names the reason."""

    def __init__(self, client: Any, tasks: dict[int, Any], phase: str) -> None:
        self._client = client
        self._tasks = tasks
        self._phase = phase
        self._seen: dict[str, set[str]] = {}  # workers on which each task was
        self._known: set[str] = set()
        self._lost: dict[str, float] = {}  # workers, and when they were missed

    def results(self) -> Iterator[tuple[int, Any]]:
        """Yield block numbers and results as tasks end."""
        numbers = list(self._tasks)
        futures = self._client.compute([self._tasks[n] for n in numbers])
        pending = {future.key: number for future, number in zip(futures, numbers, strict=True)}
        held = {future.key: future for future in futures}
        del futures
        ended: Queue[str] = Queue()
        for future in held.values():
            future.add_done_callback(lambda done: ended.put(done.key))
        self._known = set(_workers(self._client))
        last = time.monotonic()
        try:
            while pending:
                try:
                    keys = [ended.get(timeout=TICK)]
                except Empty:
                    self._look(pending, last)
                    continue
                while not ended.empty():
                    keys.append(ended.get())
                last = time.monotonic()
                keys = [key for key in dict.fromkeys(keys) if key in pending]
                for key in keys:
                    self._check(held[key], pending[key])
                # Together: each call would be a round of messages.
                found = self._client.gather([held.pop(key) for key in keys])
                yield from zip([pending.pop(key) for key in keys], found, strict=True)
        finally:
            if held:
                self._client.cancel(list(held.values()), force=True)
            held.clear()

    def _check(self, future: Any, number: int) -> None:
        """Raise what a task raised."""
        if future.status == "finished":
            return
        error = future.exception()
        if type(error).__name__ == "KilledWorker":
            worker = getattr(getattr(error, "last_worker", None), "address", "unknown")
            raise self._error(number, f"{worker}, the last of several that it ended")
        raise error

    def _look(self, pending: dict[str, int], last: float) -> None:
        """Note which workers are lost; raise where a task is the reason, or none is left."""
        now, workers = time.monotonic(), set(_workers(self._client))
        for missed in self._known - workers:
            self._lost[missed] = now
        self._known |= workers
        for address, keys in self._client.processing().items():
            for key in keys:
                if key in pending:
                    self._seen.setdefault(key, set()).add(address)
        lost = set(self._lost) - workers
        for key, seen in self._seen.items():
            if key in pending and len(seen & lost) >= DEATHS:
                raise self._error(pending[key], f"{', '.join(sorted(seen & lost))}, which are lost")
        recent = [address for address, when in self._lost.items() if when > last]
        if now - last > GIVEN_UP and (recent or not workers):
            number = next(iter(pending.values()))
            where = ", ".join(sorted(recent)) or "no worker: there is none"
            raise self._error(number, where)

    def _error(self, number: int, where: str) -> RuntimeError:
        return RuntimeError(
            f"Block {number} of X could not be worked on in the phase '{self._phase}': its task "
            f"was on {where}. Give workers more memory, or make chunks smaller; their logs say "
            "more."
        )


# -- lazy results ----------------------------------------------------------------------------------


def lazily(
    X: Any,
    function: Callable[..., Any],
    model: Any,
    dtype: Any,
    arguments: tuple[Any, ...] = (),
    width: int | None = None,
) -> Any:
    """Return a Dask array of ``function(block, model, *arguments)``, chunked as X.

    ``width``: columns of the result; None for one number a row.
    """
    import dask
    import dask.array as da

    packed = dask.delayed(Packed((model, *arguments)), pure=False, traverse=False)
    more = () if width is None else (width,)
    if hasattr(X, "columns"):
        do = dask.delayed(apply, pure=False, traverse=False)
        return da.concatenate(
            [
                da.from_delayed(do(block, packed, function), (np.nan, *more), dtype)
                for block in blocks_of(X)
            ]
        )
    X = with_whole_rows(X)
    return X.map_blocks(
        apply,
        packed,
        function=function,
        chunks=(X.chunks[0], *((n,) for n in more)),
        drop_axis=1 if width is None else [],
        meta=np.empty((0,) * (1 + len(more)), dtype),
    )


def apply(X: Any, packed: Packed, function: Callable[..., Any]) -> Any:
    """Call a function of a block and a model in a worker."""
    return function(X, *packed.value)
