"""Entry point of the command line: runs a command and reports errors in one line."""

import argparse
import difflib
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from hardbayes._version import __version__
from hardbayes.cli.terminal import CommandError, one_line

DONE, BAD_INPUT = 0, 2
TRACEBACK = "HARDBAYES_TRACEBACK"
#: Where each command is, in the order of the help: a module of this package, and what adds it.
COMMANDS = {
    "demo": ("demo", "add_parser"),
    "cluster": ("cluster", "add_cluster"),
    "path": ("cluster", "add_path"),
    "groups": ("cluster", "add_groups"),
    "features": ("features", "add_parser"),
    "topics": ("topics", "add_parser"),
    "graph": ("graph", "add_parser"),
    "predict": ("predict", "add_parser"),
    "experiments": ("experiments", "add_parser"),
    "warm": ("warm", "add_parser"),
}


class _Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line, with the word that was meant."""

    def error(self, message: str) -> NoReturn:
        message += self._suggestion(message)
        self.exit(BAD_INPUT, f"{self.prog}: {message} (see '{self.prog} --help')\n")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all arguments; unknown options are an error of the command that was named."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            getattr(options, "parser", self).error(f"unrecognized arguments: {' '.join(unknown)}")
        return options

    def _suggestion(self, message: str) -> str:
        """Return a question with the command, value or option that is spelled most alike."""
        wrong = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if wrong is not None:
            known = re.findall(r"[\w-]+", wrong[2])
        else:
            wrong = re.search(r"unrecognized arguments: (--[\w-]+)", message)
            known = list(self._option_string_actions)
        close = difflib.get_close_matches(wrong[1], known, n=1) if wrong is not None else []
        return f"; did you mean {close[0]!r}?" if close else ""


def build_parser(typed: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of what is typed: of the command that it begins with, else of all."""
    parser = _Parser(
        prog="hardbayes",
        description="Clustering that learns the number of clusters.",
    )
    parser.add_argument("--version", action="version", version=f"hardbayes {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in typed[:1] if COMMANDS.keys() & set(typed[:1]) else COMMANDS:
        module, add = COMMANDS[name]
        getattr(import_module(f"hardbayes.cli.{module}"), add)(commands)
    for command in commands.choices.values():
        command.set_defaults(parser=command)
    return parser


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the ``hardbayes`` command.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        The arguments after the command's name. If None, those of the process.

    Returns
    -------
    code : int
        The exit code: 0 for success, 2 for invalid input and 130 after Ctrl-C, the latter two with
        one line on the standard error stream.
    """
    if sys.stdout is None:  # closed by `>&-`: the results could not be printed
        _report("cannot print: the standard output is closed; open it or send it to a file")
        return BAD_INPUT
    typed = sys.argv[1:] if arguments is None else list(arguments)
    options = build_parser(typed).parse_args(typed)
    options.typed = typed
    try:
        options.run(options)
        sys.stdout.flush()
    except CommandError as error:
        _report(str(error))
        return BAD_INPUT
    except BrokenPipeError:
        _discard_output()  # the reader (`| head`) has closed the pipe
        return DONE
    except OSError as error:
        _discard_output()
        _report(f"cannot print: {(error.strerror or str(error)).lower()}")
        return BAD_INPUT
    except MemoryError:
        _report("not enough memory; use fewer rows or columns")
        return BAD_INPUT
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        _report(
            f"a mistake of hardbayes, not of yours ({type(error).__name__}: "
            f"{one_line(str(error))}); please report what {TRACEBACK}=1 shows"
        )
        return BAD_INPUT
    return DONE


def _report(line: str) -> None:
    """Print a line on the standard error stream, if it is open: print() would use stdout."""
    if sys.stderr is not None:
        print(f"hardbayes: {one_line(line)}", file=sys.stderr)


def _discard_output() -> None:
    """Redirect buffered output to the null device, or flushing it at exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
