"""Dask arrays and data frames: the one file that knows Dask.

Passes over blocks are tasks that depend on blocks, on what is known of their rows and on a few
small arrays. Nothing is scattered and no task is pinned, so Dask may run any of them again on any
worker, when one is lost. What is known of the rows is in the client.

Blocks that are kept on one worker are the work of a few tasks, because each task takes time of its
own; where they are kept changes no result.

Only Dask's public interface is used: blocks by ``to_delayed``, tasks by ``dask.delayed``, and a
client of the user's, where there is one. Clusters are never made, closed or set up here.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from itertools import count, pairwise, repeat
from queue import Empty, Queue
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from hardbayes.core.row_tasks import Missed, Order, Packed, call

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
# Bytes that are sent to the scheduler at a time, about; Dask warns of more than ten million.
SENT_BYTES = 1 << 22


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
    if not hasattr(X, "to_delayed"):
        raise TypeError(
            "X is an array of Dask's query planning, which does not hand out its blocks. Turn it "
            "off before dask.array is imported: dask.config.set({'array.query-planning': False})."
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
        self._futures: dict[int, Any] = {}  # of blocks that are kept on workers
        if self._client is not None:
            X, weights = _kept(X, weights, self._client)
            self._futures = _futures_of(X)
        self._kept = X  # as long as this is there, so is what was persisted
        self._blocks = list(zip(blocks_of(X), weights, strict=True))
        self._places: dict[int, str] = {}  # workers that keep a block
        self._threads: dict[str, int] = {}  # of each worker
        self._looked = -TICK
        # Of each block the state that a worker may know, and under which name.
        self._known: dict[int, tuple[Any, Any]] = {}
        self._names = zip(repeat(uuid4().hex), count())
        self.n_passes = 0

    def threads(self, pool: Any) -> int:
        """Return one: a worker runs as many tasks as it has threads."""
        return 1

    def map(
        self, task: Callable[..., Any], calls: list[Any], phase: str, shared: tuple[Any, ...] = ()
    ) -> Iterator[tuple[int, Any]]:
        """Let workers call the task for some blocks."""
        if not calls:
            return
        self.n_passes += 1
        call_of = {each.number: each for each in calls}
        while call_of:
            orders = {number: self._order(each) for number, each in call_of.items()}
            for number, result in self._results(task, orders, phase, shared):
                if isinstance(result, Missed):
                    self._known.pop(number, None)
                    continue
                yield number, self._completed(call_of.pop(number), orders[number], result)

    def _order(self, each: Any) -> Order:
        """Return what a worker is told of a call; the state of rows where it may not know it."""
        if each.state is None or self._client is None:
            return Order(each.arguments, each.state)
        known, name = self._known.get(each.number, (None, None))
        if known is not each.state:
            name = next(self._names)
            self._known[each.number] = each.state, name
        state = None if known is each.state else each.state
        return Order(each.arguments, state, name, next(self._names))

    def _completed(self, each: Any, order: Order, result: Any) -> Any:
        """Return the result of a call, with the state that was found."""
        if order.after is None or result[0] is None:
            return result
        state = result[0].after(each.state)
        self._known[each.number] = state, order.after
        return state, result[1]

    def _results(
        self, task: Callable[..., Any], orders: dict[int, Order], phase: str, shared: Any
    ) -> Iterator[tuple[int, Any]]:
        """Yield what workers have found of blocks."""
        import dask

        every = dask.delayed(Packed(shared), pure=False, traverse=False)
        do = dask.delayed(call, pure=False, traverse=False)
        tasks = []
        for numbers in self._runs(orders):
            own = Packed([orders[n] for n in numbers])
            blocks = [self._futures.get(n, self._blocks[n][0]) for n in numbers]
            weights = [self._blocks[n][1] for n in numbers]
            weights = [part.value if isinstance(part, Packed) else part for part in weights]
            sent = sum(self._bytes(n, orders[n]) for n in numbers)
            tasks.append(_Task(numbers, do(task, blocks, weights, own, every), sent))
        if self._client is not None:
            yield from _Watch(self._client, tasks, phase, set(self._threads)).results()
            return
        for start in range(0, len(tasks), AT_ONCE):
            some = tasks[start : start + AT_ONCE]
            found = dask.compute(*(each.delayed for each in some))
            for each, results in zip(some, found, strict=True):
                yield from zip(each.numbers, results, strict=True)

    def _runs(self, orders: dict[int, Order]) -> list[list[int]]:
        """Return numbers of blocks in runs, each of which is to be a task."""
        if self._client is None:
            return [[number] for number in orders]
        self._look()
        runs = [[number] for number in orders if number not in self._places]
        by_worker: dict[str, list[int]] = {}
        for number in orders:
            if number in self._places:
                by_worker.setdefault(self._places[number], []).append(number)
        for worker, some in by_worker.items():
            sent = sum(self._bytes(number, orders[number]) for number in some)
            n = max(self._threads[worker], -(-sent // SENT_BYTES))
            borders = [len(some) * i // n for i in range(n + 1)]
            runs += [some[a:b] for a, b in pairwise(borders) if a < b]
        return runs

    def _bytes(self, number: int, order: Order) -> int:
        """Return about how much is sent to a worker for a block."""
        from dask.sizeof import sizeof

        weights = self._blocks[number][1]
        more = weights.value.nbytes if isinstance(weights, Packed) else 0
        more += 0 if order.state is None else order.state.n_bytes
        return int(sizeof(order.arguments)) + more

    def _look(self) -> None:
        """Note which workers there are, and which keep which block: not in every short pass."""
        now, all_found = time.monotonic(), len(self._places) == len(self._futures)
        if all_found and now - self._looked < TICK:
            return
        self._looked = now
        workers = {name: told["nthreads"] for name, told in _workers(self._client).items()}
        if all_found and workers == self._threads:
            return
        self._threads = workers
        number_of = {future.key: number for number, future in self._futures.items()}
        found = self._client.who_has(list(self._futures.values())) if number_of else {}
        self._places = {
            number_of[key]: next(worker for worker in places if worker in workers)
            for key, places in found.items()
            if any(worker in workers for worker in places)
        }

    def scan(self, task: Callable[..., Any], shared: tuple[Any, ...]) -> Iterator[tuple[int, Any]]:
        """Let workers call the task for all blocks."""
        calls = [_EveryBlock(number) for number in range(len(self._blocks))]
        found = dict(self.map(task, calls, "first pass", shared))
        yield from sorted(found.items(), key=lambda item: item[0])

    def one(self, number: int, task: Callable[..., Any], shared: tuple[Any, ...]) -> Any:
        """Let a worker call the task for one block."""
        return dict(self.map(task, [_EveryBlock(number)], "first pass", shared))[number]


class _Task(NamedTuple):
    """A run of calls."""

    numbers: list[int]  # of blocks
    delayed: Any
    sent: int  # bytes


class _EveryBlock:
    """A call without arguments of its own."""

    arguments: tuple[Any, ...] = ()
    state = None

    def __init__(self, number: int) -> None:
        self.number = number


def _kept(X: Any, weights: list[Any], client: Any) -> tuple[Any, list[Any]]:
    """Return X and weights, persisted where X fits into a part of the cluster's free memory."""
    from distributed import futures_of

    if futures_of(X):
        return X, weights
    size = getattr(X, "nbytes", np.nan)
    if not _workers(client):  # they may be starting, or coming back
        client.wait_for_workers(1, timeout=GIVEN_UP)
    free = 0.0
    for worker in _workers(client).values():
        used = worker.get("metrics", {}).get("memory", 0)
        free += max(0.0, (worker.get("memory_limit") or 0) - used)
    if size <= KEPT_SHARE * free:
        lazy = weights if hasattr(weights[0], "dask") else []
        X, *lazy = client.persist([X, *lazy])
        return X, lazy or weights
    told = "of unknown size" if np.isnan(size) else f"of {size / 1e9:.3g} GB"
    warnings.warn(
        f"X, {told}, is read anew by every pass, because it may not fit into half of the "
        f"cluster's free memory, {free / 1e9:.3g} GB. Call X.persist() if it does.",
        UserWarning,
        stacklevel=6,
    )
    return X, weights


