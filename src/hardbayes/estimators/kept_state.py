"""What fitted estimators have in common: their score, and how they are kept in files."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from hardbayes.geometry.base import Floats
from hardbayes.validation import check_weights


class KeptState(ABC):
    """An estimator whose fitted state is a ``_model`` and the attributes that end in ``_``.

    A subclass gives `score_samples`, and `_model_from`, which checks what a file holds.
    """

    @abstractmethod
    def score_samples(self, X: Any) -> Floats:
        """Return minus the cost of each row."""

    @abstractmethod
    def _model_from(self, arrays: dict[str, Any], fitted: dict[str, Any]) -> tuple[Any, int]:
        """Return the model made of these arrays, and its number of columns.

        Raises ValueError where the fitted attributes do not go with it.
        """

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the fit term of X under the fitted model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : ignored
            For scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Sum of the weighted `score_samples`.
        """
        scores = self.score_samples(X)
        weights = check_weights(sample_weight, scores[:, np.newaxis])
        return float(np.sum(scores if weights is None else weights * scores))

    def _get_state(self) -> dict[str, Any]:
        if not hasattr(self, "_model"):
            return {}
        state = {name: value for name, value in vars(self).items() if name.endswith("_")}
        names = state.pop("feature_names_in_", None)
        state["feature_names_in_"] = None if names is None else [str(name) for name in names]
        arrays: dict[str, Any] = self._model.to_arrays()
        return state | arrays

    def _set_state(self, state: dict[str, Any]) -> None:
        if not state:
            return
        arrays = {name: value for name, value in state.items() if not name.endswith("_")}
        fitted = {name: value for name, value in state.items() if name.endswith("_")}
        names = fitted.pop("feature_names_in_", None)
        model, n_columns = self._model_from(arrays, fitted)
        if names is not None:
            if len(names) != n_columns:
                raise ValueError(
                    "The saved model contradicts itself: wrong number of feature names."
                )
            fitted["feature_names_in_"] = np.array(names, dtype=object)
        self.__dict__.update(fitted, _model=model)
