"""scikit-learn's callbacks, which it has from version 1.9 on: a fit is one task."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # an older scikit-learn

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin: estimators have no ``set_callbacks``."""


if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CallbackSupportMixin", "fit_task"]


@contextmanager
def fit_task(estimator: Any, X: Any, y: Any = None, **metadata: Any) -> Iterator[None]:
    """Tell the callbacks of an estimator that its fit begins and, unless it fails, that it ends.

    scikit-learn's wrapper of `fit` tears them down.
    """
    if not hasattr(estimator, "_skl_callbacks"):  # set, or propagated by a meta-estimator
        yield
        return
    given = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
    context = estimator._init_callback_context()
    context.call_on_fit_task_begin(**given)
    yield
    context.call_on_fit_task_end(**given, reconstruction_attributes={})
