"""Geometry objects in model files: which can be saved, and how they are restored."""

from typing import Any

import numpy as np

from hardbayes.geometry import (
    Cosine,
    Geometry,
    ItakuraSaito,
    KullbackLeibler,
    Logistic,
    Mahalanobis,
    Poisson,
    SquaredEuclidean,
)
from hardbayes.persistence.container import ModelFileError

# The only geometries that a file can name, with the types of their constructor's arguments, which
# are also attributes. A user's own geometry is code, and so are the functions of a family.
ARGUMENTS: dict[type[Geometry], dict[str, type]] = {
    Cosine: {},
    ItakuraSaito: {"shape": float},
    KullbackLeibler: {"length_as_weight": bool},
    Logistic: {},
    Mahalanobis: {"matrix": np.ndarray},
    Poisson: {},
    SquaredEuclidean: {},
}
CLASSES = {cls.__name__: cls for cls in ARGUMENTS}


def described(geometry: object) -> dict[str, Any]:
    """Return the name of a geometry's class and its arguments, for `geometry_from`.

    Raises
    ------
    ValueError
        If a file cannot name it.
    """
    # Exactly the class: a subclass would be loaded as its parent, without its own behaviour.
    name, cls = type(geometry).__name__, CLASSES.get(type(geometry).__name__)
    if cls is None or type(geometry) is not cls:
        raise ValueError(
            f"its 'divergence' is an object of class {name}, and a model file "
            "holds no code; use a divergence of this library, or keep cluster_centers_ with "
            "numpy.save and construct the estimator with your object again"
        )
    values: dict[str, Any] = {"class": name}
    for argument, kind in ARGUMENTS[cls].items():
        value = getattr(geometry, argument)
        values[argument] = np.array(value, np.float64) if kind is np.ndarray else kind(value)
    return values


def same_geometry(one: object, other: object) -> bool:
    """Whether two geometries are of one class and were made with the same arguments."""
    names = ARGUMENTS.get(type(one), {})  # type: ignore[arg-type]
    return type(one) is type(other) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in names
    )


def check_name(values: dict[str, Any], version: str) -> None:
    """Raise ModelFileError unless encoded values name a geometry that this library has."""
    name = values.get("class")
    if not isinstance(name, str):
        raise ModelFileError("its divergence has no class")
    if name not in CLASSES:
        raise ModelFileError(
            f"its divergence is a {name[:40]!r}, which this hardbayes does not know",
            f"use the version that wrote it, {version[:40]!r}",
        )


def geometry_from(values: dict[str, Any]) -> Geometry:
    """Return the geometry of these decoded values; raise ValueError or TypeError if invalid."""
    cls = CLASSES[values["class"]]
    arguments = {name: value for name, value in values.items() if name != "class"}
    if {name: type(value) for name, value in arguments.items()} != ARGUMENTS[cls]:
        raise ValueError(f"the arguments of {cls.__name__} are not what it takes")
    return cls(**arguments)
