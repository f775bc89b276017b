"""How a fit ended, in sentences that say what to do; and a report that prints nothing."""

from enum import Enum


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


def counted(number: int, noun: str) -> str:
    """Return a number of things in words: "1 step", "2 steps"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def say_nothing(step: int, n_clusters: int, n_changed: int) -> None:
    """Report nothing."""
