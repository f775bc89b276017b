"""What the estimators of overlapping features share: fitting, using, saving."""

from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hardbayes.engine.features.descent import FeatureSolution
from hardbayes.engine.status import Status
from hardbayes.estimators.base import Estimator
from hardbayes.estimators.fitted_state import check_features
from hardbayes.matrices import Floats, Matrix
from hardbayes.models.features import FittedFeatures, fitted_attributes
from hardbayes.pool import Pool, resolve_threads
from hardbayes.problems.features import FeatureProblem, pose_features
from hardbayes.validation import check_membership


class FeatureEstimator(Estimator):
    """Base of the estimators that explain each row as a sum of components."""

    components_: NDArray[np.floating]
    n_components_: int

    @abstractmethod
    def _solve(
        self, problem: FeatureProblem, rng: np.random.RandomState
    ) -> tuple[FeatureSolution, float]:
        """Return the best solution found and the penalty used, in the user's units."""

    def _fitted(
        self, matrix: Matrix, weights: Floats | None, rng: np.random.RandomState, pool: Pool
    ) -> tuple[dict[str, Any], Status]:
        problem = pose_features(matrix, weights, pool)
        solution, penalty = self._solve(problem, rng)
        return fitted_attributes(solution, problem, penalty, matrix.dtype), solution.status

    def _reporter(self, problem: FeatureProblem) -> Callable[[str, int, float], None]:
        """Return a function that reports a number of features and an objective in working units."""
        return lambda what, k, objective: self._say(
            f"{what}: {k} features, objective {objective / problem.unit:.6g}"
        )

    def _stream(self) -> np.random.RandomState:
        """Return the stream of ``random_state``, by a generator that is seeded fast.

        Seeding NumPy's Mersenne twister takes longer than a start on a hundred rows.
        """
        seed = self.random_state
        if seed is None or isinstance(seed, Integral):
            return np.random.RandomState(np.random.PCG64(None if seed is None else int(seed)))
        return super()._stream()

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
        matrix = self._checked(X)
        with Pool(resolve_threads(self.n_jobs)) as pool:
            return self._model.allocate(matrix, pool)[0]

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

    def _costs(self, matrix: Matrix, pool: Pool) -> Floats:
        return self._model.allocate(matrix, pool)[1]

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []  # memberships are booleans
        return tags

    def _model_from(
        self, arrays: dict[str, Any], fitted: dict[str, Any]
    ) -> tuple[FittedFeatures, int]:
        model = FittedFeatures.from_arrays(arrays)
        check_features(fitted, *model.components.shape)
        return model, model.components.shape[1]
