"""How a fit ended, in sentences that say what to do; and a report for those who want none."""

from enum import Enum


class Status(Enum):
    """The end of a fit; the value is a template filled with ``steps`` and ``clusters``."""

    CONVERGED = (
        "Converged after {steps} steps: no further step lowers the objective. Nothing needs doing."
    )
    CAPPED = (
        "Converged at the cap of {clusters} clusters with rows still dearer than the penalty. "
        "Raise max_clusters or cluster_penalty if that was not intended."
    )
    OUT_OF_STEPS = (
        "Stopped after {steps} steps before it converged. "
        "Raise max_iter, or accept that the objective could still fall a little."
    )

    def sentence(self, steps: int, clusters: int) -> str:
        """Return the sentence for this fit."""
        return self.value.format(steps=steps, clusters=clusters)


def say_nothing(step: int, n_clusters: int, n_changed: int) -> None:
    """Report nothing."""
