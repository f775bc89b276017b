"""scikit-learn's callbacks, which it has from version 1.9 on: a fit is one task."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # an older scikit-learn

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin: estimators have no ``set_callbacks``."""


__all__ = ["CallbackSupportMixin", "fit_task"]


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
