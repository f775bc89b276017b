"""The bytes of a model file: a checked JSON header, then raw arrays.

Layout, integers little-endian::

    magic (8)  format version (4)  header length (8)  header (JSON, UTF-8)
    SHA-256 of all bytes so far (32)
    arrays, little-endian, C order, back to back in the order of the header's table
    SHA-256 of all bytes so far (32)

With the first checksum a damaged header is reported as damage, not as an unsupported value. No
array is allocated before the whole header has been checked against the size of the file.
"""

import hashlib
import json
import math
import reprlib
import struct
from typing import Any, BinaryIO, NamedTuple

import numpy as np

# As in PNG: a byte above 127 and both line ends, which text-mode transfers change.
MAGIC = b"\x89HBM\r\n\x1a\n"
FORMAT_VERSION = 1
MAX_HEADER_BYTES = 1 << 20
DTYPES = {
    np.dtype(code).name: np.dtype(code)
    for code in ("?", "i1", "<i2", "<i4", "<i8", "u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8")
}
_PREFIX = struct.Struct("<8sIQ")
_DIGEST_BYTES = 32
_MAX_DIMENSIONS = 32
# Arrays are hashed and read in blocks, so that Ctrl-C is handled between them.
_BLOCK_BYTES = 1 << 22


class ModelFileError(ValueError):
    """A problem with a model file, and its remedy."""

    def __init__(
        self, problem: str, remedy: str = "restore it from a copy or save the model again"
    ) -> None:
        super().__init__(f"{problem}; {remedy}")


class ArrayEntry(NamedTuple):
    """One row of the array table."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def as_storable(array: np.ndarray) -> np.ndarray:
    """Return the array little-endian and C-ordered; raise ValueError if it cannot be stored."""
    if array.dtype.name not in DTYPES:
        raise ValueError(f"arrays of dtype {array.dtype} cannot be stored")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("the array holds NaN or infinity")
    return np.asarray(array, dtype=DTYPES[array.dtype.name], order="C")


def write_container(file: BinaryIO, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a header and the arrays that `as_storable` returned."""
    table, offset = [], 0
    for name, array in arrays.items():
        shape = list(array.shape)
        table.append({"name": name, "dtype": array.dtype.name, "shape": shape, "offset": offset})
        offset += array.nbytes
    # ASCII is UTF-8, and its escapes can represent lone surrogates (in column names).
    text = json.dumps({**header, "arrays": table}, allow_nan=False).encode("ascii")
    if len(text) > MAX_HEADER_BYTES:
        raise ValueError(f"the header would take {len(text)} bytes, over {MAX_HEADER_BYTES}")
    digest = hashlib.sha256()
    for block in (_PREFIX.pack(MAGIC, FORMAT_VERSION, len(text)), text):
        digest.update(block)
        file.write(block)
    checkpoint = digest.digest()
    digest.update(checkpoint)
    file.write(checkpoint)
    for array in arrays.values():
        view = _bytes_of(array)
        for start in range(0, len(view), _BLOCK_BYTES):
            block_view = view[start : start + _BLOCK_BYTES]
            digest.update(block_view)
            file.write(block_view)
    file.write(digest.digest())


