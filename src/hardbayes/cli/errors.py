"""The error that ends a command with one line instead of a traceback."""

from pathlib import Path


class CommandError(Exception):
    """Invalid input: the text is printed as one line, and the exit code is 2."""


def cannot_read(path: Path | str, reason: str | Exception) -> CommandError:
    """Return the error for a file that cannot be read, with the reason."""
    return CommandError(f"cannot read {str(path)!r}: {_words(reason)}")


def cannot_write(path: Path | str, reason: str | Exception) -> CommandError:
    """Return the error for a file that cannot be written, with the reason."""
    return CommandError(f"cannot write {str(path)!r}: {_words(reason)}")


def _words(reason: str | Exception) -> str:
    if isinstance(reason, Exception):
        reason = (getattr(reason, "strerror", None) or str(reason)).lower()
    return one_line(reason)


def one_line(text: str) -> str:
    """Return text with line breaks and other control characters replaced by blanks."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
