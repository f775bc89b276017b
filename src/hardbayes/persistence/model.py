"""Save an estimator to a file and load it: its class, parameters and fitted state."""

import inspect
import os
import stat
import warnings
from typing import Any, BinaryIO, TypeVar, overload

import numpy as np

from hardbayes._version import __version__
from hardbayes.core.estimator import Estimator
from hardbayes.dp_means.estimator import DPMeans
from hardbayes.features.estimator import BPMeans, KFeatures
from hardbayes.gaussian.estimator import GaussianDPMeans
from hardbayes.graph.estimator import GraphDPMeans
from hardbayes.groups.estimator import HDPMeans
from hardbayes.kernel.estimator import KernelDPMeans
from hardbayes.kernel.grouped import KernelHDPMeans
from hardbayes.kernel.spectral import SpectralDPMeans
from hardbayes.mini_batch.estimator import MiniBatchDPMeans
from hardbayes.mixed.estimator import MixedDPMeans
from hardbayes.persistence.atomic import atomic_write
from hardbayes.persistence.container import ContainerReader, ModelFileError, write_container
from hardbayes.persistence.values import (
    check,
    check_name,
    decode,
    described,
    encode,
    geometry_from,
    same_geometry,
)
from hardbayes.topics.estimator import HDPTopics

E = TypeVar("E")

# The only classes that a file can name. Names are looked up here and never imported, so a file
# cannot choose which code runs.
REGISTRY: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        BPMeans,
        DPMeans,
        GaussianDPMeans,
        HDPMeans,
        HDPTopics,
        GraphDPMeans,
        KFeatures,
        KernelDPMeans,
        KernelHDPMeans,
        MiniBatchDPMeans,
        MixedDPMeans,
        SpectralDPMeans,
    )
}

_HEADER_KEYS = {"library_version", "class", "params", "state"}
# The section of a divergence that is an object: its class and its arguments.
_DIVERGENCE = "divergence"
# The section of what the command line did to the columns of a table before the fit.
_PREPARATION = "preparation"


