"""Validation of the groups of rows: any labels that can be told apart."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import refuse_lazy


def check_groups(groups: Any, n_rows: int) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the number of each row's group (n,), and the labels of the groups.

    Labels are sorted, or in order of appearance where they are of kinds that have no order. None:
    all rows are in one group, 0.
    """
    if groups is None:
        return np.zeros(n_rows, np.intp), np.zeros(1, np.int64)
    labels = _as_labels(groups, n_rows)
    if labels.dtype.kind != "O":
        found, numbers = np.unique(labels, return_inverse=True)
        return numbers.astype(np.intp), found
    places: dict[Hashable, int] = {}
    numbers = np.array([places.setdefault(label, len(places)) for label in labels], np.intp)
    names: list[Any] = list(places)
    try:
        order = sorted(range(len(names)), key=lambda at: names[at])
    except TypeError:
        order = list(range(len(names)))
    rank = np.empty(len(names), np.intp)
    rank[order] = np.arange(len(names))
    return rank[numbers], _objects([names[at] for at in order])


def group_numbers(groups: Any, n_rows: int, known: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each row's group (n,) among the labels ``known``; -1 for none of them.

    None: rows of groups that are not known, or of the only group there is if that is 0, as in a fit
    without groups.
    """
    if groups is None:
        alone = len(known) == 1 and isinstance(known[0], np.integer) and known[0] == 0
        return np.full(n_rows, 0 if alone else -1, np.intp)
    places = {label: place for place, label in enumerate(known.tolist())}
    labels = _as_labels(groups, n_rows)
    return np.array([places.get(label, -1) for label in labels.tolist()], np.intp)


def _as_labels(groups: Any, n_rows: int) -> NDArray[Any]:
    """Return labels as an array (n,): of numbers or text where all are, else of objects."""
    if isinstance(groups, str) or not hasattr(groups, "__len__"):
        raise ValueError(
            "The 'groups' parameter must be a list of labels, one a row. "
            f"Got {type(groups).__name__} instead."
        )
    if hasattr(groups, "__array__"):
        refuse_lazy(groups, "groups")
        labels = np.asarray(groups)
    else:
        members = list(groups)
        kinds = {type(label) for label in members}
        plain = kinds <= {int} or kinds <= {float, int} or kinds <= {str} or kinds <= {bool}
        labels = np.asarray(members) if plain and members else _objects(members)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"The 'groups' parameter must have one label for each of the {n_rows} rows. "
            f"Got shape {labels.shape}."
        )
    if labels.dtype.kind in "fcmM":
        _refuse_missing(np.isnan(labels) if labels.dtype.kind in "fc" else np.isnat(labels))
    if labels.dtype.kind == "O":
        if all(isinstance(label, str) for label in labels):
            return labels.astype(str)
        _refuse_missing(np.array([_is_missing(label) for label in labels], bool))
        for row, label in enumerate(labels):
            if not isinstance(label, Hashable):
                raise ValueError(
                    f"The 'groups' parameter holds a {type(label).__name__} at row {row}, which "
                    "cannot be a label. Use numbers, text or tuples."
                )
    return labels


def _is_missing(label: Any) -> bool:
    try:
        return label is None or not bool(label == label)
    except (TypeError, ValueError):  # such as pandas.NA, or an array
        return not isinstance(label, Hashable) or type(label).__name__ == "NAType"


def _refuse_missing(missing: NDArray[np.bool_]) -> None:
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"The 'groups' parameter holds NaN or None at row {row}. Give every row a group."
        )


def _objects(members: list[Any]) -> NDArray[Any]:
    """Return an array of these objects, tuples too."""
    array = np.empty(len(members), object)
    for place, member in enumerate(members):
        array[place] = member
    return array
