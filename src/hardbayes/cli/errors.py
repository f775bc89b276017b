"""What a command raises to end with one line instead of a traceback."""

from __future__ import annotations


class CommandError(Exception):
    """Something the user can put right: its text is the one line, and the exit code is 2."""
