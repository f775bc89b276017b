"""The ``hardbayes`` command."""

from hardbayes.cli.entry import main

__all__ = ["main"]
