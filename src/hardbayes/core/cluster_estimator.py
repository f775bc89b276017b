"""Base class of the clustering estimators: predict and transform."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin

from hardbayes.core.estimator import Estimator
from hardbayes.core.matrices import Floats, Matrix
from hardbayes.core.plateaus import Columns, numbers_of, table_from
from hardbayes.core.pool import Pool, resolve_threads
from hardbayes.core.summaries import as_configured, numeric_table, profiles, table_of_profiles
from hardbayes.core.validation import check_novelty


class ClusterEstimator(ClusterMixin, Estimator):
    """Base of the estimators that assign each row to one cluster.

    Their ``_model`` has ``place(matrix, pool)``, which returns an object with ``labels()``,
    ``costs()``, ``distances()``, ``novel()`` and ``strangers(share)`` of the rows.
    """

    n_clusters_: int
    #: Columns of ``penalty_choice_``, for estimators that have it.
    _choice_columns: ClassVar[Columns] = {}
    #: How to get a given number of clusters, for a user who passes ``n_clusters``.
    _given_number = "Pass {name}(0, max_clusters={k}) for at most so many."

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Say how to get a given number of clusters; `__init__` takes none."""
        if "n_clusters" in parameters:
            how = cls._given_number.format(name=cls.__name__, k=parameters["n_clusters"])
            raise TypeError(
                f"{cls.__name__} finds the number of clusters and takes no 'n_clusters'. {how}"
            )
        return super().__new__(cls)

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
            about one in a hundred training rows a stranger. Rows that differ from their centre by
            rounding only are never among them.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
            Numbers of clusters.
        """
        return self._labels(self._checked(X), novelty)

    def _labels(self, matrix: Matrix, novelty: bool | float, **beside: Any) -> NDArray[np.int32]:
        """Return the clusters of checked rows; what else there is goes to ``place``."""
        share = check_novelty(novelty)
        with Pool(resolve_threads(self.n_jobs)) as pool:
            placed = self._model.place(matrix, pool, **beside)
            labels = placed.labels()
            if share is not None:
                labels[placed.strangers(share)] = -1
            elif novelty:
                labels[placed.novel()] = -1
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
            covariances; divergences for any other `divergence`.
        """
        matrix = self._checked(X)
        with Pool(resolve_threads(self.n_jobs)) as pool:
            distances = self._model.place(matrix, pool).distances()
        return distances.astype(matrix.dtype, copy=False)

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
        beside = {} if groups is None else {"groups": groups}
        labels = self.predict(X, **beside)
        names = getattr(self, "feature_names_in_", None)
        shown, names = numeric_table(matrix if values is None else values, names)
        if shown.shape[0] != len(labels):
            raise ValueError(f"'values' has {shown.shape[0]} rows, but X has {len(labels)}.")
        seen = None if values is None else matrix
        found = list(profiles(shown, labels, self.n_clusters_, rows=seen, n_columns=n_columns))
        return as_configured(table_of_profiles(found, names), self)

    def _costs(self, matrix: Matrix, pool: Pool) -> Floats:
        return self._model.place(matrix, pool).costs()

    def _get_state(self) -> dict[str, Any]:
        state = super()._get_state()
        if "penalty_choice_" in state:
            state["penalty_choice_"] = numbers_of(state["penalty_choice_"])
        return state

    def _set_state(self, state: dict[str, Any]) -> None:
        if "penalty_choice_" in state:
            table = table_from(state["penalty_choice_"], self._choice_columns)
            state = state | {"penalty_choice_": table}
        super()._set_state(state)

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
