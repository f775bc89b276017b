"""Named Python values and geometry objects as strict JSON plus arrays, and back.

None, booleans, integers, finite floats and text are stored as JSON. All other values are objects
with one key: ``{"float": "nan" | "inf" | "-inf"}``, ``{"array": name}`` for an entry of the array
table, ``{"pairs": [[key, text], ...]}`` for what a user says of a few columns, whose keys are names
or numbers, and ``{"strings": name}`` for a list of text, whose UTF-8 bytes and lengths are the two
entries ``name.utf8`` and ``name.lengths`` (the header has no space for a million column names).
A geometry is the name of its class and the arguments that it was made with.
"""

import math
import re
from typing import Any

import numpy as np

from hardbayes.core.geometry import (
    Cosine,
    Geometry,
    ItakuraSaito,
    KullbackLeibler,
    Logistic,
    Mahalanobis,
    Poisson,
    SquaredEuclidean,
)
from hardbayes.mixed.divergence import Mixed
from hardbayes.persistence.container import ArrayEntry, ModelFileError, as_storable

_NON_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
# Plain attribute names; names with two leading underscores are reserved by Python.
_NAME = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]{0,99}")

# The only geometries that a file can name, with the types of their constructor's arguments, which
# are also attributes. A user's own geometry is code, and so are the functions of a family.
ARGUMENTS: dict[type, dict[str, type]] = {
    Cosine: {},
    ItakuraSaito: {"shape": float},
    KullbackLeibler: {"length_as_weight": bool},
    Logistic: {},
    Mahalanobis: {"matrix": np.ndarray},
    Mixed: {"columns": dict},
    Poisson: {},
    SquaredEuclidean: {},
}
CLASSES = {cls.__name__: cls for cls in ARGUMENTS}


def encode(
    section: str, values: dict[str, Any], arrays: dict[str, np.ndarray]
) -> dict[str, object]:
    """Turn named values into JSON values; arrays are added to `arrays`.

    Parameters
    ----------
    section : str
        Name of the section, the first part of the names of its arrays.
    values : dict
        The values by name.
    arrays : dict of str to ndarray
        Receives the arrays.

    Returns
    -------
    dict
        JSON values by name.

    Raises
    ------
    ValueError
        If a value cannot be stored.
    """
    encoded = {}
    for name, value in values.items():
        try:
            if not _NAME.fullmatch(name):
                raise ValueError("the name is not a plain attribute name")
            encoded[name] = _encode_one(f"{section}.{name}", value, arrays)
        except ValueError as error:
            raise ValueError(f"its {section} entry {name!r} cannot be stored ({error})") from error
    return encoded


def _encode_one(key: str, value: Any, arrays: dict[str, np.ndarray]) -> object:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        if not _in_range(value):
            raise ValueError("the integer does not fit in 64 bits")
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, dict):
        pairs = [list(pair) for pair in value.items()]
        if not _are_pairs(pairs):
            raise ValueError("a dict in a file has names or numbers as keys, and texts as values")
        return {"pairs": pairs}
    if isinstance(value, list | tuple):
        if value and all(isinstance(text, str) for text in value):
            return _encode_strings(key, value, arrays)
        value = np.asarray(value)  # a ragged list raises ValueError here
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
        raise ValueError(f"a file holds numbers, text and NumPy arrays, not {type(value).__name__}")
    arrays[key] = as_storable(value)
    return {"array": key}


def _encode_strings(
    key: str, texts: list[str] | tuple[str, ...], arrays: dict[str, np.ndarray]
) -> object:
    # surrogatepass: column names taken from undecodable file names have lone surrogates.
    pieces = [text.encode("utf-8", "surrogatepass") for text in texts]
    arrays[f"{key}.utf8"] = np.frombuffer(b"".join(pieces), dtype=np.uint8)
    arrays[f"{key}.lengths"] = as_storable(np.array([len(p) for p in pieces], dtype=np.int64))
    return {"strings": key}


