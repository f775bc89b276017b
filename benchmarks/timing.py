"""Times of contestants that take turns, and the ratios of times taken in the same turn."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class Timed(Generic[Result]):
    """What a call returned, and how long it took."""

    seconds: float
    result: Result


@dataclass(frozen=True)
class Ratio:
    """Median and extremes of paired ratios."""

    median: float
    lowest: float
    highest: float

    def __str__(self) -> str:
        spread = f" ({self.lowest:.2f}-{self.highest:.2f})" if self.lowest < self.highest else ""
        return f"{self.median:.2f}{spread}"


def interleave(
    contestants: Mapping[str, Callable[[int], Result]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[Timed[Result]]]:
    """Call every contestant once in each of `repeats` rounds, with the number of the round.

    A machine that slows down for a while then slows all of them. The pause lets the threads of the
    last one, which may wait actively, go to sleep before the next one is timed.
    """
    times: dict[str, list[Timed[Result]]] = {name: [] for name in contestants}
    for turn in range(repeats):
        for name, contestant in contestants.items():
            time.sleep(0.005)
            begin = clock()
            result = contestant(turn)
            times[name].append(Timed(clock() - begin, result))
    return times


def seconds(runs: Sequence[Timed[Result]]) -> float:
    """Return the median time."""
    return median(run.seconds for run in runs)


def paired_ratio(
    above: Sequence[Timed[Result]],
    below: Sequence[Timed[Result]],
    work: Callable[[Result], float] = lambda _: 1.0,
) -> Ratio:
    """Return the ratio of times, each divided by the work its run did, turn by turn."""
    ratios = [
        (a.seconds / work(a.result)) / (b.seconds / work(b.result))
        for a, b in zip(above, below, strict=True)
    ]
    return Ratio(median(ratios), min(ratios), max(ratios))


def progress(message: str) -> None:
    """Tell the person who waits, without touching the report on standard output."""
    print(f"[{time.strftime('%H:%M:%S')}] {message}", file=sys.stderr, flush=True)