class ContainerReader:
    """A model file whose header has been read and checked, and whose arrays have not been read.

    Parameters
    ----------
    file : BinaryIO
        The open file, at its beginning.
    size : int
        Its size in bytes.

    Attributes
    ----------
    header : dict
        The JSON header without its array table.
    table : dict of str to ArrayEntry
        The array table; its sizes add up to the file's.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        text = self._read_header_text(size)
        header = _parse_json(text)
        if not isinstance(header, dict) or not isinstance(header.get("arrays"), list):
            raise ModelFileError("its header has no array table")
        payload = size - _PREFIX.size - len(text) - 2 * _DIGEST_BYTES
        self.table = _check_table(header.pop("arrays"), payload)
        self.header: dict[str, Any] = header

    def read_arrays(self) -> dict[str, np.ndarray]:
        """Read all arrays, in the machine's byte order, and verify the checksum of the file."""
        arrays = {}
        for name, entry in self.table.items():
            array: np.ndarray = np.empty(entry.shape, entry.dtype)
            view = _bytes_of(array)
            for start in range(0, len(view), _BLOCK_BYTES):
                block = view[start : start + _BLOCK_BYTES]
                self._fill(block)
                self._digest.update(block)
            arrays[name] = array.astype(entry.dtype.newbyteorder("="), copy=False)
        self._check_digest()
        for name, array in arrays.items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise ModelFileError(f"its array {_short(name)} holds NaN or infinity")
            if array.dtype.kind == "b" and (array.view(np.uint8) > 1).any():
                raise ModelFileError(f"its array {_short(name)} holds bytes that are no booleans")
        return arrays

    def _read_header_text(self, size: int) -> bytes:
        not_ours = "check the path: hardbayes.load reads only what hardbayes.save wrote"
        if size == 0:
            raise ModelFileError("it is empty")
        prefix = bytearray(min(size, _PREFIX.size))
        self._fill(memoryview(prefix))
        if prefix[: len(MAGIC)] != MAGIC[: len(prefix)]:
            raise ModelFileError("it is not a hardbayes model file", not_ours)
        if size < _PREFIX.size + 2 * _DIGEST_BYTES:
            raise ModelFileError("it is cut off within its header")
        _, version, length = _PREFIX.unpack(prefix)
        if version > FORMAT_VERSION:
            raise ModelFileError(
                f"its format version is {version} and this hardbayes reads up to {FORMAT_VERSION}",
                "upgrade hardbayes, or save the model again with this version",
            )
        if version < 1:
            raise ModelFileError(f"its format version is {version}, which never existed")
        if length > MAX_HEADER_BYTES:
            raise ModelFileError(f"its header claims {length} bytes, over {MAX_HEADER_BYTES}")
        if _PREFIX.size + length + 2 * _DIGEST_BYTES > size:
            raise ModelFileError("it is cut off within its header")
        text = bytearray(length)
        self._fill(memoryview(text))
        self._digest.update(prefix)
        self._digest.update(text)
        self._check_digest()
        return bytes(text)

    def _fill(self, view: memoryview) -> None:
        filled = 0
        while filled < len(view):
            count = self._file.readinto(view[filled:])  # type: ignore[attr-defined]
            if not count:
                raise ModelFileError("it became shorter while it was read")
            filled += count

    def _check_digest(self) -> None:
        stored = bytearray(_DIGEST_BYTES)
        self._fill(memoryview(stored))
        if stored != self._digest.digest():
            raise ModelFileError("its content does not match its checksum, so it is damaged")
        self._digest.update(stored)


def _bytes_of(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _short(value: object) -> str:
    """Return a short description of a value from a file, of any size or depth."""
    return reprlib.repr(value)


def _parse_json(text: bytes) -> Any:
    """Parse strict JSON: no NaN or Infinity, no repeated names, no deep nesting."""

    def refuse(token: str) -> None:
        raise ValueError(f"{token} is not JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a name occurs twice")
        return dict(pairs)

    try:
        return json.loads(text.decode("utf-8"), parse_constant=refuse, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its header is not strict JSON ({_short(str(error))})") from error


def _check_table(rows: list[Any], payload: int) -> dict[str, ArrayEntry]:
    """Check the array table, in Python integers, which do not overflow."""
    table: dict[str, ArrayEntry] = {}
    end = 0
    for row in rows:
        if not isinstance(row, dict) or set(row) != {"name", "dtype", "shape", "offset"}:
            raise ModelFileError("its array table has a row of the wrong form")
        name, dtype, shape, offset = row["name"], row["dtype"], row["shape"], row["offset"]
        if not isinstance(name, str) or name in table:
            raise ModelFileError(f"its array name {_short(name)} is no text or occurs twice")
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise ModelFileError(f"its array {_short(name)} has the unknown dtype {_short(dtype)}")
        # type() and not isinstance(): JSON's true is an int in Python.
        if (
            not isinstance(shape, list)
            or len(shape) > _MAX_DIMENSIONS
            or not all(type(length) is int and length >= 0 for length in shape)
            or DTYPES[dtype].itemsize * math.prod(max(length, 1) for length in shape) >= 2**63
        ):
            raise ModelFileError(f"its array {_short(name)} has an impossible shape")
        if type(offset) is not int or offset != end:
            raise ModelFileError(f"its array {_short(name)} does not start where the last one ends")
        table[name] = ArrayEntry(DTYPES[dtype], tuple(shape))
        end += DTYPES[dtype].itemsize * math.prod(shape)
    if end != payload:
        raise ModelFileError(f"its arrays should take {end} bytes and the file has {payload}")
    return table
