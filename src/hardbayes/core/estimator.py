"""Base classes of all estimators: fit, predict, score, and the state for files.

`Estimator` has what all share, `RowEstimator` what those of rows share, and `ClusterEstimator` what
those share that give each row to one cluster.
"""

import hashlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions
from sklearn.utils.validation import check_is_fitted

from hardbayes.core.arrays import Floats, Matrix, is_sparse, kept_in
from hardbayes.core.exact_number import check_told
from hardbayes.core.geometry.base import Geometry
from hardbayes.core.geometry.squared_euclidean import SquaredEuclidean
from hardbayes.core.html import found_html
from hardbayes.core.loop import Status
from hardbayes.core.plateaus import Columns, Table, numbers_of, table_from
from hardbayes.core.pool import Pool, Report, resolve_threads, shown
from hardbayes.core.progress import to_standard_error
from hardbayes.core.schema import Schema, array, check, contradiction
from hardbayes.core.summaries import as_configured, numeric_table, profiles, table_of_profiles
from hardbayes.core.validation import check_matrix, check_novelty, check_weights, fit_method
from hardbayes.core.validation.cells import column_names, remark_on_extremes

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # an older scikit-learn

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin: estimators have no ``set_callbacks``."""


AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
#: Constraints of the parameters that all estimators have.
SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "search": [StrOptions({"split-merge", "paper"})],
    "n_init": [AT_LEAST_ONE],
    "max_iter": [AT_LEAST_ONE],
    "random_state": ["random_state"],
    "n_jobs": [AT_LEAST_ONE, Interval(Integral, None, -1, closed="right"), None],
    "verbose": ["verbose"],
}


def fit_task(
    estimator: Any, X: Any, y: Any = None, **metadata: Any
) -> AbstractContextManager[None]:
    """Tell the callbacks of an estimator that its fit begins and, unless it fails, that it ends.

    scikit-learn's wrapper of `fit` tears them down. Without callbacks nothing is called at the end,
    where Ctrl-C would come after the fit.
    """
    if not hasattr(estimator, "_skl_callbacks"):  # set, or propagated by a meta-estimator
        return nullcontext()
    return _task(estimator, {"estimator": estimator, "X": X, "y": y, "metadata": metadata})


@contextmanager
def _task(estimator: Any, given: dict[str, Any]) -> Iterator[None]:
    context = estimator._init_callback_context()
    context.call_on_fit_task_begin(**given)
    yield
    context.call_on_fit_task_end(**given, reconstruction_attributes={})


class Absent:
    """A method of other libraries that a model has not: reading it says what to use instead."""

    def __init__(self, instead: str) -> None:
        self.instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError(f"{owner.__name__!r} has no {self.name!r}: {self.instead}")


class Estimator(CallbackSupportMixin, ABC, BaseEstimator):
    """Base of all: the fitted state is ``_model`` and the attributes that end in ``_``."""

    _model: Any
    _parameter_constraints: ClassVar[dict[str, list[Any]]]
    #: Attributes that may hold text, which files store as lists, and the dtype of their arrays.
    _text_attributes: ClassVar[dict[str, type]] = {"feature_names_in_": object}
    #: Columns of ``penalty_choice_``, for estimators that have it.
    _choice_columns: ClassVar[Columns] = {}
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    penalty_choice_: Table
    status_: str
    n_jobs: int | None
    random_state: Any
    verbose: int

    @abstractmethod
    def _schema(self, state: dict[str, Any]) -> Schema:
        """Return what a state from a file must hold, but for names of columns."""

    @abstractmethod
    def _model_from(self, state: dict[str, Any]) -> Any:
        """Return the model in a state from a file, which is as the schema says.

        Raises ValueError where its parts contradict each other nevertheless. IN/OUT state:
        attributes that are no longer kept are taken out.
        """

    def _keep(self, fitted: dict[str, Any], status: Status) -> None:
        """Set all fitted attributes at once; warn where the fit did not converge freely."""
        if status is not Status.CONVERGED:
            kind = UserWarning if status is Status.REMARKED else ConvergenceWarning
            # The stack level skips fit and scikit-learn's wrapper of it.
            warnings.warn(fitted["status_"], kind, stacklevel=4)
        self._set_fitted(fitted)

    def _set_fitted(self, fitted: dict[str, Any]) -> Self:
        """Set all fitted attributes at once, in place of those of an earlier fit; return self."""
        earlier = ("_model", "_chosen_for", "_block_labels")
        kept = {
            name: value
            for name, value in vars(self).items()
            if not name.endswith("_") and name not in earlier
        }
        self.__dict__ = kept | fitted  # all attributes or none
        return self

    @property
    def _columns(self) -> dict[str, Any]:
        """The attributes that describe the columns."""
        names = ("n_features_in_", "feature_names_in_")
        return {name: vars(self)[name] for name in names if name in vars(self)}

    def _stream(self) -> np.random.RandomState:
        """Return the generator of ``random_state``; for None a new one, not NumPy's global one."""
        if self.random_state is None:
            return np.random.RandomState()
        return check_random_state(self.random_state)

    def _progress(self) -> Report:
        """Return what a search reports to."""
        return to_standard_error(type(self).__name__) if self.verbose else shown()

    def _say(self, sentence: str) -> None:
        if self.verbose:
            to_standard_error(type(self).__name__).say(sentence)

    def _report_changes(self, step: int, n_clusters: int, n_changed: int) -> None:
        self._say(f"step {step}: {n_clusters} clusters, {n_changed} changes")

    def _repr_html_inner(self) -> str:
        return found_html(self) + super()._repr_html_inner()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:  # not where scikit-learn is configured to show text
            bundle["text/html"] = found_html(self) + bundle["text/html"]
        return bundle

    def _validate_params(self) -> None:
        super()._validate_params()
        if getattr(self, "n_clusters", None) is not None:
            check_told(self)
        for name, constraints in self._parameter_constraints.items():
            value = getattr(self, name)
            # Python's bools are integers, and one that is passed for a number is a mistake.
            if isinstance(value, bool | np.bool_) and not (
                "verbose" in constraints or "boolean" in constraints
            ):
                raise InvalidParameterError(
                    f"The {name!r} parameter of {type(self).__name__} must not be a bool. "
                    f"Got {value!r} instead."
                )

    # -- for save and load -------------------------------------------------------------------------

    @property
    def _choice_schema(self) -> Schema:
        """What a file holds of the choice of a penalty, where there was one."""
        return {"penalty_choice_": array("candidates", len(self._choice_columns), may_miss=True)}

    def _get_state(self) -> dict[str, Any]:
        if not hasattr(self, "_model"):
            return {}
        state: dict[str, Any] = dict.fromkeys(self._text_attributes)
        state |= {name: value for name, value in vars(self).items() if name.endswith("_")}
        for name, dtype in self._text_attributes.items():
            if state[name] is not None and state[name].dtype.kind == np.dtype(dtype).kind:
                state[name] = [str(text) for text in state[name]]
        if "penalty_choice_" in state:
            state["penalty_choice_"] = numbers_of(state["penalty_choice_"])
        return state | self._model.to_arrays()

    def _set_state(self, state: dict[str, Any]) -> None:
        state = dict(state)
        for name, dtype in self._text_attributes.items():
            if isinstance(state.get(name), list):
                state[name] = np.array(state[name], dtype)
        names = state.pop("feature_names_in_", None)
        check(state, self._schema(state))
        if names is not None:
            if len(names) != state["n_features_in_"]:
                raise contradiction("wrong number of feature names")
            state["feature_names_in_"] = names
        model = self._model_from(state)
        if "penalty_choice_" in state:
            table = table_from(state["penalty_choice_"], self._choice_columns)
            state["penalty_choice_"] = table
        fitted = {name: value for name, value in state.items() if name.endswith("_")}
        self._set_fitted(fitted | {"_model": model})


class RowEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Base of the estimators of rows: `_fit_rows` is what `fit` asks of them."""

    #: ``_fitted(matrix, weights, rng, pool)``: the same of checked rows, where X is a matrix.
    _fitted: Callable[..., tuple[dict[str, Any], Status]]
    inertia_: float
    objective_: float
    objective_history_: Floats
    n_iter_: int
    n_splits_: int
    n_merges_: int
    converged_: bool

    @property
    def _geometry(self) -> Geometry:
        """The divergence of a fit."""
        return SquaredEuclidean()

    @abstractmethod
    def _costs(self, matrix: Matrix, pool: Pool) -> Floats:
        """Return the cost of each row (n,) under the fitted model."""

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; `GaussianDPMeans` accepts dense rows only. C-contiguous float32 or float64 arrays,
            memory maps and CSR matrices are not copied.
        y : ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A row of weight zero opens no cluster, but is labelled like any
            other.

        Returns
        -------
        self : estimator
            The fitted estimator. If an error is raised, the estimator is unchanged.
        """
        with fit_task(self, X, y, sample_weight=sample_weight):
            self._keep(*self._fit_rows(X, sample_weight))
        return self

    def _fit_rows(self, X: Any, sample_weight: Any, **params: Any) -> tuple[dict[str, Any], Status]:
        """Return the fitted attributes and the status; ``params`` go to `_fitted`."""
        matrix, weights, names = checked_data(self, self._geometry, X, sample_weight)
        self._say("fit of {} rows, {} columns".format(*matrix.shape))
        with Pool(resolve_threads(self.n_jobs), self._progress()) as pool:
            fitted, status = self._fitted(matrix, weights, self._stream(), pool, **params)
        return fitted | names, status

    def score_samples(self, X: Any) -> Floats:
        """Return minus the cost of each row, at its best centre or with its best features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows. Their weights are one, or their lengths if the divergence has
            ``length_as_weight``.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Higher is better.
        """
        matrix = self._checked(X)
        with Pool(resolve_threads(self.n_jobs)) as pool:
            return -self._costs(matrix, pool)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the fit term of X under the fitted model.

        The penalty is not included. More clusters or features fit better, also on new rows, so a
        ``GridSearchCV`` over the penalty selects the smallest. Compare penalties by `penalty_path`,
        or use "auto".

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Sum of the weighted `score_samples`.
        """
        return weighted_sum(self.score_samples(X), sample_weight)

    def _checked(self, X: Any) -> Matrix:
        check_is_fitted(self)
        return check_matrix(X, self._model.geometry, self, reset=False)


def checked_data(
    estimator: RowEstimator, geometry: Geometry, X: Any, sample_weight: Any
) -> tuple[Matrix, Floats | None, dict[str, Any]]:
    """Return rows and weights for a fit, and the attributes that describe their columns."""
    described = copy(estimator)  # gets the attributes: a fit that fails must not change them
    matrix = check_matrix(X, geometry, described)
    weights = check_weights(sample_weight, matrix, geometry)
    remark = remark_on_extremes(matrix, column_names(X))
    if remark is not None:
        warnings.warn(remark, UserWarning, stacklevel=5)  # skips `_fit_rows`, fit and its wrapper
    return matrix, weights, described._columns


def fingerprint(matrix: Matrix, weights: Floats | None) -> bytes:
    """Return what tells rows and weights from any others: a digest of every number."""
    parts = [matrix.indptr, matrix.indices, matrix.data] if is_sparse(matrix) else [matrix]
    digest = hashlib.sha256(repr(matrix.shape).encode())
    for part in parts if weights is None else [*parts, weights]:
        digest.update(f"{part.dtype}{part.shape}".encode())
        digest.update(np.ascontiguousarray(part).data)
    return digest.digest()


def weighted_sum(scores: Floats, sample_weight: Any) -> float:
    """Return the sum of the scores (n,) of rows with these weights."""
    weights = check_weights(sample_weight, scores[:, np.newaxis])
    return float(np.sum(scores if weights is None else weights * scores))


class ClusterEstimator(ClusterMixin, RowEstimator):
    """Base of the estimators that assign each row to one cluster.

    Their ``_model`` has ``assign(matrix, pool)``, which returns an object with ``labels()``,
    ``costs()``, ``distances()``, ``novel()`` and ``outliers(share)`` of the rows.
    """

    labels_: NDArray[np.int32]
    n_clusters_: int
    cluster_weights_: Floats
    cluster_penalty_: float
    partial_fit: Any = Absent("use MiniBatchDPMeans for rows that come in parts.")
    predict_proba = Absent("each row has one cluster. certainty(model, X) says how sure it is.")

    def predict(self, X: Any, novelty: bool | float = False) -> NDArray[np.int32]:
        """Return the cluster of lowest cost for each row; no cluster is opened.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        novelty : bool or float, default=False
            Which rows get -1. True: rows whose cost is above their opening cost, which would have
            opened a cluster; weights are one, or the rows' lengths if the divergence has
            ``length_as_weight``. A share, 0 < novelty < 1: rows that lie farther out than all but
            that share of the training rows of their cluster, whatever the penalty; 0.01 would call
            about one in a hundred training rows an outlier. Rows that differ from their centre by
            rounding only are never among them.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
            Numbers of clusters.
        """
        return self._labels(self._checked(X), novelty)

    def _labels(self, matrix: Matrix, novelty: bool | float, **params: Any) -> NDArray[np.int32]:
        """Return the clusters of checked rows; ``params`` go to ``assign``."""
        share = check_novelty(novelty)
        with Pool(resolve_threads(self.n_jobs)) as pool:
            assigned = self._model.assign(matrix, pool, **params)
            labels = assigned.labels()
            if share is not None:
                labels[assigned.outliers(share)] = -1
            elif novelty:
                labels[assigned.novel()] = -1
        return labels

    def transform(self, X: Any) -> Floats:
        """Return the distance of each row from each centre.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters_)
            Euclidean distances, as in scikit-learn's KMeans; Mahalanobis distances if clusters have
            covariances; divergences for any other `divergence`. In the dtype of X, or in float64
            where a float32 cannot hold them.
        """
        return self._distances(self._checked(X))

    def _distances(self, matrix: Matrix) -> Floats:
        with Pool(resolve_threads(self.n_jobs)) as pool:
            distances = self._model.assign(matrix, pool).distances()
        return kept_in(distances, matrix.dtype)

    def summary(self, X: Any, *, values: Any = None, n_columns: int = 3, groups: Any = None) -> Any:
        """Return a table of the clusters of X: how large they are and what sets them apart.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, those of the fit or others.
        values : table of shape (n_samples, n_values) or None, default=None
            The same rows in units that people read, for example before they were scaled. Columns of
            a data frame that are no numbers are left out; missing values do not count. None: X.
        n_columns : int, default=3
            How many columns are told of each cluster, those that differ most from all rows.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, for `HDPMeans`.

        Returns
        -------
        table : dict of ndarrays of shape (n_clusters_,), or data frame if `set_output` names one
            "cluster", its number; "size", its number of rows; "share" of all rows; "spread", the
            root mean square distance of its rows from their mean, in the units of X; "high" and
            "low", the columns in which it lies above and below the other rows: their means, and in
            brackets how far these are from the means of all rows, in standard deviations of all
            rows.
        """
        matrix = self._checked(X)
        if groups is not None and not hasattr(self, "groups_"):
            raise ValueError(
                "The 'groups' parameter of summary is for HDPMeans, and this model is a "
                f"{type(self).__name__}. Leave it out."
            )
        params = {} if groups is None else {"groups": groups}
        labels = self.predict(X, **params)
        names = getattr(self, "feature_names_in_", None)
        shown, names = numeric_table(matrix if values is None else values, names)
        if shown.shape[0] != len(labels):
            raise ValueError(f"'values' has {shown.shape[0]} rows, but X has {len(labels)}.")
        seen = None if values is None else matrix
        found = list(profiles(shown, labels, self.n_clusters_, rows=seen, n_columns=n_columns))
        return as_configured(table_of_profiles(found, names), self)

    def _costs(self, matrix: Matrix, pool: Pool) -> Floats:
        return self._model.assign(matrix, pool).costs()

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
