"""Write a file so that a reader sees either the old content or the whole new content."""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

# Errors of link(2) on file systems without hard links; EACCES and EPERM also come from policies.
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
    """Open a temporary binary file that is renamed to `path` if the block succeeds.

    On any failure, including an interrupt, the temporary file is removed and `path` is left as it
    was. Links are followed, and a replaced file keeps its permission bits.

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
        Any other error of the operating system, with `path` as its file name.
    """
    target = os.path.realpath(path)
    # Only the name is chosen before the try: an interrupt after open() still runs the cleanup.
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
        if error.errno == errno.ENOENT:
            raise FileNotFoundError(
                error.errno, "There is no such folder; make it first", path
            ) from error
        # The error names `path`, not the temporary file.
        raise OSError(error.errno, error.strerror or str(error), path) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _mode_for(target: str, path: str, overwrite: bool) -> int | None:
    """Check an existing target and return its permission bits; None if there is no file."""
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
    """Create the temporary file with at most the permissions of the file it replaces."""
    descriptor = os.open(temporary, flags, 0o666 if mode is None else mode)
    if mode is not None and hasattr(os, "fchmod"):
        # Some file systems have no permissions.
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, mode)
    return descriptor


def _move_to_free_name(temporary: str, target: str, path: str) -> None:
    """Rename the finished file; fail if another process has taken the name meanwhile."""
    try:
        os.link(temporary, target)
        return
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
    # Without hard links: reserve the name with an empty file, which only one process can create.
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except FileExistsError:
        raise _exists(path) from None
    try:
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            # After an interrupt that follows the replacement the file is complete, and stays.
            if os.path.getsize(target) == 0:
                os.unlink(target)
        raise


def _exists(path: str) -> FileExistsError:
    sentence = "The file exists already; pass overwrite=True to replace it, or name another file"
    return FileExistsError(errno.EEXIST, sentence, path)


def _sync_folder(folder: str) -> None:
    """Make the new name durable, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
