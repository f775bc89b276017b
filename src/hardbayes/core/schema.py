"""What a fitted model is in a file, told as data, and the one function that checks it.

A schema names the entries of a state: numbers, texts, and arrays with their dtypes and shapes. A
length in a shape is a number or a name, and entries that name the same length must agree about it.
So damaged and forged files are refused in one place, whatever model they hold.
"""

from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

LARGEST = float(np.finfo(np.float64).max)  # of float64: what is larger is not finite
ANY_SHAPE = (...,)
POSITIVE = float(np.nextafter(0.0, 1.0))  # the smallest number above zero


class Entry(NamedTuple):
    """One entry of a state."""

    kind: Any  # bool, int, float or str; of an array the dtype, or an abstract one
    shape: tuple[Any, ...] | None = None  # lengths or their names, or ANY_SHAPE; None: no array
    low: float = -LARGEST
    high: float = LARGEST
    below: str | None = None  # a length that all numbers are less than
    length: str | None = None  # the length that the number tells
    may_miss: bool = False  # for example in files of older versions
    or_none: bool = False
    source: str | None = None  # where it is in the model; None: by the name of the entry


Schema = dict[str, Entry]


def number(**options: Any) -> Entry:
    """Return an entry that is a finite number."""
    return Entry(float, **options)


def length(name: str, **options: Any) -> Entry:
    """Return an entry that is an integer and tells a length."""
    return Entry(int, length=name, **options)


def array(*shape: int | str, dtype: Any = np.float64, **options: Any) -> Entry:
    """Return an entry that is an array of finite numbers, or of other things."""
    return Entry(dtype, shape, **options)


TRACE: Schema = {
    "objective_": number(),
    "objective_history_": array("steps"),
    "n_iter_": length("steps"),
    "converged_": Entry(bool),
    "status_": Entry(str),
}
# How many moves a fit made: none or more.
MOVES: Schema = {"n_splits_": Entry(int, low=0), "n_merges_": Entry(int, low=0)}
#: Attributes of clusters of rows.
CLUSTERS: Schema = {
    "n_clusters_": length("k", low=1),
    "n_features_in_": length("columns"),
    "labels_": array("n", dtype=np.int32, low=0, below="k"),
    "cluster_weights_": array("k"),
    "inertia_": number(),
    **TRACE,
    **MOVES,
}


def arrays_of(model: Any, schema: Schema) -> dict[str, Any]:
    """Return the entries of a fitted model: arrays, numbers and texts."""
    found = {
        name: attrgetter(entry.source or name.removeprefix("working_"))(model)
        for name, entry in schema.items()
    }
    return {
        name: value for name, value in found.items() if value is not None or schema[name].or_none
    }


def values_of(state: dict[str, Any], schema: Schema) -> list[Any]:
    """Return what a state holds for each entry of a schema, None for what is missing."""
    return [state.get(name) for name in schema]


def check(state: dict[str, Any], schema: Schema) -> None:
    """Raise ValueError unless a state is as the schema says."""
    missing = [name for name in schema if name not in state and not schema[name].may_miss]
    if missing:
        raise ValueError(f"The saved model is incomplete: there is no {' and no '.join(missing)}.")
    if unknown := sorted(set(state) - set(schema)):
        raise contradiction(f"{unknown[0]!r} is no part of it")
    lengths: dict[str, int] = {}
    given = {
        name: value
        for name, value in state.items()
        if value is not None or not schema[name].or_none
    }
    for name, value in given.items():
        _check_kind(name, value, schema[name])
        for expected, own in _lengths(value, schema[name]):
            known = lengths.setdefault(expected, own) if isinstance(expected, str) else expected
            if known != own:
                raise contradiction(f"{name!r} is malformed: {own} in place of {known}")
    for name, value in given.items():
        _check_range(name, value, schema[name], lengths)


def contradiction(what: str) -> ValueError:
    """Return the error for entries that cannot be those of one model."""
    return ValueError(f"The saved model contradicts itself: {what}.")


def _check_kind(name: str, value: Any, entry: Entry) -> None:
    if entry.shape is not None:
        fits = (
            isinstance(value, np.ndarray)
            and np.issubdtype(value.dtype, entry.kind)
            and (entry.shape == ANY_SHAPE or value.ndim == len(entry.shape))
        )
    elif isinstance(value, bool):  # Python's bools are integers
        fits = entry.kind is bool
    else:
        fits = isinstance(value, (int, float) if entry.kind is float else entry.kind)
    if not fits:
        raise contradiction(f"{name!r} is malformed")


def _lengths(value: Any, entry: Entry) -> list[tuple[int | str, int]]:
    """Return lengths, by name or as they must be, beside those that a value has."""
    if entry.length is not None:
        return [(entry.length, value)]
    if entry.shape in (None, ANY_SHAPE):
        return []
    return list(zip(entry.shape, value.shape, strict=True))


def _check_range(name: str, value: Any, entry: Entry, lengths: dict[str, int]) -> None:
    values = np.asarray(value)
    if values.dtype.kind not in "iuf" or not values.size:
        return
    high = entry.high if entry.below is None else lengths[entry.below] - 1
    # As Python's numbers, which are compared with a bound that the dtype cannot hold, too.
    least, most = values.min().item(), values.max().item()
    if not (entry.low <= least and most <= high):  # nor is NaN in any range
        raise contradiction(f"{name!r} holds numbers that it cannot hold")
