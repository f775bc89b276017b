"""How a fit ended, in sentences that say what to do."""

from enum import Enum


class Status(Enum):
    """The end of a fit; the value is a template filled with ``sweeps`` and ``clusters``."""

    CONVERGED = (
        "Converged: the partition repeated itself after {sweeps} sweeps. Nothing needs doing."
    )
    CAPPED = (
        "Converged at the cap of {clusters} clusters with rows still dearer than the penalty. "
        "Raise max_clusters or cluster_penalty if that was not intended."
    )
    OUT_OF_SWEEPS = (
        "Stopped after {sweeps} sweeps before the partition repeated. "
        "Raise max_iter, or accept that the objective could still fall a little."
    )

    def sentence(self, sweeps: int, clusters: int) -> str:
        """Return the sentence for this fit."""
        return self.value.format(sweeps=sweeps, clusters=clusters)
