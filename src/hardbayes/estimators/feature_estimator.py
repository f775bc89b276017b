"""What the estimators of overlapping features share: fitting, using, saving."""

import sys
import warnings
from abc import abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hardbayes.engine.allocation import AllocationSolution
from hardbayes.engine.feature_model import FittedFeatures
from hardbayes.engine.feature_problem import FeatureProblem, pose_features
from hardbayes.engine.feature_result import fitted_attributes
from hardbayes.engine.status import Status
from hardbayes.estimators.feature_state import check_fitted_features
from hardbayes.estimators.kept_state import KeptState
from hardbayes.executors.pool import Pool, resolve_threads
from hardbayes.geometry import geometry_for
from hardbayes.geometry.base import Floats
from hardbayes.matrices import Matrix
from hardbayes.validation import check_matrix, check_membership, check_weights


class FeatureEstimator(KeptState, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the estimators that explain each row as a sum of components.

    A subclass has the parameters ``random_state``, ``n_jobs`` and ``verbose``, and gives `_solve`.
    """

    _geometry = geometry_for("squared_euclidean")

    @abstractmethod
    def _solve(
        self, problem: FeatureProblem, rng: np.random.RandomState
    ) -> tuple[AllocationSolution, float]:
        """Return the best solution found and the penalty used, in the user's units."""

    def _fit(self, X: Any, sample_weight: Any) -> None:
        seen = type(self)()  # takes the feature names: a failed fit leaves no trace on this one
        matrix = check_matrix(X, self._geometry, seen)
        weights = check_weights(sample_weight, matrix)
        with Pool(resolve_threads(self.n_jobs)) as pool:
            problem = pose_features(matrix, weights, pool)
            solution, penalty = self._solve(problem, self._stream())
        fitted = fitted_attributes(solution, problem, penalty, matrix.dtype)
        if solution.status is not Status.CONVERGED:
            # past scikit-learn's wrapper of fit
            warnings.warn(fitted["status_"], ConvergenceWarning, stacklevel=4)
        kept = {name: value for name, value in vars(self).items() if not name.endswith("_")}
        names = {name: value for name, value in vars(seen).items() if name.endswith("_")}
        self.__dict__ = kept | fitted | names  # at once, or not at all

    def _stream(self) -> np.random.RandomState:
        # Not NumPy's global stream for None: a fit leaves no trace there. And not its Mersenne
        # twister for numbers: to seed one takes longer than a start on a hundred rows.
        state = self.random_state
        if state is None or isinstance(state, Integral):
            seed = None if state is None else int(state)
            return np.random.RandomState(np.random.PCG64(seed))
        return check_random_state(state)

    def _report(self, sentence: str) -> None:
        if self.verbose:
            print(  # noqa: T201 - what verbose asks for
                f"[{type(self).__name__}] {sentence}", file=sys.stderr
            )

    # -- using ----------------------------------------------------------------------------------

    def _allocate(self, X: Any) -> tuple[NDArray[np.bool_], Floats]:
        check_is_fitted(self)
        matrix: Matrix = check_matrix(X, self._geometry, self, reset=False)
        with Pool(resolve_threads(self.n_jobs)) as pool:
            return self._model.allocate(matrix, pool)

    def transform(self, X: Any) -> NDArray[np.bool_]:
        """Return which features each row has, the components left as they are.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        membership : ndarray of shape (n_samples, n_components_), bool
            The features that explain each row best. Of more than a dozen, those from which neither
            one change nor two at once lead to better ones.
        """
        return self._allocate(X)[0]

    def inverse_transform(self, X: Any) -> Floats:
        """Rebuild rows from their features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Memberships: zeros and ones, as `transform` returns them.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features_in_)
            Sums of components, in the dtype of `components_`.
        """
        check_is_fitted(self)
        membership = check_membership(X, self.n_components_)
        return self._model.rebuild(membership).astype(self.components_.dtype)

    def score_samples(self, X: Any) -> Floats:
        """Return minus the squared residual of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The higher, the better the features explain a row.
        """
        return -self._allocate(X)[1]

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []  # memberships are booleans
        return tags

    # -- for save and load ----------------------------------------------------------------------

    def _model_from(
        self, arrays: dict[str, Any], fitted: dict[str, Any]
    ) -> tuple[FittedFeatures, int]:
        model = FittedFeatures.from_arrays(arrays)
        check_fitted_features(fitted, *model.components.shape)
        return model, model.components.shape[1]