def save(model: Any, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Save an estimator to one file without pickle; with a warning if it is not fitted.

    The file is written completely or not at all: after an error, an interrupt or with a full disk
    `path` is left as it was.

    Parameters
    ----------
    model : estimator
        An estimator of this library. Its constructor parameters and, if it is fitted, its fitted
        state are saved.
    path : str or path-like
        Name of the file. No extension is added.
    overwrite : bool, default=False
        Whether to replace an existing file. A replaced file keeps its permissions.

    Raises
    ------
    TypeError
        If `model` is not an estimator of this library, but for example a pipeline.
    ValueError
        If the model holds something that cannot be stored without code, such as a geometry of your
        own passed as `divergence`.
    FileExistsError
        If the file exists and `overwrite` is False.
    OSError
        If the file cannot be written.

    Notes
    -----
    `random_state` is saved if it is an integer or None. A `RandomState` or `Generator` object is
    saved as None: its position in the stream is meaningless in another process, and a custom bit
    generator is code. Pass an integer for reproducible refits after loading.

    List parameters are loaded as arrays. The choice made by `set_output` is not saved.

    See Also
    --------
    load : Read the file back.

    Examples
    --------
    >>> import os
    >>> import tempfile
    >>> from hardbayes import DPMeans, load, save
    >>> X = [[0.0, 0.0], [0.1, 0.2], [5.0, 5.0]]
    >>> model = DPMeans(4.0, order="given", random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "clusters.hardbayes")
    ...     save(model, path)
    ...     load(path).predict(X)
    array([0, 0, 1], dtype=int32)
    """
    save_prepared(model, path, None, overwrite=overwrite)


def save_prepared(
    model: Any,
    path: str | os.PathLike[str],
    preparation: dict[str, Any] | None,
    *,
    overwrite: bool = False,
) -> None:
    """Save an estimator as `save` does, with named values that say how its rows were prepared."""
    name = _text_path(path)
    cls_name = type(model).__name__
    if not _is_registered(model):
        known = ", ".join(sorted(REGISTRY))
        remedy = " Save its last step, pipeline[-1]." if hasattr(model, "steps") else ""
        raise TypeError(
            f"The 'model' parameter of save must be an instance of {known} itself. Got "
            f"{'the class ' + model.__name__ if isinstance(model, type) else cls_name} instead."
            f"{remedy}"
        )
    _check_params(model)
    arrays: dict[str, np.ndarray] = {}
    try:
        params, divergence = _storable_params(model)
        state = _state_of(model)
        header = {
            "library_version": __version__,
            "class": cls_name,
            "params": encode("params", params, arrays),
            "state": encode("state", state, arrays),
        }
        if divergence is not None:
            header[_DIVERGENCE] = encode(_DIVERGENCE, described(divergence), arrays)
        if preparation is not None:
            header[_PREPARATION] = encode(_PREPARATION, preparation, arrays)
    except ValueError as error:
        raise ValueError(f"Cannot save this {cls_name} to {name!r}: {error}.") from error
    if isinstance(model, Estimator) and not state:
        warnings.warn(
            f"This {cls_name} is not fitted: the file holds its parameters alone.",
            UserWarning,
            stacklevel=3,
        )
    with atomic_write(name, overwrite=overwrite) as file:
        try:
            write_container(file, header, arrays)
        except ValueError as error:
            raise ValueError(
                f"Cannot save this {cls_name} to {name!r}: {error}; shorten its text parameters."
            ) from error


@overload
def load(path: str | os.PathLike[str]) -> Any: ...


@overload
def load(path: str | os.PathLike[str], expected: type[E]) -> E: ...


def load(path: str | os.PathLike[str], expected: type[Any] | None = None) -> Any:
    """Load an estimator written by `save`.

    No code is run from the file, and sizes are checked before memory is allocated.

    Parameters
    ----------
    path : str or path-like
        Name of the file.
    expected : class or None, default=None
        Estimator that the file must hold, such as `DPMeans`; type checkers then know what is
        returned. None accepts any.

    Returns
    -------
    estimator
        An estimator of the saved class with the saved parameters and fitted state.

    Raises
    ------
    ValueError
        If the file is not a model file, is damaged, was written by a newer version, describes no
        possible model, or holds another estimator than expected.
    OSError
        If the file cannot be opened; for example FileNotFoundError or IsADirectoryError.

    See Also
    --------
    save : Write such a file.

    Examples
    --------
    >>> import os
    >>> import tempfile
    >>> from hardbayes import DPMeans, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "clusters.hardbayes")
    ...     save(DPMeans(4.0).fit([[0.0], [9.0]]), path)
    ...     load(path)
    DPMeans(cluster_penalty=4.0)
    """
    model, preparation = load_prepared(path)
    if expected is not None and not isinstance(model, expected):
        raise ValueError(
            f"{_text_path(path)!r} holds a {type(model).__name__}, and a {expected.__name__} is "
            "expected. Name another file, or leave 'expected' out."
        )
    if preparation is not None:
        warnings.warn(
            f"The model in {_text_path(path)!r} was fitted by the command `hardbayes` to prepared "
            "columns (scaled, encoded or counted): prepare rows in the same way, or use the "
            "command `hardbayes predict`.",
            UserWarning,
            stacklevel=2,
        )
    return model


def load_prepared(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any] | None]:
    """Load an estimator and the named values that `save_prepared` stored; None without."""
    name = _text_path(path)
    try:
        with _open_to_read(name) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ModelFileError("it is not a regular file", "name a model file")
            return _read_model(ContainerReader(file, status.st_size))
    except ModelFileError as error:
        raise ValueError(f"Cannot load {name!r}: {error}.") from error


def _text_path(path: str | os.PathLike[str]) -> str:
    name = os.fsdecode(path)
    if "\0" in name:
        raise ValueError(f"The file name {name!r} holds a NUL character; name another file.")
    return name


def _open_to_read(name: str) -> BinaryIO:
    # Without O_NONBLOCK, opening a named pipe would wait until another process writes to it.
    extra = getattr(os, "O_NONBLOCK", 0)
    try:
        return open(name, "rb", opener=lambda file, flags: os.open(file, flags | extra))
    except FileNotFoundError as error:
        sentence = "No such model file; check the path, or save the model first"
        raise FileNotFoundError(error.errno, sentence, name) from None
    except IsADirectoryError as error:
        raise IsADirectoryError(error.errno, "Is a folder; name a model file", name) from None


def _read_model(reader: ContainerReader) -> tuple[Any, dict[str, Any] | None]:
    """Check the whole header, then read the arrays and build the estimator."""
    header = reader.header
    if set(header) - {_DIVERGENCE, _PREPARATION} != _HEADER_KEYS:
        raise ModelFileError("its header has the wrong entries")
    version, cls_name = header["library_version"], header["class"]
    if not isinstance(version, str) or not isinstance(cls_name, str):
        raise ModelFileError("its version or class is not text")
    if cls_name not in REGISTRY:
        raise ModelFileError(
            f"it holds a {cls_name[:40]!r}, which this hardbayes does not know",
            f"use the version that wrote it, {version[:40]!r}",
        )
    every = ("params", "state", _DIVERGENCE, _PREPARATION)
    sections = [name for name in every if name in header]
    used = [check(section, header[section], reader.table) for section in sections]
    if set().union(*used) != set(reader.table):
        raise ModelFileError("its array table has an entry that nothing uses")
    cls = REGISTRY[cls_name]
    given = set(header["params"])
    if _DIVERGENCE in header:
        check_name(header[_DIVERGENCE], version)
        if _DIVERGENCE in given:
            raise ModelFileError("it has two divergences")
        given.add(_DIVERGENCE)
    # Parameters missing from the file take their defaults, so that older files can be loaded.
    unknown = sorted(given - set(inspect.signature(cls).parameters))
    if unknown:
        raise ModelFileError(
            f"{cls_name} has no parameter {unknown[0]!r} in this version",
            f"use the version that wrote it, {version[:40]!r}",
        )

    arrays = reader.read_arrays()
    params = decode(header["params"], arrays)
    state = decode(header["state"], arrays)
    try:
        if _DIVERGENCE in header:
            params[_DIVERGENCE] = geometry_from(decode(header[_DIVERGENCE], arrays))
        model: Any = cls(**params)
        _check_params(model)
        if state:
            model._set_state(state)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        # The checksum is right: these values were saved so, or by another version.
        problem = f"its values do not describe a {cls_name} ({str(error) or type(error).__name__})"
        raise ModelFileError(problem.replace("\n", " ")) from error
    preparation = decode(header[_PREPARATION], arrays) if _PREPARATION in header else None
    return model, preparation


def _storable_params(model: Any) -> tuple[dict[str, Any], object]:
    """Return the parameters in storable form, and separately a divergence that is an object.

    None where the divergence is a name, or there is none.
    """
    params = dict(model.get_params(deep=False))
    if isinstance(params.get("random_state"), np.random.RandomState | np.random.Generator):
        params["random_state"] = None
    if isinstance(params.get(_DIVERGENCE), str | None):
        return params, None
    return params, params.pop(_DIVERGENCE)


def _state_of(model: Any) -> dict[str, Any]:
    """Return the fitted state; raise ValueError if `divergence` was changed after the fit."""
    state = model._get_state()
    fitted = getattr(getattr(model, "_model", None), "geometry", None)
    if fitted is not None and not same_geometry(model._geometry, fitted):
        raise ValueError(
            "its 'divergence' is not the one it was fitted with; set that again, or fit again"
        )
    return state


def _check_params(model: Any) -> None:
    """Check the estimator's parameter constraints, which are otherwise checked in fit."""
    if hasattr(model, "_parameter_constraints"):
        model._validate_params()


def _is_registered(model: object) -> bool:
    # Exactly the class: a subclass would be loaded as its parent, without its own behaviour.
    return REGISTRY.get(type(model).__name__) is type(model)
