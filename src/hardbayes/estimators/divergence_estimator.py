"""Base class of the estimators of clusters around centres, by any divergence."""

from numbers import Real
from typing import Any, ClassVar

from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from hardbayes.engine.partition.restarts import Starts
from hardbayes.engine.status import Status
from hardbayes.estimators.base import AT_LEAST_ONE, SHARED_CONSTRAINTS
from hardbayes.estimators.cluster_estimator import ClusterEstimator
from hardbayes.geometry import GEOMETRIES, Geometry, geometry_for
from hardbayes.matrices import Floats, Matrix
from hardbayes.validation import check_centres, touches_border


class DivergenceEstimator(ClusterEstimator):
    """Base of `DPMeans` and `HDPMeans`: the parameters that they share."""

    divergence: str | Geometry
    prior_weight: float | str
    search: str
    init: Any
    order: str
    max_clusters: int | None
    n_init: int
    max_iter: int

    _divergence_constraints: ClassVar[dict[str, list[Any]]] = {
        "divergence": [StrOptions(set(GEOMETRIES)), Geometry],
        "prior_weight": [StrOptions({"auto"}), Interval(Real, 0, 1e9, closed="both")],
        "init": [
            StrOptions({"mean", "farthest-first", "k-means++"}),
            "array-like",
            "sparse matrix",
        ],
        "order": [StrOptions({"random", "given"})],
        "max_clusters": [AT_LEAST_ONE, None],
        **SHARED_CONSTRAINTS,
    }

    @property
    def cluster_centers_(self) -> Floats:
        """Centres of shape (n_clusters_, n_features), made anew at each access."""
        return self._model.shown_centres()

    @property
    def _geometry(self) -> Geometry:
        return geometry_for(self.divergence)

    @property
    def _search(self) -> str:
        """The search as a key of the stages of a descent."""
        return self.search

    def _prior_weight_for(self, matrix: Matrix) -> float:
        """Return the number that ``prior_weight`` stands for."""
        if self.prior_weight != "auto":
            return float(self.prior_weight)
        geometry = self._geometry
        inside, at_border = (geometry.default_prior_weight(border) for border in (False, True))
        if inside == at_border:  # no need to look for entries at the border
            return inside
        return at_border if touches_border(matrix, geometry) else inside

    def _given_centres(self, n_columns: int) -> Floats | None:
        """Return the centres (k, d) passed as ``init``, checked; None for a name."""
        if isinstance(self.init, str):
            return None
        return check_centres(self.init, self._geometry, n_columns, self.max_clusters)

    def _starts(self, init: str | Floats) -> Starts:
        return Starts(init, self.order, self.n_init, self._search, self.max_iter)

    def _report(self, start: int, step: int, n_clusters: int, n_changed: int) -> None:
        head = f"start {start + 1}, " if self.n_init > 1 else ""
        self._say(f"{head}step {step}: {n_clusters} clusters, {n_changed} rows moved")

    def _call(self, **penalties: float) -> str:
        """Return the call of this estimator with given penalties."""
        shown = {name: float(f"{penalty:.6g}") for name, penalty in penalties.items()}
        return " ".join(repr(clone(self).set_params(**shown)).split())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        kind = GEOMETRIES.get(self.divergence) if isinstance(self.divergence, str) else None
        tags.input_tags.positive_only = kind is not None and (
            kind.nonnegative or kind.unit_interval
        )
        return tags


def remark(fitted: dict[str, Any], status: Status, *sentences: str) -> Status:
    """Return the status of a fit whose result needs a remark, of which `fit` warns.

    IN/OUT fitted: these sentences are added to ``status_``.
    """
    status = Status.REMARKED if status is Status.CONVERGED else status
    whole = [status.sentence(fitted["n_iter_"], fitted["n_clusters_"]), *sentences]
    fitted["status_"] = " ".join(filter(None, whole))
    return status