def check(section: str, values: object, table: dict[str, ArrayEntry]) -> set[str]:
    """Check encoded values before any array is read.

    Returns
    -------
    set of str
        The entries of the array table that the values use.

    Raises
    ------
    ModelFileError
        If a name or a value has the wrong form, or an array that it uses is not in the table.
    """
    if not isinstance(values, dict):
        raise ModelFileError(f"its {section} section has the wrong form")
    used: set[str] = set()
    for name, value in values.items():
        if not _NAME.fullmatch(name):
            raise ModelFileError(f"its {section} section has the impossible name {name[:40]!r}")
        entries = _entries_of(f"{section}.{name}", value, table)
        if entries is None:
            raise ModelFileError(f"its {section} entry {name!r} has the wrong form")
        used |= entries
    return used


def _entries_of(key: str, value: object, table: dict[str, ArrayEntry]) -> set[str] | None:
    """Return the table entries that one encoded value uses, None if its form is wrong."""
    if value is None or isinstance(value, bool | str):
        return set()
    if isinstance(value, int):
        return set() if _in_range(value) else None
    if isinstance(value, float):
        return set() if math.isfinite(value) else None  # JSON's 1e999 parses as infinity
    if value == {"array": key} and key in table:
        return {key}
    if value == {"strings": key}:
        kinds = {f"{key}.utf8": "uint8", f"{key}.lengths": "int64"}
        for entry, dtype in kinds.items():
            found = table.get(entry)
            if found is None or found.dtype.name != dtype or len(found.shape) != 1:
                return None
        return set(kinds)
    if isinstance(value, dict) and list(value) == ["pairs"]:
        return set() if _are_pairs(value["pairs"]) else None
    if isinstance(value, dict) and list(value) == ["float"]:
        return set() if isinstance(value["float"], str) and value["float"] in _NON_FINITE else None
    return None


def decode(values: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Turn values that passed `check` back into Python values and arrays."""
    decoded: dict[str, Any] = {}
    for name, value in values.items():
        if not isinstance(value, dict):
            decoded[name] = value
        elif "float" in value:
            decoded[name] = _NON_FINITE[value["float"]]
        elif "pairs" in value:
            decoded[name] = dict(value["pairs"])
        elif "array" in value:
            decoded[name] = arrays[value["array"]]
        else:
            decoded[name] = _decode_strings(value["strings"], arrays)
    return decoded


def _decode_strings(key: str, arrays: dict[str, np.ndarray]) -> list[str]:
    utf8 = arrays[f"{key}.utf8"].tobytes()
    lengths = arrays[f"{key}.lengths"].tolist()
    if any(length < 0 for length in lengths) or sum(lengths) != len(utf8):
        raise ModelFileError(f"its texts {key!r} do not add up")
    texts, start = [], 0
    try:
        for length in lengths:
            texts.append(utf8[start : start + length].decode("utf-8", "surrogatepass"))
            start += length
    except UnicodeDecodeError as error:
        raise ModelFileError(f"its texts {key!r} are not UTF-8") from error
    return texts


def _are_pairs(pairs: object) -> bool:
    """Whether these are pairs of a name or a number, each of which occurs once, and a text."""
    if not isinstance(pairs, list):
        return False
    fits = all(
        isinstance(pair, list)
        and len(pair) == 2
        and (isinstance(pair[0], str) or (type(pair[0]) is int and _in_range(pair[0])))
        and isinstance(pair[1], str)
        for pair in pairs
    )
    return fits and len({pair[0] for pair in pairs}) == len(pairs)


def _in_range(value: int) -> bool:
    return -(2**63) <= value < 2**64


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
    names = ARGUMENTS.get(type(one), {})
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


def geometry_from(values: dict[str, Any]) -> Geometry | Mixed:
    """Return the geometry of these decoded values; raise ValueError or TypeError if invalid."""
    cls = CLASSES[values["class"]]
    arguments = {name: value for name, value in values.items() if name != "class"}
    if {name: type(value) for name, value in arguments.items()} != ARGUMENTS[cls]:
        raise ValueError(f"the arguments of {cls.__name__} are not what it takes")
    return cls(**arguments)
