"""``hardbayes experiments``: the tables and figures of the papers, measured again."""

import argparse
import textwrap
from pathlib import Path
from typing import Any

from hardbayes.cli.demo import printable
from hardbayes.cli.results import check_outputs, write_atomically
from hardbayes.cli.terminal import CommandError, cannot_read

WIDTH = 100  # letters of a line of text; tables may be wider


def add_parser(commands: Any) -> None:
    """Add ``experiments`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "experiments",
        help="repeat the experiments of the papers",
        description="Repeat the tables and figures of the three papers: their values beside those "
        "of the published algorithms, of the defaults and of other methods.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which ones (default: all)")
    parser.add_argument("--list", action="store_true", help="list the names, and stop")
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="a folder with data that are not shipped; what is missing there is said",
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer repetitions and smaller data: a trial"
    )
    parser.add_argument("--out", metavar="PAGE", help="write a page with all figures (.html)")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing page")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run experiments and print what they measured, each as soon as it is done."""
    # Not at the top: `hardbayes --help` does not need them.
    from hardbayes.core.progress import to_standard_error
    from hardbayes.experiments import EXPERIMENTS, Asked, find

    known = [experiment.name for experiment in EXPERIMENTS]
    for name in options.names:
        if name not in known:
            options.parser.error(
                f"invalid choice: {name!r} (choose from {', '.join(map(repr, known))})"
            )
    if options.list:
        widest = max(map(len, known))
        for each in find(options.names):
            print(f"{each.name:{widest}}  {each.paper}: {each.about}")
        return
    data = None if options.data is None else Path(options.data)
    if data is not None and not data.is_dir():
        raise cannot_read(data, "it is not a folder; --data names one that holds files of data")
    check_outputs(options, "out")
    if options.out is not None:
        check_page(options.out)
    done = []
    for experiment in find(options.names):
        report = to_standard_error("experiments")
        try:
            result = experiment.run(Asked(options.quick, data, report))
        finally:
            report.close()
        done.append((experiment, result))
        print(printable(as_text(experiment, result)), flush=True)
    if options.out is not None:
        from hardbayes.experiments.page import write_page

        write_atomically(Path(options.out), write_page(done, options.quick))
        print(printable(f"Page: {Path(options.out).resolve()}"), flush=True)


def check_page(name: str) -> None:
    """Raise a CommandError unless a page with figures can be made; before the work."""
    from hardbayes.plot._drawing import check_matplotlib

    if Path(name).suffix.lower() not in (".html", ".htm"):
        raise CommandError(f"cannot write {name!r}: a page's name ends in .html")
    try:
        check_matplotlib("--out")
    except ImportError as error:
        raise CommandError(str(error)) from error


def as_text(experiment: Any, result: Any) -> str:
    """Return the table and the lines about it."""
    from hardbayes.experiments.results import clock

    title = f"{experiment.paper}: {experiment.about} [{experiment.name}]"
    widths = [max(map(len, column)) for column in zip(result.head, *result.rows, strict=True)]
    lines = [title, "-" * len(title)]
    for row in (result.head, *result.rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(cells).rstrip())
    about = [
        result.verdict,
        result.notes,
        f"Data: {result.data}; seed {result.seed}; {clock(result.seconds)}.",
        *(f"Missing: {line}." for line in result.missing),
    ]
    wrapped = [textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in about]
    return "\n".join([*lines, *wrapped, ""])