def _futures_of(X: Any) -> dict[int, Any]:
    """Return the futures of blocks that are kept on workers, by their numbers."""
    from dask.core import flatten
    from distributed import futures_of

    found = {future.key: future for future in futures_of(X)}
    if not hasattr(X, "columns") and X.numblocks[1] > 1:
        return {}  # they are no blocks of whole rows
    keys = enumerate(flatten(X.__dask_keys__()))
    return {number: found[key] for number, key in keys if key in found}


def _workers(client: Any) -> dict[str, Any]:
    """Return what the scheduler knows of each worker, by address."""
    try:
        info = client.scheduler_info(n_workers=-1)
    except TypeError:  # an older version, which tells of all
        info = client.scheduler_info()
    except OSError:
        info = {}
    if client.status != "running" or "workers" not in info:
        raise RuntimeError(
            "The scheduler of the Dask cluster no longer answers, and the fit ends with it. "
            "Connect a client to another cluster, and call fit again."
        )
    workers: dict[str, Any] = info["workers"]
    return workers


class _Watch:
    """Tasks of a pass that a cluster runs: their results, or an error that names the reason."""

    def __init__(self, client: Any, tasks: list[_Task], phase: str, workers: set[str]) -> None:
        self._client = client
        self._tasks = tasks
        self._phase = phase
        self._seen: dict[str, set[str]] = {}  # workers on which each task was
        self._known = workers
        self._lost: dict[str, float] = {}  # workers, and when they were missed

    def results(self) -> Iterator[tuple[int, Any]]:
        """Yield block numbers and results as tasks end."""
        pending: dict[str, list[int]] = {}
        held: dict[str, Any] = {}
        ended: Queue[str] = Queue()
        last = time.monotonic()
        try:
            for some in _messages(self._tasks):
                futures = self._client.compute([task.delayed for task in some])
                for task, future in zip(some, futures, strict=True):
                    pending[future.key], held[future.key] = task.numbers, future
                    future.add_done_callback(lambda done: ended.put(done.key))
                del futures, future
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
                for key, results in zip(keys, found, strict=True):
                    yield from zip(pending.pop(key), results, strict=True)
        except Exception:
            _workers(self._client)  # a dead scheduler is the reason, where there is one
            raise
        finally:
            if held:
                self._client.cancel(list(held.values()), force=True)
            held.clear()

    def _check(self, future: Any, numbers: list[int]) -> None:
        """Raise what a task raised."""
        if future.status == "finished":
            return
        if future.cancelled():
            raise RuntimeError(f"Dask has cancelled tasks of the phase '{self._phase}'.")
        error = future.exception()
        if type(error).__name__ == "KilledWorker":
            worker = getattr(getattr(error, "last_worker", None), "address", "unknown")
            raise self._error(numbers, f"{worker}, the last of several that it ended")
        raise error

    def _look(self, pending: dict[str, list[int]], last: float) -> None:
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
            where = ", ".join(sorted(recent)) or "no worker: there is none"
            raise self._error(next(iter(pending.values())), where)

    def _error(self, numbers: list[int], where: str) -> RuntimeError:
        first, last = min(numbers), max(numbers)
        which = f"Block {first}" if first == last else f"One of the blocks {first} to {last}"
        return RuntimeError(
            f"{which} of X could not be worked on in the phase '{self._phase}': its task "
            f"was on {where}. Give workers more memory, or make chunks smaller; their logs say "
            "more."
        )


def _messages(tasks: list[_Task]) -> Iterator[list[_Task]]:
    """Yield tasks that are sent to the scheduler together."""
    some: list[_Task] = []
    for task in tasks:
        if some and sum(each.sent for each in (*some, task)) > SENT_BYTES:
            yield some
            some = []
        some.append(task)
    yield some


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
