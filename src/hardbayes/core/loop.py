"""The one loop of every model, and how a fit ends.

A fit is a row of stages, each of which may lower the objective: rows decide and parameters follow,
or whole clusters or features move. As long as one does, the loop begins again with the first.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from hardbayes.core.arrays import Floats

T = TypeVar("T")


class Proposal(NamedTuple, Generic[T]):
    """A move: what it leads to, and what that changes."""

    change: float  # exact change of the objective
    outcome: T  # the state of the fit thereafter
    n_changed: int = 0  # rows or clusters, as they are reported
    n_splits: int = 0
    n_merges: int = 0


def alternate(stages: Sequence[Callable[[], bool]], may_go_on: Callable[[], bool]) -> bool:
    """Go through the stages until none of them changes anything; return whether that was reached.

    ``may_go_on`` is called before each.
    """
    while True:
        for stage in stages:
            if not may_go_on():
                return False
            if stage():
                break
        else:
            return True


def level_rounding(history: Floats, floor: float = 0.0) -> Floats:
    """Return the trace without rises that are mere rounding; a real one would stay.

    Sweeps that change less than float64 can show may seem to raise the objective in its last
    places, or by ``floor`` where it is the difference of larger numbers.
    """
    levelled = np.maximum.accumulate(history[::-1])[::-1].copy()
    is_noise = np.abs(levelled - history).max() <= 1e-9 * np.abs(history).max() + floor
    return levelled if is_noise else history


class Status(Enum):
    """The end of a fit; the value is a template filled with ``steps`` and ``clusters``."""

    CONVERGED = (
        "Converged after {steps}: no further step lowers the objective. Nothing needs doing."
    )
    CAPPED = (
        "Converged at the cap of {clusters}, where more would still lower the objective. "
        "Raise max_clusters or cluster_penalty if that was not intended."
    )
    REMARKED = "Converged after {steps}."  # sentences on what was found follow
    OUT_OF_STEPS = (
        "Stopped after {steps} before it converged. "
        "Raise max_iter, or accept that the objective could still fall a little."
    )

    def sentence(self, steps: int, clusters: int) -> str:
        """Return the sentence for this fit."""
        return self.value.format(
            steps=counted(steps, "step"), clusters=counted(clusters, "cluster")
        )


def add_remark(fitted: dict[str, Any], sentence: str) -> None:
    """Say something of a fit that converged and needs no warning. IN/OUT fitted: ``status_``."""
    head = Status.REMARKED.sentence(fitted["n_iter_"], fitted["n_clusters_"])
    fitted["status_"] = f"{head} {sentence}"


def add_warning(fitted: dict[str, Any], status: Status, *sentences: str) -> Status:
    """Return the status of a fit that needs a warning, which `fit` gives.

    IN/OUT fitted: these sentences are added to ``status_``.
    """
    status = Status.REMARKED if status is Status.CONVERGED else status
    whole = [status.sentence(fitted["n_iter_"], fitted["n_clusters_"]), *sentences]
    fitted["status_"] = " ".join(filter(None, whole))
    return status


def counted(number: float, noun: str, plural: str | None = None) -> str:
    """Return a number of things in words: "1 step", "2,000 steps"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def say_nothing(step: int, n_clusters: int, n_changed: int) -> None:
    """Report nothing."""
