"""The command line's entry: reads the arguments, runs the command, turns failures into one line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from hardbayes._version import __version__
from hardbayes.cli import demo
from hardbayes.cli.errors import CommandError

DONE, BAD_INPUT, INTERRUPTED = 0, 2, 130


class _Parser(argparse.ArgumentParser):
    """An argument parser that reports a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message} (see '{self.prog} --help')\n")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = _Parser(
        prog="hardbayes",
        description="Clustering that learns the number of clusters.",
    )
    parser.add_argument("--version", action="version", version=f"hardbayes {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    demo.add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ``hardbayes`` command.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        The arguments after the command's name. If None, those of the process.

    Returns
    -------
    code : int
        The exit code: 0 when done; 2 for input that the user can put right, and 130 after Ctrl-C,
        both with one line on the standard error stream.
    """
    if sys.stdout is None:  # started with it closed (`>&-`): no work whose result nobody sees
        _complain("cannot print: the standard output is closed; open it or send it to a file")
        return BAD_INPUT
    options = build_parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except CommandError as error:
        _complain(str(error))
        return BAD_INPUT
    except BrokenPipeError:
        _abandon_output()  # the reader (`| head`) has seen enough
        return DONE
    except OSError as error:
        _abandon_output()
        _complain(f"cannot print: {(error.strerror or str(error)).lower()}")
        return BAD_INPUT
    except KeyboardInterrupt:
        _complain("interrupted")
        return INTERRUPTED
    return DONE


def _complain(line: str) -> None:
    """Print a line on the standard error stream, if there is one: print() would take another."""
    if sys.stderr is not None:
        print(f"hardbayes: {line}", file=sys.stderr)


def _abandon_output() -> None:
    """Let what is still to be printed vanish, or Python fails on it once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
