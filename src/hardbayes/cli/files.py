"""Writing of result files, checked in advance and atomic."""

import os
import stat
from pathlib import Path

from hardbayes.cli.errors import cannot_write
from hardbayes.persistence.atomic import atomic_write


def check_writable(path: Path) -> None:
    """Raise a CommandError if a file cannot be written at `path`."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error
    if mode is not None and stat.S_ISDIR(mode):
        raise cannot_write(path, "it is a folder; name a file in it")
    # Replacing a device or a pipe by a file would destroy it.
    if mode is not None and not stat.S_ISREG(mode):
        raise cannot_write(path, "it is not a regular file; name another")
    if not path.parent.is_dir():
        raise cannot_write(path, f"there is no folder {str(path.parent)!r}; make it first")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise cannot_write(path, f"no permission to write in {str(path.parent)!r}; name another")


def write_atomically(path: Path, content: bytes) -> None:
    """Write all of `content` to `path`, or leave `path` as it was."""
    check_writable(path)
    try:
        with atomic_write(os.fspath(path), overwrite=True) as file:
            file.write(content)
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error
