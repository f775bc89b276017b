"""The error that ends a command with one line instead of a traceback."""

from __future__ import annotations


class CommandError(Exception):
    """Invalid input: the text is printed as one line, and the exit code is 2."""
