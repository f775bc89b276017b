"""Write a file so that a reader sees either the old content or the whole new content."""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

# What file systems without hard links answer to link(2); EACCES and EPERM also come from policies.
_NO_HARD_LINKS = {
    errno.EPERM,
    errno.EACCES,
    errno.ENOSYS,
    errno.EXDEV,
    errno.EMLINK,
    errno.EINVAL,
    errno.ENOTSUP,
    errno.EOPNOTSUPP,
}


@contextlib.contextmanager
def atomic_write(path: str, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a new binary file that takes the name `path` only when the block ends well.

    On any failure, an interrupt included, the temporary file is removed and what was at `path`
    stays as it was. Links are followed, and a replaced file keeps its permission bits.

    Parameters
    ----------
    path : str
        Name of the file to write.
    overwrite : bool
        Whether an existing file may be replaced.

    Yields
    ------
    BinaryIO
        The temporary file, in the folder of the target.

    Raises
    ------
    FileExistsError
        If the file exists and `overwrite` is False.
    IsADirectoryError
        If `path` is a folder.
    ValueError
        If `path` is a device, a pipe or a socket.
    OSError
        What the operating system refused, with `path` as its file name.
    """
    target = os.path.realpath(path)
    # Only the name is fixed before the try: an interrupt after open() still meets the cleanup.
    temporary = os.path.join(os.path.dirname(target), f".hardbayes-{secrets.token_hex(8)}.tmp")
    try:
        mode = _mode_for(target, path, overwrite)
        with open(temporary, "xb", opener=partial(_create, mode=mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            os.replace(temporary, target)
        else:
            _move_to_free_name(temporary, target, path)
        _sync_folder(os.path.dirname(target))
    except OSError as error:
        if error.filename == path:
            raise
        # The user knows `path`, not the temporary name the system complains about.
        raise OSError(error.errno, error.strerror or str(error), path) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _mode_for(target: str, path: str, overwrite: bool) -> int | None:
    """Check what is at the target now; return its permission bits, None where nothing is."""
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "Is a folder; name a file inside it", path)
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"Cannot write {path!r}: it is not a regular file; name another file.")
    if not overwrite:
        raise _exists(path)
    return stat.S_IMODE(status.st_mode) & 0o777


def _create(temporary: str, flags: int, mode: int | None) -> int:
    """Create the temporary file, never wider open than the file it will replace."""
    descriptor = os.open(temporary, flags, 0o666 if mode is None else mode)
    if mode is not None and hasattr(os, "fchmod"):
        # Some file systems know no permissions; they then have none to lose.
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, mode)
    return descriptor


def _move_to_free_name(temporary: str, target: str, path: str) -> None:
    """Give the finished file its name, failing if somebody took that name meanwhile."""
    try:
        os.link(temporary, target)
        return
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
    # Without hard links: claim the name with an empty file, which only one writer can create.
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except FileExistsError:
        raise _exists(path) from None
    try:
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            # An interrupt can come after the replacement: then the file is whole and stays.
            if os.path.getsize(target) == 0:
                os.unlink(target)
        raise


def _exists(path: str) -> FileExistsError:
    sentence = "The file exists already; pass overwrite=True to replace it, or name another file"
    return FileExistsError(errno.EEXIST, sentence, path)


def _sync_folder(folder: str) -> None:
    """Make the new name survive a power cut, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
