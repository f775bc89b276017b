"""The fitted attributes that tell how a fit of clusters went."""

from typing import Any, NamedTuple

from hardbayes.engine.status import Status
from hardbayes.matrices import Floats


class AtOnce(NamedTuple):
    """The end of a fit that takes no steps."""

    status: Status = Status.CONVERGED
    n_splits: int = 0
    n_merges: int = 0


def trace_attributes(end: Any, history: Floats, n_clusters: int) -> dict[str, Any]:
    """Return the objective, its history (steps,), and how the fit ended.

    ``end``: a solution of any descent, with ``status``, ``n_splits`` and ``n_merges``.
    """
    return {
        "objective_": float(history[-1]),
        "objective_history_": history,
        "n_iter_": len(history),
        "n_splits_": end.n_splits,
        "n_merges_": end.n_merges,
        "converged_": end.status is not Status.OUT_OF_STEPS,
        "status_": end.status.sentence(len(history), n_clusters),
    }
