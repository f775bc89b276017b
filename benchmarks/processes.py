"""Fits of a battery in several processes: `--jobs N`."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.options import Options

Item = TypeVar("Item")
Result = TypeVar("Result")


def for_each(
    function: Callable[[Item], Result], items: Iterable[Item], options: Options
) -> Iterator[tuple[Item, Result]]:
    """Yield each item with what the function returns of it, in order.

    Times taken in several processes are those of a machine that is busy: they compare contestants,
    not machines.
    """
    if options.jobs == 1:
        yield from ((item, function(item)) for item in items)
        return
    run = delayed(_with_its_item)
    yield from Parallel(options.jobs, return_as="generator", pre_dispatch="2*n_jobs")(
        run(function, item) for item in items
    )


def _with_its_item(function: Callable[[Item], Result], item: Item) -> tuple[Item, Result]:
    with threadpool_limits(1):
        return item, function(item)
