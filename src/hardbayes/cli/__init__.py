"""The ``hardbayes`` command."""

import sys
from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ``hardbayes`` command; return its exit code. See `hardbayes.cli.entry.run`."""
    try:
        from hardbayes.cli.entry import run  # takes long enough to be interrupted

        return run(arguments)
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("hardbayes: interrupted", file=sys.stderr)
        return INTERRUPTED
